"""Baselines: policies that the package's strategies are compared with. No session can be configured to use them.

- `none`: the whole history, whatever its size; the reference for what the others bill.
- `stateless`: the ladder of the package, computed anew from the whole history on every request that has reached the
  upper watermark, as engines do that keep no plan.
- `sliding`: the newest whole tool groups that fit, and the first and the last human message. The window moves at the
  upper watermark, down to the lower one. A newest group that is larger than the budget exceeds it.

Where a policy asks a provider, a stand-in answers with excerpts: it repeats what the assistant said, the first line of
each message, the newest that fit; a model's summary would say more. So the tokens of request and answer can be measured
and billed; the quality of the answer cannot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..compaction.plan_request import PlanRequest
from ..compaction.planner import compact
from ..config import Config
from ..errors import FloorError
from ..messages.message import Message, text_of
from ..tokens.counter import TokenCounter, count_message
from ..view.arrangement import Arrangement, arrange
from ..view.entry import Entry, classify
from ..view.render import render
from ..view.rules import Group, first_human, last_human, tool_groups
from ..window.thresholds import needs_plan


class Whole:
    """No compaction, and the base of those that keep the whole history as entries."""

    def __init__(self, budget_tokens: int, counter: TokenCounter, options: Mapping[str, Any]) -> None:
        self.budget_tokens, self.config = budget_tokens, Config.load(options)
        self._counter = counter
        self._messages: dict[int, Message] = {}
        self._stored: Sequence[Message] | None = None
        self._taken = 0
        self._arranged = Arrangement()
        self.entries: list[Entry] = []

    def read_from(self, messages: Sequence[Message]) -> None:
        """Look up the session's messages there instead of keeping them."""
        self._stored = messages

    def count(self, message: Message) -> int:
        """Count a message."""
        return count_message(message, self._counter)

    def fetch(self, entries: Sequence[Entry]) -> Iterator[Message]:
        """The messages of entries; they are never altered here, so they are not copied."""
        known = self._messages if self._stored is None else self._stored
        return (known[entry.ordinal] for entry in entries)

    def render(self, arrangement: Arrangement) -> list[Message]:
        """Write a view."""
        return render(arrangement, self.fetch, boundary=self.config.truncate_boundary)

    def full(self, arrangement: Arrangement) -> bool:
        """Whether a view has reached the upper watermark."""
        messages = len(arrangement.items)
        return needs_plan(self.config, budget_tokens=self.budget_tokens, tokens=arrangement.tokens, messages=messages)

    def take(self, message: Message) -> None:
        """Take in a message."""
        self.entries.append(classify(self._taken, message, self.count))
        if self._stored is None:
            self._messages[self._taken] = message
        self._taken += 1

    def arrange(self) -> Arrangement:
        """Arrange all entries."""
        self._arranged = arrange(self.entries, self.count, after=self._arranged)
        return self._arranged

    async def add(self, message: Message) -> None:
        """Take in a message."""
        self.take(message)

    async def view(self) -> list[Message] | None:
        """Show everything."""
        return self.render(self.arrange())

    def asked(self) -> list[Asked]:
        """Nothing: it asks no provider."""
        return []

    async def recalls(self, term: str, inserted: str) -> bool:
        """Nothing can be recalled."""
        return False

    async def close(self) -> None:
        """Do nothing: nothing is open."""


class Stateless(Whole):
    """The ladder, recomputed from the whole history on every request."""

    async def view(self) -> list[Message] | None:
        """Show everything while it fits, else what a new plan keeps."""
        arrangement = self.arrange()
        if not self.full(arrangement):
            return self.render(arrangement)
        try:
            made = compact(
                PlanRequest(
                    self.entries,
                    config=self.config,
                    budget_tokens=self.budget_tokens,
                    fixed_tokens=0,
                    count=self.count,
                    fetch=self.fetch,
                    plan_id="plan",
                )
            )
        except FloorError:
            return None
        return self.render(made.arrangement)


class Sliding(Whole):
    """The newest whole tool groups, with the first and the last human message; it holds no others."""

    def read_from(self, messages: Sequence[Message]) -> None:
        """Keep what the window shows all the same: it is shown on every request."""

    async def view(self) -> list[Message] | None:
        """Show the window, moved if it is full."""
        arrangement = self.arrange()
        if self.full(arrangement):
            self._move()
            arrangement = self.arrange()
        return self.render(arrangement)

    def _move(self) -> None:
        groups = tool_groups(self.entries)
        always = {first_human(groups), last_human(groups), len(groups) - 1}
        tokens = sum(map(_tokens, groups))
        target = self.config.target_usage * self.budget_tokens
        dropped: set[int] = set()
        for position, group in enumerate(groups):
            if tokens <= target:
                break
            if position not in always:
                dropped.update(entry.ordinal for entry in group.entries())
                tokens -= _tokens(group)
        self.entries = [entry for entry in self.entries if entry.ordinal not in dropped]
        self._messages = {entry.ordinal: self._messages[entry.ordinal] for entry in self.entries}


def _tokens(group: Group) -> int:
    return sum(entry.tokens for entry in group.entries())


_LINE_CHARS = 200
_CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a summary, and the answer."""

    messages: list[Message]
    answer: str


class Excerpts:
    """Answers requests for summaries, and keeps them until they are taken."""

    def __init__(self) -> None:
        self._asked: list[Asked] = []

    async def complete(self, request: Any) -> Any:
        """Answer a `ChatRequest`."""
        return SimpleNamespace(content=self._answer(request), tool_calls=None)

    def take(self) -> list[Asked]:
        """The requests since the last call."""
        taken, self._asked = self._asked, []
        return taken

    def _answer(self, request: Any) -> str:
        messages = [message.model_dump(exclude_unset=True) for message in request.messages]
        lines: list[str] = []
        room = _CHARS_A_TOKEN * (request.max_output_tokens or 0)
        for message in reversed(messages[:-1] or messages):
            line = text_of(message).strip().partition("\n")[0][:_LINE_CHARS]
            if line and (message["role"] == "assistant" or len(messages) == 1):
                room -= len(line) + 1
                if room < 0:
                    break
                lines.append(line)
        answer = "\n".join(reversed(lines)) or "nothing was said"
        self._asked.append(Asked(messages, answer))
        return answer


class ExcerptItems(Excerpts):
    """A provider's module that compacts: its items are excerpts, too (docs/native_compaction.md has the convention)."""

    name, model = "stand-in", "excerpts"

    def supports_native_compaction(self) -> bool:
        """It does."""
        return True

    def validate_compacted_context(self, _message: Message) -> bool:
        """It takes back what it made."""
        return True

    async def compact_context(self, request: Any) -> dict[str, Any]:
        """Make an item of the beginning of a view."""
        return {"kind": "native", "message": {"role": "user", "content": self._answer(request)}}
