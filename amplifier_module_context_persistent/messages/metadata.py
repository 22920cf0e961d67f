"""Facts from a message's metadata and role: who wrote it, and how the engine treats it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .elide import Cut
from .kept_from_models import KEEPING_KEYS, keeps_from_models
from .message import Message, metadata_of, text_of
from .system_reminder import REMINDER_PREFIX

COMPACTION_SOURCE = "context-compaction"
LATE_RESULT_SOURCE = "late-result"
REPAIR_SOURCE = "context-repair"
MEMORY_FILE_SOURCE = "memory-file"
RECALL_TOOL = "recall"
OFFLOAD_KEY = "offload"
NO_RECALL_KEY = "offload_no_recall"
"""The key that is true beside `OFFLOAD_KEY` if the session that stored the result had no tool `recall`."""
REDACTED_KEY = "redacted"
"""The key for secrets that were replaced before storing: their number by kind."""
FORM_KEY = "form"
"""The key for the provider's form of a message and for the parts that a message has no place for.

`forms/canonical.py` describes its value.
"""
BOUND_KEY = "bound"
"""The key of an answer with reasoning for the hash of everything in its request (`view/bound_reasoning.py`)."""
LINE_KEY = "line_before"
"""The key for the last line of the view before the message (see `view.arrangement`)."""
PLACE_KEY = "placed_after"
"""The key under which a message of a host's repair has the id of the message that it follows (see `host_order`)."""
_RECALLED = re.compile(r"\[recall of (.+), characters \d+-\d+ of \d+\]")
TELLING_KEYS = KEEPING_KEYS | {"message_id", "timestamp", "ephemeral", FORM_KEY}
"""Keys that decide how a message is added: its id, its time, its form, and whether it is for this process only or for
people only.
"""


def offload_cut(message: Mapping[str, Any]) -> Cut | None:
    """Return the cut that a result's metadata stores; None for a result without a cut, and for other messages."""
    metadata = metadata_of(message)
    mark = metadata.get(OFFLOAD_KEY)
    no_recall = metadata.get(NO_RECALL_KEY) is True
    if message.get("role") not in ("tool", "function") or not isinstance(mark, list) or len(mark) != 2:
        return None
    head, tail = mark
    if type(head) is not int or type(tail) is not int or head < 0 or tail < 0:
        return None
    return Cut(head, tail, no_recall=no_recall)


def redacted_kinds(message: Mapping[str, Any]) -> str:
    """Return the kinds of secrets that were replaced before a message was stored, as one text; "" for none."""
    kinds = metadata_of(message).get(REDACTED_KEY)
    return ", ".join(map(str, kinds)) if isinstance(kinds, dict) else ""


def line_before(message: Mapping[str, Any]) -> str:
    """Return the `[continued]` line at the end of the view that a message answered; "" if that view had no line."""
    line = metadata_of(message).get(LINE_KEY)
    if isinstance(line, str) and line.strip():
        return line
    return ""


def is_human(message: Mapping[str, Any]) -> bool:
    """Return whether a person wrote the message: role `user`, no source, not ephemeral, not a hook's reminder."""
    if message.get("role") != "user":
        return False
    metadata = metadata_of(message)
    if metadata.get("source") or metadata.get("ephemeral"):
        return False
    return not text_of(message).lstrip().startswith(REMINDER_PREFIX)


def bound_to(message: Mapping[str, Any]) -> str:
    """Return the hash of the request that an answer belongs to; "" if the hash is unknown."""
    bound = metadata_of(message).get(BOUND_KEY)
    return bound if isinstance(bound, str) else ""


def without_bound(message: Message) -> Message:
    """Return the message without the hash of its request: an altered answer is no longer bound to that request."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict) or BOUND_KEY not in metadata:
        return message
    return {**message, "metadata": {key: value for key, value in metadata.items() if key != BOUND_KEY}}


def recalled_from(message: Mapping[str, Any]) -> str:
    """Return the id of the message that a page of `recall` shows; empty if the message is not such a page."""
    if message.get("role") != "tool" or message.get("name") not in (None, "", RECALL_TOOL):
        return ""
    match = _RECALLED.match(text_of(message))
    return match[1] if match else ""


def hook_of(metadata: Mapping[str, Any]) -> str:
    """Return the name of the hook that added a message; "" for other messages."""
    if metadata.get("source") != "hook":
        return ""
    return str(metadata.get("hook_name") or "unknown")


def is_repair(message: Mapping[str, Any]) -> bool:
    """Return whether a host's repair of interrupted tool calls inserted the message (`session/new_in_host_list.py`).

    Then the message's time is the time of the repair, not the time at which a tool ended.
    """
    return metadata_of(message).get("source") == REPAIR_SOURCE


def as_repair(message: Message) -> Message:
    """Return the message, marked as inserted by a host's repair."""
    return {**message, "metadata": {"source": REPAIR_SOURCE, **metadata_of(message)}}


def is_ephemeral(message: Mapping[str, Any]) -> bool:
    """Return whether the message is only for views of this process and is not stored."""
    metadata = metadata_of(message)
    return metadata.get("ephemeral") is True and metadata.get("persisted") is not True


def is_answer(message: Mapping[str, Any]) -> bool:
    """Return whether a message is a provider's answer, or a part of one."""
    if message.get("role") != "assistant":
        return False
    metadata = message.get("metadata")
    if not metadata or not (type(metadata) is dict or isinstance(metadata, Mapping)):
        return True
    return metadata.get("source") != "hook" and not keeps_from_models(metadata)


def given_id(message: Mapping[str, Any]) -> str | None:
    """Return the message id in the metadata; None if there is none."""
    message_id = metadata_of(message).get("message_id")
    if not isinstance(message_id, str):
        return None
    return message_id or None


def comes_from_a_log(message: Any) -> bool:
    """Return whether a message comes from a log, judged by its id.

    A message from a log may contain numbers that are not finite, because older versions stored them.
    """
    is_object = type(message) is dict or isinstance(message, Mapping)  # the first test is much faster
    return is_object and given_id(message) is not None
