"""One message: its parts, its text, its metadata, the names in it, the secrets in it.

Rules of this package:
- Pure functions on one message dictionary; nothing is mutated, no module here uses a file or an event loop.
- A function works on one message at a time. Code that relates several messages belongs in `view`.

Where things are done:
- the form that every provider accepts: `normalize`; what a caller gives is copied, or refused: `check_incoming`; an
  answer of a provider's Python client becomes JSON: `client_objects`;
- whether a person wrote a message, and how the engine treats it: `metadata`; without what programs put around a
  person's words: `own_words`; texts of hooks: `system_reminder`;
- a big tool result is shown shortened in every view: `offload`; one text is shortened to its ends: `elide`, to
  pieces: `excerpt`;
- whether a call failed: `outcome`; what a tool does: `tool_kinds`; results that came too late: `late_output_text`;
- paths, names and ids that somebody may need again: found by `paths_and_ids`;
- images and documents: `media_blocks`; blocks that no request can contain: `uncarried_blocks`;
- a host hands messages back: compared by `host_form`, in the order of `host_order`;
- a purge replaces a text: `replace_in_message`; secrets are found: `secrets`.
"""
