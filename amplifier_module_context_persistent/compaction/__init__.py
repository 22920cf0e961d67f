"""Make a plan for a view that is too large: which messages it keeps, shortens or leaves out. Pure.

A tool group is a message with the results of its calls. Each group has shorter forms (`shorter_forms`), a loss gives
the forms prices (`losses`), promises limit which forms are allowed (`always_kept`), and one loop chooses (`choose`).
`planner` calls these parts in turn and writes the plan.

Rules of this package:
- A plan is a decision about records. Nothing here changes a message or knows a file.
- A tool group is kept or left out as a whole. Each stage of the choice goes only as far as needed.
- A strategy is a row in `strategies`: a loss and a list of promises.
- Promises, losses and forms depend on the draft (the view in the making) alone. Only the choice and the functions that
  follow it change a draft.

Where things are done:
- the budget: `request_budget`; limits in bytes and images: `provider_limits` (the line in an image's place:
  `messages/media_blocks`);
- what must stay: `always_kept`, `protected_ends`; a file that was changed after it was read: `stale_reads`;
- how a long text is shortened: `shorter_forms`, a person's by `persons_words`, an answer by `answer_items`, tables by
  `whole_rows`;
- what is left out: found by `gaps`, told by `markers` in the words of `marker_wording` and `notice_wording`; what was
  said there: `quotes`; files: `told_files`; commands that failed: `failed_commands`;
- a summary: its part of the history, `summary_span`; an answer that is none: `summary_refusals`; a provider compacts:
  `native_offer`;
- the next plan looks only at new messages: `plan_memory`; why a message is shown or not: `why_shown`.
"""
