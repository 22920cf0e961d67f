"""Take the glance of an open log: its messages, estimated tokens, first line, times and model.

Tokens are counted for at most `SAMPLES` messages, at even distances in bytes, so that large messages have their share.
Their tokens per byte are used for the whole log. If the log has no more messages than that, all are counted.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from ..log.contract import ReadableLog
from ..log.index import ASSISTANT, USER, Index
from ..messages.message import Message, calls_of, metadata_of, result_id_of, text_of
from ..messages.message_times import instant_of, timestamp_of
from ..messages.normalize import tokens_of
from ..messages.own_words import own_words
from ..tokens.counter import TokenCounter
from .glance import Glance, said_first
from .last_request import last_request_of

SAMPLES = 128
_RUN = 512  # most records to step through for a place in bytes
_FIRST_USERS = 20  # most user messages to search for a human one
_NEIGHBOURS = 20  # most messages at either end to search for a time


def take_glance(log: ReadableLog, counter: TokenCounter) -> tuple[Glance, int]:
    """Make the glance of a log, and return it with the ordinal of the message with the first line (-1 without one).

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    first_line, first_line_ordinal = _first_line(log)
    description = log.describe()
    index = log.index
    positions = range(len(index.live))
    glance = Glance(
        size_bytes=description.size_bytes,
        messages=len(index.live),
        hidden=len(index) - len(index.live),
        tokens=_tokens(log, counter),
        damage=len(index.damage),
        torn_bytes=description.torn_bytes,
        open_calls=_open_calls(log),
        first_line=first_line,
        first_message=_time_near(log, positions),
        last_message=_time_near(log, positions[::-1]),
        model=_model(log),
        label=index.session.name,
        tags=" ".join(index.session.tags),
        last_request=last_request_of(log),
    )
    return glance, first_line_ordinal


def _tokens(log: ReadableLog, counter: TokenCounter) -> int:
    """Return the number of tokens of the live messages, estimated from a sample if there are many."""
    live = log.index.live
    lengths = log.index.columns.lengths
    if len(live) <= SAMPLES:
        return sum(tokens_of(message, counter) for message in log.read(live))
    runs: list[range] = []  # of at most `_RUN` records
    for run in log.index.live_runs():
        runs += [run[start : start + _RUN] for start in range(0, len(run), _RUN)]
    ends = list(accumulate(sum(lengths[run.start : run.stop]) for run in runs))
    total_bytes = ends[-1]
    # The samples are at equal distances in bytes, so a large message may be sampled several times.
    marks = ((2 * number + 1) * total_bytes // (2 * SAMPLES) for number in range(SAMPLES))
    samples = Counter(_record_at(mark, runs, ends, lengths) for mark in marks)
    tokens_per_byte = 0.0  # summed over all samples
    for (ordinal, times), message in zip(samples.items(), log.read(list(samples)), strict=True):
        tokens_per_byte += times * tokens_of(message, counter) / lengths[ordinal]
    return round(total_bytes * tokens_per_byte / SAMPLES)


def _record_at(mark: int, runs: Sequence[range], ends: Sequence[int], lengths: array[int]) -> int:
    """Return the ordinal of the record at a byte of the live messages, given the ends of their runs."""
    at = bisect_right(ends, mark)
    run = runs[at]
    start = ends[at] - sum(lengths[run.start : run.stop])
    return run[bisect_right(list(accumulate(lengths[run.start : run.stop])), mark - start)]


def _open_calls(log: ReadableLog) -> int:
    """Count the calls of the last answer that have no result yet."""
    index = log.index
    position = len(index.live)
    while position and index.columns.roles[index.live[position - 1]] != ASSISTANT:
        position -= 1
    if not position:
        return 0
    messages = log.read(index.live[position - 1 :])
    calls = {call.id for call in calls_of(next(messages))}
    if not calls:
        return 0
    for message in messages:
        calls.discard(result_id_of(message) or "")
    return len(calls)


def _time_near(log: ReadableLog, positions: range) -> str:
    """Return the first time in some adjacent messages, or "" if none of these has a time."""
    for position in positions[:_NEIGHBOURS]:
        for message in log.read([log.index.live[position]]):
            time = timestamp_of(message)
            if instant_of(time) is not None:
                return time
    return ""


def _model(log: ReadableLog) -> str:
    """Return the model of the last answer or, if the answer names no model, the last model in the log's usage records.

    "" without both.
    """
    answer = _last_answer(log)
    if answer is not None:
        model = metadata_of(answer).get("model") or answer.get("model")
        if isinstance(model, str) and model:
            return model
    for _, model in reversed(log.index.session.usage):
        if model:
            return model
    return ""


def _last_answer(log: ReadableLog) -> Message | None:
    live = log.index.live
    roles = log.index.columns.roles
    for position in reversed(range(len(live))):
        if roles[live[position]] == ASSISTANT:
            return next(log.read([live[position]]))
    return None


def _first_line(log: ReadableLog) -> tuple[str, int]:
    """Return the first line that a person wrote and its message's ordinal, or "" and -1 for an empty history.

    If the history only has commands without arguments and texts of programs, return the first line of these.
    """
    first_of_programs = ""
    ordinal_of_programs = -1
    for ordinal in islice(_users(log.index), _FIRST_USERS):
        for message in log.read([ordinal]):
            line = said_first(message)
            if not line:
                continue
            if own_words(text_of(message)):
                return line, ordinal
            if ordinal_of_programs < 0:
                first_of_programs = line
                ordinal_of_programs = ordinal
    return first_of_programs, ordinal_of_programs


def _users(index: Index) -> Iterator[int]:
    """Yield the ordinals of the live user messages, in order."""
    for run in index.live_runs():
        ordinal = index.columns.roles.find(USER, run.start, run.stop)
        while ordinal >= 0:
            yield ordinal
            ordinal = index.columns.roles.find(USER, ordinal + 1, run.stop)
