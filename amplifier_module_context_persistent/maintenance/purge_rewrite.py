"""What a purge carries over: from the records of a log to those that stay. Reads the log, and writes nothing itself.

Rules:
- `before`, `redact`: every record that stays keeps its place; the frames of resets are fitted to what is left of them.
- `cleared`: what is live stays, in its order, without the resets that brought it there.
- `everything`: the headers stay (of earlier purges nothing is said any more).
- A plan or any other control record goes with each message that it names, and with what stood before the message of
  `before`; a pin goes with its message only. A `view` record, whose hash stands for messages that it does not name,
  goes with whatever goes before it.
- A message without an id of its own is given the one that it had by its place, so that it keeps it at its new place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import PurgeError
from ..log.index import DAMAGED, fetch_lines
from ..log.reader import LogReader
from ..log.record import CRC_TAIL_BYTES, Message, decode, encode_control, encode_object, has_crc, name_of
from ..log.scanner import message_id_of
from .purge_options import Purge, PurgeCounts
from .raw_records import pieces
from .redact import redact_control, redact_message

_FRAME = frozenset({"reset", "keep", "commit"})
_KEPT = frozenset({"header", "purge"})

Put = Callable[[bytes], None]


@dataclass(slots=True)
class _Frame:
    """A reset that is being carried over."""

    reset: Message
    places: dict[str, int]
    """Where the messages stand that were live before it."""
    bodies: list[tuple[bytes, bool]] = field(default_factory=list)
    live: list[int] = field(default_factory=list)


class Rewrite:
    """One pass over a log that carries over what a purge leaves.

    Args:
        reader: the log, scanned.
        purge: what goes.
        counts: filled in by `run`.
    """

    def __init__(self, reader: LogReader, purge: Purge, counts: PurgeCounts) -> None:
        self._reader, self._purge, self._counts = reader, purge, counts
        index = reader.index
        pending = reader.scanner.pending
        self._scanned = pending.offset if pending else min(reader.scanner.offset, reader.size)
        self._total = pending.base if pending else len(index)
        self._cut_offset = 0
        self._gone = self._gone_ordinals()
        self._gone_ids: set[str] = set()
        self._ids: list[str] = []
        self._live: list[int] = []
        self._frame: _Frame | None = None
        self._late: list[bytes] = []
        self._put: Put = lambda _: None
        self._put_raw: Put = lambda _: None

    def expected(self) -> list[int]:
        """The hashes of the ids of the messages that stay live, in order."""
        index = self._reader.index
        return [index.id_hashes[ordinal] for ordinal in index.live if ordinal not in self._gone]

    def run(self, put: Put, put_raw: Put) -> None:
        """Give the bodies of the records that stay to `put`, and lines that are none to `put_raw`.

        Raises:
            PurgeError: the damage in this log is such that it cannot be done.
        """
        self._put, self._put_raw = put, put_raw
        counts, index = self._counts, self._reader.index
        counts.messages_removed = len(self._gone)
        counts.messages_kept = self._total - len(self._gone)
        counts.torn_bytes = self._reader.size - self._scanned
        if self._purge.everything:
            self._keep_headers()
            return
        self._check_damage()
        for offset, line, value in pieces(self._reader, self._scanned):
            if value is None:
                self._take_raw(offset, line)
            elif "_record" in value:
                self._take_control(offset, line, value)
            else:
                self._take_message(offset, line, value)
        if self._purge.cleared:
            for ordinal, line in fetch_lines(index, index.live, self._reader.file.read):
                put(self._message_body(ordinal, line, decode(line)))
            for body in self._late:
                put(body)
        elif self._frame is not None or self._live != list(index.live):
            raise _damaged()
        if len(self._ids) != self._total:
            raise _damaged()
        counts.altered_kept = sum(
            bool(index.flags[ordinal] & DAMAGED) for ordinal in range(self._total) if ordinal not in self._gone
        )

    def _gone_ordinals(self) -> set[int]:
        index, purge = self._reader.index, self._purge
        if purge.everything:
            return set(range(self._total))
        if purge.cleared:
            return set(range(self._total)) - set(index.live)
        if purge.before is None:
            return set()
        first = index.find(purge.before)
        if first is None or not index.is_live(first):
            raise PurgeError("no live message has this id; what is hidden is purged with --cleared")
        self._cut_offset = index.offsets[first]
        place = index.live.index(first)
        return set(index.live[:place]) | {ordinal for ordinal in range(first) if not index.is_live(ordinal)}

    def _check_damage(self) -> None:
        kinds = {found.kind for found in self._reader.index.damage}
        if "oversized" in kinds:
            raise PurgeError("a line is too long to be carried over; only --all removes it")
        if "reset" in kinds and not self._purge.cleared:
            raise PurgeError("the frame of a reset is damaged; only --all and --cleared work on this log")

    def _keep_headers(self) -> None:
        """Leave the headers alone; what else there is need not even be read."""
        index = self._reader.index
        counted = index.control_counts.items()
        self._counts.controls_removed = sum(count for kind, count in counted if kind not in _KEPT)
        self._counts.unreadable_removed = sum(
            found.kind in ("unreadable", "oversized", "glued") for found in index.damage
        )
        for header in index.headers:
            self._put(encode_object(header))

    # -- carrying over -----------------------------------------------------------------------------------------------

    def _take_raw(self, offset: int, line: bytes) -> None:
        if offset < self._cut_offset:
            self._counts.unreadable_removed += 1
            return
        if replace := self._purge.redact:
            text = replace(line.decode("utf-8", "surrogateescape"))
            changed = text.encode("utf-8", "surrogateescape")
            self._counts.unreadable_removed += changed != line
            line = changed
        self._counts.unreadable_kept += 1
        self._emit(line, raw=True)

    def _take_message(self, offset: int, line: bytes, value: Message) -> None:
        ordinal, index = len(self._ids), self._reader.index
        if ordinal >= self._total or index.offsets[ordinal] != offset:
            raise _damaged()
        self._ids.append(message_id_of(value, line, offset))
        (self._frame.live if self._frame else self._live).append(ordinal)
        if ordinal in self._gone:
            self._gone_ids.add(self._ids[ordinal])
        elif not self._purge.cleared:
            self._emit(self._message_body(ordinal, line, value))

    def _message_body(self, ordinal: int, line: bytes, value: Message) -> bytes:
        metadata = value.get("metadata")
        known = metadata if isinstance(metadata, dict) else {}
        own = self._ids[ordinal]
        changed = value
        if self._purge.redact:
            changed = redact_message(value, self._purge.redact)
            self._counts.messages_redacted += changed != value
        if known.get("message_id") == own and has_crc(line) and changed == value:
            return line[:-CRC_TAIL_BYTES]
        ordered = {"role": changed["role"], **changed}
        stamped = ordered.pop("metadata", None)
        return encode_object(
            {**ordered, "metadata": {**(stamped if isinstance(stamped, dict) else {}), "message_id": own}}
        )

    def _take_control(self, offset: int, line: bytes, value: Message) -> None:
        kind = name_of(value["_record"])
        if self._purge.cleared and kind in _FRAME:
            self._counts.controls_removed += 1
        elif kind in _FRAME:
            self._take_frame(kind, line, value)
        elif kind not in _KEPT and ((offset < self._cut_offset and kind != "pin") or self._is_void(kind, value)):
            self._counts.controls_removed += 1
        elif self._purge.cleared and kind not in _KEPT:
            self._late.append(_body(line, value))
        else:
            changed = redact_control(value, self._purge.redact) if self._purge.redact and kind not in _KEPT else value
            self._counts.controls_redacted += changed != value
            if kind == "system" and changed != value:  # it is named by the hash of its text
                return
            self._emit(_body(line, value) if changed == value else encode_object(changed))

    @property
    def _any_redacted(self) -> bool:
        return bool(self._counts.messages_redacted + self._counts.controls_redacted)

    def _is_void(self, kind: str, value: Message) -> bool:
        """Whether a control record touches what goes, or is out of force where the resets that voided it go."""
        index = self._reader.index
        if kind == "view":  # it stands for all that its view could be made of
            return self._purge.redact is None or self._any_redacted
        if self._purge.cleared and kind == "plan" and value != index.plan:
            return True
        if self._purge.cleared and kind == "usage" and value not in index.usage.values():
            return True
        return bool(self._gone_ids) and any(name in self._gone_ids for name in _strings(value))

    def _take_frame(self, kind: str, line: bytes, value: Message) -> None:
        frame = self._frame
        if kind == "reset" and frame is None:
            self._frame = _Frame(value, {self._ids[ordinal]: place for place, ordinal in enumerate(self._live)})
        elif kind == "keep" and frame is not None:
            self._keep(frame, name_of(value.get("from")), name_of(value.get("to")))
        elif kind == "commit" and frame is not None and frame.reset.get("id") == value.get("id"):
            hides = any(ordinal not in self._gone for ordinal in self._live)
            self._live, self._frame = frame.live, None
            if not (hides or frame.bodies):
                self._counts.controls_removed += 2
                return
            self._emit(encode_object({**frame.reset, "count": len(frame.bodies)}))
            for body, raw in frame.bodies:
                self._emit(body, raw=raw)
            self._emit(_body(line, value))
        else:
            raise _damaged()

    def _keep(self, frame: _Frame, first: str, last: str) -> None:
        """Fit a run of kept records to those of them that stay."""
        if first not in frame.places or last not in frame.places:
            raise _damaged()
        run = self._live[frame.places[first] : frame.places[last] + 1]
        frame.live.extend(run)
        if stay := [ordinal for ordinal in run if ordinal not in self._gone]:
            body = encode_control("keep", **{"from": self._ids[stay[0]], "to": self._ids[stay[-1]]})
            frame.bodies.append((body, False))

    def _emit(self, body: bytes, *, raw: bool = False) -> None:
        if self._frame is not None:
            self._frame.bodies.append((body, raw))
        elif raw:
            self._put_raw(body)
        else:
            self._put(body)


def _body(line: bytes, value: Message) -> bytes:
    """A control record's body as it was written; what was written without a checksum is encoded anew."""
    return line[:-CRC_TAIL_BYTES] if has_crc(line) else encode_object({"_record": value["_record"], **value})


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _damaged() -> PurgeError:
    return PurgeError("the damage in this log is such that it cannot be purged so; only --all works")
