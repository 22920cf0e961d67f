"""A running session: the context manager, its store, its host and its tools.

Rules of this package:
- Only here (and in `cli` and `demo`) are the event loop and `amplifier_core` known.
- The event loop never waits for the disk: blocking work goes to the log's thread.
"""
