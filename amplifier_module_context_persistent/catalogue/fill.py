"""Adding a log up: its turns, calls, requests, views and plans, as rows of the catalogue.

Two passes go on from where the last ones ended. The first takes all records in the log's order: hidden messages
count where a provider was paid for them, so a reset changes nothing there. The second takes the live messages in
theirs; a reset cuts off what it changed, from the first turn whose messages are not those that were added up.

Everything that a pass needs to go on is in the rows: calls and requests that nothing answers yet, and the last turn.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ..log.record import CONTROL_HEAD, Message, decode, name_of
from ..messages.message import calls_of, result_id_of, text_of
from ..messages.metadata import given_id, instant_of, is_human, is_repair, timestamp_of
from ..messages.outcome import ANSWERED, asking_calls, outcome_of
from ..messages.usage import ReportedUsage, usage_of_message
from .database import FIGURE_TABLES
from .requests import Request, RequestFinder

if TYPE_CHECKING:
    import sqlite3

LARGEST = 10
"""So many messages at most are shown as the largest."""
UNKNOWN_TOOL = "unknown"
PLAN_COUNTS = ("dropped", "budget_tokens", "target_tokens", "tokens_before", "tokens_after")
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_MOST_TOKENS = 1 << 53


class RecordPass:
    """The first pass: what was requested, handed out, planned and paid for.

    Args:
        connection: a catalogue, in a transaction that writes.
        session: the session's id.
        count: counts a message's tokens, for the output of requests where the provider's number is not in the log.
        repeats: as `RequestFinder` takes it.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        session: int,
        count: Callable[[Message], int],
        repeats: Callable[[str], bool],
    ) -> None:
        self._connection, self._session = connection, session
        self._finder = RequestFinder(count, repeats)
        rows = connection.execute(
            "SELECT id, uncached_tokens, cached_tokens, written_tokens, output_tokens, provider, model,"
            " written_1h_tokens FROM requests"
            " WHERE session = ? AND uncached_tokens IS NOT NULL AND is_answered = 0 ORDER BY id",
            (session,),
        )
        self._waiting: list[int] = []
        for row, *usage in rows:
            self._waiting.append(row)
            self._finder.waiting.append(ReportedUsage(*usage))
        ((self._finder.forked_from, copies),) = connection.execute(
            "SELECT forked_from, is_copying FROM sessions WHERE id = ?", (session,)
        )
        self._finder.copies = bool(copies)
        made = connection.execute("SELECT made_us FROM views WHERE session = ? ORDER BY id DESC LIMIT 1", (session,))
        self._made_us: int | None = (made.fetchone() or (None,))[0]
        """When the last view was made: a request that nothing answers has no other time."""

    def take(self, line: bytes) -> None:
        """Take the line of the next record."""
        finder = self._finder
        waited = list(finder.waiting)
        if not line.startswith(CONTROL_HEAD):
            if requests := list(finder.take_line(line)):
                self._answer(requests, waited)
            return
        try:
            record = decode(line)
        except ValueError:
            return  # `verify` reports it
        list(finder.take(record))
        kind = name_of(record.get("_record"))
        if kind == "plan":
            self._take_plan(record)
        elif kind == "view":
            self._take_receipt(record)
        elif kind == "usage":
            self._take_report(record, finder.waiting[-1] if len(finder.waiting) > len(waited) else None)

    def finish(self) -> None:
        """Note what the next pass needs to go on."""
        self._connection.execute(
            "UPDATE sessions SET forked_from = ?, is_copying = ? WHERE id = ?",
            (self._finder.forked_from, self._finder.copies, self._session),
        )

    def _answer(self, requests: Sequence[Request], waited: Sequence[ReportedUsage]) -> None:
        """Note which message answered the requests that waited; or one that only the message tells of."""
        rows, self._waiting = self._waiting, []
        if waited and requests[0].usage is waited[0]:
            told = [
                (one.output_tokens, one.is_estimate, _text(one.message_id), _microseconds(one.time)) for one in requests
            ]
            self._connection.executemany(
                "UPDATE requests SET output_tokens = ?, is_output_estimated = ?, answer_id = ?, is_answered = 1,"
                " time_us = ifnull(?, time_us) WHERE id = ?",
                [(*one, row) for one, row in zip(told, rows, strict=True)],
            )
            return
        self._connection.executemany(
            "UPDATE requests SET uncached_tokens = NULL WHERE id = ?", [(row,) for row in rows]
        )  # what the message tells itself counts
        for request in requests:
            self._add_answered(request, _microseconds(request.time))

    def _add_answered(self, request: Request, time_us: int | None) -> None:
        usage = request.usage
        tokens = (usage.uncached, usage.cached, usage.written, usage.written_1h, request.output_tokens)
        answer = (request.is_estimate, _text(request.message_id), time_us)
        self._connection.execute(
            "INSERT INTO requests (session, provider, model, uncached_tokens, cached_tokens, written_tokens,"
            " written_1h_tokens, output_tokens, is_output_estimated, answer_id, time_us, is_answered)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
            (self._session, _text(usage.provider), _text(usage.model), *tokens, *answer),
        )

    def _take_report(self, record: Message, usage: ReportedUsage | None) -> None:
        """Take what a provider reported; `usage` is None where a fork copied it, or it says nothing of tokens."""
        actual, predicted, cached = (record.get(f"{name}_tokens") for name in ("actual", "predicted", "cached"))
        known = isinstance(actual, int) and isinstance(predicted, int) and 0 < actual < _MOST_TOKENS
        if not known and usage is None:
            return
        error = None
        if isinstance(actual, int) and isinstance(predicted, int) and known:
            error = float(f"{abs(min(predicted, _MOST_TOKENS) / actual - 1):.3g}")
        report = (
            actual if known else None,
            _count_or_none(cached) or 0,
            error,
            _number(record.get("ratio")),
            _number(record.get("overhead_tokens")),
        )
        tokens = (
            (usage.uncached, usage.cached, usage.written, usage.written_1h, usage.output)
            if usage
            else (None, None, None, 0, None)
        )
        names = (_text(record.get("provider")), _text(record.get("model")))
        added = self._connection.execute(
            "INSERT INTO requests (session, provider, model, uncached_tokens, cached_tokens, written_tokens,"
            " written_1h_tokens, output_tokens, actual_tokens, reported_cached_tokens, error, ratio, overhead_tokens,"
            " time_us)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._session, *names, *tokens, *report, self._made_us),
        )
        if usage is not None:
            self._waiting.append(int(added.lastrowid or 0))

    def _take_plan(self, record: Message) -> None:
        name, cuts = repr(record.get("id")), record.get("cuts")
        if self._connection.execute(
            "SELECT 1 FROM plans WHERE session = ? AND plan = ?", (self._session, _text(name))
        ).fetchone():
            return  # a rewind writes the plan in force again
        native = record.get("native")
        if isinstance(native, dict) and (usage := usage_of_message(native)) is not None:
            self._add_answered(Request(usage, usage.output or 0, is_estimate=False, message_id=""), self._made_us)
        summary = {key: record.get(key) for key in ("id", "strategy", "step")}
        summary |= {key: _count_or_none(record.get(key)) for key in PLAN_COUNTS}
        summary["shortened"] = len(cuts) if isinstance(cuts, dict) else 0
        self._connection.execute(
            "INSERT INTO plans VALUES (NULL, ?, ?, ?)", (self._session, _text(name), json.dumps(summary))
        )

    def _take_receipt(self, record: Message) -> None:
        """A view continues the last one with the same plan and head text; then that one's tokens are its beginning."""
        from ..view.receipts import Receipt  # it loads half of the package, and most logs are known already

        try:
            receipt = Receipt.from_record(record)
        except ValueError:
            return  # `views` counts it
        before = self._connection.execute(
            "SELECT tokens FROM views WHERE session = ? AND plan = ? AND head = ? AND can_continue"
            " ORDER BY id DESC LIMIT 1",
            (self._session, _text(receipt.plan), _text(receipt.head)),
        ).fetchone()
        self._made_us = _microseconds(receipt.time)
        line, shared = (_text(receipt.plan), _text(receipt.head)), min(before[0], receipt.tokens) if before else 0
        self._connection.execute(
            "INSERT INTO views VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._session,
                *line,
                min(receipt.tokens, _MOST_TOKENS),
                shared,
                not receipt.extras,
                min(receipt.unbound, _MOST_TOKENS),
                self._made_us,
            ),
        )


