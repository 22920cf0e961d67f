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
from typing import Any
from zlib import crc32

from .record_line import CRC_TAIL_BYTES, MARK, Member, Message, encode_object, has_crc, name_of

BEGIN, COMMIT = "reset_begin", "reset_commit"
_OWN_KEY = b',"own_crc":"'
_OWN_BYTES = len(_OWN_KEY) + 9
"""The number of bytes of `own_crc` at the end of a body: the key, eight digits and a quote."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """Adjacent messages that stay live.

    `position` is the number of new messages of the reset before them. `first` and `last` are the ids of the first two
    and of the last two messages (or of the only one).
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
        """Return the fields of the description for the begin and the commit; `parse` reads them."""
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
"""A function that encodes a new message, given its membership of the reset."""


def reset_bodies(
    live: Sequence[int],
    items: Sequence[int | NewMessage],
    ids_of: Callable[[Sequence[int]], Iterable[str]],
    *,
    reset_id: str,
    reason: str,
    time: str,
) -> list[bytes]:
    """Return the bodies of a reset after which `items` are the live history, in their order.

    Args:
        live: the present live history, read under the lock, as ordinals.
        items: ordinals of live messages that stay, and new messages.
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
            before, run = runs[-1]
            if before == len(bodies) and positions[item] == positions[run[-1]] + 1:
                run.append(item)
                continue
        runs.append((len(bodies), [item]))
    wanted = list(live[-1:])
    for _, run in runs:
        wanted += [*run[:2], *run[-2:]]
    ids = dict(zip(wanted, ids_of(wanted), strict=True))
    kept: list[KeptRun] = []
    for position, run in runs:
        first = tuple(ids[ordinal] for ordinal in run[:2])
        last = tuple(ids[ordinal] for ordinal in run[-2:])
        kept.append(KeptRun(position, len(run), first, last))
    upto = ids[live[-1]] if live else ""
    reset = Reset(reset_id, reason, time, upto, len(bodies), len(items), tuple(kept))
    return frame(reset, bodies)


def ids_in(read: Callable[[Sequence[int]], Iterable[Message]]) -> Callable[[Sequence[int]], Iterable[str]]:
    """Return a function that yields the ids of messages, given their ordinals; `read` reads messages of a log."""
    return lambda ordinals: (str(message["metadata"]["message_id"]) for message in read(ordinals))


def is_intact(line: bytes) -> bool:
    """Return whether the `own_crc` of a begin or a commit is correct; `line` is without LF."""
    body = line[:-CRC_TAIL_BYTES].removesuffix(MARK) if has_crc(line) else line
    if body[-_OWN_BYTES:].startswith(_OWN_KEY):
        head = body[:-_OWN_BYTES]
        return body.endswith(b'%08x"' % crc32(b"}", crc32(head)))
    return False


def parse(value: Mapping[str, Any]) -> Reset | None:
    """Read the description in a record; None if it is malformed."""
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
    if not _is_end(value.get("first")) or not _is_end(value.get("last")):
        return None
    return KeptRun(value["position"], value["count"], tuple(value["first"]), tuple(value["last"]))


def _is_end(value: Any) -> bool:
    """Return whether a value is a list of one or two texts, the ids at an end of a run."""
    return isinstance(value, list) and 0 < len(value) <= 2 and all(isinstance(one, str) for one in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
