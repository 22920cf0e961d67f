"""Token counting: exact if a vocabulary is on this machine, else estimated; corrected by what providers report.

It also knows from how many tokens on a model's requests cost more.

Rules of this package:
- It imports nothing else of the package but `errors`.
- Nothing here uses the network unless the caller asks for it by name.
"""
