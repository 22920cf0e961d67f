"""A session's context window on the log's thread: the plan in force, the entries it keeps, and when to plan again.

Here the pure half (`view`, `compaction`) meets the durable half (`log`). Rules of this package:
- Everything here runs on the log's own thread, without an event loop.
- Work per request is O(view), whatever the length of the history.

Where things are done:
- the request and the result: `request`; one pass that answers it: `window`;
- when a plan is due: `plan_threshold`, `replan_throttle`, `prompt_cache`; it frees enough: `plan_gain`; it is made and
  applied: `window_plans`;
- entries that the plan keeps: `kept_entries`; the first ones of a long log without a plan: `cold_start`;
- the entries in order, for one reader: `view_arranger`; messages are read, counted and kept: `message_source`,
  `shown_messages`;
- a provider compacts: `native_items`; a summary is asked for: `summary_request`.
"""
