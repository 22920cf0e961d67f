"""Facts from a message's metadata, role and first words: its writer, its time, and its meaning to the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .elide import Cut
from .message import Message, text_of
from .own_words import command_named, own_words

COMPACTION_SOURCE = "context-compaction"
LATE_RESULT_SOURCE = "late-result"
REPAIR_SOURCE = "context-repair"
MEMORY_FILE_SOURCE = "memory-file"
RECALL_TOOL = "recall"
OFFLOAD_KEY = "offload"
NO_RECALL_KEY = "offload_no_recall"
"""True beside `OFFLOAD_KEY` if the session that stored the result had no tool `recall`."""
REDACTED_KEY = "redacted"
"""The metadata key for redactions before storing: the number of replaced keys by kind."""
FORM_KEY = "form"
"""The form of a provider that a message came in, and what of it has no place in a message (`forms/canonical.py`)."""
BOUND_KEY = "bound"
"""Of an answer with reasoning: the hash of all that its request was sent (`view/bound_reasoning.py`)."""
LINE_KEY = "line_before"
"""In the metadata of a message: the line that the view before it ended with (see `view.arrangement`)."""
PLACE_KEY = "placed_after"
"""In the metadata of a message of a host's repair: the id of the message that it follows (see `host_order`)."""
UNSEEN_KEY = "unseen"
"""True in the metadata of a message of a host's repair that no view shows: a model has answered without it."""
_INSTRUCTION_KEY = "amplifier:instruction"
_PUBLIC_PREFIX = "amplifier_public_"
_REFERENCE_ONLY = "amplifier_public_reference_only"
_KEEPING_KEYS = frozenset({_REFERENCE_ONLY, UNSEEN_KEY, _INSTRUCTION_KEY})
_RECALLED = re.compile(r"\[recall of (.+), characters \d+-\d+ of \d+\]")
TELLING_KEYS = _KEEPING_KEYS | {"message_id", "timestamp", "ephemeral", FORM_KEY}
"""Keys of metadata that say how a message is added: under its own id, by which it may be a replay, for this process or
for people alone, from which form."""
_FIRST_LINE_CHARS = 200


def offload_cut(message: Mapping[str, Any]) -> Cut | None:
    """The cut that a result's metadata fixes; None for what is no such mark, or no result."""
    metadata = metadata_of(message)
    mark, no_recall = metadata.get(OFFLOAD_KEY), metadata.get(NO_RECALL_KEY) is True
    if message.get("role") not in ("tool", "function") or not isinstance(mark, list) or len(mark) != 2:
        return None
    head, tail = mark
    if type(head) is not int or type(tail) is not int or head < 0 or tail < 0:
        return None
    return Cut(head, tail, no_recall=no_recall)


def redacted_kinds(message: Mapping[str, Any]) -> str:
    """Name the kinds of keys that were replaced before a message was stored; "" if there were none."""
    kinds = metadata_of(message).get(REDACTED_KEY)
    return ", ".join(map(str, kinds)) if isinstance(kinds, dict) else ""


def line_before(message: Mapping[str, Any]) -> str:
    """The line at the end of the view before a message; empty if there was none."""
    line = metadata_of(message).get(LINE_KEY)
    return line if isinstance(line, str) and line.strip() else ""


def is_human(message: Mapping[str, Any]) -> bool:
    """Whether a person wrote it: role user, from no source, not ephemeral, no reminder of a hook."""
    if message.get("role") != "user":
        return False
    metadata = metadata_of(message)
    if metadata.get("source") or metadata.get("ephemeral"):
        return False
    return not text_of(message).lstrip().startswith(REMINDER_PREFIX)


def first_line(message: Mapping[str, Any]) -> str:
    """The first line of what a message's author wrote; of a long line the beginning, marked with three dots.

    If nothing is left without what programs added, it is the name of a slash command, or the first line of all. A line
    that ends with a colon goes on with the next one ("Implement the following plan: # Refunds").
    """
    text = text_of(message)
    said = own_words(text) or command_named(text) or text
    line, _, more = said.lstrip()[: 2 * _FIRST_LINE_CHARS].partition("\n")
    line = line.rstrip()
    if line.endswith(":"):
        next_line, _, _ = more.lstrip().partition("\n")
        line = f"{line} {next_line}".rstrip()
    return line if len(line) <= _FIRST_LINE_CHARS else f"{line[: _FIRST_LINE_CHARS - 3].rstrip()}..."


def bound_to(message: Mapping[str, Any]) -> str:
    """The hash of the view that an answer's request had; empty if it is not known."""
    bound = metadata_of(message).get(BOUND_KEY)
    return bound if isinstance(bound, str) else ""


def without_bound(message: Message) -> Message:
    """A message without it: whoever altered an answer does not know what its reasoning is bound to."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict) or BOUND_KEY not in metadata:
        return message
    return {**message, "metadata": {key: value for key, value in metadata.items() if key != BOUND_KEY}}


def recalled_from(message: Mapping[str, Any]) -> str:
    """The id of the message that a page of `recall` shows; empty if the message is not such a page."""
    if message.get("role") != "tool" or message.get("name") not in (None, "", RECALL_TOOL):
        return ""
    found = _RECALLED.match(text_of(message))
    return found[1] if found else ""


def hook_of(metadata: Mapping[str, Any]) -> str:
    """The name of the hook that a message comes from; empty if it comes from none."""
    return str(metadata.get("hook_name") or "unknown") if metadata.get("source") == "hook" else ""


def is_repair(message: Mapping[str, Any]) -> bool:
    """Whether a host's repair put it in: when it was written says nothing of how long a call or a turn took."""
    return metadata_of(message).get("source") == REPAIR_SOURCE


