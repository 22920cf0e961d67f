"""Redacting secrets in text and in JSON values: secrets are replaced, everything else stays.

A secret is recognised in one of four ways:
- by its form: the table `TOKENS` in `formats`;
- by its place: passwords in URLs, cookies, `curl -u`, netrc, webhooks and other fixed forms (`PLACES`);
- by its name: a value beside a name of the table in `names`, in an assignment, a flag, a header or a query. A value
  that is a call, a variable, a path or a placeholder is code and stays;
- by a person's own expressions and values (`OwnForms`).

In a JSON value, everything under a sensitive key of amplifier-core is replaced, and every text under another sensitive
key. Replaced secrets are reported by kind and place, never by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from hashlib import sha256
from typing import Any

from .evident_values import is_evident
from .find_secrets import search
from .foreign_names import is_label, is_named_in_another_language, name_in_another_language
from .found import REDACTED, Secret, merged
from .json_text import in_json
from .labels import VALUE_KEY
from .names import Likelihood, is_faint, is_placeholder, likelihood_of, names_code, names_number
from .own_forms import OwnForms
from .payment_cards import is_card_field
from .readable import colours_in, readings
from .recovery_codes import names_recovery_codes
from .secret_values import is_permission
from .sections import is_in_section, is_key_of_user, names_section

Found = Callable[[str, str], None]
"""Called with the kind and the field of each secret that is replaced."""


_SHORT_CHARS = 300
_SHORT_TEXTS = 2_048
"""The number of short texts that are remembered with their secrets."""
_LONG_TEXTS = 8_192
_FOUND_IN_LONG: dict[bytes, Sequence[Secret]] = {}
"""The places of secrets in long texts, by the texts' hashes, so that memory is used for the places only."""
_KEYS_KNOWN = 4_096
_MOST_KEY_CHARS = 80
_LEAST_CARD_NUMBER = 10**12
_VARIABLE = re.compile(r"%[A-Za-z_]\w{1,60}%")
"""A variable of Windows, whose first letters may look like an encoded byte: `%DB_PASSWORD%`."""
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w-]{0,40}")


def redact_text(text: str, found: Callable[[str], None] | None = None, own: OwnForms | None = None) -> str:
    """Return a text with its secrets replaced.

    The text is searched twice: unchanged, and with encoded characters decoded (`readable`). Only the characters of a
    secret are replaced; colour sequences between them stay.

    Args:
        text: any text.
        found: called with the kind of each secret.
        own: a person's further expressions and values to replace.
    """
    return _with_replaced(text, find_secrets(text, own), found or _ignore)


def replaced(text: str, look: Callable[[str], list[Secret]], found: Callable[[str], None]) -> str:
    """Return a text with the secrets that a search finds replaced.

    The text is searched unchanged and with its encoded characters decoded (`readable`).

    Args:
        text: any text.
        look: the search; it returns the secrets of a text.
        found: called with the kind of each secret.
    """
    return _with_replaced(text, _found_by(look, text), found)


def _with_replaced(text: str, secrets: Sequence[Secret], report: Callable[[str], None]) -> str:
    if not secrets:
        return text
    pieces: list[str] = []
    done = 0
    for start, end, kind in secrets:
        report(kind)
        pieces += [text[done:start], REDACTED, colours_in(text[start:end])]
        done = end
    pieces.append(text[done:])
    return "".join(pieces)


def find_secrets(text: str, own: OwnForms | None = None) -> Sequence[Secret]:
    """Return the secrets in a text, in order."""
    if own is not None:
        return _found_by(partial(search, own=own), text)
    if len(text) <= _SHORT_CHARS:
        return _in_short_text(text)
    return _in_long_text(text)


@lru_cache(_SHORT_TEXTS)
def _in_short_text(text: str) -> Sequence[Secret]:
    """Return the secrets in a short text; cached, because sessions repeat paths, commands and types."""
    return _found_by(search, text)


def _in_long_text(text: str) -> Sequence[Secret]:
    """Return the secrets in a long text.

    The result is cached, because sessions repeat such texts, as in files read again.
    """
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    found = _FOUND_IN_LONG.get(digest)
    if found is None:
        if len(_FOUND_IN_LONG) >= _LONG_TEXTS:
            _FOUND_IN_LONG.clear()
        found = _FOUND_IN_LONG[digest] = _found_by(search, text)
    return found


def _found_by(look: Callable[[str], list[Secret]], text: str) -> Sequence[Secret]:
    found = look(text)
    for reading in readings(text):
        for secret in look(reading.text):
            start, end = reading.original(secret.start, secret.end)
            if not _VARIABLE.fullmatch(text, start, end):
                found.append(Secret(start, end, secret.kind))
    return merged(found)


