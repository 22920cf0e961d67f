"""Import sessions: choose them, draft them, find what is new, and write it. `importers` read the formats.

Where things are done:
- an import of a file: `import_session`; of a directory: `import_directory`; of a running agent: `watch_imports`;
- of a file that is not a log: `import_drafts`, which makes `drafts` of the sessions, and plans of their compactions
  (`imported_plans`); a draft's messages wait on the disk: `spool`; their ids and places: `import_places`;
- which sessions of a source are imported: `wanted_sessions`; what is new since an earlier import: `earlier_import`;
- a log is written or continued, and a part that changed in the source is hidden first: `write_import`;
- a log of this package: `import_log`; an export that was made here: `import_own_export`;
- erased content stays erased: `import_erasures`.
"""
