"""A running session: the context manager, its store, its host and its tools.

The *host* is the program that runs the agent. The *log* is the file or database table with all records of the session;
its *live* messages are the current history. A *view* is the list of messages that one request sends.

Rules of this package:
- The event loop and `amplifier_core` are known here, and in the few modules that `tests/test_imports.py` lists.
- The event loop never waits for the disk: blocking work goes to the log's thread.

Where things are done:
- the methods that a host or a program calls: `manager`, `in_memory_manager`; the objects that they hand their work to:
  `manager_parts`; a program opens a session: `open_session`;
- a message is added: `add_messages`; it becomes a record: `record_builder`, which does not store it twice if it is
  added again at a resume (`replayed_messages` recognises it); its secrets are replaced: `redact_on_write`;
- a host sets a whole list: `set_messages`; after a purge: `list_after_purge`; what is new in it: `new_in_host_list`,
  in that of an agent without a host `new_in_agents_list` (the list before it: `own_list`); by its match with the
  history (`align_host_list`) and what the log once had (`known_messages`);
  ends of interrupted turns: `closing_messages`;
- a view that cannot be made is an error of the host's: `view_errors`;
- where the log is: `choose_log`; whether a session goes on without one: `kept_in_memory`; the log is opened at the
  first use, and closed: `store`; which session it is: `session_identity`; it is indexed in its database, and other logs
  are archived: `close_session`;
- a request: `request_flow` on the event loop, `view_service` on the log's thread, which also makes the receipt; with a
  plan of its own: `smaller_budgets`;
- a provider is called: for a summary `summarizer`, to compact `native_calls`, both by `provider_call`;
- a provider's error or answer teaches something: `provider_refusals`; a view was too long:
  `tokens/refused_as_too_long`; reported tokens: `tokens/meter`;
- what a host added to a request after the view was made: `final_request`; the request that an answer's reasoning is
  bound to: `pending_requests`;
- pins and hidden turns: `pin_and_hide`; the model's tools `recall` and `pin`, and its share of pins: `model_tools`;
- what recall finds: by id or text `recall`, by a question `ranked_recall`;
- rewind, pop, and a kit's changes, decided under the lock: `change_history`, appended by `rewind_and_pop`;
- records that wait for the next append, such as receipts: `deferred_records`;
- events: sent by `host`, their names in `event_names`; about lost messages: `log_events`.
"""
