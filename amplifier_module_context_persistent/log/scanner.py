"""Scanning: from the bytes of a log to its records. Pure: bytes come in, nothing is read or written here.

The scanner knows lines, checksums and line numbers; what a record means, `index_builder` knows. It is fed with blocks
of whole lines, in order, and keeps the checksum chain from one block to the next. Rules:
- A record verifies against the checksum that the record before it carries, or the one that was computed for it; so
  one bad line does not condemn the next.
- A line without a checksum is read if it is JSON; after the first chained record it is reported.
- A line that parses but fails its checksum is read, marked and reported. A line that does not parse is reported; whole
  records in it, after the rest of another one or after NUL bytes, are read.
- No line that is whole is ever given up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, replace
from typing import Any
from zlib import crc32

from .bare_line import BareLines, is_plain_user, message_id_of
from .chain import ChainState
from .index import ASSISTANT, DAMAGED, ID_MODULUS, ROLE_CODES, UNCHAINED, USER, Damage, Index
from .index_builder import IndexBuilder, Place
from .one_bit import corrected
from .record import (
    CONTROL_HEAD,
    CRC_TAIL_BYTES,
    ID_KEY,
    MAX_RECORD_BYTES,
    TRUE_BEFORE_ID,
    decode,
    has_misplaced_crc,
    member_of,
    stored_crc,
)
from .reset_record import is_intact
from .salvage import ROLE_HEAD, has_role, whole_records

_RECEIPT_HEAD = b'{"_record":"view",'
ROLE_BY_HEAD = {ROLE_HEAD + role[:4].encode(): code for role, code in ROLE_CODES.items()}


class Scanner:
    """Fill an index from blocks of lines."""

    def __init__(self, max_record_bytes: int = MAX_RECORD_BYTES, builder: IndexBuilder | None = None) -> None:
        self.builder = builder or IndexBuilder()
        self.max_record_bytes = max_record_bytes
        self.offset = 0
        """Where the next line begins: the end of what was scanned."""
        self.line = 0
        self.order: list[tuple[int, int, int]] | None = None
        """If lines were moved: number, offset and length of each line up to `order_end`, in the order of writing."""
        self.order_end = self.order_lines = 0
        self._chain = ChainState()
        self.written = b""
        """The line at hand as it was written: of one flipped bit is known which one it was."""
        self._before = (0, 0)
        """The chain before the line at hand."""
        self._bare: tuple[int, int] | None = None
        """Line and offset of the last line without a checksum."""

    @property
    def index(self) -> Index:
        """The index that is filled."""
        return self.builder.index

    @property
    def seed(self) -> int:
        """The seed of the record to be written next."""
        return self._chain.stored

    def feed(self, block: bytes) -> None:
        """Scan the whole lines of a block that begins at `offset`; what stands after its last LF is left."""
        index, crc, roles, limit = self.index, crc32, ROLE_BY_HEAD, self.max_record_bytes
        offset, seed, line_number, chain = self.offset, self._chain.stored, self.line, self._chain
        builder, from_bytes, asked = self.builder, int.from_bytes, self.builder.asked
        offsets, lengths, role_codes, added = index.offsets, index.lengths, index.roles, len(index)
        id_hashes, seeds, checks, makers = index.id_hashes, index.seeds, index.checks, index.makers
        plain_users, is_plain, passed = index.plain_users, builder.is_plain, False
        rest = iter(block.split(b"\n")[:-1])
        for line in rest:
            length = len(line) + 1
            if is_plain and length <= limit:
                computed = crc(b"}", crc(line[:-CRC_TAIL_BYTES], seed))
                if line[-CRC_TAIL_BYTES:] == b',"_crc":"%08x"}' % computed:
                    end = length - 22  # after the message id, where message_id is the last key of the last object
                    if (role := roles.get(line[:13])) is not None and line[end : end + 2] == b'"}':
                        start = line.rfind(ID_KEY, 0, end)
                        own_id = line[start + 14 : end]
                        if start > 0 and line[start - 5 : start] != TRUE_BEFORE_ID and b"\\" not in own_id:
                            offsets.append(offset)  # as `Index.add` does, without its call
                            lengths.append(length)
                            role_codes.append(role)
                            id_hashes.append(from_bytes(own_id, "little") % ID_MODULUS)
                            seeds.append(seed)
                            checks.append(computed)
                            makers.append(asked if role == ASSISTANT else 0)
                            if asked and role == ASSISTANT:
                                asked = 0
                                builder.take_asked()
                            plain_users.append(role == USER and is_plain_user(line))
                            seed, passed = computed, True
                            offset += length
                            line_number += 1
                            continue
                    elif line[:18] == _RECEIPT_HEAD and builder.receipt(line):
                        seed, asked, passed = computed, builder.asked, True
                        offset += length
                        line_number += 1
                        continue
                elif not (passed or chain.begun):
                    left = self._take_bare(line, rest, line_number, offset)
                    offset, seed, line_number, added = self.offset, chain.stored, self.line, len(offsets)
                    if left is None:
                        break
                    line = left
            line_number += 1
            if passed:
                chain.pass_verified(seed)
                index.make_last_live(added)
            self.take(line, line_number, offset)
            offset += len(line) + 1
            seed, is_plain, passed, added, asked = chain.stored, builder.is_plain, False, len(offsets), builder.asked
        if passed:
            chain.pass_verified(seed)
            index.make_last_live(added)
        self.offset = offset
        self.line = line_number

    def _take_bare(self, line: bytes, rest: Iterator[bytes], lines_before: int, offset: int) -> bytes | None:
        """Take plain lines without a checksum from one on; the first one that is none, None where all are."""
        run = BareLines(self.index, offset, self._chain.stored, self.max_record_bytes)
        left = run.take(line, rest)
        self.offset, self.line = run.offset, lines_before + run.count
        if run.count:
            self._chain.pass_bare(lines_before, run.count, run.crc, run.computed)
            self._bare = (self.line, run.last_offset)
        return left

    def take(self, line: bytes, number: int, offset: int) -> None:
        """Take one line (without LF) by its number and its offset, after those taken before."""
        seed = self._chain.stored
        computed = crc32(b"}", crc32(line[:-CRC_TAIL_BYTES], seed))
        self.line, self.offset = number, offset
        self._before = (seed, self._chain.computed)
        self.written = line
        place = Place(number, offset, len(line) + 1, seed, computed)
        self.builder.at(place)
        if line[-CRC_TAIL_BYTES:] == b',"_crc":"%08x"}' % computed:
            self._chain.pass_verified(computed)
            self._take(line, 0)
        else:
            self._take_doubtful(line, place)

    def skip(self, length: int, crc: int, tail: bytes) -> None:
        """Report and pass over a line that is too long to be held in memory.

        Args:
            length: its bytes with LF.
            crc: the checksum of its bytes without LF, seeded with `seed`.
            tail: its last bytes without LF.
        """
        self.line += 1
        self.builder.at(Place(self.line, self.offset, length))
        stored = stored_crc(tail)
        self._chain.stored = self._chain.computed = crc if stored is None else stored
        self._chain.begun = self._chain.begun or stored is not None
        self._report_oversized(length)
        self.offset += length

    def leave_out(self, number: int, offset: int, length: int) -> None:
        """Report a line that stands in the log twice, and pass over it; the chain goes on as if it were not there."""
        self.builder.at(Place(number, offset, length))
        self.builder.report("repeated", "a copy of another line; it counts once")

    def pass_sound(self, lines: int, offset: int, crc: int) -> None:
        """Pass over sound lines that the index has already: so many, up to an offset, the last with that checksum."""
        self.line += lines
        self.offset = offset
        self._chain.pass_verified(crc)

    def go_on(self, other: Scanner) -> None:
        """Go on with the line that another scanner would take next."""
        self.line, self.offset = other.line, other.offset
        self._chain, self._bare = replace(other._chain), other._bare

    def snapshot(self) -> dict[str, Any] | None:
        """What is known besides the index, in plain JSON types; None where lines were moved, or a reset is open."""
        if self.order is not None or not self.builder.is_settled:
            return None
        chain = astuple(self._chain)
        return {"offset": self.offset, "line": self.line, "chain": chain, "bare": self._bare, **self.builder.snapshot()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot, with the index of that moment; errors as `IndexBuilder.restore`."""
        self.offset, self.line = int(snapshot["offset"]), int(snapshot["line"])
        stored, computed, begun, *strange = snapshot["chain"]
        self._chain = ChainState(int(stored), int(computed), bool(begun), *map(int, strange))
        bare = snapshot["bare"]
        self._bare = (int(bare[0]), int(bare[1])) if bare is not None else None
        self.builder.restore(snapshot)

    def _report_oversized(self, length: int) -> None:
        detail = f"a line of {length:,} bytes; at most {self.max_record_bytes:,} are read; skipped"
        self.builder.report("oversized", detail)
        self.builder.unreadable()

    def _take_doubtful(self, line: bytes, place: Place) -> None:
        """Take a line that does not simply continue the chain from the stored checksum."""
        chain, stored = self._chain, stored_crc(line)
        flags, computed = self._check(line, stored, place)
        finding, written = None, line
        if flags:
            seed = chain.strange_seed if chain.strange_line == self.line - 1 else chain.stored
            chain.strange_line, chain.strange_seed = self.line, seed
            written = corrected(line, chain.stored) or corrected(line, chain.computed) or line
            self.written = written
        if stored is None:
            place.seed, place.check = chain.stored, crc32(line, chain.stored)
            chain.stored, chain.computed = place.check, computed
            self._bare = (self.line, self.offset)
            if has_misplaced_crc(line):
                flags, chain.begun = DAMAGED, True
                finding = ("checksum", "its checksum is not at its end: another program wrote the line anew")
            elif chain.begun or line.startswith(CONTROL_HEAD):
                chain.begun = True
                finding = ("unchained", "a line without a checksum after lines that have one")
        else:
            if self._bare and not (flags or chain.begun or stored == computed):
                detail = "its checksum was altered, as the line after it tells; it is read all the same"
                self.index.damage.append(Damage(*self._bare, "checksum", detail))
            chain.stored, chain.computed, chain.begun = stored, computed, True
            if flags:
                finding = ("checksum", "altered, or a line before it is missing or was moved; it is read all the same")
                self.builder.gap()
        if not line.strip():
            self.builder.report("unreadable", "an empty line")
            return
        self._take(line, flags, finding, written)

    def _check(self, line: bytes, stored: int | None, place: Place) -> tuple[int, int]:
        """Verify a line against the seeds that it may have; its flags and the checksum that it should have."""
        body, chain = line[:-CRC_TAIL_BYTES], self._chain
        computed = crc32(b"}", crc32(body, chain.stored))
        if stored is None:
            return UNCHAINED, computed
        inserted = (chain.strange_seed,) if chain.strange_line == self.line - 1 else ()
        for seed in (chain.stored, chain.computed, *inserted):
            if stored == crc32(b"}", crc32(body, seed)):
                place.seed, place.check = seed, stored
                return 0, computed
        place.seed, place.check = 0, crc32(line)
        return DAMAGED, computed

    def _salvage(self, line: bytes, reason: str) -> None:
        """Read the whole records that stand in a line that is none; report the line in any case."""
        places = list(whole_records(line))
        builder = self.builder
        if not places:
            nul = " (NUL bytes, as a power cut leaves them)" if line.count(0) > len(line) // 2 else ""
            builder.report("unreadable", f"{len(line)} bytes that are no JSON object{nul}: {reason[:120]}")
            builder.unreadable(was_control=line.startswith(b'{"_') or b'"keep"' in line[:24])
            return
        strange = len(line) - sum(end - start for start, end in places)
        builder.report(
            "glued", f"{strange} bytes that are no record stand in one line with {len(places)} that are read"
        )
        offset, after = self.offset, (self._chain.stored, self._chain.begun)
        self._chain.stored, self._chain.computed = self._before
        for start, end in places:
            record = line[start:end]
            stored, place = stored_crc(record), Place(self.line, offset + start, end - start + 1)
            flags, computed = self._check(record, stored, place)
            if stored is None:
                place.seed, place.check = 0, crc32(record)
            self._chain.stored = computed if stored is None else stored
            self._chain.computed, self._chain.begun = computed, True
            builder.at(place)
            self._take(record, flags)
        self._chain.stored, self._chain.begun = after

    def _take(
        self, line: bytes, flags: int, finding: tuple[str, str] | None = None, written: bytes | None = None
    ) -> None:
        """Take a line by parsing it; `finding` is reported if it can be read; `written` is what it was."""
        if len(line) >= self.max_record_bytes:
            self._report_oversized(len(line) + 1)
            return
        builder = self.builder
        written = line if written is None else written
        if written is not line and finding and self._take_control(written, finding):
            return
        try:
            value = decode(line)
        except ValueError as error:
            self._salvage(line, str(error))
            return
        if "_record" not in value and not has_role(value):
            builder.report("unreadable", "a JSON object that is neither a message nor a control record")
            builder.unreadable(was_control=True)
            return
        if finding:
            builder.report(*finding)
        if "_record" in value:
            builder.control(value, flags, intact=is_intact(line))
            return
        place = builder.place
        known = value if written is line else decode(written)
        message_id = message_id_of(known, written, place.offset)
        doubtful = bool(flags & DAMAGED) or (bool(flags & UNCHAINED) and self._chain.begun)
        builder.message(value, message_id, flags, member_of(written), doubtful=doubtful)

    def _take_control(self, written: bytes, finding: tuple[str, str]) -> bool:
        """Take a control record of which one bit was flipped as it was written; False if it is none."""
        value = decode(written) if written.startswith(CONTROL_HEAD) else {}
        if "_record" in value:
            self.builder.report(*finding)
            self.builder.control(value, 0, intact=is_intact(written))
        return "_record" in value
