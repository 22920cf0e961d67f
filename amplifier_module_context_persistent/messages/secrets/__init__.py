"""Secrets in texts and in JSON values: find them and replace them, everywhere in the same way.

Rules of this package:
- Callers use `redact` only. Exports, reports, purges and requests all use it, so that they find the same secrets.
- The rules are tables: `formats` (how a secret itself looks), `places` (where it is), `names` (the name beside it).
- The time of every search grows at most in proportion to the length of the text.
"""
