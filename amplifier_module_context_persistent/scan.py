"""Scanning: from the bytes of a log to its index. Pure: bytes come in, nothing is read or written here.

The scanner is fed with blocks of whole lines, in order, and keeps what it must know from one block to the next: the
checksum chain, a reset that is not committed yet, the line number. Rules:
- A record verifies against the checksum that the record before it carries, or the one that was computed for it; so
  one bad line does not condemn the next.
- A line without a checksum is read if it is JSON; behind the first chained record it is reported.
- A line that parses but fails its checksum is read, marked and reported. A line that does not parse is reported; a
  whole record that was glued behind the rest of another one, or behind NUL bytes, is read and reported.
- A reset counts when its commit stands in the log. As only the end of a log can be torn, a reset whose commit is
  missing while more records follow was committed, and is reported.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from .index import DAMAGED, PINNED, ROLE_CODES, UNCHAINED, Damage, Index
from .record import CRC_TAIL_BYTES, ID_KEY, MAX_RECORD_BYTES, Message, decode, stored_crc

_ROLE_HEAD = b'{"role":"'
_CONTROL_HEAD = b'{"_record'
_ROLE_BY_PREFIX = {role[:4].encode(): code for role, code in ROLE_CODES.items()}
_METADATA_WINDOW = 400  # bytes before the checksum in which `pinned` and `critical` stand, as record.py writes them


@dataclass(slots=True)
class _Reset:
    """A reset that awaits its commit."""

    id: str
    count: int
    offset: int
    line: int
    base: int
    """How many message records the index held before it."""
    seeds: tuple[int, int]
    """The chain's state before it, to go back to when it is cut."""
    items: list[Any] = field(default_factory=list)


