"""Move and copy sessions: import, export, fork, rewind, copy, sync, backup, sealing, names, deletion.

Rules of this package:
- A source is never changed. A second import of a session appends to its log. An existing log is replaced only by a sync
  that erases, and by `--keep both` (`replace_copy`), after a question.
- If something cannot be copied, the report names its line; nothing is dropped in silence.
- Formats of other agents have one file each, in `importers` and `exporters`.

Where things are done:
- an import: `import_session` and `import_directory`, `drafts` of the sessions, their ids and places: `import_places`;
- what is new since an earlier import of the same source: `earlier_import`; it is written: `write_import`;
- an import of a log of this package: `import_log`;
- erased content stays erased: `erasure_record` (what is remembered), `erasure_list` (where), `import_erasures`,
  `undone_erasures` (those that a log would undo), `sync_erasures`;
- new records of an original are appended to its copy: `append_to_copy`; comparing two copies: `compare_logs`;
- a sync: `sync_sides`, `sync_sessions`; a backup: `backup_sessions`, `restore_sessions`;
- a sealed file: `sealing`, `seal_log`; a turn hidden from outside: `hide_turn`;
- the host's files beside a log: `write_host_files`, `host_transcript_lines`, `find_host_copies`.
"""
