"""Compare two copies of one log: find out whether one continues the other, or where they differ.

A record's checksum covers all records before it. So one log is the beginning of another if both begin with the same
header and have the same bytes at the end of the shorter one: nothing in between needs to be read. Rules:
- Two logs are copies of one session if their headers have the same `log_id`; without headers, if they begin with the
  same record.
- Two imports of one source are not copies: their headers differ. One import contains the other if the other has no
  additional message and was not continued by a session. If neither contains the other, they have parted.
- If two copies differ, and one of them has only names and tags beyond the common records, they have not parted: no
  model sees these (`join_labels`).
- A log that is damaged in the first record that differs is neither another session nor a continuation: it is damaged.
- A torn tail is ignored: no writer was told that it was stored.
- A purge writes a log anew, so its records have new checksums. Then the messages are compared: the purged log
  continues a copy if the copy has no additional message, and no additional record that matters to the session. A reset
  is compared by its id; if the purge left it out, by the messages that are live.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice, takewhile, zip_longest
from typing import Any

from ....log.checksum import CRC_KEY, CRC_TAIL_BYTES
from ....log.contract import ReadableLog
from ....log.database_location import shown_location, stored_name
from ....log.file_handle import FileHandle
from ....log.index import USER
from ....log.open_reader import open_reader
from ....log.record_kinds import control_of, kind_of
from ....log.record_line import CONTROL_HEAD, Message
from ....messages.message_times import timestamp_of
from ....sessions.transcript import log_id_in
from .append_to_copy import whole_lines
from .join_labels import has_labels_of

MESSAGES, NAMES, PINS, HIDDEN = "messages", "names or tags", "pins", "hidden turns"
_WORDS = {
    "label": NAMES,
    "pin": PINS,
    "hide": HIDDEN,
    "reset_begin": "a changed history",
    "reset_commit": "a changed history",
}
"""The effect of each kind of control record, as text for the user."""
_HEADER_BYTES = 4096
_END_BYTES = 64
_SAYS_SOMETHING = frozenset({"reset_begin", "reset_commit", "label", "hide", "pin"})
"""Kinds of control records by which a person or a host changes a session."""
_OF_A_SESSION = _SAYS_SOMETHING | {"view", "plan", "side_plan"}
"""Kinds of control records that an import does not write."""


class Relation(Enum):
    """The relation of one copy of a log (the first) to another copy (the second)."""

    SAME = "same"
    LONGER = "longer"
    """The first has records beyond the second."""
    SHORTER = "shorter"
    PURGED = "purged"
    """The first copy was purged, and lacks nothing of the second copy except the purged content."""
    PURGED_OTHER = "purged_other"
    """The second copy was purged, and lacks nothing of the first copy except the purged content."""
    IMPORTED = "imported"
    """Both logs were imported from one source, and the first log has all messages of the second."""
    IMPORTED_OTHER = "imported_other"
    """Both logs were imported from one source, and the second log has all messages of the first."""
    LABELED = "labeled"
    """Both copies were continued, and the second one has only names and tags beyond the common records. The first one
    is kept."""
    LABELED_OTHER = "labeled_other"
    """Both copies were continued, and only the first one has only names and tags beyond the common records."""
    PARTED = "parted"
    DAMAGED = "damaged"
    """The first copy is damaged where the copies begin to differ, or has no whole record."""
    DAMAGED_OTHER = "damaged_other"
    """The second copy is damaged where the copies begin to differ, or has no whole record; the first copy is sound
    there."""
    OTHER = "other"
    """The two logs are not copies of one log."""


@dataclass(frozen=True, slots=True)
class Parting:
    """The first record in which two copies of a log differ."""

    line: int
    turn: int
    """The turn of the record at which the copies part, from 1, counted by messages of the role user; 0 before the
    first."""
    time: str
    """The timestamp of the last message that both copies have; "" if that message has none."""
    is_one_purged: bool
    """Whether one of the two copies was purged more often than the other."""
    differs: frozenset[str] = frozenset()
    """The kinds of records that follow there in the first copy, such as `MESSAGES`; words for a person."""
    other_differs: frozenset[str] = frozenset()
    """The kinds of records that follow there in the second copy."""

    @property
    def is_of_conversation(self) -> bool:
        """Whether messages, or the history that a model sees, differ; else only pins, hidden turns, names or tags."""
        return not self.differs | self.other_differs <= {NAMES, PINS, HIDDEN}

    def __str__(self) -> str:
        """Return the difference as a phrase for a person."""
        when = f", after {self.time}" if self.time else ""
        return f"they part at record {self.line:,} (turn {self.turn:,}{when})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The relation of one log to another, and the number of bytes that the longer log has more."""

    relation: Relation
    new_bytes: int = 0
    parting: Parting | None = None


