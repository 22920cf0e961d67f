"""Looking after a log's file: verify, purge, redact.

Rules of this package:
- A purge removes history from a log, and only if a person asks for it. A whole log is deleted in `sessions/delete_log`.
- Every function says what it found, with line and byte, before it changes anything.
"""
