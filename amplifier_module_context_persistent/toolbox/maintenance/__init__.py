"""Looking after a log's file: verify, purge, redact.

Rules of this package:
- A purge removes history from a log; nothing else does, and only when a person asks for it.
- Every function says what it found, with line and byte, before it changes anything.
"""
