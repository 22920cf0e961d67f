"""What `list` says of a log without reading all of it, and how the catalogue keeps it.

Tokens are an estimate: at most `SAMPLES` messages are counted, picked at even distances in bytes, so that a large one
is picked for what it is, and their tokens per byte stand for the whole. Where there are no more messages than that, all
are counted. What a person wrote is not kept, but where it stands.
"""

from __future__ import annotations

import contextlib
import logging
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from ..errors import LogError
from ..log.base import Log, ReadableLog
from ..log.database_location import split_location, stored_name
from ..log.file_handle import FileHandle
from ..log.filesystem import FileSystem
from ..log.index import ASSISTANT, USER, Index, runs_of
from ..log.open_log import file_reader
from ..log.record_line import decode
from ..messages.message import Message, calls_of, result_id_of
from ..messages.metadata import first_line, instant_of, is_human, metadata_of, timestamp_of
from ..messages.normalize import tokens_of
from ..tokens.counter import TokenCounter, open_counter
from .catalogue_file import Catalogue, CatalogueError, catalogue_of, is_usable
from .covered import GLANCE, LogCoverage, Stamp, cover, covered_by_path, name_of, session_id

logger = logging.getLogger(__name__)

LEAST_LOG_BYTES = 64 << 10
"""A smaller log is looked at in a moment: nothing is kept of it."""
SAMPLES = 128
_ASKED, _KEPT_AT_ONCE = 500, 50
"""Of logs in a database: how many kept glances are one question, and how many new ones are written together."""
_RUN = 512  # so many records at most are gone through for a place in bytes
_FIRST_USERS = 20  # so many messages of users are looked at for a human one
_NEIGHBOURS = 20  # so many messages at either end are looked at for a time


@dataclass(frozen=True, slots=True)
class Glance:
    """A log at a glance."""

    size_bytes: int = 0
    messages: int = 0
    """Live ones."""
    hidden: int = 0
    """Messages that a clear or a reset hid."""
    tokens: int = 0
    """Of the live messages, estimated."""
    damage: int = 0
    """Findings of a scan; `verify` tells them."""
    torn_bytes: int = 0
    open_calls: int = 0
    """Calls of the last messages that have no result."""
    first_line: str = ""
    """The first line that a person wrote."""
    first_message: str = ""
    """When its first message was written, in ISO 8601; empty if no message near its beginning says."""
    last_message: str = ""
    """When its last message was written."""
    model: str = ""
    """The model that answered last, as far as a message or a report says."""
    label: str = ""
    """The name that a person gave the session with `rename`; empty if nobody did."""
    tags: str = ""
    """The tags that a person put on the session with `tag`, separated by spaces."""


def _glance(log: ReadableLog, counter: TokenCounter, first_line: str) -> Glance:
    described, index, live = log.describe(), log.index, log.index.live
    return Glance(
        size_bytes=described.size_bytes,
        messages=len(live),
        hidden=len(index) - len(live),
        tokens=_tokens(log, counter),
        damage=len(index.damage),
        torn_bytes=described.torn_bytes,
        open_calls=_open_calls(log),
        first_line=first_line,
        first_message=_time_near(log, range(len(live))),
        last_message=_time_near(log, range(len(live) - 1, -1, -1)),
        model=_model(log),
        label=index.session.name,
        tags=" ".join(index.session.tags),
    )


