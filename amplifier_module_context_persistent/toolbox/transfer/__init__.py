"""Move and copy sessions: import, export, fork, rewind, copy, sync, backup, sealing, names, deletion.

Rules of this package:
- A source is never changed. A second import of a session appends to its log. An existing log is replaced only by a sync
  that erases, and by `--keep both` (`replace_copy`), after a question; and if the new log lacks nothing of it.
- If something cannot be copied, the report names its line; nothing is dropped in silence.
- Formats of other agents have one file each, in `importers` and `exporters`.

Where things are done:
- an import: `import_session` and `import_directory`; of a file that is not a log: `import_drafts`, which makes `drafts`
  of the sessions, and plans of their compactions (`imported_plans`); their ids and places: `import_places`;
- which sessions of a source are imported: `wanted_sessions`; what is new since an earlier import: `earlier_import`;
  it is written: `write_import`; of a running agent: `watch_imports`;
- an import of a log of this package: `import_log`; of an export made here: `import_own_export`;
- a fork: `fork_session`, its records by `fork_records`, of a whole log with all it hides `fork_whole`; a rewind:
  `rewind_session`; the turn where either begins: `history_at`;
- a purge, with the host's files: `purge_session`; the log itself: `toolbox/maintenance`;
- sessions are deleted, unless they are open: `delete_sessions`; the sub-agents that go with one:
  `families_of_sub_agents`;
- erased content stays erased (what is remembered, and where: the room `erasures`): a purge or deletion notes it
  (`new_erasure`, with `erased_session_names`); which session it is about: `erasure_is_about`, by the names of
  `message_names` and `talk_names`; what a log would undo: `undone_erasures`; in imports `import_erasures`, in forks
  `purged_origin`, in syncs `sync_erasures`;
- new records of an original are appended to its copy: `append_to_copy`; whether a copy continues another:
  `relation_of_copies`; a damaged log is not carried: `damaged_log`; an archived log is copied as its file:
  `copy_in_form`;
- a sync: `sync_sessions` between the two places of `sync_sides`; past ones: `places_synced_before`; both histories of a
  session that parted (`--keep both`): `sync_sessions`, the fork by `fork_whole`; both labels: `join_labels`; a
  backup: `backup_sessions`, `check_backup`, `restore_sessions`; the room that all this needs: `room_for_copies`;
- a sealed file: `sealing`, `seal_log`; its plain copy while it is read: `plain_copies`;
- a fork to another agent: `fork_to_agent`; the list of such files, for purges: `noted_agent_forks`;
- a turn hidden from outside: `hide_turn`;
- files beside a log that we write for the host: `write_host_files`, those that are still ours: `own_host_files`, their
  lines by `host_transcript_lines`, in a sync `sync_host_files`; copies that the host keeps, which nothing here changes:
  `find_host_copies`.
"""