def compare_logs(first: str, second: str) -> Comparison:
    """Compare two logs.

    Args:
        first: a log's file, or its location in a database.
        second: the other log.

    Raises:
        LogUnreadableError: a log cannot be read.
    """
    found = _by_ends(first, second)
    if found is not None:
        return found
    with closing(open_reader(first)) as one, closing(open_reader(second)) as two:
        one.follow()
        two.follow()
        return compare_read(one, two)


def why_damaged(log: str) -> str:
    """Return a sentence that a log is damaged, with the command that shows the place."""
    path = shlex.quote(shown_location(log))
    return f"the log is damaged or empty; `context-persistent verify {path}` shows the place"


def _by_ends(first: str, second: str) -> Comparison | None:
    """Compare two files by their first bytes and by the bytes where the shorter file ends.

    Returns None if these bytes do not decide it.
    """
    if stored_name(first) is not None or stored_name(second) is not None:
        return None
    one, two = FileHandle(first), FileHandle(second)
    with closing(one), closing(two):
        if not one.open(create=False) or not two.open(create=False):
            return None
        longer_by = one.size() - two.size()
        shared_bytes = min(one.size(), two.size())
        end = one.before(shared_bytes, _END_BYTES)
        if not _ends_with_record(end) or two.before(shared_bytes, _END_BYTES) != end:
            return None
        begin = one.read(0, min(shared_bytes, _HEADER_BYTES))
        if two.read(0, len(begin)) != begin:
            return None
    if longer_by == 0:
        return Comparison(Relation.SAME)
    if longer_by > 0:
        return Comparison(Relation.LONGER, longer_by)
    return Comparison(Relation.SHORTER, -longer_by)


def _ends_with_record(end: bytes) -> bool:
    """Return whether bytes end with a whole record, which has its checksum at its end."""
    return end.endswith(b'"}\n') and end[-CRC_TAIL_BYTES - 1 :].startswith(CRC_KEY)


def compare_read(one: ReadableLog, two: ReadableLog) -> Comparison:
    """Compare two open logs record by record; both were read already."""
    if log_id_in(one.index.headers) != log_id_in(two.index.headers):
        return _damaged(one, two, 1) or _of_imports(one, two)
    common = 0
    last_message = -1  # the ordinal of the last message that both have
    pairs = zip_longest(whole_lines(one), whole_lines(two))
    for ours, theirs in pairs:
        if ours == theirs:
            common += 1
            if not ours.startswith(CONTROL_HEAD):
                last_message += 1
        elif ours is None:
            return Comparison(Relation.SHORTER, _size(theirs) + sum(_size(line) for _, line in pairs))
        elif theirs is None:
            return Comparison(Relation.LONGER, _size(ours) + sum(_size(line) for line, _ in pairs))
        else:
            return _differing(one, two, common, last_message)
    return Comparison(Relation.SAME)


def _size(line: bytes | None) -> int:
    """Return the number of bytes of a line that was read without its LF, with the LF; 0 without a line."""
    return 0 if line is None else len(line) + 1


def _differing(one: ReadableLog, two: ReadableLog, common: int, last_message: int) -> Comparison:
    """Return the relation of two logs that both have a record after `common` equal ones, and these two differ."""
    damaged = _damaged(one, two, common + 1)
    if damaged is not None:
        return damaged
    if common == 0:
        return Comparison(Relation.OTHER)
    return _parted(one, two, common, last_message)


def _damaged(one: ReadableLog, two: ReadableLog, line: int) -> Comparison | None:
    """Return which log is damaged in the first line that differs, or has no whole record; None if none is."""
    for log, relation in ((one, Relation.DAMAGED), (two, Relation.DAMAGED_OTHER)):
        is_empty = next(whole_lines(log), None) is None
        if is_empty or any(found.line == line for found in log.index.damage):
            return Comparison(relation)
    return None


