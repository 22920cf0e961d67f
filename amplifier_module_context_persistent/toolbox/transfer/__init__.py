"""Import, export, fork and rewind.

Rules of this package:
- A source is never changed. An existing log is never overwritten; a second import of the same session appends to it.
- What cannot be copied is named with its line; nothing is dropped in silence.
- Formats of other agents have one file each, in `importers` and `exporters`.
"""
