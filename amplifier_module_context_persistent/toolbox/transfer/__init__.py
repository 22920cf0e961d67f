"""Move and copy sessions: import, export, fork, rewind, copy, sync, backup, sealing, names, deletion.

Rules of this package:
- A source is never changed. A second import of a session appends to its log. An existing log is replaced only by a sync
  that erases, and by `--keep both` (`replace_copy`), after a question; and if the new log lacks nothing of it.
- If something cannot be copied, the report names its line; nothing is dropped in silence.
- Formats of other agents have one file each, in `importers` and `exporters`.

The larger operations have packages of their own, each with a list of where things are done:
- `imports`: sessions are imported; `importers` reads the formats;
- `erasing`: sessions are deleted and purged, and what was erased is recognised;
- `sync_and_backup`: sync, backup and restore;
- `host_files`: the files that a host keeps beside a log.

Where things are done:
- a fork: `fork_session`, its records by `fork_records`, of a whole log with all it hides `fork_whole`; to another
  agent: `fork_to_agent`; a rewind: `rewind_session`; the turn where either begins: `history_at`;
- a log is written or copied: `copy_log`; a damaged log is not carried: `damaged_log`;
- an export: `export_session`, by `exporters`, its mark: `export_mark`;
- a session is archived: `archive_session`; compacted from outside: `compact_session`; named: `label_session`; what it
  takes on the disk: `disk_use`; a turn hidden from outside: `hide_turn`;
- a sealed file: `sealing`, `seal_log`; its plain copy while it is read: `plain_copies`.
"""
