"""Compute a log's figures: its turns, calls, requests, views and plans, as rows of the catalogue.

There are two passes. The first reads all records in the log's order, because hidden messages were paid for too. The
second reads the live messages in the order of the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from functools import partial
from heapq import nlargest

from ..log.contract import ReadableLog
from ..log.record_line import Message
from ..messages.message import calls_of, result_id_of, text_of
from ..messages.message_times import timestamp_of
from ..messages.metadata import given_id, is_human, is_repair
from ..messages.normalize import tokens_of
from ..messages.outcome import ANSWERED, asking_calls, outcome_of
from ..tokens.counter import TokenCounter
from .copy_id import copy_id
from .record_pass import RecordPass, Request
from .storable_values import Row, microseconds, storable_text

LARGEST = 10
"""The most messages that are listed as the largest."""
UNKNOWN_TOOL = "unknown"


@dataclass(slots=True)
class _Turn:
    """The figures of a turn."""

    number: int
    first_position: int
    messages: int = 0
    tokens: int = 0
    first_us: int | None = None
    last_us: int | None = None
    timed_position: int | None = None
    said_position: int | None = None
    copy_id: str = ""
    """The turn's id in all copies: the `copy_id` of the message that began the turn, a space, and the `copy_id` of its
    answer.

    Sessions may get equal questions in the same second, but their answers differ.
    """
    has_person: bool = False
    is_answered: bool = False

    def row(self) -> Row:
        """Return the values of the turn's row: all fields but the last two, which only the pass needs."""
        return astuple(self)[:-2]


@dataclass(slots=True)
class _Call:
    """The figures of a call, or of a result that answers no call."""

    turn: int
    position: int | None
    tool: str
    called_us: int | None = None
    result_position: int | None = None
    answered_us: int | None = None
    failed: bool = False
    result_tokens: int = 0
    copy_id: str = ""
    """An id that is equal in all sessions that have a copy of the call, or "" if nothing identifies the call."""


