"""Maintenance of a log: verify it, purge it, redact it.

Rules of this package:
- A purge removes history from a log, and only if a person asks for it. A redaction is a purge that replaces text and
  keeps the messages. A whole log is deleted in `sessions/delete_log`.
- Each change can be planned first: `verify_log` and `plan_purge` report what they find, and write nothing.
"""
