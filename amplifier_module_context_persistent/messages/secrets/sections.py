"""Passwords below the head of a section: `[passwords]` with a line for each user, or `passwords` in YAML and JSON."""

from __future__ import annotations

import re

from .found import Secret
from .names import is_code_or_path, is_example, is_placeholder, is_template, looks_random
from .searched_text import Beginnings, SearchedText
from .secret_values import is_chosen_word, is_state

_MOST_LINES = 200
_LEAST_RANDOM = 12
_BEGINNINGS = Beginnings(("passwords", "passphrases", "secrets]", "credentials]"))
_HEAD = re.compile(
    r"^[ \t]{0,20}(?:\[(?:[\w.-]{1,40}[._-])?(?:(?P<words>passwords|passphrases)|secrets|credentials)\]"
    r"|[\"']?(?:\w{1,30}_)?(?:passwords|passphrases)[\"']?:)[ \t\r]*\n",
    re.MULTILINE | re.IGNORECASE,
)
_ROW = re.compile(
    r"[ \t]{0,40}[\"']?(?P<key>[\w.@ -]{1,60}?)[\"']?[ \t]*[=:][ \t]*"
    r"[\"']?(?P<secret>[^\s\"'#;]{4,400})[\"']?,?[ \t\r]*(?:\n|\Z)"
)
_OBJECT = re.compile(
    r"(?<![A-Za-z0-9])(?:\w{1,30}_)?(?:passwords|passphrases)\\*[\"'][ ]?:\s{0,4}\{(?P<fields>[^{}]{4,4000})\}",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"(?P<quote>\\*[\"'])(?P<key>[\w.@ -]{1,60})(?P=quote)[ ]?:\s{0,4}(?P=quote)(?P<secret>[^\s\"'\\]{4,400})(?P=quote)"
)
"""A user's password in a JSON section: `"passwords": {"root": "x", "robin": "y"}`."""
_PASSED_OVER = re.compile(r"[ \t]*(?:[#;][^\n]*)?\r?\n")


def find_in_sections(searched: SearchedText) -> list[Secret]:
    """Find the passwords of users or services in a section of passwords."""
    text = searched.text
    found = list[Secret]()
    if not _BEGINNINGS.possible_in(searched):
        return found
    for head in _HEAD.finditer(text):
        at = head.end()
        for _ in range(_MOST_LINES):
            row = _ROW.match(text, at) or _PASSED_OVER.match(text, at)
            if row is None:
                break
            at = row.end()
            if row.re is _ROW and _is_secret(row["key"], row["secret"], may_be_word=head["words"] is not None):
                found.append(Secret(*row.span("secret"), "password in a section"))
    for section in _OBJECT.finditer(text):
        for field in _FIELD.finditer(text, *section.span("fields")):
            if _is_secret(field["key"], field["secret"], may_be_word=True):
                found.append(Secret(*field.span("secret"), "password in a section"))
    return found


def is_in_section(section: str, key: str, value: str) -> bool:
    """Return whether a value of a JSON object is a password, given the object's name and the value's key."""
    is_section = section.lower().endswith(("passwords", "passphrases"))
    return is_section and " " not in value and len(value) >= 4 and _is_secret(key, value, may_be_word=True)


def _is_secret(key: str, value: str, *, may_be_word: bool) -> bool:
    if is_placeholder(value) or is_template(value) or is_example(value) or is_state(value) or "/" in value:
        return False
    if is_chosen_word(value) or looks_random(value, least=_LEAST_RANDOM):
        return True
    is_word = len(value) >= 6 and value.isalpha() and value.islower()
    if may_be_word and key.isalpha() and is_word:
        return True
    has_sign = not value.isalnum()
    has_digit = any(map(str.isdigit, value))
    return has_sign and has_digit and not is_code_or_path(value)
