"""The records of a reset in format version 2: how they are written and read.

A reset replaces the live history. It is written as `reset_begin`, its new messages, and `reset_commit`:

- begin and commit carry the same description, and each a checksum of its own fields (`own_crc`, seeded 0), so that
  either can be believed by itself, whatever happened to its neighbours;
- each new message carries the reset's id and its number in the reset (the key `_reset`), so that damage to one record
  concerns that record alone;
- what stays live is named in the description as runs of messages, by ids and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from .record_line import CRC_TAIL_BYTES, MARK, Member, Message, encode_object, has_crc, name_of

BEGIN, COMMIT = "reset_begin", "reset_commit"
_OWN_KEY = b',"own_crc":"'
_OWN_BYTES = len(_OWN_KEY) + 9
"""Bytes of the own checksum at the end of a body: the key, eight digits, a quote."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """Messages in a row that stay live.

    `position` is how many new messages of the reset come before them; `first` and `last` are the ids of the first two
    and of the last two messages, or of the only one.
    """

    position: int
    count: int
    first: tuple[str, ...]
    last: tuple[str, ...]

    @classmethod
    def of(cls, position: int, ids: Sequence[str]) -> KeptRun:
        """The run of messages with these ids."""
        return cls(position, len(ids), tuple(ids[:2]), tuple(ids[-2:]))


@dataclass(frozen=True, slots=True)
class Reset:
    """The description of a reset, as begin and commit carry it."""

    id: str
    reason: str
    time: str
    upto: str
    """The id of the last message of the history that is replaced; empty where it is empty."""
    count: int
    """How many new messages belong to the reset."""
    live: int
    """How many messages are live after it."""
    runs: tuple[KeptRun, ...] = ()

    def fields(self) -> dict[str, Any]:
        """The fields that its begin and its commit have in common; `parse` reads them."""
        runs = [
            {"position": run.position, "count": run.count, "first": list(run.first), "last": list(run.last)}
            for run in self.runs
        ]
        fields = {"id": self.id, "reason": self.reason, "time": self.time, "upto": self.upto}
        return {**fields, "count": self.count, "live": self.live, "keep": runs}

    def encode(self, kind: str) -> bytes:
        """The body of its begin or its commit."""
        body = encode_object({"_record": kind, **self.fields()})
        mark = MARK if body.endswith(MARK) else b""
        body = body.removesuffix(MARK)
        return body + _OWN_KEY + b'%08x"' % crc32(b"}", crc32(body)) + mark


def frame(reset: Reset, messages: Sequence[bytes]) -> list[bytes]:
    """The bodies of a whole reset; `messages` are its new ones, encoded as its members."""
    return [reset.encode(BEGIN), *messages, reset.encode(COMMIT)]


NewMessage = Callable[[Member], bytes]
"""Encodes a new message of a reset as its member."""


def reset_bodies(
    live: Sequence[int],
    items: Sequence[int | NewMessage],
    ids_of: Callable[[Sequence[int]], Iterable[str]],
    *,
    reset_id: str,
    reason: str,
    time: str,
) -> list[bytes]:
    """The bodies of a reset that makes the live history what `items` say, in their order.

    Args:
        live: the live history now, under the lock, as ordinals.
        items: ordinals of live messages that stay, and new messages.
        ids_of: gives the ids of messages by their ordinals; of a log, `ids_in`.
        reset_id: a new id.
        reason: `clear`, `set_messages` or `rewind`.
        time: ISO 8601.
    """
    bodies: list[bytes] = []
    runs: list[tuple[int, list[int]]] = []
    positions = {ordinal: position for position, ordinal in enumerate(live)}
    for item in items:
        if not isinstance(item, int):
            bodies.append(item(Member(reset_id, len(bodies))))
        elif runs and runs[-1][0] == len(bodies) and positions[item] == positions[runs[-1][1][-1]] + 1:
            runs[-1][1].append(item)
        else:
            runs.append((len(bodies), [item]))
    wanted = [ordinal for _, run in runs for ordinal in (*run[:2], *run[-2:])] + list(live[-1:])
    ids = dict(zip(wanted, ids_of(wanted), strict=True))
    described = tuple(
        KeptRun(position, len(run), tuple(ids[o] for o in run[:2]), tuple(ids[o] for o in run[-2:]))
        for position, run in runs
    )
    upto = ids[live[-1]] if live else ""
    reset = Reset(reset_id, reason, time, upto, len(bodies), len(items), described)
    return frame(reset, bodies)


def ids_in(read: Callable[[Sequence[int]], Iterable[Message]]) -> Callable[[Sequence[int]], Iterable[str]]:
    """Give the ids of messages by their ordinals, from what reads a log."""
    return lambda ordinals: (str(message["metadata"]["message_id"]) for message in read(ordinals))


def is_intact(line: bytes) -> bool:
    """Whether the own checksum of a begin or a commit (its line without LF) holds."""
    body = line[:-CRC_TAIL_BYTES].removesuffix(MARK) if has_crc(line) else line
    if body[-_OWN_BYTES:].startswith(_OWN_KEY):
        head = body[:-_OWN_BYTES]
        return body.endswith(b'%08x"' % crc32(b"}", crc32(head)))
    return False


def parse(value: Mapping[str, Any]) -> Reset | None:
    """The description that a record carries; None if it has not this form."""
    texts = [value.get(key) for key in ("id", "reason", "time", "upto")]
    numbers = [value.get("count"), value.get("live")]
    runs = value.get("keep")
    if not (all(isinstance(text, str) for text in texts) and all(map(_is_count, numbers)) and isinstance(runs, list)):
        return None
    parsed = [_parse_run(run) for run in runs]
    if not all(parsed):
        return None
    ident, reason, time, upto = map(name_of, texts)
    count, live = (int(number or 0) for number in numbers)
    return Reset(ident, reason, time, upto, count, live, tuple(run for run in parsed if run))


def _parse_run(value: Any) -> KeptRun | None:
    if not isinstance(value, dict) or not (_is_count(value.get("position")) and _is_count(value.get("count"))):
        return None
    ends = value.get("first"), value.get("last")
    if not all(isinstance(end, list) and 0 < len(end) <= 2 and all(isinstance(i, str) for i in end) for end in ends):
        return None
    return KeptRun(value["position"], value["count"], tuple(value["first"]), tuple(value["last"]))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
