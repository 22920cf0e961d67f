"""A session's context window on the log's thread: the plan in force, the entries it keeps, and when to plan again.

Here the pure half (`view`, `compaction`) meets the durable half (`log`). Rules of this package:
- Everything here runs on the log's own thread, without an event loop.
- Work per request is O(view), whatever the length of the history.
"""
