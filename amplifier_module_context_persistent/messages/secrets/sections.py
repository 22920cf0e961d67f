"""Passwords and keys below the head of a section: `[passwords]`, `passwords:`, `"github-oauth": {"github.com": "…"}`.

Rules:
- In a section of passwords, each line or field is a user with a password.
- In a section of keys, a value has to look random. In `tokens` and `bearer`, which other things have too, its key also
  has to be a host, or a machine made it.
- A `key` right beside its `username` is a key, if it looks random, as in kaggle.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .evident_values import is_made
from .found import Secret
from .names import is_code_or_path, is_example, is_placeholder, is_template, looks_random
from .searched_text import Beginnings, SearchedText, begun_by
from .secret_values import is_chosen_word, is_state

_MOST_LINES = 200
_LEAST_RANDOM = 12
_LEAST_KEY = 20
_PASSWORDS = r"(?:passwords|passphrases)"
_KEYS = (
    r"(?:(?:api|access|secret)[_-]?keys|(?:github|gitlab|bitbucket)-(?:oauth|token)|pypi-token"
    r"|(?:oauth|access|auth|api)[_-]?tokens)"
)
_OF_HOSTS = r"(?:tokens|bearer)"
_BEGINNINGS = Beginnings(
    (
        *("passwords", "passphrases", "secrets]", "credentials]", "api_keys", "api-keys", "apikeys", "access_keys"),
        *("access-keys", "accesskeys", "secret_keys", "secret-keys", "secretkeys", "github-oauth", "gitlab-oauth"),
        *("gitlab-token", "github-token", "bitbucket-oauth", "pypi-token", "oauth_tokens", "oauth-tokens"),
        *("access_tokens", "access-tokens", "auth_tokens", "auth-tokens", "api_tokens", "api-tokens", 'tokens"'),
        *('tokens\\"', 'bearer"', 'bearer\\"', "oauthtokens", "accesstokens", "authtokens", "apitokens"),
    )
)
_HEAD = re.compile(
    rf"^[ \t]{{0,20}}(?:\[(?:[\w.-]{{1,40}}[._-])?"
    rf"(?:(?P<words>{_PASSWORDS})|secrets|credentials|(?P<section>{_KEYS}))\]"
    rf"|[\"']?(?:\w{{1,30}}_)?(?:{_PASSWORDS}|(?P<keys>{_KEYS}))[\"']?:)[ \t\r]*\n",
    re.MULTILINE | re.IGNORECASE,
)
_ROW = re.compile(
    r"[ \t]{0,40}[\"']?(?P<key>[\w.@ -]{1,60}?)[\"']?[ \t]*[=:][ \t]*"
    r"[\"']?(?P<secret>[^\s\"'#;]{4,400})[\"']?,?[ \t\r]*(?:\n|\Z)"
)
_OBJECT = re.compile(
    rf"(?<![A-Za-z0-9])(?:\w{{1,30}}_)?(?:{_PASSWORDS}|(?P<keys>{_KEYS})|(?P<hosts>{_OF_HOSTS}))"
    r"\\*[\"'][ ]?:\s{0,4}\{(?P<fields>[^{}]{4,4000})\}",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"(?P<quote>\\*[\"'])(?P<key>[\w.@ :-]{1,60})(?P=quote)[ ]?:\s{0,4}"
    r"(?P=quote)(?P<secret>[^\s\"'\\]{4,400})(?P=quote)"
)
"""A user's password in a JSON section: `"passwords": {"root": "x", "robin": "y"}`."""
_PASSED_OVER = re.compile(r"[ \t]*(?:[#;][^\n]*)?\r?\n")
_SECTION_OF_PASSWORDS = re.compile(rf".*{_PASSWORDS}", re.IGNORECASE)
_SECTION_OF_KEYS = re.compile(rf"(?:\w{{1,30}}_)?(?:{_KEYS}|(?P<hosts>{_OF_HOSTS}))", re.IGNORECASE)

