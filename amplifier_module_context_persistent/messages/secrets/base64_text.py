"""Text in base64, for example an encoded `.env` file, JSON or `user:password`, on one line or on several.

A run (a piece of base64) that decodes to text is searched like any other text. If it has a secret, the whole run is
replaced, because the rest would no longer decode. Bytes that are not text (pictures, hashes, ids) are skipped after a
look at the first ones.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable

from .found import Secret
from .searched_text import SearchedText

LEAST_CHARS = 20
MOST_CHARS = 1_000_000
"""The longest run that is decoded, in characters."""
_RUN = re.compile(r"(?:[A-Za-z0-9+/]{60,76}+\r?\n[ \t]*+){0,20000}+[A-Za-z0-9+/_-]{8,}+={0,2}")
"""A run of base64 on one line, or on lines of equal length, as the command `base64` and mail programs write base64."""
_LONG = re.compile(rf"[A-Za-z0-9+/_-]{{{LEAST_CHARS},}}")
_FIRST_CHARS = 32
_TEXT = re.compile(rb"[\t\n\r\x20-\x7e]{8,}")
_WIDE = re.compile(rb"(?:[\t\n\r\x20-\x7e]\0){4,}")
_DATA_BEFORE = re.compile(r"[A-Za-z0-9+/\r\n]{0,300}\Z")
_DATA_AFTER = re.compile(r"[A-Za-z0-9+/\r\n]{0,300}")
_AROUND_CHARS = 300
_LEAST_DATA_CHARS = 300
_URL_ALPHABET = str.maketrans("-_", "+/")


def find_in_base64(
    searched: SearchedText, words: list[tuple[int, int]], search: Callable[[str], list[Secret]]
) -> list[Secret]:
    """Find runs of base64 whose text contains a secret.

    Args:
        searched: any text.
        words: the places of its long words; every run begins in one of them.
        search: looks for secrets in a decoded text.
    """
    text = searched.text
    secrets = list[Secret]()
    end_of_last_run = 0
    for start, end in words:
        for long_part in _LONG.finditer(text, start, end):
            if long_part.start() < end_of_last_run:
                continue
            run = _RUN.match(text, long_part.start())
            decoded = _text_of(run[0]) if run is not None else ""
            if run is None or not decoded:
                continue
            end_of_last_run = run.end()
            decoded_secrets = search(decoded)
            if decoded_secrets:
                secrets.append(Secret(run.start(), run.end(), f"{decoded_secrets[0].kind} in base64"))
    return secrets


def may_be_base64(word: str) -> bool:
    """Return whether a run of base64 that begins in a word may be the base64 of a text."""
    return any(_encoding_of(run[0]) for run in _LONG.finditer(word))


def is_in_encoded_data(text: str, secret: Secret) -> bool:
    """Return whether a found secret is only a piece of a file in base64, in which every form occurs by chance.

    A megabyte of base64 has about two such pieces; if these were replaced, the picture or document would be broken.
    """
    if text[secret.start - 1 : secret.start] not in ("+", "/"):
        return False
    before = _DATA_BEFORE.search(text[max(0, secret.start - _AROUND_CHARS) : secret.start])
    after = _DATA_AFTER.match(text, secret.end)
    lengths = [len(piece[0]) for piece in (before, after) if piece is not None]
    return sum(lengths) + secret.end - secret.start >= _LEAST_DATA_CHARS


def _text_of(run: str) -> str:
    """Return the decoded text of a run; "" if the run is not the base64 of a text."""
    encoding = _encoding_of(run)
    return _bytes_of(run[:MOST_CHARS]).decode(encoding, "replace") if encoding else ""


def _encoding_of(run: str) -> str:
    """Return the encoding of the text in a run, from its first bytes; "" if the run is not the base64 of a text."""
    first = _bytes_of(run[:_FIRST_CHARS])
    if _TEXT.match(first):
        return "utf-8"
    return "utf-16-le" if _WIDE.match(first) else ""


def _bytes_of(run: str) -> bytes:
    letters = "".join(run.split()).rstrip("=").translate(_URL_ALPHABET)
    if len(letters) % 4 == 1:  # the first letter of a group is not a whole byte
        letters = letters[:-1]
    padding = "=" * (-len(letters) % 4)
    return b64decode(letters + padding)
