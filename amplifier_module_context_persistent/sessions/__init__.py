"""A session opened to be read: sessions by name, views made again and proved, statistics, searches.

Rules of this package:
- Nothing here writes to a log, not even to repair its tail.
"""
