"""Replace texts in the content of a message, never in its ids, names and types.

Ids, roles, types, tool names and times stay, so that calls and results still match. In a tool call's arguments
everything is replaced. A thinking block that would change is left out, because providers refuse thinking whose
signature does not fit its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..log.record_line import Message
from .message import THINKING_BLOCKS, is_block, strings_in
from .metadata import PLACE_KEY
from .secrets.json_text import in_json

REPLACEMENT = "[redacted]"

Replace = Callable[[str], str]
"""Returns a text with everything replaced that has to be removed."""

_IDS = frozenset({"id", "message_id", "tool_call_id", "tool_use_id", "call_id", PLACE_KEY})
NAMES = _IDS | {"role", "type", "name", "tool", "timestamp", "signature", "_record"}
"""Keys of a message whose values are ids, names or types."""
_PLAIN_NAME = re.compile(r"[A-Za-z_:.]+")  # a key of a record; one with digits or dashes may itself have to be replaced
_ARGUMENTS = frozenset({"arguments", "input"})
_EMPTY = {"type": "text", "text": REPLACEMENT}


def redact_message(message: Message, replace: Replace) -> Message:
    """Return a message with every match in its strings replaced; an equal message if there is no match."""
    redacted: Message = {}
    for key, value in message.items():
        if key == "thinking_block":
            if replace_in(value, replace, NAMES) == value:
                redacted[key] = value
        else:
            redacted[key] = value if key in NAMES else _replace_under(key, value, replace, NAMES)
    return redacted


def holds_in_names(message: Message, replace: Replace) -> bool:
    """Return whether an id, a name or a key has a match, which `redact_message` does not replace."""
    return any(replace(name) != name for name in _names_in(message, NAMES, are_keys_kept=True))


def _names_in(value: Any, names: frozenset[str], *, are_keys_kept: bool = False) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _names_in(item, names)
    elif isinstance(value, dict):
        for key, item in value.items():
            if are_keys_kept or _PLAIN_NAME.fullmatch(key):
                yield key
            if key in names:
                yield from strings_in(item)
            elif key not in _ARGUMENTS:
                yield from _names_in(item, names)


def _replace_under(key: str, value: Any, replace: Replace, names: frozenset[str]) -> Any:
    """Return the value under a key of a message or block, with its strings replaced; ids and names unchanged."""
    if key in names:
        return value
    if key in _ARGUMENTS:
        if isinstance(value, str):
            return in_json(value, lambda inner: replace_everywhere(inner, replace))
        return replace_everywhere(value, replace)
    if key == "content" and isinstance(value, list):
        blocks = [replace_in(block, replace, names) for block in value if not _is_changed_thinking(block, replace)]
        if value and not blocks:  # a message needs content
            blocks = [dict(_EMPTY)]
        return blocks
    return replace_in(value, replace, names)


def replace_everywhere(value: Any, replace: Replace) -> Any:
    """Return a JSON value with all its strings replaced, and all its keys."""
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [replace_everywhere(item, replace) for item in value]
    if isinstance(value, dict):
        return {replace(key): replace_everywhere(item, replace) for key, item in value.items()}
    return value


def replace_in(value: Any, replace: Replace, names: frozenset[str]) -> Any:
    """Return a JSON value with all its strings replaced, except those under the keys in `names`.

    Keys of objects are replaced too, except keys that look like a plain identifier (`_PLAIN_NAME`).
    """
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [replace_in(item, replace, names) for item in value]
    if isinstance(value, dict):
        replaced: dict[str, Any] = {}
        for key, item in value.items():
            new_key = key if _PLAIN_NAME.fullmatch(key) else replace(key)
            replaced[new_key] = _replace_under(key, item, replace, names)
        return replaced
    return value


def _is_changed_thinking(block: Any, replace: Replace) -> bool:
    """Return whether a block is thinking that would change, so that its signature no longer fits."""
    return is_block(block, THINKING_BLOCKS) and replace_in(block, replace, NAMES) != block
