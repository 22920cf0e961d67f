"""Importers: one file for each format of a source. A source is the file with the sessions to import.

Rules of this package:
- An importer recognises its format by content, never by a file's name, and yields events in the order of the new log.
- Every line (or every entry of a JSON document) is noted once in the account: mapped, kept as metadata, not
  conversational by its type, or lost with a reason.
- Importers only read their format; they know nothing of logs. `transfer.drafts` turns their events into records.

To add a format: write one file with functions like those here, and add them to `registry.IMPORTERS`.

Where things are done:
- which format a file has: `registry`; it is opened, decrypted and decompressed: `source_file`; other encodings:
  `text_encoding`; text around the JSON: `text_around`;
- damaged or too long: `broken_lines`, `long_line`, `long_list`; what became of every line: `account`;
- messages in a provider's form: `provider_messages`, which asks `forms`; abandoned branches: `branches`;
- what an importer yields: `events`.
"""