def _of_imports(one: ReadableLog, two: ReadableLog) -> Comparison:
    """Return which of two imports of one source has all messages of the other; if both have, the earlier import wins.

    If neither import has all messages, and sessions continued both logs, the logs have parted.
    """
    first, second = _first_header(one), _first_header(two)
    key = _import_key(first)
    if key is None or key != _import_key(second):
        return Comparison(Relation.OTHER)
    has_all, is_had = _is_import_of(two, one), _is_import_of(one, two)
    if not has_all and not is_had:
        return _parting_of_imports(one, two)
    if has_all and is_had:
        is_had = _age(two) < _age(one)
    return Comparison(Relation.IMPORTED_OTHER if is_had else Relation.IMPORTED)


def _age(log: ReadableLog) -> tuple[str, str]:
    """Return what two imports with the same messages are ordered by: their time, and the log's id."""
    return str(_first_header(log).get("created")), log_id_in(log.index.headers)


def _parting_of_imports(one: ReadableLog, two: ReadableLog) -> Comparison:
    """Return the place of parting of two imports of one source: the first message in which they differ.

    Their records are not compared, so the two count as different in messages, also if they differ only in pins.
    """
    pairs = zip(one.index.columns.id_hashes, two.index.columns.id_hashes, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    line = 0  # the number of lines before the first message that differs
    messages = 0
    for record in whole_lines(one):
        if not record.startswith(CONTROL_HEAD):
            messages += 1
        if messages > common:
            break
        line += 1
    messages_differ = frozenset({MESSAGES})
    parting = replace(_parting(one, two, line, common - 1), differs=messages_differ, other_differs=messages_differ)
    return Comparison(Relation.PARTED, parting=parting)


def _first_header(log: ReadableLog) -> Mapping[str, Any]:
    """Return the first header of a log; an empty mapping for a log without headers."""
    return log.index.headers[0] if log.index.headers else {}


def _import_key(header: Mapping[str, Any]) -> Any:
    """Return the key of the source that a log was imported from, or None for a log that was not imported."""
    source = header.get("source")
    return source.get("key") if isinstance(source, dict) else None


def _is_import_of(log: ReadableLog, other: ReadableLog) -> bool:
    """Return whether a log is an import that no session continued, and the other log has all its messages."""
    index = log.index
    return not index.damage and index.control_counts.keys().isdisjoint(_OF_A_SESSION) and _agree(other, log)


def _parted(one: ReadableLog, two: ReadableLog, common: int, message: int) -> Comparison:
    """Return where two copies of a log begin to differ or, if a purge made the difference, which copy was purged."""
    purges = one.index.control_counts["purge"], two.index.control_counts["purge"]
    if any(purges):
        if purges[0] and _covers(one, two, is_purged_too=bool(purges[1])) and _is_first(one, two, purges):
            return Comparison(Relation.PURGED)
        if purges[1] and _covers(two, one, is_purged_too=bool(purges[0])):
            return Comparison(Relation.PURGED_OTHER)
    parting = _parting(one, two, common, message)
    if parting.is_one_purged:
        return Comparison(Relation.PARTED, parting=parting)
    has_names_only = parting.differs == {NAMES} and not one.index.damage
    has_other_names_only = parting.other_differs == {NAMES} and not two.index.damage
    if has_other_names_only and not (has_names_only and _is_second_kept(one, two)):
        return Comparison(Relation.LABELED, parting=parting)
    if has_names_only:
        return Comparison(Relation.LABELED_OTHER, parting=parting)
    return Comparison(Relation.PARTED, parting=parting)


def _is_second_kept(one: ReadableLog, two: ReadableLog) -> bool:
    """Return which of two logs that differ only in names and tags is kept; the answer is the same on all machines.

    A log that has the labels of the other one is kept. So machines that sync by turns come to one log.
    """
    has_all, is_had = has_labels_of(one, two), has_labels_of(two, one)
    if has_all != is_had:
        return is_had
    return _end_of(two) > _end_of(one)


def _end_of(log: ReadableLog) -> tuple[int, bytes]:
    """Return the size of a log and its last line."""
    size = 0
    line = b""
    for line in whole_lines(log):
        size += len(line) + 1
    return size, line


def _beyond(log: ReadableLog, common: int) -> set[str]:
    """Return what a log has beyond its first `common` records, in words for a person."""
    found = set[str]()
    for line in islice(whole_lines(log), common, None):
        control = control_of(line) if line.startswith(CONTROL_HEAD) else None
        found.add(MESSAGES if control is None else _WORDS.get(control[0], "records of requests"))
    return found


def _parting(one: ReadableLog, two: ReadableLog, common: int, message: int) -> Parting:
    """Return where two copies part after `common` records; `message` is the last common message, or -1."""
    purges = one.index.control_counts["purge"], two.index.control_counts["purge"]
    turn = sum(role == USER for role in one.index.columns.roles[: message + 2])
    time = timestamp_of(next(iter(one.read([message])))) if message >= 0 else None
    return Parting(
        common + 1,
        turn,
        str(time or ""),
        is_one_purged=purges[0] != purges[1],
        differs=frozenset(_beyond(one, common)),
        other_differs=frozenset(_beyond(two, common)),
    )


def _is_first(one: ReadableLog, two: ReadableLog, purges: tuple[int, int]) -> bool:
    """Return whether the first of two logs is kept.

    Of two purged logs with the same messages, the log that was purged earlier is kept.
    """
    if not purges[1] or len(one.index) != len(two.index) or not _covers(two, one, is_purged_too=True):
        return True
    return _last_purge(one) <= _last_purge(two)


def _covers(purged: ReadableLog, other: ReadableLog, *, is_purged_too: bool) -> bool:
    """Return whether a purged log has everything of another copy except what the purge removed.

    Both logs begin with the same records from before the purge. So if the last message of the other copy is in the
    purged log, the other copy has no message that came after the purge began. Then the purged log may lack only as many
    messages as its purges removed. If a purge removed that last message, the answer is False: a sync purges the other
    copy first (`sync_erasures`).

    Args:
        purged: the purged log.
        other: a copy from before the purge, or a copy that was purged separately.
        is_purged_too: whether the other copy was purged. Then each of its messages must be in the purged log,
            unchanged.
    """
    if other.index.damage:
        return False
    known = set(purged.index.columns.id_hashes)
    if len(other.index) and other.index.columns.id_hashes[-1] not in known:
        return False
    missing = sum(hashed not in known for hashed in other.index.columns.id_hashes)
    if missing > sum(int(record.get("messages_removed") or 0) for record in _purges(purged)):
        return False
    if is_purged_too and not _agree(purged, other):
        return False
    known_changes = set(_changes(purged, after=0))
    lacking = [change for change in _changes(other, after=len(other.index)) if change not in known_changes]
    are_resets = all(isinstance(change, str) for change in lacking)
    return not lacking or (are_resets and _live_among(purged, other) == _live_among(other, purged))


def _live_among(log: ReadableLog, other: ReadableLog) -> list[int]:
    """Return the hashes of the ids of a log's live messages, in order, that another log has too, live or hidden."""
    known = set(other.index.columns.id_hashes)
    hashes = (log.index.columns.id_hashes[ordinal] for ordinal in log.index.live)
    return [hashed for hashed in hashes if hashed in known]


def _agree(one: ReadableLog, two: ReadableLog) -> bool:
    """Return whether the first log has all messages of the second, with the same bytes."""
    places = {hashed: ordinal for ordinal, hashed in enumerate(one.index.columns.id_hashes)}
    try:
        wanted = [places[hashed] for hashed in two.index.columns.id_hashes]
    except KeyError:
        return False
    pairs = zip(one.lines(wanted), two.lines(range(len(wanted))), strict=True)
    return all(ours[:-CRC_TAIL_BYTES] == theirs[:-CRC_TAIL_BYTES] for (_, ours), (_, theirs) in pairs)


def _changes(reader: ReadableLog, *, after: int) -> Iterator[bytes | str]:
    """Yield the changes that a person or a host made to a session after its first `after` messages.

    A change is the body of a control record. For a reset it is only the id of the reset, because a purge writes resets
    anew.
    """
    messages = 0
    for line in whole_lines(reader):
        if not line.startswith(CONTROL_HEAD):
            messages += 1
            continue
        control = control_of(line)
        if control is None or messages < after:
            continue
        kind, record = control
        if kind not in _SAYS_SOMETHING:
            continue
        if kind_of(kind).frames:
            yield str(record.get("id"))
        else:
            yield line[:-CRC_TAIL_BYTES]


def _last_purge(reader: ReadableLog) -> str:
    return max((str(record.get("time", "")) for record in _purges(reader)), default="")


def _purges(reader: ReadableLog) -> Iterator[Message]:
    """Yield the records of a log's purges."""
    found = (control_of(line) for line in whole_lines(reader) if line.startswith(CONTROL_HEAD + b':"purge"'))
    return (record for kind, record in filter(None, found) if kind == "purge")
