"""What a log adds up to, kept beside its checkpoint so that `stats` and `list` need not read all of it again.

Rules:
- Sums are disposable. Without them, or where they do not fit, everything is added up from the log; the result is the
  same.
- A sum belongs to a run of records, by their ordinals, and to nothing else: not to the live history, which a reset may
  change at any time. Sums of neighbouring runs are joined into one of both, and it does not matter where they were cut.
- They hold no content of a message: numbers, times, and the names of tools and models, and ids of calls.
"""
