"""Replacing keys of known services in a message before it is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...log.record_line import Message
from ..message import parsed
from ..replace_in_message import NAMES, redact_message
from .find_secrets import search_forms
from .formats import LEAST_CHARS
from .redact import replaced

_IN_ARGUMENTS = re.compile(r"(?:^|\.)(?:arguments|input)[.\[]")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{4096,}={0,2}")
"""An image or another medium in base64, which has no key of a known form."""


class KnownKey(NamedTuple):
    """A key that was found in a message: its field, such as `content[0].text`, and its kind, such as `GitHub token`."""

    field: str
    kind: str
    is_kept: bool = False
    """Whether the key stays in the message, because it is in an id or a name, by which results are matched with calls.
    """


def redact_known_keys(message: Message) -> tuple[Message, list[KnownKey]]:
    """Replace the keys of known services in a message. Keys in ids, names and roles stay.

    Returns:
        The message with the keys replaced, and the keys that were found.
    """
    kinds: dict[str, list[str]] = {}  # of the replaced keys, by the text that has them

    def replace(text: str) -> str:
        if _ENCODED.fullmatch(text):
            return text
        kinds_in_text: list[str] = []
        clean = replaced(text, search_forms, kinds_in_text.append)
        if kinds_in_text:
            kinds[text] = kinds_in_text
        return clean

    clean = redact_message(message, replace)
    found = list[KnownKey]()
    for field, text in _texts(message, ""):
        found += [KnownKey(field, kind) for kind in kinds.get(text, ())]
    found += _kept(message)
    return (clean if kinds else message), found


def _kept(message: Message) -> list[KnownKey]:
    """Return the keys of services in ids and names, which stay.

    Metadata are not searched, because the session writes them.
    """
    without_metadata = {key: value for key, value in message.items() if key != "metadata"}
    known_keys = list[KnownKey]()
    for field, text in _texts(without_metadata, ""):
        is_name = field.rpartition(".")[2] in NAMES and not _IN_ARGUMENTS.search(field)
        if is_name and len(text) >= LEAST_CHARS:
            known_keys += [KnownKey(field, secret.kind, is_kept=True) for secret in search_forms(text)]
    return known_keys


def _arguments(text: str) -> Any:
    """Return the parsed arguments of a call; the text itself if the text is not JSON."""
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
            inner_field = f"{field}.{key}" if field else key
            may_be_json = key in ("arguments", "input") and isinstance(item, str)
            yield from _texts(_arguments(item) if may_be_json else item, inner_field)
