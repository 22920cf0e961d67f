"""What `list` says of a log without reading all of it, and how that is noted in a checkpoint.

Tokens are an estimate: at most `SAMPLES` messages are counted, picked at even distances in bytes, so that a large one
is picked for what it is, and their tokens per byte stand for the whole. Where there are no more messages than that, all
are counted. What a person wrote is not noted, but where it stands.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import accumulate, islice
from zlib import crc32

import orjson

from ..errors import LogUnreadableError
from ..log.base import ReadableLog
from ..log.checkpoint_file import read_note
from ..log.filesystem import FileSystem
from ..log.index import ASSISTANT, USER, Index, runs_of
from ..log.open_log import OpenLog
from ..log.reader import LogReader
from ..log.record import MAX_RECORD_BYTES, decode
from ..messages.message import Message, calls_of, result_id_of
from ..messages.metadata import first_line, instant_of, is_human, metadata_of, timestamp_of
from ..tokens.counter import EstimateCounter, TokenCounter
from .packed import check_numbers, check_texts
from .summary import tokens_of

NOTE = "glance"
"""Its name among the notes of a checkpoint."""

VERSION = 2
"""To be raised whenever the same log gives something else."""

SAMPLES = 128
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


def glance_at(log: ReadableLog, counter: TokenCounter) -> Glance:
    """Look at a log that was opened.

    Raises:
        LogUnreadableError: its bytes changed.
    """
    return _glance(log, counter, _first_line(log)[0])


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
    )


def note_of(log: LogReader) -> bytes | None:
    """What `noted_glance` reads: a glance, and where its first line stands in the place of that line."""
    index, (line, ordinal) = log.index, _first_line(log)
    known = asdict(_glance(log, EstimateCounter(), line))
    del known["first_line"]
    place = []
    if line:
        content = next(iter(log.lines([ordinal])))[1]
        place = [index.offsets[ordinal], len(content), crc32(content)]
    try:
        return orjson.dumps({"version": VERSION, "glance": known, "line": place})
    except TypeError:  # a lone surrogate in a model's name
        return None


def noted_glance(path: str, files: FileSystem | None) -> Glance | None:
    """The glance that the checkpoint of a file notes; None unless that stands at the very end of the log as it is.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    log = OpenLog(path, files)
    try:
        if not log.open(create=False) or (note := read_note(log, NOTE, MAX_RECORD_BYTES)) is None:
            return None
        given = orjson.loads(note)
        if given["version"] != VERSION or given["glance"]["size_bytes"] != log.size():
            return None
        line, known = "", Glance(**given["glance"])
        for field in fields(Glance):
            (check_texts if isinstance(field.default, str) else check_numbers)([getattr(known, field.name)])
        if given["line"]:
            offset, length, check = given["line"]
            check_numbers((offset, length), 0, log.size())
            content = log.read(offset, length)
            if len(content) != length or crc32(content) != check:
                return None
            line = said_first(decode(content))
        return replace(known, first_line=line)
    except (ValueError, KeyError, TypeError, OSError) as error:
        if isinstance(error, LogUnreadableError):
            raise
        return None
    finally:
        log.close()


def said_first(message: Message) -> str:
    """The first line of a message that a person wrote; empty if there is none."""
    return first_line(message) if is_human(message) else ""


def _tokens(log: ReadableLog, counter: TokenCounter) -> int:
    live, lengths = log.index.live, log.index.lengths
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
    while position and index.roles[index.live[position - 1]] != ASSISTANT:
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
        position for position in reversed(range(len(index.live))) if index.roles[index.live[position]] == ASSISTANT
    )
    for position in islice(answers, 1):
        for message in log.read([index.live[position]]):
            said = metadata_of(message).get("model") or message.get("model")
            if isinstance(said, str) and said:
                return said
    return next((model for _, model in reversed(index.usage) if model), "")


def _first_line(log: ReadableLog) -> tuple[str, int]:
    """The first line that a person wrote, and the message's ordinal; empty and -1 if there is none."""
    for ordinal in islice(_users(log.index), _FIRST_USERS):
        for message in log.read([ordinal]):
            if line := said_first(message):
                return line, ordinal
    return "", -1


def _users(index: Index) -> Iterator[int]:
    for run in runs_of(index.live):
        ordinal = index.roles.find(USER, run.start, run.stop)
        while ordinal >= 0:
            yield ordinal
            ordinal = index.roles.find(USER, ordinal + 1, run.stop)
