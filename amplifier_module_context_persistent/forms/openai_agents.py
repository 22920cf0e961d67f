"""Items of the OpenAI Agents SDK's sessions: items of OpenAI's Responses that are given back unchanged.

Adjacent items of an answer in one batch become one message, as in `openai_responses`. If that form would write an item
differently, the item is stored with its whole body (`whole_body`). If that form refuses an item, the item is stored for
people only and still given back.

Source: `TResponseInputItem` in the SDK's `items.py` (0.24).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..errors import RecordError
from ..messages.message import Message
from . import openai_responses
from .canonical import mapping
from .openai_responses import kind_of
from .whole_body import bodies_in, can_be_stored, for_people, with_body

NAME = openai_responses.NAME
Item = dict[str, Any]


def read_items(items: Sequence[Item]) -> list[Message]:
    """Read a batch of items, given as plain JSON, and return canonical messages."""
    messages: list[Message] = []
    for of_answer, found in groupby(items, openai_responses.is_of_answer):
        run = list(found)
        if of_answer:
            messages += _read(run)
            continue
        for item in run:
            messages += _read([item])
    return messages


def items_in(messages: Iterable[Message]) -> list[Item]:
    """Return the items of a history in the form in which they were added."""
    items: list[Item] = []
    for group, body in bodies_in(messages, NAME):
        items += body if isinstance(body, list) else _written(group)
    return items


def key_of(item: Mapping[str, Any]) -> str:
    """Return the text by which an item is recognised: its call id, else its id, else its content."""
    kind = kind_of(item)
    call_id = item.get("call_id")
    if isinstance(call_id, str):
        return f"{kind} {call_id}"
    identity = item.get("id") or json.dumps([item.get("role"), item.get("content")], sort_keys=True, default=str)
    return f"{kind} {identity}"


def _read(group: list[Item]) -> list[Message]:
    """Read the items of one message.

    Items that cannot be written back unchanged are also kept in the message's mark.
    """
    items = [{key: value for key, value in item.items() if key != "metadata"} for item in group]
    try:
        messages = openai_responses.read(items)
    except (RecordError, AttributeError, TypeError, ValueError):
        messages = []
    if not can_be_stored(messages):
        kind = kind_of(group[0]) or "item"
        return with_body([for_people(f"[{kind}]")], group, NAME)
    if _written(messages) != group:
        return with_body(messages, group, NAME)
    return messages


def _written(messages: Sequence[Message]) -> list[Item]:
    return [dict(mapping(item)) for item in openai_responses.write(messages, exact=True)]