class Glances:
    """The glances that catalogues and databases keep of some logs, and those that are to be kept.

    Each place is asked at the first question, and written to once, by `keep`.
    """

    def __init__(self) -> None:
        self._known: dict[Path, dict[str, tuple[LogCoverage, str]]] = {}
        self._new: dict[Path, list[tuple[str, LogCoverage, str]]] = {}
        self._stored: dict[str, dict[str, tuple[str, bytes]]] = {}
        self._expected: dict[str, list[str]] = {}
        """The names of logs in databases, by storage, that are looked at next."""
        self._new_stored: dict[str, list[tuple[str, int, str, int]]] = {}

    def of(self, path: str, files: FileSystem | None = None) -> Glance | None:
        """The glance that is kept of a log; None unless its file, or the log in its database, is as it was then.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        if stored_name(path) is not None:
            return self._of_stored(path)
        place = catalogue_of(path)
        if place not in self._known:
            self._known[place] = _kept_in(place)
        covered, told = self._known[place].get(name_of(path), (None, ""))
        log = FileHandle(path, files)
        try:
            if covered is None or not log.open(create=False) or Stamp.of(log.status()) != covered.stamp:
                return None
            return _glance_told(told, log.read)
        finally:
            log.close()

    def expect(self, locations: Iterable[str]) -> None:
        """Say which logs in databases are looked at next, in their order, so that many are one question."""
        for location in locations:
            storage, name = split_location(location)
            self._expected.setdefault(storage, []).append(name)

    def _of_stored(self, location: str) -> Glance | None:
        storage, name = split_location(location)
        known = self._stored.setdefault(storage, {})
        if name not in known:
            known |= self._asked(storage, name)
        told, line = known.pop(name)
        return _glance_told(told, lambda _offset, _length: line)

    def _asked(self, storage: str, name: str) -> dict[str, tuple[str, bytes]]:
        """Ask for what is kept of a log and of those that are expected behind it."""
        from ..log.postgres.names import kept_glances  # its driver is an extra

        expected = self._expected.get(storage, [])
        start = expected.index(name) if name in expected else len(expected)
        names = [name, *expected[start + 1 : start + _ASKED]]
        self._expected[storage] = expected[start + _ASKED :]
        kept = kept_glances(storage, names) if is_usable() else {}
        return {one: kept.get(one, ("", b"")) for one in names}

    def look_at(self, log: ReadableLog, counter: TokenCounter, location: str = "") -> Glance:
        """Look at a log that was opened, and have it kept; a small one and one that is damaged is looked at each time.

        Args:
            log: the log.
            counter: counts tokens.
            location: where it lies in a database, with the password; empty for a file.

        Raises:
            LogUnreadableError: its bytes changed.
        """
        line, ordinal = _first_line(log)
        glance = _glance(log, counter, line)
        if glance.damage:
            return glance
        place = (0, 0, 0)
        if line:
            content = next(iter(log.lines([ordinal])))[1]
            place = (log.index.columns.offsets[ordinal], len(content), crc32(content))
        with contextlib.suppress(TypeError):  # a lone surrogate in a model's name
            told = told_of(asdict(replace(glance, first_line="")), place)
            if location:
                storage, name = split_location(location)
                row = (name, glance.size_bytes, told, place[0] if line else -1)
                self._new_stored.setdefault(storage, []).append(row)
                if len(self._new_stored[storage]) >= _KEPT_AT_ONCE:  # who stops now goes on there
                    self._keep_stored()
            elif (file := file_reader(log)) is not None and file.file.fd is not None and file.size >= LEAST_LOG_BYTES:
                stamp = Stamp.of(file.file.status())
                if stamp.size_bytes == file.size:
                    kept = (file.path, LogCoverage(stamp, file.size, b""), told)
                    self._new.setdefault(catalogue_of(file.path), []).append(kept)
        return glance

    def keep(self) -> None:
        """Write what is new; where that cannot be done, the logs are looked at again the next time."""
        for place, new in self._new.items():
            with contextlib.suppress(CatalogueError), Catalogue(place).writing() as connection:
                for path, covered, told in new:
                    session = session_id(connection, name_of(path))
                    connection.execute("UPDATE sessions SET glance = ? WHERE id = ?", (told, session))
                    cover(connection, session, GLANCE, covered)
        self._new = {}
        self._keep_stored()

    def _keep_stored(self) -> None:
        for storage, glances in self._new_stored.items() if is_usable() else ():
            from ..log.postgres.names import keep_glances

            keep_glances(storage, glances)
        self._new_stored = {}


def keep_in_database(log: Log) -> None:
    """Keep what `list` says of a log in a database there, so that no list has to open it; of any other log nothing.

    No failure is told.
    """
    location, glances = log.describe().location, Glances()
    if stored_name(location) is None or not is_usable():
        return
    try:
        glances.look_at(log, open_counter("estimate"), location)
        glances.keep()
    except LogError as error:
        logger.debug("%s: what list says of it is not kept: %s", location, error)


def told_of(glance: dict[str, Any], line: tuple[int, int, int]) -> str:
    """What is kept of a log, with a checksum: a bit that flips in a file would give other figures.

    Raises:
        TypeError: a text has half of a surrogate pair.
    """
    said = {"glance": glance, "line": line}
    return orjson.dumps({**said, "crc32": crc32(orjson.dumps(said))}).decode()


def _glance_told(told: str, read: Callable[[int, int], bytes]) -> Glance | None:
    """What is told of a log, with the line that it names; None where that is another one, or somebody else wrote it."""
    try:
        known, (offset, length, check) = _read_told(told)
        if not length:
            return known
        content = read(offset, length) if 0 <= offset < offset + length <= known.size_bytes else b""
        return replace(known, first_line=_said_first(decode(content))) if crc32(content) == check else None
    except (ValueError, KeyError, TypeError):
        return None


def _read_told(told: str) -> tuple[Glance, tuple[int, int, int]]:
    """The glance that is told, and the offset, the length and the checksum of its line; all zero if there is none.

    Raises:
        ValueError, KeyError, TypeError: it was altered, or somebody else or an earlier version wrote it.
    """
    given = orjson.loads(told)
    if given["crc32"] != crc32(orjson.dumps({"glance": given["glance"], "line": given["line"]})):
        raise ValueError("its checksum is another one")
    known, (offset, length, check) = Glance(**given["glance"]), given["line"]
    for field in fields(Glance):
        value = getattr(known, field.name)
        if type(value) is not type(field.default) or (isinstance(value, int) and not 0 <= value < 1 << 63):
            raise ValueError(f"{field.name} is {value!r:.80}")
    return known, (offset, length, check)


def _kept_in(place: Path) -> dict[str, tuple[LogCoverage, str]]:
    try:
        with Catalogue(place).reading() as connection:
            told = dict(connection.execute("SELECT path, glance FROM sessions").fetchall())
            return {name: (known, told[name]) for name, known in covered_by_path(connection, GLANCE).items()}
    except CatalogueError:
        return {}


def _said_first(message: Message) -> str:
    """The first line of a message that a person wrote; empty if there is none."""
    return first_line(message) if is_human(message) else ""


def _tokens(log: ReadableLog, counter: TokenCounter) -> int:
    live, lengths = log.index.live, log.index.columns.lengths
    if len(live) <= SAMPLES:
        return sum(tokens_of(message, counter) for message in log.read(live))
    runs = [run[at : at + _RUN] for run in runs_of(live) for at in range(0, len(run), _RUN)]
    ends = list(accumulate(sum(lengths[run.start : run.stop]) for run in runs))
    total = ends[-1]
    marks = ((2 * number + 1) * total // (2 * SAMPLES) for number in range(SAMPLES))
    picked = Counter(_record_at(mark, runs, ends, lengths) for mark in marks)  # a large message may be most of a log
    share = 0.0
    for (ordinal, times), message in zip(picked.items(), log.read(list(picked)), strict=True):
        share += times * tokens_of(message, counter) / lengths[ordinal]
    return round(total * share / SAMPLES)


def _record_at(mark: int, runs: Sequence[range], ends: Sequence[int], lengths: array[int]) -> int:
    """The record that a byte of all live ones is in, by where the runs of them end."""
    at = bisect_right(ends, mark)
    run = runs[at]
    start = ends[at] - sum(lengths[run.start : run.stop])
    return run[bisect_right(list(accumulate(lengths[run.start : run.stop])), mark - start)]


def _open_calls(log: ReadableLog) -> int:
    """Count the calls of the last assistant message with calls that no later message answers."""
    index = log.index
    position = len(index.live)
    while position and index.columns.roles[index.live[position - 1]] != ASSISTANT:
        position -= 1
    if not position:
        return 0
    messages = log.read(index.live[position - 1 :])
    calls = {call.id for call in calls_of(next(messages))}
    for message in messages if calls else ():
        calls.discard(result_id_of(message) or "")
    return len(calls)


def _time_near(log: ReadableLog, positions: range) -> str:
    """The time of the first message that has one, of some neighbours."""
    for position in positions[:_NEIGHBOURS]:
        for message in log.read([log.index.live[position]]):
            if instant_of(said := timestamp_of(message)) is not None:
                return said
    return ""


def _model(log: ReadableLog) -> str:
    index = log.index
    answers = (
        position
        for position in reversed(range(len(index.live)))
        if index.columns.roles[index.live[position]] == ASSISTANT
    )
    for position in islice(answers, 1):
        for message in log.read([index.live[position]]):
            said = metadata_of(message).get("model") or message.get("model")
            if isinstance(said, str) and said:
                return said
    return next((model for _, model in reversed(index.session.usage) if model), "")


def _first_line(log: ReadableLog) -> tuple[str, int]:
    """The first line that a person wrote, and the message's ordinal; empty and -1 if there is none."""
    for ordinal in islice(_users(log.index), _FIRST_USERS):
        for message in log.read([ordinal]):
            if line := _said_first(message):
                return line, ordinal
    return "", -1


def _users(index: Index) -> Iterator[int]:
    for run in runs_of(index.live):
        ordinal = index.columns.roles.find(USER, run.start, run.stop)
        while ordinal >= 0:
            yield ordinal
            ordinal = index.columns.roles.find(USER, ordinal + 1, run.stop)
