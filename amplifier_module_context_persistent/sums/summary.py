"""The sum of a run of messages: by role, by tool, by turn, the largest ones, and which calls nothing answers.

Sums of neighbouring runs can be joined, and the result is the one of both runs together, wherever they were cut. So a
result whose call stands before the run waits in the sum (`loose`), as does a call that nothing in the run answers
(`open`): joining brings them together. Calls and results with the same id match like brackets: a result answers the
last call with its id that has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..messages.command_outcome import asking_calls
from ..messages.message import Message, calls_of, result_id_of, text_of
from ..messages.metadata import instant_of, is_human, timestamp_of
from ..messages.normalize import normalise
from ..messages.outcome import ANSWERED, outcome_of
from ..tokens.counter import TokenCounter, count_message
from .packed import check_numbers, check_texts
from .requests import Request
from .turn_rows import TurnRows

LARGEST = 10
UNKNOWN_TOOL = "unknown"
FAILED_AT = 2
"""Where results that tell of an error stand among the numbers of a tool."""


class OpenCall(NamedTuple):
    """A call that nothing in the run answers: its tool, its turn, and whether exit code 1 is an answer to it.

    That is looked at where it matters; till then the message stands for it.
    """

    tool: str
    row: int
    asks: bool | Message

    def is_asking(self, call_id: str) -> bool:
        """Whether exit code 1 is an answer to it."""
        return self.asks if isinstance(self.asks, bool) else call_id in asking_calls(self.asks)


class LooseResult(NamedTuple):
    """A result of which nothing in the run is the call."""

    call_id: str
    row: int
    failed: bool
    says_no: bool
    """Whether it did not fail if its call asks."""
    tokens: int
    tool: str
    """The tool that it names itself."""


class Spent(NamedTuple):
    """What the requests of a turn read and wrote, by model."""

    row: int
    model: str
    uncached: int
    cached: int
    written: int
    output: int


@dataclass(slots=True)
class Summary:
    """The sum of a run of messages; positions and rows count from its beginning."""

    messages: int = 0
    tokens: int = 0
    roles: dict[str, list[int]] = field(default_factory=dict)
    """By role: messages, tokens."""
    tools: dict[str, list[int]] = field(default_factory=dict)
    """By tool: calls, results, results that tell of an error, tokens of results."""
    rows: TurnRows = field(default_factory=TurnRows)
    spent: list[Spent] = field(default_factory=list)
    largest: list[tuple[int, int]] = field(default_factory=list)
    """Tokens and negated positions of the largest messages, the largest first; of equal ones the first is larger."""
    open: dict[str, list[OpenCall]] = field(default_factory=dict)
    loose: list[LooseResult] = field(default_factory=list)

    def add(self, message: Message, tokens: int, requests: Iterable[Request] = ()) -> None:
        """Count the next message.

        Args:
            message: the message as it was stored.
            tokens: what it comes to.
            requests: the requests that it answered.
        """
        if is_human(message):
            self.rows.begin()
        rows, row = self.rows, len(self.rows) - 1
        role = self.roles.setdefault(str(message.get("role")), [0, 0])
        role[0] += 1
        role[1] += tokens
        for call in calls_of(message):
            self._tool(call.name)[0] += 1
            rows.calls[row] += 1
            self.open.setdefault(call.id, []).append(OpenCall(call.name, row, message))
        call_id = result_id_of(message)
        if call_id is not None:
            name = str(message.get("name") or UNKNOWN_TOOL)
            failed = outcome_of(message) != ANSWERED
            says_no = failed and outcome_of(message, asks=True) == ANSWERED
            self._answer(LooseResult(call_id, row, failed, says_no, tokens, name))
        for request in requests:
            usage = request.usage
            used = Spent(row, usage.model, usage.uncached, usage.cached, usage.written, request.output_tokens)
            self.spent.append(used)
        says = call_id is None and is_human(message) and bool(text_of(message).strip())
        rows.count(tokens, instant_of(timestamp_of(message)), says=says)
        self._rank([(tokens, -self.messages)])
        self.messages += 1
        self.tokens += tokens

    def join(self, after: Summary) -> None:
        """Add the sum of the run that follows this one."""
        shift = self.rows.join(after.rows)
        for role, numbers in after.roles.items():
            _add(self.roles.setdefault(role, [0, 0]), numbers)
        for tool, numbers in after.tools.items():
            _add(self._tool(tool), numbers)
        for result in after.loose:
            self._answer(result._replace(row=result.row + shift))
        for call_id, calls in after.open.items():
            self.open.setdefault(call_id, []).extend(call._replace(row=call.row + shift) for call in calls)
        self.spent += [one._replace(row=one.row + shift) for one in after.spent]
        self._rank([(tokens, position - self.messages) for tokens, position in after.largest])
        self.messages += after.messages
        self.tokens += after.tokens

    def finish(self) -> None:
        """Take what waits as it is: this is the whole history."""
        for result in self.loose:
            self._count_result(result.tool, result.row, result)
        self.loose = []

    def open_by_row(self) -> dict[int, int]:
        """How many calls of each row nothing answers."""
        found: dict[int, int] = {}
        for calls in self.open.values():
            for call in calls:
                found[call.row] = found.get(call.row, 0) + 1
        return found

    def to_json(self) -> list[Any]:
        """As plain JSON types, for `from_json`."""
        spent, loose = list(map(tuple, self.spent)), list(map(tuple, self.loose))
        calls = {
            call_id: [(call.tool, call.row, call.is_asking(call_id)) for call in waiting]
            for call_id, waiting in self.open.items()
        }
        sizes = (self.messages, self.tokens)
        return [*sizes, self.roles, self.tools, self.rows.columns(), spent, self.largest, calls, loose]

    @classmethod
    def from_json(cls, given: list[Any]) -> Summary:
        """Read what `to_json` gave.

        Raises:
            ValueError, TypeError: it is something else.
        """
        messages, tokens, roles, tools, columns, spent, largest, calls, loose = given
        return cls(
            messages,
            tokens,
            roles,
            tools,
            TurnRows(columns),
            list(map(Spent._make, spent)),
            [(size, position) for size, position in largest],
            {call_id: list(map(OpenCall._make, waiting)) for call_id, waiting in calls.items()},
            list(map(LooseResult._make, loose)),
        )

    def check(self, messages: int) -> None:
        """Check that it may be the sum of so many messages, whoever wrote it down.

        Raises:
            ValueError: it cannot be.
        """
        rows, last_row = self.rows, len(self.rows) - 1
        rows.check()
        check_numbers([self.tokens])
        if self.messages != messages or sum(rows.messages) != messages or len(self.largest) > LARGEST:
            raise ValueError("it is the sum of another number of messages")
        for counts, size in ((self.roles, 2), (self.tools, 4)):
            if any(len(numbers) != size for numbers in counts.values()):
                raise ValueError("counts are missing")
            check_numbers(number for numbers in counts.values() for number in numbers)
        check_numbers(tokens for tokens, _ in self.largest)
        check_numbers((position for _, position in self.largest), 1 - messages, 0)
        calls = [call for waiting in self.open.values() for call in waiting]
        for ends in ((one.row for one in self.spent), (one.row for one in calls), (one.row for one in self.loose)):
            check_numbers(ends, 0, last_row)
        for spent in zip(*(one[2:] for one in self.spent), strict=True):
            check_numbers(spent)
        check_numbers(number for one in self.loose for number in (one.failed, one.says_no, one.tokens))
        check_texts(one.model for one in self.spent)
        check_texts(call.tool for call in calls)
        if not all(isinstance(call.asks, bool) for call in calls):
            raise ValueError("a call says nothing of what it asks")
        check_texts(text for one in self.loose for text in (one.call_id, one.tool))

    def _tool(self, name: str) -> list[int]:
        return self.tools.setdefault(name, [0, 0, 0, 0])

    def _answer(self, result: LooseResult) -> None:
        """Let a result answer the last open call with its id; without one it waits."""
        waiting = self.open.get(result.call_id)
        if not result.call_id:  # no call has that id
            self._count_result(result.tool, result.row, result)
            return
        if not waiting:
            self.loose.append(result)
            return
        call = waiting.pop()
        if not waiting:
            del self.open[result.call_id]
        failed = result.failed and not (result.says_no and call.is_asking(result.call_id))
        self._count_result(call.tool, call.row, result._replace(failed=failed))

    def _count_result(self, tool: str, row: int, result: LooseResult) -> None:
        _add(self._tool(tool), [0, 1, int(result.failed), result.tokens])
        self.rows.errors[row] += result.failed

    def _rank(self, sizes: list[tuple[int, int]]) -> None:
        if len(self.largest) < LARGEST or (sizes and max(sizes) > self.largest[-1]):
            self.largest = sorted(self.largest + sizes, reverse=True)[:LARGEST]


def tokens_of(message: Message, counter: TokenCounter) -> int:
    """Count a stored message in the form in which it would be sent."""
    accepted = normalise(message)
    return count_message(accepted, counter) if accepted else 0


def _add(numbers: list[int], others: list[int]) -> None:
    for position, number in enumerate(others):
        numbers[position] += number
