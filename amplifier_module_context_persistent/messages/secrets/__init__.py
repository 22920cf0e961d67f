"""Secrets in texts and in JSON values: find them and replace them, everywhere in the same way.

Rules of this package:
- Callers use `redact` only. Exports, reports, purges and requests all use it, so that they find the same secrets.
- The rules are tables: `formats` (how a secret itself looks), `places` (where it is), `names` (the name beside it, and
  the values that are only placeholders or examples).
- The time of every search grows at most in proportion to the length of the text.

Where things are done:
- the order of all searches: `find_secrets`; secrets in arguments, tables and rows: `secrets_in_calls`,
  `secrets_in_tables`, `secrets_in_rows`;
- encodings are undone first: `readable`, `base64_text`, `hex_dumps`;
- what commands get: `commands`, `flags`, `user_and_password`, `echoed_values`;
- keys of known services: `by_form`; a secret beside its name in code and settings: `named_values`, and whether such a
  value is a secret: `judge_named_value`, `secret_values`, `evident_values`;
- passwords in prose: `passwords_in_sentences`, `logins_in_sentences`, `services_in_sentences`, `linked_passwords`,
  `plain_words`, `values_before_names`, `answers_to_questions`;
- what a person adds: `own_forms`; what is replaced before a message is stored: `known_keys`.
"""