_USER_NAMES = ("username", "user", "user_name", "email", "account")
_USER = r"(?:user_?name|user|email|account)"
_KEYS_OF_USERS = ('key"', "key'", 'key\\"')
_VALUE_OF_KEY = re.compile(
    rf"key(?P<quote>\\*[\"'])\s{{0,4}}:\s{{0,4}}(?P=quote)(?P<secret>[\w-]{{20,100}})(?P=quote)"
    rf"(?P<user>,\s{{0,20}}(?P=quote){_USER}(?P=quote)\s{{0,4}}:)?",
    re.ASCII,
)
_USER_BEFORE = re.compile(
    rf"[\"']{_USER}\\*[\"']\s{{0,4}}:\s{{0,4}}\\*[\"'][^\"'\\\n]{{1,80}}\\*[\"'],\s{{0,20}}\\*[\"']\Z"
)
_BEFORE_CHARS = 140


def find_in_sections(searched: SearchedText) -> list[Secret]:
    """Find the passwords and keys in sections, and the keys beside their users."""
    text = searched.text
    found = [*_keys_of_users(text)]
    folded = searched.folded
    if not any(beginning in folded for beginning in _BEGINNINGS.possible_in(searched)):
        return found
    for head in _HEAD.finditer(text):
        found += _in_lines(text, head)
    for section in _OBJECT.finditer(text):
        for field in _FIELD.finditer(text, *section.span("fields")):
            is_of_hosts = section["hosts"] is not None
            if section["keys"] or is_of_hosts:
                is_secret = _is_key(field["key"], field["secret"], is_of_hosts=is_of_hosts)
            else:
                is_secret = _is_secret(field["key"], field["secret"], may_be_word=True)
            if is_secret:
                found.append(Secret(*field.span("secret"), "password in a section"))
    return found


def _keys_of_users(text: str) -> Iterator[Secret]:
    """Yield the keys that are right beside the names of their users."""
    for beginning in _KEYS_OF_USERS:
        for key in begun_by(_VALUE_OF_KEY, text, beginning):
            start = key.start()
            has_user = key["user"] or _USER_BEFORE.search(text, max(0, start - _BEFORE_CHARS), start)
            if has_user and text[start - 1 : start] in "\"'" and _is_key("", key["secret"], is_of_hosts=False):
                yield Secret.of(key, "key by its name")


def _in_lines(text: str, head: re.Match[str]) -> Iterator[Secret]:
    """Yield the secrets in the lines below the head of a section."""
    at = head.end()
    has_keys = head["keys"] is not None or head["section"] is not None
    for _ in range(_MOST_LINES):
        row = _ROW.match(text, at) or _PASSED_OVER.match(text, at)
        if row is None:
            return
        at = row.end()
        if row.re is not _ROW:
            continue
        if has_keys:
            is_secret = _is_key(row["key"], row["secret"], is_of_hosts=False)
        else:
            is_secret = _is_secret(row["key"], row["secret"], may_be_word=head["words"] is not None)
        if is_secret:
            yield Secret(*row.span("secret"), "password in a section")


def names_section(key: str) -> bool:
    """Return whether a key of a JSON object names a section of passwords or keys."""
    return _SECTION_OF_PASSWORDS.fullmatch(key) is not None or _SECTION_OF_KEYS.fullmatch(key) is not None


def is_in_section(section: str, key: str, value: str) -> bool:
    """Return whether a value of a JSON object is a password or a key, given the object's name and the value's key."""
    if " " in value or len(value) < 4:
        return False
    of_keys = _SECTION_OF_KEYS.fullmatch(section)
    if of_keys is not None:
        return _is_key(key, value, is_of_hosts=of_keys["hosts"] is not None)
    return _is_secret(key, value, may_be_word=True)


def is_key_of_user(key: str, item: Any, fields: dict[str, Any]) -> bool:
    """Return whether a text under `key` is the key of the user whose name another field of the object has."""
    if key != "key" or not isinstance(item, str) or " " in item:
        return False
    return any(isinstance(fields.get(name), str) for name in _USER_NAMES) and _is_key(key, item, is_of_hosts=False)


def _is_key(key: str, value: str, *, is_of_hosts: bool) -> bool:
    """Return whether a value in a section of keys looks like a key."""
    if is_placeholder(value) or is_template(value) or is_example(value) or not looks_random(value, least=_LEAST_KEY):
        return False
    if ":" in value or is_code_or_path(value):
        return False
    return not is_of_hosts or "." in key or is_made(value)


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
