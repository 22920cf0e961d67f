"""The index of a log in memory: columns over its message records, and the live history.

It has about 45 bytes for each record; the messages stay in the log. A record is identified by its *ordinal*, its number
among the message records of the log. `Index.live` has the ordinals of the live history, in order: the messages that the
last committed reset kept or added, and those appended since.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from .id_table import IdTable
from .message_columns import MessageColumns, Row
from .record_line import REMOVALS, ROLES
from .session_records import SessionRecords

ROLE_CODES = {role: code for code, role in enumerate(ROLES)}
USER, ASSISTANT, TOOL = ROLE_CODES["user"], ROLE_CODES["assistant"], ROLE_CODES["tool"]
SYSTEM, DEVELOPER = ROLE_CODES["system"], ROLE_CODES["developer"]

DAMAGED = 1  # the checksum failed: a person may have edited it
UNCHAINED = 2  # no checksum: written by the older module or by hand
PINNED = 4  # metadata.pinned or metadata.critical
LIVE = 8
UNHELD = 16  # of a reset that is not in force, or a damaged copy: it is not found by its id


@dataclass(frozen=True, slots=True)
class Damage:
    """One finding of a scan.

    These are the kinds:

    - `checksum`: a line's checksum is wrong, or not at its end. The record is read.
    - `unchained`: a line without a checksum is after lines that have one. The record is read.
    - `repeated`: a message is there twice. One of the two is read.
    - `glued`: a line contains other bytes beside whole records. The records are read.
    - `unreadable`: a line contains no record. It is skipped.
    - `oversized`: a line is longer than the limit. It is skipped.
    - `reset`: the begin or the commit of a reset is damaged. The undamaged one decides about the reset.
    """

    line: int
    offset: int
    kind: str
    detail: str
    length: int = 0
    """The length of the line in bytes."""

    def __str__(self) -> str:
        return f"line {self.line}, byte {self.offset}: {self.kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class TornTail:
    """The bytes after the last complete record.

    The next append first copies these bytes to another file and cuts them.
    """

    offset: int
    torn_bytes: int


@dataclass(slots=True)
class Index:
    """The index of a log: columns over its message records, the live history, headers and damage."""

    columns: MessageColumns = field(default_factory=MessageColumns)
    models: list[tuple[str, str]] = field(default_factory=lambda: [("", "")])
    """The providers and models in receipts; the first entry means unknown."""
    live: array[int] = field(default_factory=lambda: array("I"))
    headers: list[dict[str, Any]] = field(default_factory=list)
    control_counts: Counter[str] = field(default_factory=Counter)
    damage: list[Damage] = field(default_factory=list)
    generation: int = 0
    """Increases whenever `live` changes in another way than by appending."""
    unknown_version: str = ""
    """The version that a header names, if this package does not know it; else "". A log with an unknown version is only
    read."""
    session: SessionRecords = field(default_factory=SessionRecords)
    """The state of the session, from the control records."""
    id_table: IdTable = field(default_factory=IdTable, compare=False, repr=False)
    """Finds hashes in `id_hashes`; built when ids are looked up."""

    def __len__(self) -> int:
        return len(self.columns.offsets)

    def add(self, row: Row) -> int:
        """Add a message record; one flagged `LIVE` goes to the end of the live history. Nothing else fills the columns.

        Returns:
            Its ordinal.
        """
        offset, length, role, flags, id_hash, seed, check, model, is_plain_user = row
        columns = self.columns
        ordinal = len(columns.offsets)
        if flags & LIVE:
            self.live.append(ordinal)
        columns.offsets.append(offset)
        columns.lengths.append(length)
        columns.roles.append(role)
        columns.flags.append(flags)
        columns.id_hashes.append(id_hash)
        columns.seeds.append(seed)
        columns.checks.append(check)
        columns.answered_by.append(model)
        columns.plain_users.append(is_plain_user)
        return ordinal

    def add_live(self, rows: Sequence[Row]) -> None:
        """Add message records that are all flagged `LIVE`. For many records, this takes half the time of `add`."""
        if len(rows) < _FEW:
            for row in rows:
                self.add(row)
            return
        columns = self.columns
        first = len(self)
        offsets, lengths, roles, flags, id_hashes, seeds, checks, models, plain_users = zip(*rows, strict=True)
        columns.offsets.extend(offsets)
        columns.lengths.extend(lengths)
        columns.roles.extend(roles)
        columns.flags.extend(flags)
        columns.id_hashes.extend(id_hashes)
        columns.seeds.extend(seeds)
        columns.checks.extend(checks)
        columns.answered_by.extend(models)
        columns.plain_users.extend(plain_users)
        self.live.extend(range(first, first + len(rows)))

    def under_plan(self, plan: dict[str, Any] | None) -> Index:
        """Return a copy of the index with another plan in force; the rest is shared."""
        return replace(self, session=replace(self.session, plan=plan))

    def model_of(self, ordinal: int) -> tuple[str, str]:
        """Return the provider and the model of an answer; empty texts if unknown."""
        return self.models[self.columns.answered_by[ordinal]]

    @property
    def has_removals(self) -> bool:
        """Whether messages were ever removed from the live history."""
        return self.removals > 0

    @property
    def removals(self) -> int:
        """The number of resets and purges, which take messages out of the live history."""
        return sum(self.control_counts[kind] for kind in REMOVALS)

    def live_runs(self, start: int = 0, stop: int | None = None) -> Iterable[range]:
        """Return the live history from position `start` to before `stop` as runs of adjacent ordinals, in order.

        It is a single run, without a loop, if no message was ever removed, because then a position is an ordinal.
        """
        if len(self.live) == len(self) and not self.generation:
            return (range(len(self))[start:stop],)
        return runs_of(self.live[start:stop])

    def is_held(self, ordinal: int) -> bool:
        """Return whether a record is, or was, part of the history."""
        return not self.columns.flags[ordinal] & UNHELD

    def withdraw(self, ordinal: int) -> None:
        """Remove a damaged copy of a message from the live history. The copy is no longer found by its id."""
        if self.is_live(ordinal):
            self.live = array("I", (live_ordinal for live_ordinal in self.live if live_ordinal != ordinal))
            self.session.forget(ordinal)
        self.generation += 1
        self.columns.flags[ordinal] = self.columns.flags[ordinal] & ~LIVE | UNHELD

    def replace_live(self, ordinals: Iterable[int]) -> None:
        """Replace the live history, as a committed reset does. Earlier plans become void."""
        for ordinal in self.live:
            self.columns.flags[ordinal] &= ~LIVE
        self.live = array("I", ordinals)
        for ordinal in self.live:
            self.columns.flags[ordinal] = self.columns.flags[ordinal] & ~UNHELD | LIVE
        self.session.take_reset(self.live)
        self.generation += 1

    def find(self, message_id: str) -> int | None:
        """Return the ordinal of the last record with a message id, found by the id's hash.

        The result is None if no record has the id. If a stranger may have chosen the id, the caller must compare the id
        in the record as well.
        """
        return self.find_hashed(id_hash_of(message_id))

    def find_hashed(self, hashed: int) -> int | None:
        """Return the ordinal of the last record whose message id has this hash, as `find` does.

        The result is None if there is none.
        """
        self.id_table.catch_up(self.columns.id_hashes)
        positions = self.id_table.positions(hashed, self.columns.id_hashes)
        return next((ordinal for ordinal in positions if not self.columns.flags[ordinal] & UNHELD), None)

    def find_live(self, message_id: str, live: Sequence[int]) -> int | None:
        """Return the ordinal of the record with a message id among the records `live`.

        The result is None if no such record has the id.
        """
        ordinal = self.find(message_id)
        if ordinal is None or ordinal in live:
            return ordinal
        hashed = self.columns.id_hashes[ordinal]
        return next((live_ordinal for live_ordinal in live if self.columns.id_hashes[live_ordinal] == hashed), None)

    def find_all(self, message_ids: Sequence[str]) -> dict[str, int]:
        """Find the last records with these message ids, and return their ordinals by id. Unknown ids are left out.

        A few ids are looked up one by one in `id_table`. Many ids are found in one pass over the column `id_hashes`.
        """
        found = dict[str, int]()
        if len(message_ids) <= _FEW:
            for message_id in message_ids:
                ordinal = self.find(message_id)
                if ordinal is not None:
                    found[message_id] = ordinal
            return found
        wanted = {id_hash_of(message_id): message_id for message_id in message_ids}
        missing = set(wanted)
        hashes = self.columns.id_hashes
        flags = self.columns.flags
        for start in range(len(hashes) // _BLOCK * _BLOCK, -1, -_BLOCK):  # most wanted ids are near the end
            block = hashes[start : start + _BLOCK]
            if missing.isdisjoint(block):
                continue
            for number in range(len(block) - 1, -1, -1):
                hashed = block[number]
                if hashed in missing and not flags[start + number] & UNHELD:
                    missing.discard(hashed)
                    found[wanted[hashed]] = start + number
            if not missing:
                break
        return found

    def is_live(self, ordinal: int) -> bool:
        """Return whether a record is part of the live history."""
        return bool(self.columns.flags[ordinal] & LIVE)


def runs_of(ordinals: Sequence[int]) -> Iterator[range]:
    """Yield ordinals as runs of adjacent ones, in order. A block that is a single run is recognised without a loop."""
    run = range(0)
    for position in range(0, len(ordinals), _BLOCK):
        block = array("I", ordinals[position : position + _BLOCK])
        whole = range(block[0], block[0] + len(block))
        is_single_run = block == array("I", whole)
        parts = [whole] if is_single_run else _short_runs(block)
        for part in parts:
            if run.stop == part.start and run:
                run = range(run.start, part.stop)
                continue
            if run:
                yield run
            run = part
    if run:
        yield run


def _short_runs(ordinals: Sequence[int]) -> Iterator[range]:
    first = ordinals[0]
    for ordinal, other in pairwise(ordinals):
        if other != ordinal + 1:
            yield range(first, ordinal + 1)
            first = other
    yield range(first, ordinals[-1] + 1)


def spans_of(ordinals: Sequence[int]) -> array[int]:
    """Encode ordinals as runs of adjacent ones: the first ordinal and the length of each run."""
    spans = array("I")
    for run in runs_of(ordinals):
        spans.extend((run.start, len(run)))
    return spans


def ordinals_of(spans: Sequence[int], count: int) -> array[int]:
    """Decode the result of `spans_of`, for an index with `count` records.

    Raises:
        ValueError: the ordinals go beyond the index, or there are more of them than records.
    """
    ordinals = array("I")
    for first, length in zip(spans[::2], spans[1::2], strict=True):
        if not (0 <= first < first + length <= count) or len(ordinals) + length > count:
            raise ValueError("a run of messages goes beyond the index")
        _extend(ordinals, first, first + length)
    return ordinals


def live_positions(live: array[int], ordinals: Sequence[int]) -> list[int]:
    """Return the positions of records in the live history.

    Raises:
        KeyError: a record is not live.
    """
    positions = [bisect_left(live, ordinal) for ordinal in ordinals]  # correct unless a reset changed the order
    if all(at < len(live) and live[at] == ordinal for at, ordinal in zip(positions, ordinals, strict=True)):
        return positions
    by_ordinal = {ordinal: position for position, ordinal in enumerate(live)}
    return [by_ordinal[ordinal] for ordinal in ordinals]


def _extend(ordinals: array[int], first: int, stop: int) -> None:
    """Append adjacent ordinals.

    Between multiples of 65,536, the two high bytes are the same in all ordinals, so these bytes are written for a whole
    run at once. Counting ordinal by ordinal took eight times as long: with a million messages, a fifth of the time in
    which their index is restored.
    """
    blocks_start = min(-(-first // _LOW_ORDINALS) * _LOW_ORDINALS, stop)
    blocks_stop = max(stop // _LOW_ORDINALS * _LOW_ORDINALS, blocks_start)
    ordinals.extend(range(first, blocks_start))
    if blocks_start < blocks_stop:
        block = bytearray(array("I", range(_LOW_ORDINALS)).tobytes())
        size = len(block) // _LOW_ORDINALS
        for start in range(blocks_start, blocks_stop, _LOW_ORDINALS):
            for place in (2, 3):
                at = place if sys.byteorder == "little" else size - 1 - place
                block[at::size] = bytes([start >> 8 * place & 0xFF]) * _LOW_ORDINALS
            ordinals.frombytes(block)
    ordinals.extend(range(blocks_stop, stop))


_FEW = 8
_BLOCK = 4096
_LOW_ORDINALS = 1 << 16
"""The number of ordinals that differ in the two low bytes only."""
ID_MODULUS = (1 << 61) - 1


def id_hash_of(message_id: str | bytes) -> int:
    """Return a hash of an id that is the same in every process and fast to compute. Collisions are possible."""
    encoded = message_id.encode("utf-8", "surrogatepass") if isinstance(message_id, str) else message_id
    return int.from_bytes(encoded, "little") % ID_MODULUS
