"""Maintenance of a log: verify it, purge it, redact it.

Rules of this package:
- A purge removes history from a log, and only if a person asks for it. A redaction is a purge that replaces text and
  keeps the messages. A whole log is deleted in `sessions/delete_log`.
- Each change can be planned first: `verify_log` and `plan_purge` report what they find, and write nothing.

Where things are done:
- what a purge removes, and what it keeps of the rest: `purge_rewrite`; the new log takes the old one's place:
  `swap_in_new_file`, in a database `swap_in_new_rows`;
- a text is replaced where it is no message: `redact_control`, `redact_raw_bytes`;
- an operation was killed: what had begun, and which files are ours: `note_beside_log`; what lies about: `leftovers`;
- the torn end of a log is repaired: `FileLog.repair` in `log/file_log`;
- the host's files, and the list of erasures: `transfer/erasing/purge_session`.
"""
