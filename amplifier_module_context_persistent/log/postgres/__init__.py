"""A log in PostgreSQL: its tables and statements, the connection, its rows as a log. Its driver is an extra.

Rules of this package:
- It is imported only if a location names a database.
- A row holds the bytes of a file's line, so records, checksums, scan and index are the same as in `log`.
"""
