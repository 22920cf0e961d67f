"""Keys after the name of a service in a sentence: `for OpenAI we use …`, `Cohere: …`.

Only random keys count: at least 24 small and capital letters and digits, no signs, and no prefix of an id. Hashes and
ids have no capital letters, or a prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from .found import Secret
from .names import SERVICES, is_example, looks_random
from .searched_text import SearchedText

_LEAST_CHARS = 24
_MOST_CHARS = 210
_BEFORE_CHARS = 70
_WORDLIKE = frozenset(
    {"box", "drone", "linear", "looker", "modal", "replicate", "stability", "travis", "relic", "paddle"}
)
"""Services whose names are also ordinary words. Such a name counts only with a capital letter."""
_VALUE = re.compile(r"[\"'`*(]{0,3}(?P<secret>[A-Za-z0-9_-]{24,200})[\"'`*).,;!?]{0,3}")
_AN_ID = re.compile(r"[A-Za-z]{2,10}[_-].*")
_GIVES = re.compile(
    r"(?P<service>[A-Za-z][A-Za-z0-9]{1,15}|New Relic)(?:'s)?"
    r"(?:[ ](?:we|I|you|they|account|api|key|token|prod|is|was|now)){0,4}?"
    r"(?:[ ]?[:=\u2013\u2014-]|[ ](?:is|was|use|uses|used|using|with|gave me|has))[ ][\"'`*(]{0,3}\Z",
    re.IGNORECASE,
)


def may_be_key(word: str) -> bool:
    """Return whether a long word, with the signs around it, may be the key of a service."""
    value = _VALUE.fullmatch(word) if _LEAST_CHARS <= len(word) <= _MOST_CHARS else None
    return value is not None and _is_key(value["secret"])


def find_by_service(searched: SearchedText, words: Iterable[tuple[int, int]]) -> list[Secret]:
    """Find keys that a sentence gives as keys of a service.

    Args:
        searched: any text.
        words: the places of its long words.
    """
    text = searched.text
    found = list[Secret]()
    for start, end in words:
        value = _VALUE.fullmatch(text, start, end) if end - start <= _MOST_CHARS else None
        if value is None or not _is_key(value["secret"]):
            continue
        at = value.start("secret")
        sentence = _GIVES.search(text[max(0, at - _BEFORE_CHARS) : at])
        if sentence and _is_service(sentence["service"]) and not is_example(value["secret"]):
            found.append(Secret(at, value.end("secret"), "key of a service"))
    return found


def _is_key(value: str) -> bool:
    if _AN_ID.fullmatch(value) or not looks_random(value, least=_LEAST_CHARS):
        return False
    return any(map(str.isupper, value)) and any(map(str.islower, value))


@cache
def _is_service(name: str) -> bool:
    lower = name.lower()
    return lower in SERVICES and (lower not in _WORDLIKE or name != lower)
