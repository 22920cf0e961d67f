"""The append-only log: records, the checksum chain, scanning, the index, files, locks and the append queue.

Rules of this package:
- It knows bytes, offsets and disks; no tokens and no policy. Of the package it imports `errors` and `installation`.
- History is never rewritten: records are appended. A torn tail (an incomplete record at the end of a file) is saved to
  another file before it is cut.
- Reading never writes. Each operation that writes holds the lock of the log, and only for this operation.
- Memory changes after the disk does, never before.

Where things are done:
- the contract of a log, which `FileLog`, `PostgresLog` and `MemoryLog` implement: `contract`; the log of a location is
  opened: `open_log`, to read only: `open_reader`;
- a message becomes a record: `record_line`, with a checksum: `checksum`; how long and deep it may be: `record_limits`;
- the kinds of control records (records without a message): `record_kinds`;
- callers wait for the log, and waiting appends are written together (group commit): `append_queue`;
- records are written, and synced if `durability` requires it: `file_log`; the system calls: `filesystem`; if the disk
  is full, what was written is taken back: `FileLog._write_or_take_back`; the room of a new file: `room_on_disk`;
- a forked process begins anew: `forked_process`;
- every writer takes the log's lock: `append_lock`; the system's file locks: `os_file_lock`;
- a torn tail is saved: `save_torn_tail`; and cut: `file_log`;
- bytes become an index: `reader` reads the file, `scanner` scans its lines, `chain_check` checks which lines verify,
  `index_builder` applies the effect of each record, and `index` is the result;
- much is read without a collection of garbage, which would hold every thread up: `collector_paused`;
- control records change the state of a session: `session_reader` fills the index's `session_records`;
- a reset (a record that replaces the live history) takes effect: `reset_effects`; it is written: `reset_record`;
- damage is reported: `IndexBuilder.report`, as the `Damage` of an index; whole records in a bad line: `salvage`;
- a log of a later format version is recognised, and appending to it is refused: `format_version`;
- a file that is not a log is refused: `not_a_log`; a log that another user may have forged: `file_trust`;
- messages are read back and verified: `read_back`;
- a log is archived: `archive_log`, and brought back, at the latest before an append: `bring_back_log`; the bytes of an
  archived log are read in place: `archived_bytes`, by `file_handle`; the layout of an archive: `archive_format`.
"""
