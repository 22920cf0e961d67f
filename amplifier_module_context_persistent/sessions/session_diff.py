"""Compare two sessions with a common beginning, such as a fork and its origin: find what each session did after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from ..catalogue.kept_figures import figures_of
from ..messages.first_line import first_line
from ..messages.message import Message
from ..tokens.counter import TokenCounter
from .file_uses import file_calls
from .prices import PriceList
from .request_costs import Bill, bills_by_turn
from .transcript import Transcript


@dataclass(frozen=True, slots=True)
class PartAfterFork:
    """The part of a session after the messages that it shares with the other session.

    Attributes:
        messages: the number of messages in this part.
        turns: the numbers of the turns in this part; the first turn may have begun before it.
        first_lines: the first line of the user's message in each turn.
        calls: the number of tool calls.
        files: the actions on each file, by path: read, changed, created, deleted.
        cost: the cost of the turns in US dollars, without models that have no known price; None if no cost is known.
        is_estimated: whether `cost` is an estimate, because the output tokens of a request were not reported.
    """

    messages: int
    turns: list[int]
    first_lines: list[str]
    calls: int
    files: dict[str, list[str]]
    cost: float | None
    is_estimated: bool


@dataclass(frozen=True, slots=True)
class SessionDiff:
    """The length of the beginning that two sessions share, in messages and in turns, and the rest of each session."""

    common_messages: int
    common_turns: int
    one: PartAfterFork
    other: PartAfterFork

    def to_json(self) -> dict[str, Any]:
        """Return the difference as plain JSON types."""
        return asdict(self)


def diff_of(one: Transcript, other: Transcript, counter: TokenCounter, prices: PriceList) -> SessionDiff:
    """Compare two sessions and return their difference.

    Args:
        one: the transcript of the first session.
        other: the transcript of the second session.
        counter: the token counter.
        prices: the prices of models, for the cost after the fork.

    Raises:
        LogUnreadableError: a log's bytes changed while they were read.
        CatalogueError: Python has no SQLite.
    """
    common = 0
    for message, other_message in zip_longest(_said(one), _said(other)):
        if message is None or message != other_message:
            break
        common += 1
    common_turns = sum(turn.stop <= common for turn in one.turns())
    part = _part_after_fork(one, common, counter, prices)
    other_part = _part_after_fork(other, common, counter, prices)
    return SessionDiff(common, common_turns, part, other_part)


def _said(transcript: Transcript) -> Iterator[tuple[Any, ...]]:
    for message in transcript.messages():
        yield message.get("role"), message.get("content"), message.get("tool_calls"), message.get("tool_call_id")


def _part_after_fork(transcript: Transcript, common: int, counter: TokenCounter, prices: PriceList) -> PartAfterFork:
    """Return what a session did after its first `common` messages."""
    later: list[Message] = list(transcript.messages(common))
    turns = [turn for turn in transcript.turns() if turn.stop > common]
    lines = []
    for turn in turns:
        (first_message,) = transcript.messages(turn.start, turn.start + 1)
        lines.append(first_line(first_message))
    files: dict[str, list[str]] = {}
    for call in file_calls(transcript):
        if call.message > common:
            actions = files.setdefault(call.path, [])
            if call.action not in actions:
                actions.append(call.action)
    with figures_of(transcript.reader, counter) as figures:
        bills = bills_by_turn(figures, prices)
    bill = Bill()
    for turn in turns:
        bill.add(bills.get(turn.number, Bill()))
    calls = sum(len(message.get("tool_calls") or ()) for message in later)
    has_answers = any(message.get("role") == "assistant" for message in later)
    is_cost_unknown = has_answers and not bill.has_cost
    cost = None if is_cost_unknown else bill.cost
    return PartAfterFork(
        len(later),
        [turn.number for turn in turns],
        first_lines=lines,
        calls=calls,
        files=files,
        cost=cost,
        is_estimated=bill.is_estimated,
    )
