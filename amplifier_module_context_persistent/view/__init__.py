"""One view, pure: entries, the providers' rules, the arrangement, the plan that is in force, and receipts.

Rules of this package:
- No I/O, no clock, no randomness: the same inputs give the same bytes in any process.
- Views are valid by construction; the tests check them with code of their own.

Where things are done:
- calls and results are matched: `calls_and_results`; a missing result gets a stand-in: `inserted_messages`;
- which reasoning is shown: by who reads it, `recipients`; by what came before it, `bound_reasoning`;
- what providers refuse within a message: `wire_rules`; order and tokens: `arrangement`; the messages: `render`.
"""
