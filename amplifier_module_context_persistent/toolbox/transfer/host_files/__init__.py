"""The files that a host keeps beside a log (`metadata.json`, `transcript.jsonl`), as far as we write them.

Where things are done:
- they are written, cut at a rewind, and purged: `write_host_files`; under the lock of newer hosts: `metadata_lock`;
- those that are still ours: `own_host_files`;
- the lines of the host's transcript: `host_transcript_lines`;
- copies that the host keeps, which nothing here changes: `find_host_copies`.
"""
