"""Redact text in control records, which are the log's records that are not messages.

`messages.replace_in_message` redacts messages.
"""

from __future__ import annotations

from typing import Any

from ...log.record_kinds import kind_of
from ...log.record_line import Message, name_of
from ...messages.replace_in_message import NAMES, Replace, replace_in

_CONTROL_NAMES = NAMES | {"time"}
_NO_NAMES = frozenset({""})  # plain keys stay, and all values are texts


def redact_control(record: Message, replace: Replace) -> Message:
    """Return a control record, such as a plan, with every match replaced except in names."""
    kind = kind_of(name_of(record.get("_record")))
    names = _CONTROL_NAMES | kind.names
    redacted = {}
    for key, value in record.items():
        redacted[key] = value if key in names else replace_in(value, replace, NAMES)
    for key, places in kind.named_places.items():
        value = record.get(key)
        if isinstance(value, list):
            pairs = zip(value, redacted[key], strict=True)
            redacted[key] = [_with_names(item, redacted_item, places) for item, redacted_item in pairs]
    for key in kind.keyed_by_id:
        value = record.get(key)
        if isinstance(value, dict):
            redacted[key] = {one_id: replace_in(item, replace, NAMES) for one_id, item in value.items()}
    for key in kind.foreign & record.keys():
        redacted[key] = replace_in(record[key], replace, _NO_NAMES)
    for key, inner_names in kind.names_inside.items():
        value = record.get(key)
        if isinstance(value, dict):
            redacted[key] |= {name: value[name] for name in inner_names if name in value}
    return redacted


def without_title(header: Message) -> Message:
    """Return a header without the imported session's title, which may contain words of the messages."""
    source = header.get("source")
    if not isinstance(source, dict) or "title" not in source:
        return header
    return {**header, "source": {key: value for key, value in source.items() if key != "title"}}


def _with_names(before: Any, after: Any, places: frozenset[int]) -> Any:
    """Return a redacted list with the original names at the given places."""
    if not isinstance(before, list):
        return after
    return [old if place in places else new for place, (old, new) in enumerate(zip(before, after, strict=True))]
