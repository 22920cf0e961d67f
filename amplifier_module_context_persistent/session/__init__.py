"""A running session: the context manager, its store, its host and its tools.

Rules of this package:
- The event loop and `amplifier_core` are known here, and in the few modules that `tests/test_imports.py` lists.
- The event loop never waits for the disk: blocking work goes to the log's thread.
"""
