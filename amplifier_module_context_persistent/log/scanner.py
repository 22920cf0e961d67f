"""Scan the bytes of a log for its records. The bytes are passed in; nothing is read or written here.

The scanner knows lines, checksums and line numbers; `index_builder` knows the meaning of records. The scanner gets
blocks of whole lines, in order, and continues the checksum chain from one block to the next. Rules:
- A line that verifies is sound. Any other line is reported, and its readable records are read in their place.
- A line without a checksum is read if it is JSON; after the first chained record it is also reported.
- A line that parses but fails its checksum is read, marked and reported. A line that does not parse is reported; whole
  records in it, after a part of another record or after NUL bytes, are read.
- No whole line is ever dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any
from zlib import crc32

from .chain_check import Chain
from .checksum import CRC_TAIL_BYTES, continues, stored_crc
from .control_place import ControlStatus, Place
from .format_version import is_own_header
from .index import ASSISTANT, DAMAGED, ID_MODULUS, LIVE, ROLE_CODES, UNCHAINED, USER, Index
from .index_builder import IndexBuilder
from .message_columns import Row
from .record_limits import MAX_RECORD_BYTES, SEAL_BYTES
from .record_line import (
    CONTROL_HEAD,
    ID_KEY,
    TRUE_BEFORE_ID,
    Message,
    decode,
    has_misplaced_crc,
    member_of,
    message_id_of,
)
from .reset_record import is_intact
from .salvage import ROLE_HEAD, has_role, whole_records

_RECEIPT_HEAD = b'{"_record":"view",'
_RECEIPT_HEAD_BYTES = len(_RECEIPT_HEAD)
_ROLE_BY_HEAD = {ROLE_HEAD + role[:4].encode(): code for role, code in ROLE_CODES.items()}
_ROLE_HEAD_BYTES = len(ROLE_HEAD) + 4
_ID_KEY_BYTES = len(ID_KEY)
_AFTER_ID_BYTES = len(b'"}') + SEAL_BYTES
"""Bytes from the end of the message id to the end of its line, if the id is the last key of `metadata`."""
_NOT_PLAIN = (b'"source"', b'"ephemeral"', b"system-reminder", b"\\u00")


class Scanner:
    """A scanner that fills an index from blocks of lines."""

    def __init__(
        self,
        max_record_bytes: int = MAX_RECORD_BYTES,
        builder: IndexBuilder | None = None,
        *,
        finds_plain_users: bool = True,
    ) -> None:
        self.builder = builder or IndexBuilder()
        self.max_record_bytes = max_record_bytes
        self.finds_plain_users = finds_plain_users
        """Whether to find plain user messages (`MessageColumns.plain_users`); a purge does not need this flag."""
        self.offset = 0
        """The offset of the next line; the end of the scanned bytes."""
        self.line = 0
        self._chain = Chain()
        self._before: tuple[int, int]
        """The chain's `stored` and `computed` before the current line; set with the first line."""
        self._bare: Place | None = None
        """The last line without a checksum."""
        self._break = (0, Place())
        """The last break of the chain: the ordinal of the next message, and the place of the line."""

    @property
    def index(self) -> Index:
        """The index that the builder fills."""
        return self.builder.index

    @property
    def seed(self) -> int:
        """The seed of the record to be written next."""
        return self._chain.stored

    def feed(self, block: bytes) -> None:
        """Scan the whole lines of a block that begins at `offset`; bytes after its last LF are ignored."""
        self.feed_lines(whole_lines(block))

    def feed_lines(self, lines: Iterable[bytes]) -> None:
        """Scan whole lines, given with their LF; the first one begins at `offset`.

        Sound messages and receipts (records of requests to a model) are nearly all lines; they are not parsed.
        """
        # A log has millions of lines, so this loop calls no function of ours for a sound line, and keeps all in locals.
        builder = self.builder
        limit = self.max_record_bytes
        roles = _ROLE_BY_HEAD
        crc = crc32
        index = builder.index
        doubtful = builder.doubtful
        session = builder.session
        plain_role = USER if self.finds_plain_users else None
        seed = self._chain.stored
        offset = self.offset
        sound = 0  # sound lines since the last line that was parsed
        rows = list[Row]()
        for line in lines:
            length = len(line)
            computed = crc(b"}", crc(line[:-SEAL_BYTES], seed))
            is_sound = line[-SEAL_BYTES:] == b',"_crc":"%08x"}\n' % computed and length <= limit
            if is_sound:
                role = roles.get(line[:_ROLE_HEAD_BYTES])
                end = length - _AFTER_ID_BYTES
                if role is not None and line[end : end + 2] == b'"}':  # the message id is the last key
                    start = line.rfind(ID_KEY, 0, end)
                    own_id = line[start + _ID_KEY_BYTES : end]
                    hashed = int.from_bytes(own_id, "little") % ID_MODULUS
                    pinned = line[start - 5 : start] == TRUE_BEFORE_ID
                    if start != -1 and not (pinned or b"\\" in own_id or hashed in doubtful or builder.copying):
                        model = session.pop_pending_model() if role == ASSISTANT else 0
                        plain = role == plain_role and is_plain_user(line)
                        rows.append((offset, length, role, LIVE, hashed, seed, computed, model, plain))
                        seed = computed
                        offset += length
                        sound += 1
                        continue
                elif line[:_RECEIPT_HEAD_BYTES] == _RECEIPT_HEAD and session.receipt(line):
                    seed = computed
                    offset += length
                    sound += 1
                    continue
            index.add_live(rows)
            self.skip_indexed(sound, offset, seed)
            self.take(line[:-1], self.line + 1, offset)
            seed = self._chain.stored
            offset += length
            sound = 0
            rows.clear()
        index.add_live(rows)
        self.skip_indexed(sound, offset, seed)

    def take_sealed(self, line: bytes, crc: int) -> None:
        """Scan a line with its LF that was just sealed with `seed`, like `feed`, but without verifying the line again.

        Args:
            line: the line.
            crc: its checksum.
        """
        known = self.look_at_sealed(line)
        if known is None:
            self.feed(line)
            return
        role, hashed, plain = known
        builder = self.builder
        offset = self.offset
        model = builder.session.pop_pending_model() if role == ASSISTANT else 0
        builder.index.add((offset, len(line), role, LIVE, hashed, self._chain.stored, crc, model, plain))
        self.line += 1
        self.offset = offset + len(line)
        self._chain.pass_verified(crc)

    def look_at_sealed(self, line: bytes) -> tuple[int, int, bool] | None:
        """Read the facts in a sealed line with its LF, without advancing the scanner.

        Returns:
            Its role, the hash of its id, and whether it is a plain user message; None if the line has to be parsed.
        """
        builder = self.builder
        role = _ROLE_BY_HEAD.get(line[:_ROLE_HEAD_BYTES])
        end = len(line) - _AFTER_ID_BYTES
        start = line.rfind(ID_KEY, 0, end)
        own_id = line[start + _ID_KEY_BYTES : end]
        if role is None or start < 0 or line[end : end + 2] != b'"}' or b"\\" in own_id or builder.copying:
            return None
        hashed = int.from_bytes(own_id, "little") % ID_MODULUS
        if hashed in builder.doubtful or line[start - 5 : start] == TRUE_BEFORE_ID:
            return None
        return role, hashed, role == USER and is_plain_user(line)

    def take(self, line: bytes, number: int, offset: int) -> None:
        """Scan the next line (without LF), given its number and its offset."""
        seed = self._chain.stored
        body_crc = crc32(line[:-CRC_TAIL_BYTES], seed)
        computed = crc32(b"}", body_crc)
        self.line = number
        self.offset = offset
        self._before = (seed, self._chain.computed)
        self.builder.place = place = Place(number, offset, len(line) + 1, seed, computed)
        stored = stored_crc(line)
        if stored is None:
            place.check = crc32(line[-CRC_TAIL_BYTES:], body_crc)  # each byte of the line is read once for both
            self._take_without_checksum(line, place, computed)
        else:
            self._take_with_checksum(line, place, stored, computed)

    def skip(self, length: int, crc: int, tail: bytes) -> None:
        """Report and skip a line that is too long for memory.

        Args:
            length: the length of the line with LF, in bytes.
            crc: the checksum of the line without LF, computed with `seed`.
            tail: the last bytes of the line without LF.
        """
        self.line += 1
        self.builder.place = Place(self.line, self.offset, length)
        stored = stored_crc(tail)
        self._chain.stored = self._chain.computed = crc if stored is None else stored
        self._chain.begun = self._chain.begun or stored is not None
        self._report_oversized(length)
        self.offset += length

    def skip_indexed(self, lines: int, offset: int, crc: int) -> None:
        """Advance past sound lines that the caller has indexed.

        Args:
            lines: the number of lines.
            offset: the offset after the last line.
            crc: the checksum of the last line.
        """
        self.line += lines
        self.offset = offset
        if lines:
            self._chain.pass_verified(crc)

    @property
    def is_among_bare_messages(self) -> bool:
        """Whether `pass_bare_messages` may be called.

        So far no line has a checksum, no record is a control record, and the lines are so many that the next line
        without a checksum changes nothing but the end of the chain.
        """
        chain = self._chain
        is_within = chain.strange_line == self.line and chain.has_most_seeds
        return is_within and not chain.begun and not self.index.control_counts

    def pass_bare_messages(self, rows: Sequence[Row], computed: int) -> None:
        """Advance past bare lines that contain messages, and add these to the index. There may be none.

        Args:
            rows: the columns of the messages, as `take` adds them.
            computed: the checksum that the last line should have.
        """
        if not rows:
            return
        self.index.add_live(rows)
        offset, length, _, _, _, seed, check, _, _ = rows[-1]
        self.line += len(rows)
        self.offset = offset + length
        self._bare = self.builder.place = Place(self.line, offset, length, seed, check)
        self._chain.stored = check
        self._chain.computed = computed
        self._chain.strange_line = self.line

    def go_on(self, other: Scanner) -> None:
        """Move to the position of another scanner, and copy its checksum chain."""
        self.line = other.line
        self.offset = other.offset
        self._chain = replace(other._chain)
        self._bare = other._bare
        self._break = other._break

    def snapshot(self) -> dict[str, Any] | None:
        """Return the state besides the index, in plain JSON types; None within a reset or a bundle, or after damage.

        So a snapshot never describes damaged lines, which a person may have restored since.
        """
        if self.index.damage or self.index.unknown_version or not self.builder.is_settled:
            return None
        if self.offset < self.builder.bundle_end:
            return None
        bare = None
        if self._bare is not None:
            bare = [self._bare.line, self._bare.offset, self._bare.length]
        return {
            "offset": self.offset,
            "line": self.line,
            "bare": bare,
            "seed": self.seed,
            "chained": self._chain.begun,
            **self.builder.snapshot(),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot, with its index; a damaged snapshot raises ValueError, TypeError or KeyError."""
        self.offset = int(snapshot["offset"])
        self.line = int(snapshot["line"])
        seed = int(snapshot["seed"])
        self._chain = Chain(seed, seed, begun=bool(snapshot["chained"]))
        if not self._chain.begun:  # no line verified yet, so the next one may also be the first of the chain
            self._chain.strange_line = self.line
            self._chain.strange_seeds = (0,)
        self._bare = None
        if snapshot["bare"] is not None:
            line, offset, length = map(int, snapshot["bare"])
            self._bare = Place(line, offset, length)
        self.builder.restore(snapshot)

    def _report_oversized(self, length: int) -> None:
        detail = f"a line of {length:,} bytes; at most {self.max_record_bytes:,} are read; skipped"
        self.builder.report("oversized", detail)

    def _take_without_checksum(self, line: bytes, place: Place, computed: int) -> None:
        """Scan a line without a checksum at its end; `place.check` is the CRC of all its bytes."""
        chain = self._chain
        status = ControlStatus(chained=False, counts_as_header=self._may_begin(place.line))
        self._pass_strange(place)
        flags = UNCHAINED
        finding = None
        if has_misplaced_crc(line):
            flags = DAMAGED
            finding = ("checksum", "its checksum is not at its end: another program wrote the line anew")
            chain.begun = True
        elif chain.begun or line.startswith(CONTROL_HEAD):
            finding = ("unchained", "a line without a checksum after lines that have one")
            chain.begun = True
        chain.stored = place.check
        chain.computed = computed
        self._bare = place
        if not line.strip():
            self.builder.report("unreadable", "an empty line")
            return
        self._take(line, flags, status, finding)

    def _take_with_checksum(self, line: bytes, place: Place, stored: int, computed: int) -> None:
        """Scan a line with a checksum."""
        seed = self._seed_continued_by(line[:-CRC_TAIL_BYTES], stored)
        if seed is None:
            self._take_unverified(line, place, stored, computed)
            return
        place.seed = seed
        place.check = stored
        if not self._chain.begun and stored != computed:
            self._report_altered_checksum()
        self._chain.pass_checksum(stored, computed)
        self._take(line, 0, ControlStatus())

    def _seed_continued_by(self, body: bytes, stored: int) -> int | None:
        """Return the checksum that a record in the current line continues.

        The result is None if the record continues no earlier line.

        Args:
            body: the record up to its checksum.
            stored: its checksum.
        """
        for seed in self._chain.seeds(self.line):
            if continues(body, stored, seed):
                return seed
        return None

    def _report_altered_checksum(self) -> None:
        """Report that the line before the first chained line lost its checksum, unless this was reported already."""
        bare = self._bare
        known = self.index.damage
        if bare is None or (known and known[-1].offset == bare.offset):
            return
        detail = "its checksum was altered, as the line after it tells; it is read all the same"
        self.builder.report("checksum", detail, bare)

    def _take_unverified(self, line: bytes, place: Place, stored: int, computed: int) -> None:
        """Scan a line whose checksum continues none of the lines before it."""
        chain = self._chain
        builder = self.builder
        follows_bare_line = self._bare is not None and self._bare.line == place.line - 1
        counts_as_header = self._may_begin(place.line) and not is_own_header(line, chain.seeds(place.line))
        status = ControlStatus(chained=False, after_loss=follows_bare_line, counts_as_header=counts_as_header)
        place.seed = 0
        place.check = crc32(line)
        if chain.goes_back(line[:-CRC_TAIL_BYTES], stored):
            first_inserted, place_of_break = self._break
            builder.doubt(first_inserted, place_of_break)
        self._pass_strange(place)
        chain.pass_checksum(stored, computed)
        builder.copying = False
        finding = ("checksum", "altered, or a line before it is missing or was moved; it is read all the same")
        self._take(line, DAMAGED, status, finding)
        builder.copying = True  # lines that continue this one may repeat messages

    def _pass_strange(self, place: Place) -> None:
        if self._chain.pass_strange(place.line):
            self._break = (len(self.index), place)

    def _may_begin(self, number: int) -> bool:
        """Return whether a header in this line tells the version of the log although the line does not verify."""
        return not self._chain.begun or self._chain.strange_line == number - 1

    def _salvage(self, line: bytes, reason: str) -> None:
        """Recover intact records from a corrupt line, and report the line."""
        places = list(whole_records(line))
        if not places:
            nul = " (NUL bytes, as a power cut leaves them)" if line.count(0) > len(line) // 2 else ""
            detail = f"{len(line)} bytes that are no JSON object{nul}: {reason[:120]}"
            self.builder.report("unreadable", detail)
            return
        strange_bytes = len(line) - sum(end - start for start, end in places)
        detail = f"{strange_bytes} bytes that are no record stand in one line with {len(places)} that are read"
        self.builder.report("glued", detail)
        chain = self._chain
        offset = self.offset
        stored_after_line = chain.stored
        begun_after_line = chain.begun
        chain.stored, chain.computed = self._before
        for start, end in places:
            self._take_salvaged(line[start:end], offset + start)
        chain.stored = stored_after_line
        chain.begun = begun_after_line

    def _take_salvaged(self, record: bytes, offset: int) -> None:
        """Scan a record in a corrupt line; `offset` is the record's offset in the log."""
        chain = self._chain
        body = record[:-CRC_TAIL_BYTES]
        stored = stored_crc(record)
        computed = crc32(b"}", crc32(body, chain.stored))
        seed = None if stored is None else self._seed_continued_by(body, stored)
        place = Place(self.line, offset, len(record) + 1, 0, crc32(record))
        if stored is None:
            flags = UNCHAINED
            chain.pass_checksum(computed, computed)
        else:
            flags = DAMAGED
            if seed is not None:
                flags = 0
                place.seed = seed
                place.check = stored
            chain.pass_checksum(stored, computed)
        self.builder.place = place
        status = ControlStatus(chained=flags == 0, after_loss=True)
        self._take(record, flags, status)

    def _take(
        self,
        line: bytes,
        flags: int,
        status: ControlStatus,
        finding: tuple[str, str] | None = None,
    ) -> None:
        """Parse a line and pass its record to the builder; `finding` is reported if the line can be parsed.

        `status` says everything about a control record but whether it is intact.
        """
        builder = self.builder
        if len(line) >= self.max_record_bytes:
            self._report_oversized(len(line) + 1)
            return
        try:
            value = decode(line)
        except ValueError as error:
            self._salvage(line, str(error))
            return
        if "_record" not in value and not has_role(value):
            builder.report("unreadable", "a JSON object that is neither a message nor a control record")
            return
        if finding:
            builder.report(*finding)
        if "_record" in value:
            builder.control(value, status._replace(intact=is_intact(line)))
            return
        doubtful = bool(flags & DAMAGED) or (bool(flags & UNCHAINED) and self._chain.begun)
        message_id = message_id_of(value, line, builder.place.offset)
        builder.message(value, message_id, flags, member_of(line), doubtful=doubtful)
        self.note_message(value, message_id, line)

    def note_message(self, message: Message, message_id: str, line: bytes) -> None:
        """Called with each message that is parsed and indexed, its id and its line (without LF); does nothing."""


def whole_lines(block: bytes) -> list[bytes]:
    """Return the lines of a block, each with its LF; bytes after the last LF are left out.

    `BytesIO` finds the ends of lines in a quarter of the time of `bytes.split`.
    """
    lines = BytesIO(block).readlines()
    if lines and lines[-1][-1:] != b"\n":
        lines.pop()
    return lines


def is_plain_user(line: bytes) -> bool:
    """Return whether a user message's line has no `source`, no `ephemeral` mark and no reminder, not even escaped."""
    find = line.rfind  # the fastest search for bytes that are nearly always absent
    return find(_NOT_PLAIN[0]) == find(_NOT_PLAIN[1]) == find(_NOT_PLAIN[2]) == find(_NOT_PLAIN[3]) == -1
