"""Replace texts in the content of a message, never in its ids, names and types.

Ids, roles, types, tool names and times stay, so that calls and results still match. In a tool call's arguments (under
any key `arguments` or `input`) everything is replaced. A number is replaced as the text that JSON writes for it;
numbers of our own metadata, and those that say where something is, such as the places of citations, stay. A thinking
block that would change is left out, because providers refuse thinking whose signature does not fit its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..log.record_line import Message
from .message import THINKING_BLOCKS, is_block, strings_in
from .metadata import BOUND_KEY, FORM_KEY, LINE_KEY, OFFLOAD_KEY, PLACE_KEY
from .secrets.json_text import in_json

REPLACEMENT = "[redacted]"

Replace = Callable[[str], str]
"""Returns a text with everything replaced that has to be removed."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a redaction replaces: matches within a text, and values that only their key names, such as a password."""

    in_text: Replace
    in_value: Callable[[Any], Any]
    """Returns a JSON value with everything replaced that has to be removed."""
    note: Callable[[Any], None] = lambda _: None
    """Called with each JSON value from which `in_value` removes something in a message."""

    def __call__(self, text: str) -> str:
        """Return a text with everything replaced that has to be removed."""
        return self.in_text(text)


_IDS = frozenset({"id", "message_id", "tool_call_id", "tool_use_id", "call_id", PLACE_KEY})
NAMES = _IDS | {"role", "type", "name", "tool", "timestamp", "signature", "_record"}
"""Keys of a message whose values are ids, names or types."""
_PLAIN_NAME = re.compile(r"[A-Za-z_:.]+")  # a key of a record; one with digits or dashes may itself have to be replaced
_ARGUMENTS = frozenset({"arguments", "input"})
"""Keys under which everything is replaced, wherever they are: they have the arguments of calls."""
_OWN_METADATA = frozenset({BOUND_KEY, FORM_KEY, LINE_KEY, OFFLOAD_KEY, "usage"})
_PLACES = frozenset(
    (
        *("index", "start_index", "end_index", "start_char_index", "end_char_index", "start_block_index"),
        *("end_block_index", "start_page_number", "end_page_number", "document_index", "search_result_index"),
        *("output_index", "content_index", "sequence_number", "width", "height"),
    )
)
"""Keys of blocks whose numbers say where something is. Providers refuse a text there."""


class _Numbers(Enum):
    """Which numbers are replaced, as the texts that JSON writes for them."""

    NONE = 0
    IN_ARGUMENTS = 1
    ALL = 2


_EMPTY = {"type": "text", "text": REPLACEMENT}


def redact_message(message: Message, replace: Replace) -> Message:
    """Return a message with every match in its strings and numbers replaced; an equal message if there is no match."""
    if isinstance(replace, Replacement):
        message = _with_named_replaced(message, replace.in_value(message), replace)
    redacted: Message = {}
    for key, value in message.items():
        if key == "thinking_block":
            if replace_in(value, replace, NAMES) == value:
                redacted[key] = value
        else:
            redacted[key] = value if key in NAMES else _replace_under(key, value, replace, NAMES, _Numbers.ALL)
    return redacted


def _with_named_replaced(value: Any, changed: Any, replace: Replacement, *, numbers: bool = True) -> Any:
    """Return a JSON value with the values replaced that are named by keys alone; other texts, ids and names stay.

    Args:
        value: a message, or a part of it.
        changed: the same value as `in_value` returned it within the message, because keys around it may name it.
        replace: replaces the values.
        numbers: whether numbers are replaced too.
    """
    if is_block(value, THINKING_BLOCKS) or (_is_number(value) and not numbers):
        return value
    if isinstance(value, list) and isinstance(changed, list):
        pairs = zip(value, changed, strict=True)
        return [_with_named_replaced(item, new, replace, numbers=numbers) for item, new in pairs]
    if isinstance(value, dict) and isinstance(changed, dict):
        items = list(changed.values())
        if len(items) != len(value):  # two keys with secrets became equal
            items = [next(iter(replace.in_value({key: item}).values())) for key, item in value.items()]
        result: dict[str, Any] = {}
        for (key, item), new in zip(value.items(), items, strict=True):
            if key in NAMES:
                result[key] = item
            elif key in _ARGUMENTS and numbers:
                result[key] = _arguments_replaced(item, new, replace)
            else:
                keeps_numbers = key in _OWN_METADATA or key in _PLACES
                result[key] = _with_named_replaced(item, new, replace, numbers=numbers and not keeps_numbers)
        return result
    is_text = isinstance(value, str) and changed != REPLACEMENT  # `Replacement.in_text` replaces what is within it
    if is_text or changed == value:
        return value
    replace.note(value)
    return changed


