"""The append-only log: records, the checksum chain, scanning, the index, files, locks and group commit.

Rules of this package:
- It knows bytes, offsets and disks; no tokens and no policy. Of the package it imports `errors` only.
- History is never rewritten: records are appended; a torn tail is saved aside before it is cut.
- Reading never writes. Whatever writes holds the lock of the log for that one operation.
- Memory changes after the disk does, never before.
"""
