"""Make one view as pure functions of the entries, the providers' rules, the plan in force and the reader.

A *view* is the list of messages that one request sends. An *entry* describes one stored message. A *plan* says which
messages views keep, shorten or leave out. A *receipt* records a view, so that it can be made again and verified.

Rules of this package:
- No I/O, no clock, no randomness: the same inputs give the same bytes in any process.
- Views are valid by construction; the tests check them with code of their own.

Where things are done:
- one stored message, classified and counted: `entry`; the decision what views show: `plan`; it is stored in a log
  and found there: `stored_plan`; how long a provider's prompt cache lives: `cache_life`; where a turn begins: `turns`;
- matching calls and results: `tool_groups`; a call without a result gets a stand-in: its text by `missing_results`, its
  place behind the call by `arrangement`;
- which reasoning is shown: `recipients` decides by the reader, `bound_reasoning` by the messages before it;
- what providers refuse within a message: `wire_rules`; the rules that a log began with: `rules_of_log`;
- order and tokens, and the line `[continued]` after an answer: `arrangement`; the messages: `render`; a record of them,
  to prove the view later: `receipts`.
"""
