"""Replacing keys of known services in a message that is about to be stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...log.record_line import Message
from ..message import parsed
from ..replace_in_message import redact_message
from .redact import replaced
from .search import search_forms

_ENCODED = re.compile(r"[A-Za-z0-9+/]{4096,}={0,2}")
"""A picture or another medium in base64; no key has a form in it."""


def redact_known_keys(message: Message) -> tuple[Message, list[tuple[str, str]]]:
    """Replace the keys of known services in a message; ids, names and roles stay.

    Returns:
        the message, and what was replaced: field and kind of each, as `content[0].text` and `GitHub token`.
    """
    kinds: dict[str, list[str]] = {}

    def replace(text: str) -> str:
        if _ENCODED.fullmatch(text):
            return text
        found: list[str] = []
        clean = replaced(text, search_forms, found.append)
        if found:
            kinds[text] = found
        return clean

    clean = redact_message(message, replace)
    if not kinds:
        return message, []
    found = [(field, kind) for field, text in _texts(message, "") for kind in kinds.get(text, ())]
    return clean, found


def _arguments(text: str) -> Any:
    """Read the arguments of a call; the text itself if they are no JSON."""
    try:
        return parsed(text)
    except ValueError:
        return text


def _texts(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Give the texts of a JSON value with their fields; keys are texts of the field `*`."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, f"{field}[{number}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield "*", key
            inner = _arguments(item) if key in ("arguments", "input") and isinstance(item, str) else item
            yield from _texts(inner, f"{field}.{key}" if field else key)
