"""The catalogue: data computed from a project's logs, in one SQLite file that anyone can query.

Rules:
- It can be computed again. It may be deleted, damaged or replaced at any time; answers stay the same, only slower.
- It has no messages. Messages that it refers to are read from the log and verified there. It has filters of runs of
  three characters and checksums of words, from which much can be guessed. So a purge removes the file.
- It is trusted for a log only up to a position that the log still has, and only if the file belongs to this user.
- A connection is open for one transaction. If the file cannot be used, everything works without it.

Where things are done:
- the file is made, opened, checked and removed: `catalogue_file`, its tables: `schema`; how far it covers a log:
  `log_coverage`;
- figures are queried and stored: `kept_figures`, in a database `figures_in_postgres`; computed: `record_pass` (the
  requests) and `compute_figures` (the rest);
- words for searches: `blocks_that_may_match`, by `bloom_filter`; for questions: `ranked_words`, `ranked_fill`, in
  a database `ranked_words_in_postgres`;
- the lines of `list`: `take_glance`, stored by `session_list_cache`; snapshots of scans: `index_snapshots`.
"""
