"""Write and read the records of a reset, in format version 2.

A reset replaces the live history. It is written as `reset_begin`, its new messages, and `reset_commit`:

- begin and commit have the same description, and each has a checksum of its own fields (`own_crc`, seeded 0), so that
  each is valid on its own, even if its neighbours are damaged;
- each new message has the reset's id and its number in the reset (the key `_reset`), so that damage to one record does
  not affect the others;
- the description lists the messages that stay live as runs, by ids and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard
from zlib import crc32

from .checksum import CRC_TAIL_BYTES, has_crc
from .record_line import MARK, Member, Message, encode_object, name_of

BEGIN, COMMIT = "reset_begin", "reset_commit"
_OWN_KEY = b',"own_crc":"'
_OWN_BYTES = len(_OWN_KEY) + 9
"""The number of bytes of `own_crc` at the end of a body: the key, eight digits and a quote."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """Adjacent messages that stay live in a reset.

    `position` is the number of new messages of the reset before the run. `first` and `last` are the ids of the run's
    first two and last two messages (or of the only message).
    """

    position: int
    count: int
    first: tuple[str, ...]
    last: tuple[str, ...]

    @classmethod
    def of(cls, position: int, ids: Sequence[str]) -> KeptRun:
        """Make the run of messages with these ids."""
        return cls(position, len(ids), tuple(ids[:2]), tuple(ids[-2:]))


@dataclass(frozen=True, slots=True)
class Reset:
    """The description of a reset, in its begin and its commit."""

    id: str
    reason: str
    time: str
    upto: str
    """The id of the last message of the replaced history; "" if the history was empty."""
    count: int
    """The number of new messages of the reset."""
    live: int
    """The number of live messages after the reset."""
    runs: tuple[KeptRun, ...] = ()

    def fields(self) -> dict[str, Any]:
        """Return the run as fields of the records that begin and commit a reset. `parse` reads these fields."""
        runs = [
            {"position": run.position, "count": run.count, "first": list(run.first), "last": list(run.last)}
            for run in self.runs
        ]
        return {
            "id": self.id,
            "reason": self.reason,
            "time": self.time,
            "upto": self.upto,
            "count": self.count,
            "live": self.live,
            "keep": runs,
        }

    def encode(self, kind: str) -> bytes:
        """Encode the body of the reset's begin or commit; `kind` is `BEGIN` or `COMMIT`."""
        body = encode_object({"_record": kind, **self.fields()})
        mark = MARK if body.endswith(MARK) else b""
        body = body.removesuffix(MARK)
        return body + _OWN_KEY + b'%08x"' % crc32(b"}", crc32(body)) + mark


def frame(reset: Reset, messages: Sequence[bytes]) -> list[bytes]:
    """Return the bodies of a whole reset, given the encoded bodies of its new messages."""
    return [reset.encode(BEGIN), *messages, reset.encode(COMMIT)]


NewMessage = Callable[[Member], bytes]
"""A function that encodes a new message. Its argument is the field that marks the message as a part of the reset."""


def reset_bodies(
    live: Sequence[int],
    items: Sequence[int | NewMessage],
    ids_of: Callable[[Sequence[int]], Iterable[str]],
    *,
    reset_id: str,
    reason: str,
    time: str,
) -> list[bytes]:
    """Return the encoded records of a reset, without checksums: the begin, the new messages, and the commit.

    Args:
        live: the present live history, read under the lock, as ordinals.
        items: the live history after the reset, in order: ordinals of live messages that stay, and new messages.
        ids_of: gives the ids of messages by their ordinals; for a log, `ids_in`.
        reset_id: a new id.
        reason: `clear`, `set_messages` or `rewind`.
        time: ISO 8601.
    """
    bodies: list[bytes] = []
    runs: list[tuple[int, list[int]]] = []  # the number of new messages before each run, and its ordinals
    positions = {ordinal: position for position, ordinal in enumerate(live)}
    for item in items:
        if not isinstance(item, int):
            bodies.append(item(Member(reset_id, len(bodies))))
            continue
        if runs:
            new_before, run = runs[-1]
            is_adjacent = new_before == len(bodies) and positions[item] == positions[run[-1]] + 1
            if is_adjacent:
                run.append(item)
                continue
        runs.append((len(bodies), [item]))
    ordinals_of_ids = list(live[-1:])
    for _, run in runs:
        ordinals_of_ids += run[:2]
        ordinals_of_ids += run[-2:]
    ids = dict(zip(ordinals_of_ids, ids_of(ordinals_of_ids), strict=True))
    kept_runs: list[KeptRun] = []
    for new_before, run in runs:
        first = tuple(ids[ordinal] for ordinal in run[:2])
        last = tuple(ids[ordinal] for ordinal in run[-2:])
        kept_runs.append(KeptRun(new_before, len(run), first, last))
    upto = ids[live[-1]] if live else ""
    reset = Reset(
        id=reset_id,
        reason=reason,
        time=time,
        upto=upto,
        count=len(bodies),
        live=len(items),
        runs=tuple(kept_runs),
    )
    return frame(reset, bodies)


def ids_in(read: Callable[[Sequence[int]], Iterable[Message]]) -> Callable[[Sequence[int]], Iterable[str]]:
    """Return a function that yields the ids of messages, given their ordinals; `read` reads messages of a log."""
    return lambda ordinals: (str(message["metadata"]["message_id"]) for message in read(ordinals))


def is_intact(line: bytes) -> bool:
    """Return whether the `own_crc` of a begin or a commit is correct; `line` is without LF."""
    body = line[:-CRC_TAIL_BYTES].removesuffix(MARK) if has_crc(line) else line
    if not body[-_OWN_BYTES:].startswith(_OWN_KEY):
        return False
    body_before = body[:-_OWN_BYTES]
    return body.endswith(b'%08x"' % crc32(b"}", crc32(body_before)))


def parse(value: Mapping[str, Any]) -> Reset | None:
    """Read the description in a record; None if the description is malformed."""
    texts = {key: value.get(key) for key in ("id", "reason", "time", "upto")}
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    count = value.get("count")
    live = value.get("live")
    if not _is_count(count) or not _is_count(live):
        return None
    described_runs = value.get("keep")
    if not isinstance(described_runs, list):
        return None
    runs = list[KeptRun]()
    for described in described_runs:
        run = _parse_run(described)
        if run is None:
            return None
        runs.append(run)
    names = {key: name_of(text) for key, text in texts.items()}
    return Reset(**names, count=count, live=live, runs=tuple(runs))


def _parse_run(value: Any) -> KeptRun | None:
    if not isinstance(value, dict) or not (_is_count(value.get("position")) and _is_count(value.get("count"))):
        return None
    if not _is_end(value.get("first")) or not _is_end(value.get("last")):
        return None
    return KeptRun(value["position"], value["count"], tuple(value["first"]), tuple(value["last"]))


def _is_end(value: Any) -> bool:
    """Return whether a value is a list of one or two texts, the ids at an end of a run."""
    return isinstance(value, list) and 0 < len(value) <= 2 and all(isinstance(part, str) for part in value)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
