"""An entry: what the pure half knows of one message without holding the message.

`classify` is the one place that decides what a message is to the engine: a human's word, an instruction, a pin, a call,
a result, or nothing that a provider could be sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from .elide import Cut, elide_message
from .reminder import REMINDER_PREFIX, as_reminder
from .shape import Call, Message, calls_of, normalise, result_id_of, text_of, without_thinking
from .terms import NO_TERMS, Terms, terms_of

COMPACTION_SOURCE = "context-compaction"
MEMORY_FILE_SOURCE = "memory-file"
RECALL_TOOL = "recall"
OFFLOAD_KEY = "offload"

_RECALLED = re.compile(r"\[recall of (.+), characters \d+-\d+ of \d+\]")
_ERROR = re.compile(r"error\b|exception\b|traceback|\bfailed\b|\bfatal\b|\bpanic|\bdenied\b|not found\b", re.IGNORECASE)
_ERROR_CHARS = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a history, as the engine sees it.

    `key` is its ordinal in the log, or negative for an ephemeral message that is in no log. `tokens` counts it as it
    is shown where no plan shortens it. `result_of` is the id of the call that it answers.
    """

    key: int
    id: str
    role: str
    tokens: int
    human: bool = False
    pinned: bool = False
    protected: bool = field(default=False, compare=False)
    """Whether the plan that is being made has to leave it as it is, though it is no pin."""
    blank: bool = False
    plain: bool = True
    """Whether it can be handed out as it was stored."""
    calls: tuple[Call, ...] = ()
    closed: frozenset[str] = frozenset()
    """The ids of its calls that nothing behind can answer: a later call that no view shows took them over."""
    result_of: str | None = None
    failed: bool = False
    """A result: whether it tells of an error."""
    named: bool = False
    """A result: whether it says the tool's name."""
    source: str | None = None
    late: bool = False
    """System text behind the first message of the conversation that is shown as a user's reminder."""
    thinking_tokens: int = 0
    """What of its tokens is thinking."""
    offload: Cut | None = None
    """A result that is shown by this cut where no plan says otherwise."""
    refers_to: str = ""
    """A page that `recall` gave: the id of the message that it was taken from."""
    terms: Terms = NO_TERMS
    """What it shows that may be needed again."""

    @property
    def instructs(self) -> bool:
        """Whether it is system text."""
        return self.role in ("system", "developer")


def classify(key: int, message: Message, count: Callable[[Message], int], *, late: bool = False) -> Entry:
    """Describe a message; `count` counts the form in which it would be sent.

    `late` says that system text in this place is shown as a reminder.
    """
    metadata = metadata_of(message)
    accepted = normalise(message)
    late = late and message.get("role") in ("system", "developer")
    message_id = metadata.get("message_id")
    source = metadata.get("source")
    offload = offload_cut(message) if key >= 0 and message_id else None
    shown = accepted
    if accepted is not None and offload is not None:
        shown = elide_message(accepted, offload, reference=str(message_id))
    elif accepted is not None and late:
        shown = as_reminder(accepted)
    tokens = count(shown) if shown else 0
    spoken = without_thinking(accepted) if accepted else None
    return Entry(
        key=key,
        id=message_id if key >= 0 and isinstance(message_id, str) else "",
        role=str(message.get("role")),
        tokens=tokens,
        human=is_human(message),
        pinned=metadata.get("pinned") is True or metadata.get("critical") is True,
        blank=accepted is None,
        plain=accepted is message,
        calls=calls_of(accepted) if accepted else (),
        result_of=result_id_of(message),
        failed=tells_error(message),
        named=bool(message.get("name")),
        source=source if isinstance(source, str) else None,
        late=late,
        thinking_tokens=tokens - count(spoken) if spoken is not None and spoken is not accepted else 0,
        offload=offload,
        refers_to=recalled_from(message),
        terms=terms_of(accepted) if accepted else NO_TERMS,
    )


def with_closed(entries: Iterable[Entry], closed: Mapping[str, AbstractSet[str]]) -> list[Entry]:
    """The entries, with those calls closed that `closed` names by message id."""
    return [replace(entry, closed=frozenset(closed[entry.id])) if entry.id in closed else entry for entry in entries]


def offload_cut(message: Mapping[str, Any]) -> Cut | None:
    """The cut that a result's metadata fixes; None for what is no such mark, or no result."""
    mark = metadata_of(message).get(OFFLOAD_KEY)
    if message.get("role") not in ("tool", "function") or not isinstance(mark, list) or len(mark) != 2:
        return None
    head, tail = mark
    return Cut(head, tail) if type(head) is int and type(tail) is int and head >= 0 and tail >= 0 else None


def is_human(message: Mapping[str, Any]) -> bool:
    """Whether a person wrote it: role user, from no source, not ephemeral, no reminder of a hook."""
    if message.get("role") != "user":
        return False
    metadata = metadata_of(message)
    if metadata.get("source") or metadata.get("ephemeral"):
        return False
    return not text_of(message).lstrip().startswith(REMINDER_PREFIX)


def tells_error(message: Mapping[str, Any]) -> bool:
    """Whether a result tells of an error, at its beginning or at its end, where errors stand."""
    if message.get("role") not in ("tool", "function"):
        return False
    text = text_of(message)
    return _ERROR.search(text, 0, _ERROR_CHARS) is not None or _ERROR.search(text[-_ERROR_CHARS:]) is not None


def recalled_from(message: Mapping[str, Any]) -> str:
    """The id of the message that a page of `recall` was taken from; empty where it is none."""
    if message.get("role") != "tool" or message.get("name") not in (None, "", RECALL_TOOL):
        return ""
    found = _RECALLED.match(text_of(message))
    return found[1] if found else ""


def is_ephemeral(message: Mapping[str, Any]) -> bool:
    """Whether it is meant for this process's views only and is not to be stored."""
    metadata = metadata_of(message)
    return metadata.get("ephemeral") is True and metadata.get("persisted") is not True


def gives_way(role: str, source: Any) -> bool:
    """Whether a stored message is left out where a factory gives the system text."""
    return role == "system" and source not in ("hook", MEMORY_FILE_SOURCE)


def metadata_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message's metadata; empty where it has none."""
    metadata = message.get("metadata")
    return metadata if type(metadata) is dict or isinstance(metadata, Mapping) else {}
