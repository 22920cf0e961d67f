"""Exporters: one file for each format of another program, with a function that turns messages into pieces of text.

Rules of this package:
- Messages come redacted, in order, one at a time; only a small part of a long session is in memory.
- The provider accepts an exported request body: each call has its result, and nothing else answers the call.
- What a format cannot hold is named in docs/exporting.md.

To add a format: write one file with a function like those here, and add it to `transfer.export_session.EXPORTERS`.

Where things are done:
- what an exporter gets: `session_view`; ids, times and usage for other agents: `agent_session`;
- request bodies of OpenAI and Anthropic, JSON Lines: `toolbox/transfer/export_session`; Markdown: `markdown`.
"""