def redact_value(value: Any, found: Found | None = None, field: str = "", own: OwnForms | None = None) -> Any:
    """Return a JSON value with secrets replaced: values under sensitive keys, and secrets in every other string.

    Args:
        value: a JSON value.
        found: called with the kind and the field of each secret, such as `content[0].text`.
        field: the field that has the value.
        own: a person's further expressions and values to replace.
    """
    report = found or _ignore
    if isinstance(value, str):
        return redact_text(value, partial(_tell, report, field), own)
    if isinstance(value, list):
        return [redact_value(item, report, f"{field}[{number}]", own) for number, item in enumerate(value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _redact_number(value, partial(_tell, report, field), own)
    if not isinstance(value, dict):
        return value
    redacted: dict[str, Any] = {}
    for key, item in value.items():
        shown_key = "*"
        is_clean = False
        if own is None and len(key) <= _MOST_KEY_CHARS:
            shown_key, is_clean = _seen_key(key)
        inside = f"{field}.{shown_key}" if field else shown_key
        if key.lower() in _core_keys() or _is_named(key, item) or is_key_of_user(key, item, value):
            if item != REDACTED:
                report("value of a sensitive key", inside)
            redacted[key] = REDACTED
        elif isinstance(item, list) and names_recovery_codes(key):
            report("recovery code", inside)
            redacted[key] = [REDACTED if isinstance(code, str) else code for code in item]
        elif key == "arguments" and isinstance(item, str):
            redacted[key] = in_json(item, partial(redact_value, found=report, field=inside, own=own))
        elif isinstance(item, dict) and likelihood_of(key) is Likelihood.STRONG:
            redacted[key] = _with_values_redacted(item, report, inside, own)
        elif isinstance(item, dict) and names_section(key):
            redacted[key] = _with_section_redacted(key, item, report, inside, own)
        else:
            new_key = key if is_clean else redact_text(key, partial(_tell, report, inside), own)
            redacted[new_key] = redact_value(item, report, inside, own)
    return redacted


def _redact_number(value: float, found: Callable[[str], None], own: OwnForms | None) -> Any:
    """Return a number, or the mark in its place if it is a person's own value or the number of a card."""
    if own is None and abs(value) < _LEAST_CARD_NUMBER:
        return value
    text = json.dumps(value)
    return value if redact_text(text, found, own) == text else REDACTED


def _with_values_redacted(value: dict[str, Any], report: Found, field: str, own: OwnForms | None) -> dict[str, Any]:
    """Return an object whose key names a secret, with its value replaced: `{"type": "string", "value": …}`."""
    redacted: dict[str, Any] = redact_value(value, report, field, own)
    for key, item in value.items():
        if VALUE_KEY.fullmatch(key) and isinstance(item, str) and item.strip() and not is_placeholder(item):
            if redacted.get(key) != REDACTED:
                report("value of a sensitive key", f"{field}.{key}")
            redacted[key] = REDACTED
    return redacted


def _with_section_redacted(
    section: str, value: dict[str, Any], report: Found, field: str, own: OwnForms | None
) -> dict[str, Any]:
    """Return an object with a password for each user, with the passwords replaced: `"passwords": {"robin": …}`."""
    redacted: dict[str, Any] = redact_value(value, report, field, own)
    for key, item in value.items():
        if isinstance(item, str) and is_in_section(section, key, item):
            if redacted.get(key) != REDACTED:
                report("password in a section", f"{field}.{key}")
            redacted[key] = REDACTED
    return redacted


@cache
def _core_keys() -> frozenset[str]:
    """Return the keys whose values amplifier-core always redacts; imported at first use, because the import is slow."""
    from amplifier_core.utils import SENSITIVE_KEYS

    return frozenset(SENSITIVE_KEYS)


def _is_named(key: str, item: Any) -> bool:
    """Return whether a text is a secret because of its key alone; types and templates are not."""
    if isinstance(item, int) and not isinstance(item, bool):
        return is_card_field(key, str(item)) or names_number(key, str(item))
    if not isinstance(item, str):
        return False
    if names_code(key, item):
        return True
    is_strong = likelihood_of(key) is Likelihood.STRONG
    if is_card_field(key, item):
        return True
    if is_permission(key, item):
        return False
    if likelihood_of(key) is Likelihood.NONE and is_faint(key):
        return is_evident(item, key)
    if not (is_strong or name_in_another_language(key)) or not item.strip() or is_placeholder(item):
        return False
    if is_label(item, key):
        return False
    if is_strong:
        return " " not in item.strip() or len(item) < 16
    return is_named_in_another_language(key, item)


@lru_cache(_KEYS_KNOWN)
def _seen_key(key: str) -> tuple[str, bool]:
    """Return a key as a field's name shows it (`*` if it is not a plain name), and whether the key has no secret."""
    is_clean = redact_text(key) == key
    is_shown = is_clean and _PLAIN_NAME.fullmatch(key) is not None
    return key if is_shown else "*", is_clean


def _tell(report: Found, field: str, kind: str) -> None:
    report(kind, field)


def _ignore(*_: str) -> None:
    pass
