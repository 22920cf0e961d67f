"""Scanning: from the bytes of a log to its index. Pure: bytes come in, nothing is read or written here.

The scanner is fed with blocks of whole lines, in order, and keeps what it must know from one block to the next: the
checksum chain, a reset that is not committed yet, the line number. Rules:
- A record verifies against the checksum that the record before it carries, or the one that was computed for it; so
  one bad line does not condemn the next.
- A line without a checksum is read if it is JSON; behind the first chained record it is reported.
- A line that parses but fails its checksum is read, marked and reported. A line that does not parse is reported; whole
  records that stand in it, behind the rest of another one or behind NUL bytes, are read.
- A reset counts when its commit stands in the log. As only the end of a log can be torn, a reset whose commit is
  missing while more records follow was committed, and is reported.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from .index import DAMAGED, PINNED, ROLE_CODES, UNCHAINED, Damage, Index
from .record import CRC_TAIL_BYTES, ID_KEY, MAX_RECORD_BYTES, TRUE_BEFORE_ID, Message, decode, name_of, stored_crc
from .salvage import ROLE_HEAD, has_role, whole_records

_RECEIPT_HEAD = b'{"_record":"view",'
_ROLE_BY_PREFIX = {role[:4].encode(): code for role, code in ROLE_CODES.items()}

Chain = tuple[int, int, bool]
"""The last stored checksum, the last computed one, and whether any record was chained."""


@dataclass(slots=True)
class _Reset:
    """A reset that awaits its commit."""

    id: str
    count: int
    offset: int
    line: int
    base: int
    """How many message records the index held before it."""
    chain: Chain
    """The chain before it, to go back to when it is cut."""
    control_counts: dict[str, int]
    """Likewise."""
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
        self._chain: Chain = (0, 0, False)
        self._line_offset = 0
        self._chain_before: Chain = self._chain
        self._bare: tuple[int, int] | None = None
        """Line and offset of the last line without a checksum."""

    @property
    def seed(self) -> int:
        """The seed of the record to be written next."""
        return self._chain[0]

    def feed(self, block: bytes) -> None:
        """Scan a block of whole lines that begins at `offset`; it must end with LF."""
        index, crc, roles, limit = self.index, crc32, _ROLE_BY_PREFIX, self.max_record_bytes
        offset, seed, line_number = self.offset, self._chain[0], self.line
        add, make_live = index.add, index.make_live
        lines = block.split(b"\n")
        lines.pop()
        for line in lines:
            length = len(line) + 1
            line_number += 1
            computed = crc(b"}", crc(line[:-CRC_TAIL_BYTES], seed))
            verified = line[-CRC_TAIL_BYTES:] == b',"_crc":"%08x"}' % computed
            if verified and line[:9] == ROLE_HEAD and self.pending is None and length <= limit:
                end = length - 22  # behind the message id, where message_id is the last key of the last object
                start = line.rfind(ID_KEY, 0, end)
                role = roles.get(line[9:13], -1)
                plain = start > 0 <= role and line[end : end + 2] == b'"}' and line[start - 5 : start] != TRUE_BEFORE_ID
                if plain and b"\\" not in line[start:end]:
                    id_hash = hash(line[start + 14 : end])
                    make_live(add(offset=offset, length=length, role=role, flags=0, id_hash=id_hash))
                    offset += length
                    self._chain = (computed, computed, True)
                    seed = computed
                    continue
            elif verified and line[:18] == _RECEIPT_HEAD and self.pending is None and length <= limit:
                index.count_control("view")  # nothing else is known of it, and there is one a request
                offset += length
                self._chain = (computed, computed, True)
                seed = computed
                continue
            self.offset = self._line_offset = offset
            self.line = line_number
            self._chain_before = self._chain
            if verified:
                self._chain = (computed, computed, True)
                self._take(line, 0)
            else:
                self._take_doubtful(line)
            seed = self._chain[0]
            offset += length
        self.offset = offset
        self.line = line_number

    def skip(self, length: int, crc: int, tail: bytes) -> None:
        """Report and pass over a line that is too long to be held in memory.

        Args:
            length: its bytes with LF.
            crc: the checksum of its bytes without LF, seeded with `seed`.
            tail: its last bytes without LF.
        """
        self.line += 1
        stored = stored_crc(tail)
        self._chain = (crc, crc, self._chain[2]) if stored is None else (stored, stored, True)
        self._report_oversized(length)
        self.offset += length

    def abandon_reset(self) -> None:
        """Forget the uncommitted reset at the end, as if its bytes had been cut."""
        if self.pending is not None:
            self.index.cut(self.pending.base)
            self.index.damage = [found for found in self.index.damage if found.offset < self.pending.offset]
            self.index.control_counts = self.pending.control_counts
            self.offset, self.line = self.pending.offset, self.pending.line - 1
            self._chain = self.pending.chain
            self.pending = None

    def _report(self, kind: str, detail: str) -> None:
        self.index.damage.append(Damage(self.line, self.offset, kind, detail))

    def _report_oversized(self, length: int) -> None:
        self._report("oversized", f"a line of {length:,} bytes; at most {self.max_record_bytes:,} are read; skipped")
        self._count_towards_reset(None)

    def _take_doubtful(self, line: bytes) -> None:
        """Take a line that does not simply continue the chain from the stored checksum."""
        stored = stored_crc(line)
        flags, computed = self._check(line, stored)
        finding = None
        if stored is None:
            self._chain = (crc32(line, self._chain[0]), computed, self._chain[2])
            self._bare = (self.line, self.offset)
            if self._chain[2]:
                finding = ("unchained", "a line without a checksum behind lines that have one")
        else:
            if self._bare and not (flags or self._chain[2] or stored == computed):
                detail = "its checksum was altered, as the line behind it tells; it is read all the same"
                self.index.damage.append(Damage(*self._bare, "checksum", detail))
            self._chain = (stored, computed, True)
            if flags:
                finding = ("checksum", "altered, or a line before it is missing or was moved; it is read all the same")
        if not line.strip():
            self._report("unreadable", "an empty line")
            return
        self._take(line, flags, finding)

    def _check(self, line: bytes, stored: int | None) -> tuple[int, int]:
        """Verify a line against both seeds; its flags and the checksum that it should have."""
        body = line[:-CRC_TAIL_BYTES]
        computed = crc32(b"}", crc32(body, self._chain[0]))
        if stored is None:
            return UNCHAINED, computed
        if stored in (computed, crc32(b"}", crc32(body, self._chain[1]))):
            return 0, computed
        return DAMAGED, computed

    def _salvage(self, line: bytes, reason: str) -> None:
        """Read the whole records that stand in a line that is none; report the line in any case."""
        places = list(whole_records(line))
        if not places:
            nul = " (NUL bytes, as a power cut leaves them)" if line.count(0) > len(line) // 2 else ""
            self._report("unreadable", f"{len(line)} bytes that are no JSON object{nul}: {reason[:120]}")
            self._count_towards_reset(None)
            return
        strange = len(line) - sum(end - start for start, end in places)
        self._report("glued", f"{strange} bytes that are no record stand in one line with {len(places)} that are read")
        offset, behind = self.offset, self._chain
        self._chain = self._chain_before
        for start, end in places:
            record = line[start:end]
            stored = stored_crc(record)
            flags, computed = self._check(record, stored)
            self._chain = (computed if stored is None else stored, computed, True)
            self.offset = offset + start
            self._take(record, flags)
        self._chain = (behind[0], self._chain[0], behind[2])

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
        if "_record" not in value and not has_role(value):
            self._report("unreadable", "a JSON object that is neither a message nor a control record")
            self._count_towards_reset(None)
            return
        if finding:
            self._report(*finding)
        if "_record" in value:
            self._take_control(name_of(value["_record"]), value)
        else:
            self._take_message(line, value, flags)

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
        counts = dict(self.index.control_counts) if kind == "reset" else {}
        self.index.count_control(kind)
        if kind not in ("keep", "commit") and self.pending and len(self.pending.items) == self.pending.count:
            self._finish_reset(committed=False)
        if kind == "header":
            self.index.headers.append(value)
        elif kind == "plan":
            self.index.plan = value
        elif kind == "pin":
            self.index.pin(name_of(value.get("message_id")), pinned=value.get("pinned") is True)
        elif kind == "usage":
            self.index.usage[name_of(value.get("provider")), name_of(value.get("model"))] = value
        elif kind == "system":
            self.index.heads.add(name_of(value.get("hash")))
        elif kind == "reset":
            self._finish_reset(committed=False)
            count = value.get("count")
            self.pending = _Reset(
                id=name_of(value.get("id")),
                count=count if isinstance(count, int) else 0,
                offset=self._line_offset,
                line=self.line,
                base=len(self.index),
                chain=self._chain_before,
                control_counts=counts,
            )
            return
        elif kind == "keep":
            self._count_towards_reset((name_of(value.get("from")), name_of(value.get("to"))))
            return
        elif kind == "commit":
            if self.pending is not None and self.pending.id == name_of(value.get("id")):
                self._finish_reset(committed=True)
            else:
                self._report("reset", "a commit whose reset cannot be read: what it replaced is still live")

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
        ids = [item for run in pending.items if isinstance(run, tuple) for item in run]
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
                if first is None or last is None or first > last:
                    self._report("reset", f"the reset of line {pending.line} keeps records that the log lacks")
                elif len(live) + last - first >= len(self.index):  # else a few lines could fill the memory
                    self._report("reset", f"the reset of line {pending.line} keeps more records than the log has")
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
