"""Carrying sessions over: import, export, fork and rewind.

Rules of this package:
- A source is never changed, and a log that is there is never overwritten.
- What cannot be carried over is named with its line; nothing is dropped in silence.
"""
