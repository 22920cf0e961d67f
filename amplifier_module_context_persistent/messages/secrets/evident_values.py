"""Values that can hardly be anything but secrets, whatever is beside them: made by a machine, or chosen with care.

A name that only sometimes is a secret's (`deployer_key`, `confirm_password`), and a name that is only near, need such a
value. Hashes, ids, versions, names of techniques, names in program text, paths and addresses are not evident.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .found import Secret
from .names import (
    UUID,
    Likelihood,
    is_example,
    is_placeholder,
    is_scrambled,
    is_template,
    kind_of_name,
    likelihood_of,
    names_password,
)
from .passwords_in_sentences import is_chosen, is_varied
from .secret_values import names_technique

_LEAST_OF_PLAIN_KEY = 32
_LEAST_CHOSEN = 8
_MOST_CHOSEN = 64
_MADE = re.compile(r"(?!AAAA|[A-Za-z]{2,12}[_-])[A-Za-z0-9+/_-]{24,4000}={0,2}", re.ASCII)
"""A key made by a machine; public keys of SSH begin with `AAAA`, ids with a word and a sign."""
_NOISE = re.compile(r"(?=[^A-Za-z]{0,20}[A-Za-z])[ -~]{30,200}")
_IN_PATTERN = re.compile(r"[a-z0A-Z]-[z9Z]|\\[a-z]|\(\?|\{\{|\$\{|%\(")
"""Text of an expression or of a template."""
_LONG_WORD = re.compile("[a-z]{8}|[A-Z]{8}")
_SIGNS = re.compile(r"[^A-Za-z0-9 _./-]")
_LEAST_SIGNS, _LEAST_KINDS = 6, 4
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)")
_DIGITS = re.compile("[0-9]+")
_LETTERS_BEHIND_DIGITS = re.compile(r"[0-9][_.-]?[A-Za-z]")
_IN_PROGRAM = re.compile(
    r"[=\\/:|%]|\A\$|\$(?:[({]|[A-Z_]{3})|\+\+|&&|->|[?!*+@&^~.#-]\Z|\A[^A-Za-z0-9]|\.[a-z]{2,5}\Z|[a-z]\.[a-z]"
)
_LAST_SIGNS = "!*+@&^~#-"
"""Signs that may end a password in quotes; at the end of other words they belong to the program or the sentence."""
_WORD = re.compile(r"[^\s\"'`()<>,;{}\[\]\\«»“”„「」]{8,200}")
_OF_ANOTHER_NAME = re.compile(r"[\w\])]\\*[\"'`]?\s{0,4}(?:[:=]|=>|\|)\s{0,4}\\*[\"'`(\[{]{0,2}\Z")
_IN_SENTENCE = re.compile(r"(?:[ ][A-Za-z0-9]{1,15}){0,6}:?[ ][\"'`(]?")
_BEFORE_CHARS = 60
_AFTER_CHARS = 160


def is_made(text: str) -> bool:
    """Return whether a machine made a value: letters of both sizes and digits in no order, at least 24."""
    if not _MADE.fullmatch(text) or is_example(text) or is_placeholder(text):
        return False
    body = text.rstrip("=")
    return len(_DIGITS.findall(body)) > 1 and is_scrambled(body)


def is_noise(text: str) -> bool:
    """Return whether a value is a long run of letters, digits and many signs, as frameworks make their secret keys."""
    if not _NOISE.fullmatch(text) or _IN_PATTERN.search(text) or _LONG_WORD.search(text):
        return False
    signs = _SIGNS.findall(text)
    return len(signs) >= _LEAST_SIGNS and len(set(signs)) >= _LEAST_KINDS and len(_DIGITS.findall(text)) > 1


def is_evident(text: str, name: str) -> bool:
    """Return whether a value is certainly a secret, beside a name that may be the name of a secret.

    A machine makes the value of a key; beside a plain `key`, the value has to be longer, because it may be the key of a
    map.
    """
    if name.lower().endswith("key"):
        is_plain_key = len(name) == len("key")
        is_long_enough = not is_plain_key or len(text) >= _LEAST_OF_PLAIN_KEY
        return is_long_enough and is_made(text)
    return is_made(text) or is_noise(text) or _is_evident_password(text)


def _is_evident_password(text: str) -> bool:
    if not _LEAST_CHOSEN <= len(text) <= _MOST_CHOSEN or not text.isascii() or " " in text:
        return False
    if is_placeholder(text) or is_template(text) or is_example(text) or UUID.fullmatch(text) or _HEX.fullmatch(text):
        return False
    if names_technique(text) or likelihood_of(text) is not Likelihood.NONE:
        return False
    if is_chosen(text) or is_varied(text):
        return True
    has_both = not (text.islower() or text.isupper())
    return has_both and len(_DIGITS.findall(text)) > 1 and _LETTERS_BEHIND_DIGITS.search(text) is not None


def near_value(text: str, first: int, end: int, name: str) -> Iterator[Secret]:
    """Yield the evident values on the line of a name: `assert.Equal(t, "…", cfg.Password)`.

    A value with another name right before it belongs to that name.

    Args:
        text: any text.
        first: the start of the name.
        end: the end of the name.
        name: the name, in the spelling of the text.
    """
    start = max(0, first - _BEFORE_CHARS)
    start = max(start, text.rfind("\n", start, first) + 1)
    stop = text.find("\n", end, end + _AFTER_CHARS)
    stop = min(len(text), end + _AFTER_CHARS) if stop < 0 else stop
    is_password = names_password(name)
    for word in _WORD.finditer(text, start, stop):
        at = word.start()
        if at < end and word.end() > first:
            continue
        value = word[0].rstrip(".:!?")
        if is_password:
            is_quoted = word.end() < stop and text[at - 1 : at] == text[word.end()] and text[word.end()] in "\"'`"
            shown = value.rstrip(_LAST_SIGNS) if is_quoted else value
            is_secret = not _IN_PROGRAM.search(shown) and is_chosen(value) and _is_evident_password(value)
        else:
            is_secret = is_made(value)
        if not is_secret or _is_cut(text, start, stop, word.span()):
            continue
        is_said = at > end and _IN_SENTENCE.fullmatch(text, end, at) is not None
        if not is_said and _OF_ANOTHER_NAME.search(text, max(0, at - 12), at):
            continue
        yield Secret(at, at + len(value), kind_of_name(name))


def _is_cut(text: str, start: int, stop: int, span: tuple[int, int]) -> bool:
    """Return whether a word continues outside of the part of a text that is near a name.

    Args:
        text: the whole text.
        start: where the part begins.
        stop: where the part ends.
        span: where the word begins and ends within the part.
    """
    begins, ends = span
    if begins == start and start > 0 and not text[start - 1].isspace():
        return True
    return ends == stop and stop < len(text) and not text[stop].isspace()
