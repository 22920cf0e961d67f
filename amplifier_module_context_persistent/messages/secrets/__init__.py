"""Secrets in texts and in JSON values: recognise them and replace them, everywhere in the same way.

Rules of this package:
- `redact` is the only door. Exports, reports, purges and requests redact by it, so that all find the same.
- What a secret looks like is data: `formats` (by itself), `places` (by where it is), `names` (by the name beside it).
- Every search takes time that grows with the length of the text, whatever the text is.
"""