class Scanner:
    """Fill an index from blocks of lines."""

    def __init__(self, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self.index = Index()
        self.max_record_bytes = max_record_bytes
        self.offset = 0
        """Where the next line begins: the end of what was scanned."""
        self.line = 0
        self.pending: _Reset | None = None
        self.chained = False
        self._stored = 0
        self._computed = 0

    @property
    def seed(self) -> int:
        """The seed of the record to be written next."""
        return self._stored

    def continues(self, line: bytes) -> bool:
        """Whether a line (without LF) continues the chain from the last one known."""
        stored = stored_crc(line)
        if stored is None:
            return not self.chained
        body = line[:-CRC_TAIL_BYTES]
        return any(crc32(b"}", crc32(body, seed)) == stored for seed in (self._stored, self._computed))

    def feed(self, block: bytes) -> None:
        """Scan a block of whole lines that begins at `offset`; it must end with LF."""
        index, crc, roles, limit = self.index, crc32, _ROLE_BY_PREFIX, self.max_record_bytes
        offset, seed = self.offset, self._stored
        add, make_live = index.add, index.make_live
        lines = block.split(b"\n")
        lines.pop()
        for line in lines:
            length = len(line) + 1
            self.line += 1
            computed = crc(b"}", crc(line[:-CRC_TAIL_BYTES], seed))
            if line[-CRC_TAIL_BYTES:] == b',"_crc":"%08x"}' % computed:
                self.chained = True
                self._stored = self._computed = seed = computed
                end = length - 22  # behind the message id, where message_id is the last key of the last object
                if line[:9] == _ROLE_HEAD and line[end : end + 2] == b'"}' and self.pending is None:
                    start = line.rfind(ID_KEY, end - 120, end)
                    role = roles.get(line[9:13], -1)
                    plain = start > 0 <= role and b"\\" not in line[start:end]
                    if plain and b":true" not in line[-_METADATA_WINDOW:] and length <= limit:
                        id_hash = hash(line[start + 14 : end])
                        make_live(add(offset=offset, length=length, role=role, flags=0, id_hash=id_hash))
                        offset += length
                        continue
                self.offset = offset
                self._take(line, 0)
            else:
                self.offset = offset
                self._take_doubtful(line)
                seed = self._stored
            offset += length
        self.offset = offset

    def skip(self, length: int, crc: int, tail: bytes) -> None:
        """Report and pass over a line that is too long to be held in memory.

        Args:
            length: its bytes with LF.
            crc: the checksum of its bytes without LF, seeded with `seed`.
            tail: its last bytes without LF.
        """
        self.line += 1
        stored = stored_crc(tail)
        self._stored = self._computed = crc if stored is None else stored
        self._report_oversized(length)
        self.offset += length

    def abandon_reset(self) -> None:
        """Forget the uncommitted reset at the end, as if its bytes had been cut."""
        if self.pending is not None:
            self.index.cut(self.pending.base)
            self.index.damage = [found for found in self.index.damage if found.offset < self.pending.offset]
            self.offset, self.line = self.pending.offset, self.pending.line - 1
            self._stored, self._computed = self.pending.seeds
            self.pending = None

    def _report(self, kind: str, detail: str) -> None:
        self.index.damage.append(Damage(self.line, self.offset, kind, detail))

    def _report_oversized(self, length: int) -> None:
        self._report("oversized", f"a line of {length:,} bytes; at most {self.max_record_bytes:,} are read; skipped")
        self._count_towards_reset(None)

    def _take_doubtful(self, line: bytes) -> None:
        """Take a line that does not simply continue the chain from the stored checksum."""
        stored = stored_crc(line)
        if stored is None:
            self._computed = self._stored = crc32(line, self._stored)
            flags = UNCHAINED
            finding = ("unchained", "a line without a checksum behind lines that have one") if self.chained else None
        else:
            body = line[:-CRC_TAIL_BYTES]
            computed = crc32(b"}", crc32(body, self._stored))
            if stored in (computed, crc32(b"}", crc32(body, self._computed))):
                flags, finding = 0, None
            else:
                flags = DAMAGED
                finding = ("checksum", "altered, or a line before it is missing or was moved; it is read all the same")
            self.chained = True
            self._stored, self._computed = stored, computed
        if not line.strip():
            self._report("unreadable", "an empty line")
            return
        self._take(line, flags, finding)

    def _salvage(self, line: bytes, reason: str) -> None:
        """Read a whole record that stands behind garbage in one line; report the line in any case."""
        for head in (_ROLE_HEAD, _CONTROL_HEAD):
            start = line.rfind(head)
            while start > 0:
                try:
                    decode(line[start:])
                except ValueError:
                    start = line.rfind(head, 0, start)
                    continue
                self._report("glued", f"{start} bytes that are no record stand before a record that is read")
                self.offset += start
                self._take(line[start:], UNCHAINED if stored_crc(line) is None else DAMAGED)
                return
        nul = " (NUL bytes, as a power cut leaves them)" if line.count(0) > len(line) // 2 else ""
        self._report("unreadable", f"{len(line)} bytes that are no JSON object{nul}: {reason[:120]}")
        self._count_towards_reset(None)

    def _take(self, line: bytes, flags: int, finding: tuple[str, str] | None = None) -> None:
        """Take a line by parsing it; `finding` is reported if it can be read."""
        if len(line) >= self.max_record_bytes:
            self._report_oversized(len(line) + 1)
            return
        try:
            value = decode(line)
        except ValueError as error:
            self._salvage(line, str(error))
            return
        if finding:
            self._report(*finding)
        if "_record" in value:
            self._take_control(str(value["_record"]), value)
        elif value.get("role") in ROLE_CODES:
            self._take_message(line, value, flags)
        else:
            self._report("unreadable", "a JSON object that is neither a message nor a control record")
            self._count_towards_reset(None)

    def _take_message(self, line: bytes, message: Message, flags: int) -> None:
        metadata = message.get("metadata")
        if isinstance(metadata, dict) and (metadata.get("pinned") is True or metadata.get("critical") is True):
            flags |= PINNED
        message_id = message_id_of(message, line, self.offset)
        ordinal = self.index.add(
            offset=self.offset,
            length=len(line) + 1,
            role=ROLE_CODES[message["role"]],
            flags=flags,
            id_hash=hash(message_id.encode("utf-8", "surrogatepass")),
        )
        if not self._count_towards_reset(ordinal):
            self.index.make_live(ordinal)

    def _take_control(self, kind: str, value: dict[str, Any]) -> None:
        self.index.count_control(kind)
        if kind not in ("keep", "commit") and self.pending and len(self.pending.items) == self.pending.count:
            self._finish_reset(committed=False)
        if kind == "header":
            self.index.headers.append(value)
        elif kind == "plan":
            self.index.plan = value
        elif kind == "reset":
            self._finish_reset(committed=False)
            count = value.get("count")
            self.pending = _Reset(
                id=str(value.get("id")),
                count=count if isinstance(count, int) else 0,
                offset=self.offset,
                line=self.line,
                base=len(self.index),
                seeds=(self._stored, self._computed),
            )
            return
        elif kind == "keep":
            self._count_towards_reset((value.get("from"), value.get("to")))
            return
        elif kind == "commit" and self.pending is not None and self.pending.id == str(value.get("id")):
            self._finish_reset(committed=True)

    def _count_towards_reset(self, item: Any) -> bool:
        """Give a record to the reset that awaits its commit; False when none does."""
        pending = self.pending
        if pending is None:
            return False
        if len(pending.items) == pending.count:  # behind the place of the commit
            self._finish_reset(committed=False)
            return False
        pending.items.append(item)
        return True

    def _finish_reset(self, *, committed: bool) -> None:
        pending, self.pending = self.pending, None
        if pending is None:
            return
        if not committed:
            self._report("reset", f"the reset of line {pending.line} has no readable commit, though records follow")
        live: list[int] = []
        ids = [item for run in pending.items if isinstance(run, tuple) for item in run if isinstance(item, str)]
        places: dict[str, int] = {}
        if ids:
            ordinals = self.index.find_all(ids)
            position = {ordinal: place for place, ordinal in enumerate(self.index.live)}
            places = {i: position[o] for i, o in ordinals.items() if o in position}
        for item in pending.items:
            if isinstance(item, int):
                live.append(item)
            elif isinstance(item, tuple):
                first, last = places.get(item[0]), places.get(item[1])
                if first is None or last is None:
                    self._report("reset", f"the reset of line {pending.line} keeps records that the log lacks")
                else:
                    live.extend(self.index.live[first : last + 1])
        self.index.replace_live(live)


def message_id_of(message: Message, line: bytes, offset: int) -> str:
    """The id that a record carries, or for a bare line one derived from its bytes and its place."""
    metadata = message.get("metadata")
    given = metadata.get("message_id") if isinstance(metadata, dict) else None
    if isinstance(given, str) and given:
        return given
    return "m" + hashlib.sha256(b"%d:" % offset + line.rstrip(b"\n")).hexdigest()[:16]
