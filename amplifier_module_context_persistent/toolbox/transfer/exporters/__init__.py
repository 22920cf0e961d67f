"""Exporters into formats of others: one file for each, as functions from messages to pieces of text.

Rules of this package:
- Messages come redacted, in order, one at a time; what is held of a long session is small.
- A body for a provider is one that it accepts: each call has its result, and nothing else answers it.
- What a format cannot hold is named in docs/interchange.md.

To add a format: write one file with a function like those here, and add it to `transfer.export.EXPORTERS`.
"""
