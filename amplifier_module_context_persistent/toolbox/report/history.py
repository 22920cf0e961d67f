"""The session's history in columns, as the page holds it: its messages, its calls with their results, its turns.

One pass over the messages; their bodies go to the blocks as they come. Numbers are positions in what the page shows,
counted from 0. A column is a list with one item a message (or call), so that it compresses well.

A block is JSON, compressed by gzip, written in base64; each can be decoded by itself, with `base64 -d | gunzip`. The
same values give the same bytes.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from ...messages.message import Message, calls_of, result_id_of
from ...messages.metadata import given_id, instant_of, is_human, is_repair, metadata_of, timestamp_of
from ...messages.normalize import tokens_of
from ...messages.outcome import ANSWERED, FAILED, REJECTED, asking_calls, outcome_of
from ...sessions.costs import NOTHING, Bills, RequestBill
from ...sessions.transcript import Progress, Transcript, Turn
from ...tokens.counter import TokenCounter
from .body import Bodies

UNANSWERED = "unanswered"
_STATES = {ANSWERED: ".", FAILED: "f", REJECTED: "r", UNANSWERED: "u"}
_ROLES = {"assistant": "a", "tool": "t", "function": "t", "system": "s", "developer": "s"}
_LINE_CHARS = 160


@dataclass(slots=True)
class CallRow:
    """A call: the message that makes it and the one that answers it (-1: none), how it ended, how long it took."""

    message: int
    tool: str
    result: int = -1
    state: str = UNANSWERED
    duration_ms: int = -1


@dataclass(slots=True)
class TurnRow:
    """A turn: its number in the session, its first line, and its sums; it goes from `start` to before `stop`."""

    number: int
    start: int
    stop: int
    line: str = ""
    time: int = 0
    ms: int = 0
    tokens: int = 0
    calls: int = 0
    failed: int = 0
    """Calls that failed, were rejected, or have no answer."""


@dataclass(slots=True)
class History:
    """The columns. `roles` has a letter each: h human, u inserted for the user, a assistant, t result, s system."""

    roles: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    """Milliseconds since 1970; 0 where unknown."""
    tokens: list[int] = field(default_factory=list)
    chars: list[int] = field(default_factory=list)
    """Characters of text that are shown unfolded: an estimate of how tall the message is."""
    folds: list[int] = field(default_factory=list)
    """Rows that are folded: thinking and calls."""
    owners: list[int] = field(default_factory=list)
    """For a result, how many messages before it the call stands; 0 for all else."""
    calls: list[CallRow] = field(default_factory=list)
    turns: list[TurnRow] = field(default_factory=list)
    billed: dict[int, RequestBill] = field(default_factory=dict)
    """By the position of a message, what its request was billed, where somebody says so."""

    def __len__(self) -> int:
        return len(self.roles)

    def to_json(self) -> dict[str, Any]:
        """As the page reads it; see docs/report.md."""
        return {
            "roles": "".join(self.roles),
            "ids": self.ids,
            "times": differences(self.times),
            "tokens": self.tokens,
            "chars": self.chars,
            "folds": self.folds,
            "owners": self.owners,
            "calls": {
                "message": differences([call.message for call in self.calls]),
                "tool": [call.tool for call in self.calls],
                "result": [call.result - call.message if call.result >= 0 else 0 for call in self.calls],
                "state": "".join(_STATES[call.state] for call in self.calls),
                "ms": [call.duration_ms for call in self.calls],
            },
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
    """Read the messages of some turns, which follow one another."""
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
    """Takes in one message after the other."""

    def __init__(self, bodies: Bodies, blocks: BodyBlocks, counter: TokenCounter, bills: Bills) -> None:
        self.history = History()
        self._bodies, self._blocks, self._counter, self._bills = bodies, blocks, counter, bills
        self._waiting: dict[str, int] = {}
        self._asking: set[int] = set()
        """The calls to which exit code 1 is an answer."""

    def add(self, message: Message) -> None:
        history, position, role = self.history, len(self.history), str(message.get("role"))
        body = self._bodies.body(position, message)
        human = is_human(message)
        history.roles.append(("h" if human else "u") if role == "user" else _ROLES.get(role, "u"))
        history.ids.append(self._bodies.name(given_id(message) or ""))
        history.times.append(time_ms(timestamp_of(message)))
        history.tokens.append(tokens_of(message, self._counter))
        history.chars.append(sum(len(part[1]) for part in body if part[0] == "t"))
        history.folds.append(sum(part[0] in "kc" for part in body))
        history.owners.append(self._owner(position, message))
        calls = calls_of(message)
        asking = asking_calls(message) if calls else ()
        for call in calls:
            self._waiting[call.id] = len(history.calls)
            if call.id in asking:
                self._asking.add(len(history.calls))
            history.calls.append(CallRow(position, self._bodies.name(call.name)))
        if (billed := self._bills.of(message)) is not NOTHING:
            history.billed[position] = replace(billed, model=self._bodies.name(billed.model))
        turn = history.turns[-1]
        if human and not turn.line:
            said = (row.strip() for part in body if part[0] == "t" for row in part[1].split("\n"))
            turn.line = next((row for row in said if row), "")[:_LINE_CHARS]
        source = metadata_of(message).get("source")
        self._blocks.add([*body, ["s", self._bodies.name(source)]] if isinstance(source, str) and source else body)

    def finish(self) -> History:
        history = self.history
        for turn in history.turns:
            times = [time for time in history.times[turn.start : turn.stop] if time]
            turn.time, turn.ms = (times[0], max(times) - times[0]) if times else (0, 0)
            turn.tokens = sum(history.tokens[turn.start : turn.stop])
        number = 0
        for call in history.calls:
            while call.message >= history.turns[number].stop:
                number += 1
            history.turns[number].calls += 1
            history.turns[number].failed += call.state != ANSWERED
        return history

    def _owner(self, position: int, message: Message) -> int:
        """How far before a result its call stands, which takes note of how it ended; 0 where there is none."""
        call_id = result_id_of(message)
        number = self._waiting.pop(call_id, None) if call_id is not None else None
        if number is None:
            return 0
        row, times = self.history.calls[number], self.history.times
        row.result, row.state = position, outcome_of(message, asks=number in self._asking)
        if times[position] and times[row.message] and not is_repair(message):
            row.duration_ms = max(0, times[position] - times[row.message])
        return position - row.message


def differences(numbers: Sequence[int]) -> list[int]:
    """The first number, and the difference of each one from the one before."""
    return [number - before for before, number in zip([0, *numbers], numbers, strict=False)]


def time_ms(text: str) -> int:
    """An ISO 8601 time in milliseconds since 1970; 0 where it is none."""
    instant = instant_of(text)
    try:
        return max(0, round(instant.timestamp() * 1000)) if instant else 0
    except (OverflowError, ValueError, OSError):
        return 0


BLOCK_BYTES = 1 << 20
"""A block of messages is closed when its JSON has so many bytes."""

_LEVEL = 6  # 9 saves 2 % more and takes twice as long


def encode_block(value: Any) -> bytes:
    """Encode a value as one block."""
    return pack(orjson.dumps(value))


def pack(json_bytes: bytes) -> bytes:
    """Encode what is JSON already."""
    return base64.b64encode(gzip.compress(json_bytes, _LEVEL, mtime=0))


class BodyBlocks:
    """The bodies of messages, block by block in their order; add them one after the other, then `finish`."""

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        self._block_bytes = block_bytes
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._count = 0
        self.blocks: list[bytes] = []
        """Those that are closed, compressed."""
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
        """Close the block that was begun."""
        if self._waiting:
            self.blocks.append(pack(b"[" + b",".join(self._waiting) + b"]"))
            self._waiting, self._waiting_bytes = [], 0
