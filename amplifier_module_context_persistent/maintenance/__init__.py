"""Looking after a log's file: verify, repair, purge, redact.

Rules of this package:
- A purge is the one way to remove history, and only when a person asks for it.
- Every function says what it found, with line and byte, before it changes anything.
"""