class MessagePass:
    """The second pass: turns, calls and results, over the live messages.

    Args:
        count: counts a message's tokens.
        records: the first pass. Each of its requests gets the turn of its answer, and the usage of the live version.
    """

    def __init__(self, count: Callable[[Message], int], records: RecordPass) -> None:
        self._count = count
        self._records = records
        self.turns = [_Turn(1, 0)]
        self.calls: list[_Call] = []
        self.shares: dict[str, list[int]] = {}
        """The first turn with a message, the number of messages and their tokens, by role."""
        self.large: list[tuple[int, int, str, str]] = []
        """The largest messages: tokens, negated position, id and role."""
        self._open: dict[str, list[tuple[_Call, bool]]] = {}
        """Calls without a result so far, by id, each with whether its command asks a question (exit code 1 is then an
        answer)."""
        self._answered: dict[str, list[Request]] = {}
        for request in records.requests:
            self._answered.setdefault(request.answer_id, []).append(request)

    def run(self, log: ReadableLog) -> MessagePass:
        """Read all live messages of a log and return self."""
        for position, message in enumerate(log.read(log.index.live)):
            self._take(position, message)
        return self

    def rows_of_shares(self) -> list[Row]:
        """Return a row for each role: the role, its messages and their tokens, in the order of their first turns."""
        in_order = sorted((first_turn, role) for role, (first_turn, _, _) in self.shares.items())
        rows: list[Row] = []
        for _, role in in_order:
            _, messages, tokens = self.shares[role]
            rows.append((role, messages, tokens))
        return rows

    def rows_of_large(self) -> list[Row]:
        """Return a row for each of the largest messages: position, id, role and tokens."""
        return [(-negated, message_id, role, tokens) for tokens, negated, message_id, role in self.large]

    def _take(self, position: int, message: Message) -> None:
        """Process the next live message."""
        is_persons = is_human(message)
        tokens = self._count(message)
        us = None if is_repair(message) else microseconds(timestamp_of(message))
        role = storable_text(message.get("role"))
        message_id = given_id(message) or ""
        if is_persons and self.turns[-1].has_person:
            self.turns.append(_Turn(self.turns[-1].number + 1, position))
        turn = self.turns[-1]
        self._identify(turn, message, is_persons=is_persons)
        self._take_calls(message, position, tokens, us)
        if is_persons and turn.said_position is None and result_id_of(message) is None and text_of(message).strip():
            turn.said_position = position
        if us is not None:
            if turn.first_us is None or turn.last_us is None:
                turn.first_us = us
                turn.last_us = us
                turn.timed_position = position
            turn.last_us = max(turn.last_us, us)
        turn.has_person = turn.has_person or is_persons
        turn.messages += 1
        turn.tokens += tokens
        share = self.shares.setdefault(role, [turn.number, 0, 0])
        share[1] += 1
        share[2] += tokens
        self.large = nlargest(LARGEST, [*self.large, (tokens, -position, storable_text(message_id), role)])
        if message_id and role == "assistant":
            if message_id in self._records.rewritten:
                self._records.take_version(message)
            for request in self._answered.get(message_id, ()):
                request.turn = turn.number

    def _identify(self, turn: _Turn, message: Message, *, is_persons: bool) -> None:
        """Set the id that a turn shares with its copies: the id of the person's message, else of the first message.

        The id of the first answer is added. The message is not yet counted in the turn.
        """
        begins_turn = not turn.messages or (is_persons and not turn.has_person)
        if begins_turn:
            turn.copy_id = copy_id(message)
            turn.is_answered = False
        elif turn.copy_id and not turn.is_answered and message.get("role") == "assistant":
            turn.copy_id = f"{turn.copy_id} {copy_id(message)}"
            turn.is_answered = True

    def _take_calls(self, message: Message, position: int, tokens: int, us: int | None) -> None:
        """Add a message's calls, or the result that the message is. A result answers the last open call with its id."""
        turn = self.turns[-1].number
        calls = calls_of(message)
        if calls:
            asking = asking_calls(message)
            id_in_copies = copy_id(message)
            for number, call in enumerate(calls):
                call_copy_id = f"{id_in_copies} {number}" if id_in_copies else ""
                self.calls.append(_Call(turn, position, storable_text(call.name), us, copy_id=call_copy_id))
                self._open.setdefault(call.id, []).append((self.calls[-1], call.id in asking))
        call_id = result_id_of(message)
        if call_id is None:
            return
        unanswered = self._open.get(call_id) if call_id else None
        if unanswered:
            answered, asks = unanswered.pop()
        else:
            tool = storable_text(message.get("name") or UNKNOWN_TOOL)
            answered = _Call(turn, None, tool, copy_id=copy_id(message))
            asks = False
            self.calls.append(answered)
        answered.result_position = position
        answered.answered_us = us
        answered.result_tokens = tokens
        answered.failed = outcome_of(message, asks=asks) != ANSWERED


@dataclass(frozen=True, slots=True)
class FigureRows:
    """The figures of a log, as rows."""

    rows: list[tuple[str, Row]]
    """The rows with the names of their tables, one table after the other."""
    is_fork: bool

    @classmethod
    def of(cls, log: ReadableLog, counter: TokenCounter) -> FigureRows:
        """Compute the figures of a log.

        Raises:
            LogUnreadableError: its bytes changed while they were read.
        """
        count = partial(tokens_of, counter=counter)
        records = RecordPass(count).run(log)
        messages = MessagePass(count, records).run(log)
        tables: dict[str, Iterable[Row]] = {
            "turns": [turn.row() for turn in messages.turns if turn.messages],
            "shares": messages.rows_of_shares(),
            "large": messages.rows_of_large(),
            "calls": map(astuple, messages.calls),
            "requests": (request.row() for request in records.requests),
            "views": records.views,
            "plans": records.plans,
        }
        rows_with_table: list[tuple[str, Row]] = []
        for table, rows in tables.items():
            rows_with_table += [(table, row) for row in rows]
        return cls(rows_with_table, bool(records.forked_from))