def is_ephemeral(message: Mapping[str, Any]) -> bool:
    """Whether it is meant for this process's views only and is not to be stored."""
    metadata = metadata_of(message)
    return metadata.get("ephemeral") is True and metadata.get("persisted") is not True


def is_kept_from_models(message: Mapping[str, Any]) -> bool:
    """Whether a message is kept for people and programs that read the history, and never sent to a model.

    It is one of three: a host's row for reference; a message of a repair, if a model has answered without it; or an
    instruction of another module that is not in force.
    """
    return _keeps_from_models(metadata_of(message))


def _keeps_from_models(metadata: Mapping[str, Any]) -> bool:
    if _KEEPING_KEYS.isdisjoint(metadata):
        return False
    if metadata.get(_REFERENCE_ONLY) is True or metadata.get(UNSEEN_KEY) is True:
        return True
    return _INSTRUCTION_KEY in metadata and not _is_in_force(metadata[_INSTRUCTION_KEY])


def _is_in_force(instruction: Any) -> bool:
    """Whether an instruction that a module registered is in force; True if it does not say.

    amplifier-module-context-simple stores such instructions as system messages, with a `disposition` (its
    `instructions.py`, 2026-10). Here the modules inject what is in force by themselves, as nobody offers them
    `context.instructions.v1`; so an instruction that is pending, delivered or retired there says nothing here.
    """
    if not isinstance(instruction, Mapping) or "disposition" not in instruction:
        return True
    return bool(instruction["disposition"] == "active")


def is_answer(message: Mapping[str, Any]) -> bool:
    """Whether a message is a provider's answer, or a part of one."""
    if message.get("role") != "assistant":
        return False
    metadata = message.get("metadata")
    if not metadata or not (type(metadata) is dict or isinstance(metadata, Mapping)):
        return True
    return metadata.get("source") != "hook" and not _keeps_from_models(metadata)


def for_model(message: Message) -> Message | None:
    """The part of a message that a model may see: None if nothing, the same object if all of it.

    Hosts keep a person's typed text and a copied message's origin under keys of their own (source:
    amplifier-module-context-simple and amplifier-bundle-context-managed, 2026-09). Requests do not contain these keys.
    """
    metadata = message.get("metadata")
    if not isinstance(metadata, dict):
        return message
    if is_kept_from_models(message):
        return None
    if not any(key.startswith(_PUBLIC_PREFIX) for key in metadata):
        return message
    return {**message, "metadata": {k: value for k, value in metadata.items() if not k.startswith(_PUBLIC_PREFIX)}}


def metadata_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message's metadata; empty if it has none."""
    metadata = message.get("metadata")
    return metadata if type(metadata) is dict or isinstance(metadata, Mapping) else {}


def timestamp_of(message: Mapping[str, Any]) -> str:
    """When a message was written, as its metadata says or, as the older module wrote it, its top level; else empty."""
    given = metadata_of(message).get("timestamp") or message.get("timestamp")
    return given if isinstance(given, str) else ""


def instant_of(text: str) -> datetime | None:
    """Read an ISO 8601 time, UTC if it has no zone; None if the text is no such time."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)


def is_written_between(message: Mapping[str, Any], since_s: float | None, until_s: float | None) -> bool:
    """Whether a message was written from a time on and before another; one that tells no time was not.

    Args:
        message: the message.
        since_s: seconds since 1970; None if the beginning is open.
        until_s: seconds since 1970; None if the end is open. If both are open, every message was.
    """
    if since_s is None and until_s is None:
        return True
    written = instant_of(timestamp_of(message))
    if written is None:
        return False
    seconds = written.timestamp()
    return (since_s is None or since_s <= seconds) and (until_s is None or seconds < until_s)


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """The seconds between two times; None if one is unknown, or they are the wrong way round."""
    if start is None or end is None or end < start:
        return None
    return (end - start).total_seconds()


def given_id(message: Mapping[str, Any]) -> str | None:
    """The message id that a message brings along."""
    message_id = metadata_of(message).get("message_id")
    return message_id if isinstance(message_id, str) and message_id else None


def comes_from_a_log(message: Any) -> bool:
    """Whether a message comes from a log: it has an id.

    Such a message may contain numbers that are not finite, because older versions stored them.
    """
    return (type(message) is dict or isinstance(message, Mapping)) and given_id(message) is not None


REMINDER_PREFIX = "<system-reminder"
_OPENS, _CLOSES = "<system-reminder>", "</system-reminder>"


def as_reminder(message: Message) -> Message:
    """A system message (in accepted form) as a user's message that says in its text what it is; a new object.

    A text that is a reminder by itself is wrapped no second time.
    """
    content = message["content"]
    if text_of(message).lstrip().startswith(REMINDER_PREFIX):
        return {**message, "role": "user"}
    if isinstance(content, str):
        return {**message, "role": "user", "content": f"{_OPENS}\n{content}\n{_CLOSES}"}
    opens, closes = ({"type": "text", "text": tag} for tag in (_OPENS, _CLOSES))
    return {**message, "role": "user", "content": [opens, *content, closes]}
