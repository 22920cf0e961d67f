"""Read the session's history into columns for the page: messages, calls with their results, and turns.

The messages are read once, and their bodies go to blocks in order. Positions count from 0, from the first message on
the page. A column is a list with one item for each message (or call), so that it compresses well.

A block is JSON, compressed by gzip and written in base64. Each block can be decoded alone, with `base64 -d | gunzip`.
The same values give the same bytes.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from ...messages.message import Message, calls_of, metadata_of, result_id_of
from ...messages.message_times import instant_of, timestamp_of
from ...messages.metadata import given_id, is_human, is_repair
from ...messages.normalize import tokens_of
from ...messages.outcome import ANSWERED, FAILED, REJECTED, asking_calls, outcome_of
from ...messages.own_words import command_named, own_words
from ...sessions.request_costs import NOTHING, Bills, RequestBill
from ...sessions.transcript import Progress, Transcript, Turn
from ...tokens.counter import TokenCounter
from .message_body import Bodies

UNANSWERED = "unanswered"
_STATES = {ANSWERED: ".", FAILED: "f", REJECTED: "r", UNANSWERED: "u"}
_ROLES = {"assistant": "a", "tool": "t", "function": "t", "system": "s", "developer": "s"}
_LINE_CHARS = 160


@dataclass(slots=True)
class CallRow:
    """A call: its message, its result's message and its duration (-1 if there is none), and its outcome."""

    message: int
    tool: str
    result: int = -1
    state: str = UNANSWERED
    duration_ms: int = -1


@dataclass(slots=True)
class TurnRow:
    """A turn: its number in the session, its first line, its sums, and its messages (`start` to before `stop`)."""

    number: int
    start: int
    stop: int
    line: str = ""
    time: int = 0
    ms: int = 0
    tokens: int = 0
    calls: int = 0
    failed: int = 0
    """The number of calls that failed, were rejected, or have no answer."""


@dataclass(slots=True)
class History:
    """The columns of a history.

    `roles` has one letter for each message: h human, u inserted for the user, a assistant, t result, s system.
    """

    roles: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    """Milliseconds since 1970; 0 if unknown."""
    tokens: list[int] = field(default_factory=list)
    chars: list[int] = field(default_factory=list)
    """The number of characters shown unfolded, from which the page estimates a message's height."""
    folds: list[int] = field(default_factory=list)
    """The number of folded rows: thinking and calls."""
    owners: list[int] = field(default_factory=list)
    """For a result, the distance to its call in messages; 0 for other messages."""
    calls: list[CallRow] = field(default_factory=list)
    turns: list[TurnRow] = field(default_factory=list)
    billed: dict[int, RequestBill] = field(default_factory=dict)
    """The known bills of requests, by the position of the answer."""

    def __len__(self) -> int:
        return len(self.roles)

    def to_json(self) -> dict[str, Any]:
        """Return the columns in the form that the page's script reads; see docs/report_data.md."""
        # How many messages after the call its result is; 0 if it has none.
        distances = [0 if call.result < 0 else call.result - call.message for call in self.calls]
        states = [_STATES[call.state] for call in self.calls]
        calls = {
            "message": differences([call.message for call in self.calls]),
            "tool": [call.tool for call in self.calls],
            "result": distances,
            "state": "".join(states),
            "ms": [call.duration_ms for call in self.calls],
        }
        return {
            "roles": "".join(self.roles),
            "ids": self.ids,
            "times": differences(self.times),
            "tokens": self.tokens,
            "chars": self.chars,
            "folds": self.folds,
            "owners": self.owners,
            "calls": calls,
            "turns": [asdict(turn) for turn in self.turns],
        }


def read_history(
    transcript: Transcript,
    turns: Sequence[Turn],
    bodies: Bodies,
    blocks: BodyBlocks,
    counter: TokenCounter,
    bills: Bills,
    progress: Progress = lambda *_: None,
) -> History:
    """Read the messages of adjacent turns, write their bodies to `blocks`, and return the history.

    Args:
        transcript: the session.
        turns: the turns to read, adjacent and in order.
        bodies: replaces secrets in bodies, if the report is redacted.
        blocks: receives the bodies.
        counter: the token counter.
        bills: the usage and the cost of each answer.
        progress: called with the name of the step, the number of messages so far, and the number of all.
    """
    reader = _HistoryReader(bodies, blocks, counter, bills)
    start = turns[0].start if turns else 0
    for turn in turns:
        reader.history.turns.append(TurnRow(turn.number, turn.start - start, turn.stop - start))
        for message in transcript.messages(turn.start, turn.stop):
            reader.add(message)
            progress("reading", len(reader.history), turns[-1].stop - start)
    blocks.finish()
    for turn, row in zip(turns, reader.history.turns, strict=True):
        if transcript.is_hidden(turn.start):
            row.line = f"[hidden from views] {row.line}"
    return reader.finish()


