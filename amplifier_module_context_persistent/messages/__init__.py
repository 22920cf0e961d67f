"""One message: its parts, its text, its metadata, the names in it, the secrets in it.

Rules of this package:
- Pure functions on one message dictionary; nothing is mutated, no file and no event loop is known.
- A module is about one message at a time. What relates several messages belongs in `view`.
"""
