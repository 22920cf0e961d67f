"""The state of a Gemini CLI session while it is read: its entries in order, rewinds, and histories that replace others.

`$set` with `messages` is the history that the model gets from there on. The program writes it after it compressed the
history, or masked outputs in it. Here, everything that was said stays in the session:

- An entry that the new history still has stays unchanged, also if outputs are masked in the new history.
- If the new history lacks entries, this is a compaction after the last of these entries. User messages at the beginning
  of the new history, which were not said before, are its summary.
- Other entries of the new history are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .events import CompactionEvent, Event, KeptEntry, MessageRead
from .fields import Message, text
from .gemini_cli_entries import TALK, Events, events_of, words_in
from .waiting_events import WaitingEvents


class ChatEntry(NamedTuple):
    """An entry: its line number, and the places of its stored events."""

    line: int
    events: list[int]


class _New(NamedTuple):
    """A message in a history that replaces another one."""

    key: str
    entry: dict[str, Any]
    is_kept: bool
    """Whether the message was said before, with the same words."""


@dataclass(slots=True)
class Chat:
    """The events of live entries, in order, and the entries that a rewind removed."""

    waiting: WaitingEvents
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    live: dict[str, ChatEntry] = field(default_factory=dict)
    """The live entries by the id of their message; entries without a message by `#` and the line number."""
    rewound: list[tuple[int, list[ChatEntry], list[ChatEntry]]] = field(default_factory=list)
    """The line of each rewind, the events before it, and the removed events."""
    agents: dict[str, str] = field(default_factory=dict)
    """The id of the call that started each sub-agent, by the sub-agent's id."""

    _answered: set[str] = field(default_factory=set)
    """The ids of the calls that have a result."""

    def put(self, key: str, line: int, events: Events) -> None:
        """Store the events of an entry, in place of events that were stored under the same key."""
        self._answered |= {message["tool_call_id"] for message in _messages(events) if message["role"] == "tool"}
        self.live[key] = ChatEntry(line, list(map(self.waiting.put, events)))

    def rewind(self, line: int, to: Any) -> None:
        """Remove a message and all later ones. If there is no such message, remove everything."""
        ids = list(self.live)
        stay = ids.index(to) if to in ids else 0
        if stay < len(ids):
            common = [self.live[entry_id] for entry_id in ids[:stay]]
            self.rewound.append((line, common, [self.live.pop(entry_id) for entry_id in ids[stay:]]))

    def all(self, entries: Iterable[ChatEntry]) -> Iterator[Event]:
        """Yield the events of entries."""
        for entry in entries:
            yield from self.waiting.all(entry.events)

    def replace_history(self, line: int, messages: Iterable[Any], time: Any) -> None:
        """Take the history that the model gets from a line on."""
        talk = [new_entry for new_entry in messages if isinstance(new_entry, dict) and new_entry.get("type") in TALK]
        new = [self._compared(new_entry, line, number) for number, new_entry in enumerate(talk)]
        kept_keys = {new_entry.key for new_entry in new if new_entry.is_kept}
        before = list(self.live)
        dropped = [position for position, key in enumerate(before) if key[:1] != "#" and key not in kept_keys]
        if not dropped:
            self._append(new, line)
            return
        cut = dropped[-1] + 1
        tail = {key: self.live.pop(key) for key in before[cut:]}
        keep = list[str]()
        for key in before[:cut]:
            if key in kept_keys:
                keep += self._message_ids(self.live[key])
        left = {before[position] for position in dropped}  # a later message may have one of the dropped ids
        self.live = {f"#{line}:{key}" if key in left else key: chat_entry for key, chat_entry in self.live.items()}
        summary = self._put_compaction(new, line, keep, time)
        self.live |= {key: chat_entry for key, chat_entry in tail.items() if key not in kept_keys}
        for new_entry in new[summary:]:
            if new_entry.key in tail:
                self.live[new_entry.key] = tail[new_entry.key]
            else:
                self._append([new_entry], line)

    def _compared(self, entry: dict[str, Any], line: int, number: int) -> _New:
        key = text(entry.get("id")) or f"gemini-{line}-{number}"
        known_entry = self.live.get(key)
        if known_entry is None:
            return _New(key, entry, is_kept=False)
        words = words_in(_messages(events_of(entry, key, line)))
        return _New(key, entry, is_kept=words in ("", words_in(_messages(self.waiting.all(known_entry.events)))))

    def _append(self, new: Iterable[_New], line: int) -> None:
        """Add the messages of a new history that the session lacks. A second result of a call is left out."""
        for new_entry in new:
            if new_entry.is_kept:
                continue
            is_replaced = f"#{line}:{new_entry.key}" in self.live
            events = events_of(new_entry.entry, f"{new_entry.key}-{line}" if is_replaced else new_entry.key, line)
            fresh: Events = [event for event in events if not self._is_answered(event)]
            if fresh:
                self.put(new_entry.key, line, fresh)

    def _put_compaction(self, new: list[_New], line: int, keep: list[str], time: Any) -> int:
        """Add the compaction, and return the number of messages of the new history that are its summary."""
        count = 0
        for new_entry in new:
            if new_entry.is_kept or new_entry.entry.get("type") != "user":
                break
            count += 1
        texts = [words_in(_messages(events_of(new_entry.entry, new_entry.key, line))) for new_entry in new[:count]]
        summary = "\n".join(filter(None, texts))
        event = CompactionEvent(summary, line, message_id=f"gemini-{line}", time=time, keep=keep)
        self.live[f"#{line}"] = ChatEntry(line, [self.waiting.put(event)])
        return count

    def _is_answered(self, event: MessageRead | KeptEntry) -> bool:
        """Return whether an event is a result of a call that has one."""
        return isinstance(event, MessageRead) and event.message.get("tool_call_id") in self._answered

    def _message_ids(self, entry: ChatEntry) -> list[str]:
        return [message["metadata"]["message_id"] for message in _messages(self.waiting.all(entry.events))]


def _messages(events: Iterable[Event]) -> list[Message]:
    return [event.message for event in events if isinstance(event, MessageRead)]