class _HistoryReader:
    """Adds messages to a history, one after another."""

    def __init__(self, bodies: Bodies, blocks: BodyBlocks, counter: TokenCounter, bills: Bills) -> None:
        self.history = History()
        self._bodies = bodies
        self._blocks = blocks
        self._counter = counter
        self._bills = bills
        self._waiting: dict[str, int] = {}
        self._asking: set[int] = set()
        """The numbers of calls for which exit code 1 is an answer."""

    def add(self, message: Message) -> None:
        """Add the next message."""
        history = self.history
        position = len(history)
        body = self._bodies.body(position, message)
        human = is_human(message)
        history.roles.append(_role_letter(message, human=human))
        history.ids.append(self._bodies.name(given_id(message) or ""))
        history.times.append(time_ms(timestamp_of(message)))
        history.tokens.append(tokens_of(message, self._counter))
        history.chars.append(sum(len(part[1]) for part in body if part[0] == "t"))
        history.folds.append(sum(part[0] in "kc" for part in body))
        history.owners.append(self._owner(position, message))
        self._add_calls(position, message)
        billed = self._bills.of(message)
        if billed is not NOTHING:
            history.billed[position] = replace(billed, model=self._bodies.name(billed.model))
        turn = history.turns[-1]
        if human and not turn.line:
            turn.line = _first_line(part[1] for part in body if part[0] == "t")[:_LINE_CHARS]
        source = metadata_of(message).get("source")
        if isinstance(source, str) and source:
            body = [*body, ["s", self._bodies.name(source)]]
        self._blocks.add(body)

    def _add_calls(self, position: int, message: Message) -> None:
        calls = calls_of(message)
        asking = asking_calls(message) if calls else ()
        for call in calls:
            number = len(self.history.calls)
            self._waiting[call.id] = number
            if call.id in asking:
                self._asking.add(number)
            self.history.calls.append(CallRow(position, self._bodies.name(call.name)))

    def finish(self) -> History:
        """Compute the sums of the turns, and return the history."""
        history = self.history
        for turn in history.turns:
            times = [time for time in history.times[turn.start : turn.stop] if time]
            if times:
                turn.time = times[0]
                turn.ms = max(times) - times[0]
            turn.tokens = sum(history.tokens[turn.start : turn.stop])
        number = 0
        for call in history.calls:
            while call.message >= history.turns[number].stop:
                number += 1
            history.turns[number].calls += 1
            history.turns[number].failed += call.state != ANSWERED
        return history

    def _owner(self, position: int, message: Message) -> int:
        """Add a result to the row of its call, and return the distance to the call in messages; 0 without a call."""
        call_id = result_id_of(message)
        number = self._waiting.pop(call_id, None) if call_id is not None else None
        if number is None:
            return 0
        row = self.history.calls[number]
        times = self.history.times
        row.result = position
        row.state = outcome_of(message, asks=number in self._asking)
        if times[position] and times[row.message] and not is_repair(message):
            row.duration_ms = max(0, times[position] - times[row.message])
        return position - row.message


def _role_letter(message: Message, *, human: bool) -> str:
    """Return the letter of a message in `History.roles`."""
    role = str(message.get("role"))
    if role == "user":
        return "h" if human else "u"
    return _ROLES.get(role, "u")


def _first_line(texts: Iterable[str]) -> str:
    """Return the first line with text that programs did not add; "" if there is none."""
    for text in texts:
        for line in (own_words(text) or command_named(text) or text).split("\n"):
            if line.strip():
                return line.strip()
    return ""


def differences(numbers: Sequence[int]) -> list[int]:
    """Return the first number, followed by the difference of each number from the number before."""
    return [number - before for before, number in zip([0, *numbers], numbers, strict=False)]


def time_ms(text: str) -> int:
    """Return an ISO 8601 time in milliseconds since 1970; 0 if the text is not a time."""
    instant = instant_of(text)
    try:
        return max(0, round(instant.timestamp() * 1000)) if instant else 0
    except (OverflowError, ValueError, OSError):
        return 0


BLOCK_BYTES = 1 << 20
"""A block of messages is complete when its JSON has this many bytes."""

_LEVEL = 6  # 9 saves 2 % more and takes twice as long


def encode_block(value: Any) -> bytes:
    """Encode a value as a block (compressed JSON), and return its bytes."""
    return pack(orjson.dumps(value))


def pack(json_bytes: bytes) -> bytes:
    """Encode JSON bytes as a block (compressed JSON), and return its bytes."""
    return base64.b64encode(gzip.compress(json_bytes, _LEVEL, mtime=0))


class BodyBlocks:
    """The bodies of messages in blocks. Add bodies in order, then call `finish`."""

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        self._block_bytes = block_bytes
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._count = 0
        self.blocks: list[bytes] = []
        """The closed blocks, compressed."""
        self.starts: list[int] = []
        """The number of the first message of each block, from 0."""

    def add(self, body: Any) -> None:
        """Add the next message's body."""
        encoded = orjson.dumps(body)
        if not self._waiting:
            self.starts.append(self._count)
        self._waiting.append(encoded)
        self._waiting_bytes += len(encoded)
        self._count += 1
        if self._waiting_bytes >= self._block_bytes:
            self.finish()

    def finish(self) -> None:
        """Close the current block."""
        if self._waiting:
            self.blocks.append(pack(b"[" + b",".join(self._waiting) + b"]"))
            self._waiting = []
            self._waiting_bytes = 0
