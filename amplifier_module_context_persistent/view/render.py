"""Rendering a view: the messages of an arrangement, made from the stored messages and the plan alone.

A message that is shown unchanged is the parsed object; every other message is a new object. Nothing here counts
tokens or decides what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..messages.elide import Cut, elide_message
from ..messages.kept_from_models import for_model
from ..messages.late_output_text import told_late
from ..messages.media_blocks import without_media
from ..messages.message import Message, without_thinking
from ..messages.narration import with_narration
from ..messages.normalize import normalise
from ..messages.system_reminder import as_reminder
from .arrangement import Arrangement, Fetch, Item, same_items
from .entry import Entry
from .recipients import CHAIN_NAMES, REPEATS
from .unbound_messages import without_bonds, without_names
from .wire_rules import sendable


def common_length(old: Sequence[Item], new: Sequence[Item]) -> int:
    """Count the equal items at the start of two views. Most are identical objects, which are fast to compare."""
    length = same_items(old, new)
    for old_item, new_item in zip(old[length:], new[length:], strict=False):
        if old_item != new_item:
            break
        length += 1
    return length


def render(
    arrangement: Arrangement, fetch: Fetch, *, head: Sequence[Message] = (), boundary: str = "line"
) -> list[Message]:
    """Write the messages of a view.

    Args:
        arrangement: what to write.
        fetch: parses the messages of entries, in order, as new objects; the caller of `render` may change them.
        head: system text at the start of the view.
        boundary: where texts may be cut, as in `elide_text`.
    """
    messages = iter(fetch([item.entry for item in arrangement.items if item.entry is not None]))
    view = copied(head)
    for item in arrangement.items:
        if item.as_stored:
            view.append(next(messages))
        elif item.entry is None:
            view.append(_copied(item.inserted or {}))
        else:
            view.append(_render_item(item, item.entry, next(messages), boundary))
    return view


def copied(messages: Sequence[Message]) -> list[Message]:
    """Return deep copies of messages."""
    return list(map(_copied, messages))


def _copied(value: Any) -> Any:
    """Return a deep copy of a JSON value. `copy.deepcopy` takes three times as long."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def shorten(entry: Entry, message: Message, cut: Cut | None, boundary: str = "line") -> Message:
    """Give a stored message the form of a view: accepted by providers, cut, and without the media that are left out.

    Late system text becomes a reminder. An offloaded result is always cut at the ends of lines, whatever `boundary`
    says, so that its bytes depend on its record alone.
    """
    if not entry.form.plain:
        message = normalise(message) or message
    if entry.form.for_readers:
        message = for_model(message) or message
    offload = entry.form.offload
    if offload is not None and (cut is None or replace(cut, then="") == offload):
        cut = cut or offload
        boundary = "line"
    if cut is not None:
        message = elide_message(message, cut, reference=entry.origin.refers_to or entry.id, boundary=boundary)
    if entry.changes.omits:
        message = without_media(message, entry.changes.omits, entry.media_reference)
    if entry.changes.told_of is not None:
        message = told_late(message, entry.changes.told_of)
    return as_reminder(message) if entry.origin.late else message


def _render_item(item: Item, entry: Entry, message: Message, boundary: str) -> Message:
    message = shorten(entry, message, item.cut, boundary)
    if item.cut is not None or item.call_ids:
        message = without_names(message, REPEATS)
    if item.silent or item.bare == "all":
        narration = item.narration(message)
        if narration:
            message = with_narration(message, narration)
    if item.silent:
        message = without_thinking(message)
    if item.bare:
        message = without_bonds(message, keep_text=item.bare == "text")
    elif entry.changes.chain_ends:
        message = without_names(message, CHAIN_NAMES)
    if item.call_ids:
        new_ids = {call.id: new for call, new in zip(entry.calls, item.call_ids, strict=True)}
        message = _rename_calls(message, new_ids)
    if item.result is not None:
        message = _with_answered_call(message, *item.result)
    if item.wire is None:
        return message
    if message.get("metadata"):
        message = without_names(message, REPEATS)
    return sendable(message, *item.wire)


def _with_answered_call(message: Message, call_id: str, name: str) -> Message:
    """Return a result with the id and the tool name of the call that it answers.

    A result that names a tool keeps this name.
    """
    own_name = message.get("name")
    if message.get("tool_call_id") == call_id and own_name:
        return message
    return _rename_results({**message, "tool_call_id": call_id, "name": own_name or name}, call_id)


def _rename_calls(message: Message, new_ids: Mapping[str, str]) -> Message:
    """Return a copy of a message with new ids for its calls. `new_ids` has the new ids by the stored ids."""
    changed = dict(message)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        changed["tool_calls"] = [_with_new_id(call, new_ids) for call in calls]
    content = message.get("content")
    if isinstance(content, list):
        blocks = list(content)
        for position, block in enumerate(blocks):
            if block["type"] == "tool_call":
                blocks[position] = _with_new_id(block, new_ids)
        changed["content"] = blocks
    return changed


def _with_new_id(call: Message, new_ids: Mapping[str, str]) -> Message:
    return {**call, "id": new_ids.get(call["id"], call["id"])}


def _rename_results(message: Message, call_id: str) -> Message:
    """Return a message whose result blocks answer another call id; the message itself if it has no such block."""
    content = message.get("content")
    if not isinstance(content, list) or not any(block.get("type") == "tool_result" for block in content):
        return message
    blocks = list(content)
    for position, block in enumerate(blocks):
        if block.get("type") == "tool_result":
            blocks[position] = {**block, "tool_call_id": call_id}
    return {**message, "content": blocks}
