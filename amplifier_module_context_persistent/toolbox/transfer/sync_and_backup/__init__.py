"""Copies of sessions in other places: sync, backup and restore.

Where things are done:
- a sync: `sync_sessions`, by the steps of `sync_step`, between the two places of `sync_sides`; erasures first:
  `sync_erasures`; the host's files: `sync_host_files`; past syncs: `places_synced_before`;
- a backup: `backup_sessions`; its copies are read again: `check_backup`; it is brought back: `restore_sessions`;
- whether a copy continues another, or both have parted: `relation_of_copies`;
- new records of an original are appended to its copy: `append_to_copy`; a copy is replaced: `replace_copy`; an archived
  log is copied as its file: `copy_in_form`; both labels: `join_labels`;
- the room that all this needs: `room_for_copies`.
"""
