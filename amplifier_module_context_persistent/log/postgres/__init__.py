"""A log in PostgreSQL: its tables and statements, the connection, its rows as a log. Its driver is an extra.

Rules of this package:
- Nothing imports it before a location names a database.
- A row holds the bytes that a file's line would hold, so records, checksums, scan and index are those of `log`.
"""
