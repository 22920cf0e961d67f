"""Replacing keys of known services in a message before it is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...log.record_line import Message
from ..message import parsed
from ..replace_in_message import NAMES, redact_message
from .formats import LEAST_CHARS
from .redact import replaced
from .search import search_forms

_IN_ARGUMENTS = re.compile(r"(?:^|\.)(?:arguments|input)[.\[]")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{4096,}={0,2}")
"""An image or another medium in base64, which has no key of a known form."""


class KnownKey(NamedTuple):
    """A key that was found in a message: its field, such as `content[0].text`, and its kind, such as `GitHub token`."""

    field: str
    kind: str
    is_kept: bool = False
    """Whether the key stays in the message, because it is in an id or a name: these match results with calls."""


def redact_known_keys(message: Message) -> tuple[Message, list[KnownKey]]:
    """Replace the keys of known services in a message; those in ids, names and roles stay.

    Returns:
        (message with the keys replaced, keys that were found)
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
    found = [KnownKey(field, kind) for field, text in _texts(message, "") for kind in kinds.get(text, ())]
    return (clean if kinds else message), [*found, *_kept(message)]


def _kept(message: Message) -> list[KnownKey]:
    """Return the keys in ids and names, which stay; metadata is not searched, because the session writes it."""
    said = {key: value for key, value in message.items() if key != "metadata"}
    return [
        KnownKey(field, one.kind, is_kept=True)
        for field, text in _texts(said, "")
        if len(text) >= LEAST_CHARS and field.rpartition(".")[2] in NAMES and not _IN_ARGUMENTS.search(field)
        for one in search_forms(text)
    ]


def _arguments(text: str) -> Any:
    """Return the parsed arguments of a call; the text itself if it is not JSON."""
    try:
        return parsed(text)
    except ValueError:
        return text


def _texts(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a JSON value with their fields; the field of a key is `*`."""
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