def _arguments_replaced(value: Any, changed: Any, replace: Replacement) -> Any:
    """Return the arguments of a call, which may be JSON text, with everything replaced; `changed` as above."""

    def noted_and_replaced(inner: Any) -> Any:
        replace.note(inner)
        return replace.in_value(inner)

    if isinstance(value, str) and changed != REPLACEMENT:
        return in_json(value, noted_and_replaced)
    replace.note(value)
    return changed


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
                yield from map(json.dumps, _numbers_in(item))
            elif key not in _ARGUMENTS:
                yield from _names_in(item, names)


def _numbers_in(value: Any) -> Iterator[float]:
    """Yield the numbers in a JSON value."""
    if _is_number(value):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers_in(item)


def _replace_under(key: str, value: Any, replace: Replace, names: frozenset[str], numbers: _Numbers) -> Any:
    """Return the value under a key of a message or block, with its strings replaced; ids and names unchanged."""
    if key in names:
        return value
    if key in _OWN_METADATA or key in _PLACES:
        numbers = _Numbers.NONE
    if key in _ARGUMENTS and numbers is not _Numbers.NONE:
        if isinstance(value, str):
            return in_json(value, lambda inner: _replace_everywhere(inner, replace))
        return _replace_everywhere(value, replace)
    if key == "content" and isinstance(value, list):
        staying_blocks = [block for block in value if not _is_changed_thinking(block, replace)]
        blocks = [_replace_in(block, replace, names, numbers) for block in staying_blocks]
        if value and not blocks:  # a message needs content
            blocks = [dict(_EMPTY)]
        return blocks
    return _replace_in(value, replace, names, numbers)


def _replace_everywhere(value: Any, replace: Replace) -> Any:
    """Return a JSON value in which `replace` was applied to every string, number and key."""
    if isinstance(value, str):
        return replace(value)
    if _is_number(value):
        return _replace_number(value, replace)
    if isinstance(value, list):
        return [_replace_everywhere(item, replace) for item in value]
    if isinstance(value, dict):
        return {replace(key): _replace_everywhere(item, replace) for key, item in value.items()}
    return value


def replace_in(value: Any, replace: Replace, names: frozenset[str]) -> Any:
    """Return a JSON value with all its strings replaced, except those under the keys in `names`.

    Keys of objects are replaced too, except keys that look like a plain identifier (`_PLAIN_NAME`). Under any key
    `arguments` or `input`, which have the arguments of calls, every key, string and number is replaced, whatever
    `names` says. Other numbers stay.

    Args:
        value: the JSON value.
        replace: returns a text with everything replaced that has to be removed.
        names: keys whose values stay.
    """
    return _replace_in(value, replace, names, _Numbers.IN_ARGUMENTS)


def _replace_in(value: Any, replace: Replace, names: frozenset[str], numbers: _Numbers) -> Any:
    if isinstance(value, str):
        return replace(value)
    if numbers is _Numbers.ALL and _is_number(value):
        return _replace_number(value, replace)
    if isinstance(value, list):
        return [_replace_in(item, replace, names, numbers) for item in value]
    if isinstance(value, dict):
        replaced: dict[str, Any] = {}
        for key, item in value.items():
            new_key = key if _PLAIN_NAME.fullmatch(key) else replace(key)
            replaced[new_key] = _replace_under(key, item, replace, names, numbers)
        return replaced
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _replace_number(value: float, replace: Replace) -> Any:
    """Return a number, or the text that has to stand in its place."""
    text = json.dumps(value)
    replaced = replace(text)
    return value if replaced == text else replaced


def _is_changed_thinking(block: Any, replace: Replace) -> bool:
    """Return whether a block is thinking that would change, so that its signature no longer fits."""
    return is_block(block, THINKING_BLOCKS) and replace_in(block, replace, NAMES) != block
