"""The files that a host keeps beside a log (`metadata.json`, `transcript.jsonl`), as far as we write them.

Where things are done:
- those of a new session are written: `write_host_files`, file by file: `files_beside_log`, with the names of
  `metadata_fields`;
- they are cut at a rewind, with a copy of the old ones, or purged: `after_rewind_or_purge`;
- an import gives a session its new title: `rename_imported`;
- a `metadata.json` is changed under the lock of newer hosts: `metadata_lock`;
- those that are still ours: `own_host_files`;
- the lines of the host's transcript: `host_transcript_lines`;
- copies that the host keeps, which nothing here changes: `find_host_copies`.
"""
