"""A running session: the context manager, its store, its host and its tools.

The *host* is the program that runs the agent. The *log* is the file or database table with all records of the session;
its *live* messages are the current history. A *view* is the list of messages that one request sends.

Rules of this package:
- The event loop and `amplifier_core` are known here, and in the few modules that `tests/test_imports.py` lists.
- The event loop never waits for the disk: blocking work goes to the log's thread.
"""
