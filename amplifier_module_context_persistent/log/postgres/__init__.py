"""A log in PostgreSQL: the tables, the statements, the connections, and the log itself. The driver is an extra.

Rules of this package:
- It is imported only if a location names a database.
- A row contains the bytes that a line has in a file. So records, checksums, scan and index are as in `log`.
"""