@dataclass(slots=True)
class _Turn:
    """A turn as it is added up; a row of `turns`, with its rows of `shares` and `large`."""

    number: int
    first_position: int
    messages: int = 0
    tokens: int = 0
    has_person: bool = False
    first_us: int | None = None
    last_us: int | None = None
    timed_position: int | None = None
    said_position: int | None = None
    ordinals_crc32: int = 0
    shares: dict[str, list[int]] = field(default_factory=dict)
    large: list[tuple[int, int]] = field(default_factory=list)
    """Tokens and negated positions."""


class MessagePass:
    """The second pass: turns, calls and their results, over the live messages.

    Args:
        connection: a catalogue, in a transaction that writes.
        session: the session's id; rows of it that a reset made void are gone (`cut`).
        count: counts a message's tokens.
    """

    def __init__(self, connection: sqlite3.Connection, session: int, count: Callable[[Message], int]) -> None:
        self._connection, self._session, self._count = connection, session, count
        self._turn = self._last_turn()
        self._open: dict[str, list[tuple[int, bool]]] = {}
        rows = connection.execute(
            "SELECT call_id, id, asks FROM calls WHERE session = ? AND result_position IS NULL ORDER BY call_id, id",
            (session,),
        )
        for call_id, row, asks in rows:
            self._open.setdefault(call_id, []).append((row, bool(asks)))

    @property
    def position(self) -> int:
        """Where in the live history it goes on, from 0."""
        return self._turn.first_position + self._turn.messages

    def take(self, ordinal: int, message: Message) -> None:
        """Take the next live message."""
        human = is_human(message)
        if human and self._turn.has_person:
            self._write_turn()
            self._turn = _Turn(self._turn.number + 1, self.position)
        turn, position, tokens = self._turn, self.position, self._count(message)
        us = None if is_repair(message) else _microseconds(timestamp_of(message))
        self._take_calls(message, position, tokens, us)
        if human and turn.said_position is None and result_id_of(message) is None and text_of(message).strip():
            turn.said_position = position
        if us is not None:
            if turn.first_us is None or turn.last_us is None:
                turn.first_us, turn.last_us, turn.timed_position = us, us, position
            turn.last_us = max(turn.last_us, us)
        share = turn.shares.setdefault(_text(message.get("role")), [0, 0])
        share[0] += 1
        share[1] += tokens
        turn.large = nlargest(LARGEST, [*turn.large, (tokens, -position)])
        turn.ordinals_crc32 = crc32(array("I", [ordinal]).tobytes(), turn.ordinals_crc32)
        turn.has_person = turn.has_person or human
        turn.messages += 1
        turn.tokens += tokens
        if message.get("role") == "assistant" and (message_id := given_id(message)):
            self._connection.execute(
                "UPDATE requests SET turn = ? WHERE session = ? AND answer_id = ?",
                (turn.number, self._session, _text(message_id)),
            )

    def finish(self) -> None:
        """Write the last turn, as far as it goes."""
        if self._turn.messages:
            self._write_turn()

    def _take_calls(self, message: Message, position: int, tokens: int, us: int | None) -> None:
        """Add a message's calls; let a result answer the last call with its id that has none."""
        connection, turn = self._connection, self._turn.number
        if calls := calls_of(message):
            asking = asking_calls(message)
            for call in calls:
                row = (self._session, turn, position, _text(call.id), _text(call.name), call.id in asking, us)
                added = connection.execute(
                    "INSERT INTO calls (session, turn, position, call_id, tool, asks, called_us)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
                self._open.setdefault(_text(call.id), []).append((int(added.lastrowid or 0), call.id in asking))
        call_id = result_id_of(message)
        if call_id is None:
            return
        waiting = self._open.get(_text(call_id)) if call_id else None
        call_row, asks = waiting.pop() if waiting else (None, False)
        result = (position, us, outcome_of(message, asks=asks) != ANSWERED, tokens)
        if call_row is not None:
            connection.execute(
                "UPDATE calls SET (result_position, answered_us, failed, result_tokens) = (?, ?, ?, ?) WHERE id = ?",
                (*result, call_row),
            )
        else:
            connection.execute(
                "INSERT INTO calls (session, turn, call_id, tool, asks, result_position, answered_us, failed,"
                " result_tokens) VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?)",
                (self._session, turn, _text(call_id), _text(message.get("name") or UNKNOWN_TOOL), *result),
            )

    def _last_turn(self) -> _Turn:
        row = self._connection.execute(
            "SELECT turn, first_position, messages, tokens, has_person, first_us, last_us, timed_position,"
            " said_position, ordinals_crc32 FROM turns WHERE session = ? ORDER BY turn DESC LIMIT 1",
            (self._session,),
        ).fetchone()
        if row is None:
            return _Turn(1, 0)
        turn = _Turn(*row)
        key = (self._session, turn.number)
        shares = self._connection.execute(
            "SELECT role, messages, tokens FROM shares WHERE session = ? AND turn = ?", key
        )
        turn.shares = {role: [messages, tokens] for role, messages, tokens in shares}
        large = self._connection.execute("SELECT tokens, -position FROM large WHERE session = ? AND turn = ?", key)
        turn.large = [(tokens, negated) for tokens, negated in large]
        return turn

    def _write_turn(self) -> None:
        connection, turn, session = self._connection, self._turn, self._session
        said = (turn.first_us, turn.last_us, turn.timed_position, turn.said_position, turn.ordinals_crc32)
        row = (session, turn.number, turn.first_position, turn.messages, turn.tokens, turn.has_person, *said)
        connection.execute("INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.executemany(
            "INSERT OR REPLACE INTO shares VALUES (?, ?, ?, ?, ?)",
            [(session, turn.number, role, *share) for role, share in turn.shares.items()],
        )
        connection.execute("DELETE FROM large WHERE session = ? AND turn = ?", (session, turn.number))
        connection.executemany(
            "INSERT INTO large VALUES (?, ?, ?, ?)",
            [(session, -negated, turn.number, tokens) for tokens, negated in turn.large],
        )


def forget_figures(connection: sqlite3.Connection, session: int) -> None:
    """Forget what a session adds up to."""
    for table in FIGURE_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    connection.execute("UPDATE sessions SET forked_from = '', is_copying = 0 WHERE id = ?", (session,))


def cut(connection: sqlite3.Connection, session: int, live: Sequence[int]) -> None:
    """Take out the turns whose messages are no longer those that were added up, and all after them."""
    rows = connection.execute(
        "SELECT turn, first_position, messages, ordinals_crc32 FROM turns WHERE session = ? ORDER BY turn", (session,)
    )
    for turn, first, messages, check in rows:
        if first + messages > len(live) or crc32(array("I", live[first : first + messages]).tobytes()) != check:
            for table in ("turns", "shares", "large"):
                connection.execute(f"DELETE FROM {table} WHERE session = ? AND turn >= ?", (session, turn))
            connection.execute(
                "DELETE FROM calls WHERE session = ? AND ifnull(position, result_position) >= ?", (session, first)
            )
            connection.execute(
                "UPDATE calls SET (result_position, answered_us, failed, result_tokens) = (NULL, NULL, 0, 0)"
                " WHERE session = ? AND result_position >= ?",
                (session, first),
            )
            connection.execute("UPDATE requests SET turn = NULL WHERE session = ? AND turn >= ?", (session, turn))
            return


def _count_or_none(value: Any) -> int | None:
    """A count that a record gives; None for what is none, as another program may have written it."""
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST_TOKENS else 0.0


def _microseconds(time: str) -> int | None:
    """A time as microseconds since 1970."""
    instant = instant_of(time)
    return (instant - _EPOCH) // _MICROSECOND if instant is not None else None


def _text(value: Any) -> str:
    """A text that SQLite can hold."""
    return str(value if value is not None else "").encode("utf-8", "replace").decode()
