"""What the host does before a turn with interrupted tool calls, as foundation's `diagnosis.py` does.

Older versions go by line numbers. The command line gives them messages without; so if one turn lacks its end, they put
a closing message after every result of the history. Newer ones (2026-08) go by positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.messages import Message

LOST = {
    "role": "tool",
    "name": "",
    "content": '{"error": "unknown_error", "message": "Tool execution was interrupted"}',
}
CLOSING = {"role": "assistant", "content": [{"type": "text", "text": "The previous tool calls were interrupted."}]}


@dataclass(frozen=True)
class Diagnosis:
    """What the host finds wrong: ids of calls, and whether a turn lacks its end."""

    missing: tuple[str, ...]
    misplaced: tuple[str, ...]
    unended: tuple[int, ...]
    """The positions of results after which a turn lacks its end."""

    @property
    def healthy(self) -> bool:
        return not (self.missing or self.misplaced or self.unended)


def is_person(message: Message) -> bool:
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [b.get("text") for b in content or [] if isinstance(b, dict)]
    reminds = any(isinstance(text, str) and text.strip().startswith("<system-reminder>") for text in texts)
    return message["role"] == "user" and "tool_call_id" not in message and not reminds


def calls(message: Message) -> list[str]:
    return [call["id"] for call in message.get("tool_calls", ())] if message["role"] == "assistant" else []


def diagnose(history: Sequence[Message]) -> Diagnosis:
    called = {call_id: at for at, message in enumerate(history) for call_id in calls(message)}
    answered = {m["tool_call_id"]: at for at, m in enumerate(history) if m["role"] == "tool" and "tool_call_id" in m}
    missing = [call_id for call_id in called if call_id not in answered]

    def is_parted(start: int, stop: int) -> bool:
        between = history[start + 1 : stop]
        return any(is_person(m) or (m["role"] == "assistant" and "tool_calls" not in m) for m in between)

    misplaced = [c for c, at in called.items() if c in answered and is_parted(at, answered[c])]
    unended = []
    for at, message in enumerate(history):
        ids = calls(message)
        if ids and not {*missing, *misplaced}.issuperset(ids):
            last = max(answered.get(call_id, at) for call_id in ids)
            if last > at and (last + 1 == len(history) or is_person(history[last + 1])):
                unended.append(last)
    return Diagnosis(tuple(missing), tuple(misplaced), tuple(unended))


def repair(history: Sequence[Message], found: Diagnosis, *, by_position: bool = False) -> list[Message]:
    """A history with what the host puts in; late results are left out."""
    broken = {*found.missing, *found.misplaced}
    kept = [
        (at, m)
        for at, m in enumerate(history)
        if not (m["role"] == "tool" and m.get("tool_call_id") in found.misplaced)
    ]
    whole: list[Message] = []
    for number, (at, message) in enumerate(kept):
        whole.append(message)
        ids = calls(message)
        lost = [call_id for call_id in ids if call_id in broken]
        whole.extend({**LOST, "tool_call_id": call_id} for call_id in lost)
        at_end = number + 1 == len(kept) or is_person(kept[number + 1][1])
        lacks_end = at in found.unended if by_position else bool(found.unended)
        if (ids and len(lost) == len(ids) and at_end) or (message["role"] == "tool" and lacks_end):
            whole.append(dict(CLOSING))
    return whole
