"""One message: its parts, its text, its metadata, the names in it, the secrets in it.

Rules of this package:
- Pure functions on one message dictionary; nothing is mutated, no module here uses a file or an event loop.
- A function works on one message at a time. Code that relates several messages belongs in `view`.
"""
