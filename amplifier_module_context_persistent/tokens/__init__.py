"""Counting tokens: exactly where a vocabulary is at hand, estimated where not, corrected by what providers report.

And above how many a model's requests cost more.

Rules of this package:
- It imports nothing else of the package but `errors`.
- Nothing here uses the network unless the caller asks for it by name.
"""
