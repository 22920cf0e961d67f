"""Searching messages: patterns, ranking, pages of a message's text, and tool names.

Rules of this package:
- No I/O: callers pass the messages in.
- The time of a search is bounded, whatever its pattern.

Where things are done:
- a text or an expression, and the time that it may take: `pattern`; what each match must contain, so that other
  messages are skipped: `expression`; several words in any order: `word_search`;
- a question in words: read by `question` (times in it: `question_times`), scored by `ranking`, which asks any
  `ranked_index`; what the index stores of a message: `message_terms`, packed by `ranked_segment`;
- the part of a long text to show: `snippet`;
- what recall gives the model: `recall_page`, with images by `recall_media`; which messages it searches: `recall_scope`;
- a purge or a redaction replaces what an expression matches: `replace_matches`, also as JSON, addresses or HTML write
  it (decoded by `messages/secrets/readable`); accents in both Unicode forms: `accents`.
"""
