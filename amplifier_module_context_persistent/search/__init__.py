"""Searching messages: patterns, ranking, pages of a message's text, and tool names.

Rules of this package:
- No I/O: callers pass the messages in.
- The time of a search is bounded, whatever its pattern.
"""
