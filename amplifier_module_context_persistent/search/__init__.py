"""Finding and reading back: patterns, ranking, pages of a message's text, and tool names.

Rules of this package:
- No I/O: callers pass messages in; a search is bounded in time whatever its pattern.
"""
