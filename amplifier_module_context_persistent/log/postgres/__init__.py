"""A log in PostgreSQL: the tables, the statements, the connections, and the log itself. The driver is an extra.

Rules of this package:
- It is imported only if a location names a database.
- A row contains the bytes that a line has in a file. So records, checksums, scan and index are as in `log`.

Where things are done:
- a session appends: `postgres_log`; nearly always one row, by `append_one_row`; the connection broke during an append:
  `unknown_outcome` finds out whether it is stored, so that no message is doubled; a failover lost the log:
  `begin_after_failover`;
- a session reads: `reader`, lines by `stored_lines`; SQL: `rows`;
- tables are made, and brought up to date: `schema` (`migrate_tables`), by the steps of `migration_steps`; roles get
  rights: `role_rights`; each sees its own rows: `row_security`; keys of older tables: `layout`;
- a wait ends: `connection`; connections are shared: `server_connections`; questions about many logs, to a replica
  too: `ask_database`; who holds a lock: `lock_holders`; a long transaction stays
  alive: `pulse`;
- logs are listed, searched and deleted: `list_logs`; which are old: `old_logs`; which are open: `open_marks`;
- a log appears whole, or takes another's place: `new_log`; it is compressed: `archive_stored_log`;
- what can be computed again: `figure_rows`, `ranked_rows`, and the list entries of `list_logs`; what cannot:
  `erasure_rows`.
"""
