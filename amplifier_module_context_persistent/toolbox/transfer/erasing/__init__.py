"""Delete and purge sessions, and recognise later what was erased.

Where things are done:
- a purge, with the host's files: `purge_session`; the log itself: `toolbox/maintenance`;
- sessions are deleted, unless they are open: `delete_sessions`; the sub-agents that go with one:
  `families_of_sub_agents`;
- content that stays on the disk: files with hard links: `hard_links`; copies beside a deleted session:
  `copies_beside`; forks to other agents: `noted_agent_forks`;
- a purge or deletion is noted (what is noted, and where: the room `erasures`): `new_erasure`, with
  `erased_session_names`;
- which session a noted erasure is about: `erasure_is_about`, by the names of `message_names` and `talk_names`;
- what a log would undo: `undone_erasures`; in forks: `purged_origin`; in imports: `imports/import_erasures`; in syncs:
  `sync_and_backup/sync_erasures`.
"""
