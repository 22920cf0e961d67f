"""One view, pure: entries, the providers' rules, the arrangement, the plan that is in force, and receipts.

Rules of this package:
- No I/O, no clock, no randomness: the same inputs give the same bytes in any process.
- Views are valid by construction; the tests check them with code of their own.
"""
