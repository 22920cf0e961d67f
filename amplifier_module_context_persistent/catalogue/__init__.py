"""The catalogue: what is derived from a project's logs and worth keeping, in one SQLite file that anyone can query.

Rules:
- It is disposable. It may be deleted, garbled or replaced at any time; answers stay the same, only slower.
- It holds no message. Whatever it names is read from the log and verified there. Of the text it holds filters of runs
  of three characters, and checksums of words, from which much can be guessed; so a purge removes the file.
- It is believed for a log only up to a place that the log still has, and only where the file is this user's own.
- A connection lives for one transaction. Where the file cannot be used, everything works without it.
"""
