"""Recognise a list that a host sets: `reconcile` compares it with the live history, the log says what else it holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..log.base import Log
from ..log.index import Index
from ..log.record import CONTROL_HEAD, REMOVALS, decode
from ..messages.host_form import content_key
from ..messages.message import Message
from ..messages.metadata import given_id, is_ephemeral, timestamp_of
from .reconcile import Alignment, Removal, align, arranged, is_newer, new_messages


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken of a list: the new order of the live history, and the messages that follow it."""

    order: list[int | Message] = field(default_factory=list)
    """Positions in the live history, and new messages; empty if the order stays."""
    tail: list[Message] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many messages are new."""
        return sum(isinstance(item, dict) for item in self.order) + len(self.tail)

    def __bool__(self) -> bool:
        return bool(self.order or self.tail)


@dataclass(frozen=True, slots=True)
class Look:
    """The result of comparing a list with the log."""

    taken: Taken
    live: Sequence[Message]
    """The live history that the list was compared with."""
    unknown: int = 0
    """How many messages of a list that is not taken the log does not hold, live or hidden."""


def look_at(log: Log, given: Sequence[Message]) -> Look:
    """Find what of a list is to be taken, and count what is unknown if that is nothing.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    all_live = list(log.read(log.index.live))
    positions = [position for position, message in enumerate(all_live) if not is_ephemeral(message)]  # what hosts know
    live = [all_live[position] for position in positions]
    found = align(live, given)
    if found is not None and not (found.tail or found.inserted or found.moved):
        return Look(Taken(), live)
    taken = _new_in(log, live, found) if found is not None else Taken()
    order = [positions[item] if isinstance(item, int) else item for item in taken.order]
    return Look(Taken(order, taken.tail), live, 0 if taken else count_unknown(log, given))


def _new_in(log: Log, live: Sequence[Message], found: Alignment) -> Taken:
    held = Held(log, live)
    if any(held.has_hidden(message) for message in found.inserted):
        return Taken()
    if found.tail and held.repeats(found.tail):
        return Taken()
    taken = new_messages(found.tail, removal=held.removal, is_held=held.has) if found.tail else []
    if taken is None:
        return Taken()
    found.tail = taken
    order = arranged(live, found)
    while order and isinstance(last := order[-1], dict):  # what comes last is appended
        taken.insert(0, last)
        order.pop()
    return Taken([] if order == list(range(len(live))) else order, taken)


def count_unknown(log: Log, given: Sequence[Message]) -> int:
    """How many messages of a list the log does not hold, by their ids or else by their contents."""
    ids = [brought for message in given if (brought := given_id(message)) is not None]
    known = log.index.find_all(ids)
    bare = [content_key(message) for message in given if given_id(message) is None]
    contents = {content_key(message) for message in log.read(range(len(log.index)))} if bare else set()
    return sum(brought not in known for brought in ids) + sum(content not in contents for content in bare)


class Held:
    """What a log knows of messages that are not part of its live history."""

    def __init__(self, log: Log, live: Sequence[Message]) -> None:
        self._log = log
        self._live = {content_key(message): timestamp_of(message) for message in live}
        self._hidden: dict[str, set[str]] | None = None
        self.removal = last_removal(log)

    def has(self, message: Message) -> bool:
        """Whether the log holds a message: by its id, by content and time, or as a hidden one by its content.

        A message with the content of a hidden one is another one if it is newer than what hid that.
        """
        time = timestamp_of(message)
        return self.has_hidden(message) or bool(time and self._live.get(content_key(message)) == time)

    def has_hidden(self, message: Message) -> bool:
        """Whether the log holds a message that is not live and is no older than it, or was written at the same time."""
        brought = given_id(message)
        if brought is not None and stored_under(self._log, brought) is not None:
            return True
        times, time = self._hidden_contents().get(content_key(message)), timestamp_of(message)
        if times is None or self.removal is None or not is_newer(time, self.removal.time):
            return times is not None
        return any(hidden and not is_newer(time, hidden) and not is_newer(hidden, time) for hidden in times)

    def repeats(self, tail: Sequence[Message]) -> bool:
        """Whether a tail without times only repeats messages of the live history."""
        return all(not timestamp_of(message) and content_key(message) in self._live for message in tail)

    def _hidden_contents(self) -> dict[str, set[str]]:
        """When the messages were written that are not live, by their contents."""
        if self._hidden is None:
            index = self._log.index
            hidden = [ordinal for ordinal in range(len(index)) if not index.is_live(ordinal) and index.is_held(ordinal)]
            self._hidden = defaultdict(set)
            for message in self._log.read(hidden):
                self._hidden[content_key(message)].add(timestamp_of(message))
        return self._hidden


def stored_under(log: Log, message_id: str) -> tuple[int, Message] | None:
    """The message that a log holds under an id, live or hidden, and its ordinal."""
    ordinal = log.index.find(message_id)
    if ordinal is None:
        return None
    (stored,) = log.read([ordinal])
    return (ordinal, stored) if given_id(stored) == message_id else None  # or another id with the same hash


def has_removals(index: Index) -> bool:
    """Whether something was ever taken out of the live history of a log."""
    return not REMOVALS.isdisjoint(index.control_counts)


def last_removal(log: Log) -> Removal | None:
    """Find the last reset or purge of a log; reads all of it if there is one."""
    index = log.index
    if not has_removals(index):
        return None
    last_live = next(iter(log.lines(index.live[-1:])), (0, b""))[1]
    time = purge = ""
    after_last_live = True
    for line, record in control_records(log, REMOVALS):
        if record is not None:
            time, after_last_live = str(record.get("time", "")), True
            purge = time if record["_record"] == "purge" else purge
        elif line == last_live:
            after_last_live = False
    return Removal(time, after_last_live, purge)


def control_records(log: Log, kinds: Collection[str]) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """Give every line of a log, without LF, and its record where it is a control record of one of some kinds.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    heads = tuple(CONTROL_HEAD + f':"{kind}"'.encode() for kind in kinds)
    for line in log.records():
        record = None
        if line.startswith(heads):
            try:
                record = decode(line)
            except ValueError:  # a damaged line: whoever verifies the log reports it
                record = None
        yield line.rstrip(b"\r\n"), record
