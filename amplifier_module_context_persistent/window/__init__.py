"""A session's context window on the log's thread: the plan in force, the entries it keeps, and when to plan again.

A *view* is the list of messages that one request sends, an *entry* describes one stored message, and a *plan* says
which messages views keep, shorten or leave out. A *budget* is the number of tokens that a view may have.

Here the pure half (`view`, `compaction`) meets the durable half (`log`). Rules of this package:
- Everything here runs on the log's own thread, without an event loop.
- Work per request is O(view), whatever the length of the history.

Where things are done:
- the request and the result: `request`; one pass that answers a request: `window`;
- when a plan is due: `when_to_plan`, `replan_throttle`, `prompt_cache`; whether it frees enough: `plan_gain`;
- making and following a plan: `window_plans`; a view that has become small grows back: noticed by `when_to_plan`
  (`is_small`), the plan of the whole history made and judged by `window_plans`;
- the entries that a plan keeps, and a plan of the log or of another process is followed: `kept_entries` (`take_in`);
  the first entries of a long log without a plan: `entries_without_plan`;
- the entries in order, for one reader: `view_arranger`;
- reading, counting and keeping messages: `message_source`, `shown_messages`; which system messages come late:
  `late_system_text`;
- compaction by a provider: `native_items`; the request for a summary: `summary_request`.
"""
