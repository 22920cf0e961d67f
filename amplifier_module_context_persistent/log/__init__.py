"""The append-only log: records, the checksum chain, scanning, the index, files, locks and the append queue.

Rules of this package:
- It knows bytes, offsets and disks; no tokens and no policy. Of the package it imports `errors` and `installation`.
- History is never rewritten: records are appended; a torn tail is saved aside before it is cut.
- Reading never writes. Whatever writes holds the lock of the log for that one operation.
- Memory changes after the disk does, never before.

Where things are done:
- a message becomes a record: `record_line`; the kinds of control records: `record_kinds`;
- callers wait for the log, and appends that wait are written together (group commit): `append_queue`;
- records are written, and synced or not as `durability` says: `file_log`; by the system calls of `filesystem`;
- whatever writes takes the log's lock: `append_lock`; the system's locks of files: `os_file_lock`;
- a torn tail is saved: `torn_tail`; and cut: `file_log`;
- bytes become an index: `reader` reads the file, `scanner` takes its lines, `chain` says which of them verify,
  `index_builder` what each record does, `index` holds it;
- control records say something to a session: `session_reader`, which fills the index's `session_records`;
- a reset takes effect: `reset_effects`; how one is written: `reset_record`;
- damage is reported: `IndexBuilder.report`, as the `Damage` of an index; whole records in a bad line: `salvage`;
- a later version is refused: `format_version`, and to append to it: `batch`; a file that is no log: `not_a_log`;
- messages are read back and verified: `read_back`;
- a log is archived and brought back: `archive_log`; its bytes are read in place: `archived_bytes`, by `file_handle`;
  the layout of its file: `archive_format`.
"""
