"""Maintenance of a log: verify it, purge it, redact it.

Rules of this package:
- A purge removes history from a log, and only if a person asks for it. A redaction is a purge that replaces text and
  keeps the messages. A whole log is deleted in `sessions/delete_log`.
- A person can see what an operation would change, with lines and byte offsets, before it changes anything.
"""
