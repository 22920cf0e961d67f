"""The policies that a session can be played through; each is given its messages one by one and asked for views.

- `none`: the whole history, whatever its size; what the others are billed against.
- `stateless`: the ladder of the package, computed anew from the whole history on every request that stands at the upper
  watermark, as engines do that keep no plan.
- `sliding`: the newest whole tool groups that fit, and the first and the last human message; the window moves at the
  upper watermark, down to the lower one. A simple reference, on the package's arranging and writing of views; a newest
  group that is larger than the budget goes over it.
- `truncate`, `importance`, `sliding_window`: the strategies of the package, the first by default, through its context
  manager, in memory;
- `summarize`: that strategy, with a stand-in for the provider (`excerpts`). What it asks and is answered is billed.

Watermarks are those of the configuration (`compact_threshold`, `target_usage`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from amplifier_core.llm_errors import ContextLengthError

from ..compaction.planner import compact, needs_plan
from ..config import STRATEGIES, SUMMARIZE, Config
from ..errors import FloorError, RecallError
from ..session.in_memory import InMemoryContextManager
from ..tokens.counter import TokenCounter, count_message
from ..view.arrangement import Arrangement, arrange, render
from ..view.entry import Entry, classify
from ..view.rules import Group, first_human, last_human, tool_groups
from .excerpt_summarizer import Asked, Excerpts

Message = dict[str, Any]

_REFERENCE = re.compile(r"\brecall ([^\s\]]+)")


class CachedCounter:
    """A counter that counts no text twice."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name, self._counter = counter.name, counter
        self._known: dict[str, int] = {}

    def count_text(self, text: str) -> int:
        """Count a text."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._counter.count_text(text)
        return known


class Policy(Protocol):
    """What is played: a memory of one session."""

    async def add(self, message: Message) -> None:
        """Take in a message, which has its `metadata.message_id`."""

    async def view(self) -> list[Message] | None:
        """Make the view of a request; None where the policy says that nothing fits."""

    def asked(self) -> list[Asked]:
        """What a provider was asked for this policy's own sake since it was last told here."""

    async def recalls(self, term: str, inserted: str) -> bool:
        """Whether the first page of a recall shows a term: one that searches it, or one by a reference in a text."""

    async def close(self) -> None:
        """Let go of what is held."""


Open = Callable[[int, TokenCounter, Mapping[str, Any]], Policy]
"""Opens a policy: the budget in tokens, what counts, and keys of the package's configuration."""


class Whole:
    """No compaction, and the base of those that keep the whole history as entries."""

    def __init__(self, budget_tokens: int, counter: TokenCounter, options: Mapping[str, Any]) -> None:
        self.budget_tokens, self.config = budget_tokens, Config.load(options)
        self._counter = counter
        self._messages: list[Message] = []
        self.entries: list[Entry] = []

    def count(self, message: Message) -> int:
        """Count a message."""
        return count_message(message, self._counter)

    def fetch(self, entries: Sequence[Entry]) -> Iterator[Message]:
        """The messages of entries; nobody here alters them, so they are not copied."""
        return (self._messages[entry.key] for entry in entries)

    def render(self, arrangement: Arrangement) -> list[Message]:
        """Write a view."""
        return render(arrangement, self.fetch, boundary=self.config.truncate_boundary)

    def full(self, arrangement: Arrangement) -> bool:
        """Whether a view stands at the upper watermark."""
        size = {"tokens": arrangement.tokens, "messages": len(arrangement.items)}
        return needs_plan(self.config, budget_tokens=self.budget_tokens, **size)

    def take(self, message: Message) -> None:
        """Take in a message."""
        self.entries.append(classify(len(self._messages), message, self.count))
        self._messages.append(message)

    def arrange(self) -> Arrangement:
        """Arrange all entries."""
        return arrange(self.entries, self.count)

    async def add(self, message: Message) -> None:
        """Take in a message."""
        self.take(message)

    async def view(self) -> list[Message] | None:
        """Show everything."""
        return self.render(self.arrange())

    def asked(self) -> list[Asked]:
        """Nobody is asked."""
        return []

    async def recalls(self, term: str, inserted: str) -> bool:
        """Nothing can be had again."""
        return False

    async def close(self) -> None:
        """Nothing is held."""


class Stateless(Whole):
    """The ladder, recomputed from the whole history on every request."""

    async def view(self) -> list[Message] | None:
        """Show everything while it fits, else what a plan made now says."""
        arrangement = self.arrange()
        if not self.full(arrangement):
            return self.render(arrangement)
        try:
            made = compact(
                self.entries,
                config=self.config,
                budget_tokens=self.budget_tokens,
                fixed_tokens=0,
                count=self.count,
                fetch=self.fetch,
                plan_id="plan",
            )
        except FloorError:
            return None
        return self.render(made.arrangement)


class Sliding(Whole):
    """The newest whole tool groups, with the first and the last human message."""

    def __init__(self, budget_tokens: int, counter: TokenCounter, options: Mapping[str, Any]) -> None:
        super().__init__(budget_tokens, counter, options)
        self._dropped: set[int] = set()

    async def view(self) -> list[Message] | None:
        """Show the window, moved if it is full."""
        arrangement = self.arrange()
        if self.full(arrangement):
            self._move()
            arrangement = self.arrange()
        return self.render(arrangement)

    def arrange(self) -> Arrangement:
        """Arrange what the window shows."""
        return arrange([entry for entry in self.entries if entry.key not in self._dropped], self.count)

    def _move(self) -> None:
        groups = [group for group in tool_groups(self.entries) if group.head.key not in self._dropped]
        always = {first_human(groups), last_human(groups), len(groups) - 1}
        tokens = sum(map(_tokens, groups))
        target = self.config.target_usage * self.budget_tokens
        for place, group in enumerate(groups):
            if tokens <= target:
                return
            if place not in always:
                self._dropped.update(entry.key for entry in group.entries())
                tokens -= _tokens(group)


def _tokens(group: Group) -> int:
    return sum(entry.tokens for entry in group.entries())


class Managed:
    """A context manager of the package, in memory."""

    def __init__(self, budget_tokens: int, counter: TokenCounter, options: Mapping[str, Any]) -> None:
        settings = {"max_tokens": budget_tokens, "tokenizer": counter.name, **options}
        self._manager = InMemoryContextManager(**settings)
        self._recalls = self._manager.config.recall
        self._provider: Excerpts | None = None

    async def add(self, message: Message) -> None:
        """Take in a message."""
        await self._manager.add_message(message)

    async def view(self) -> list[Message] | None:
        """Ask for the view of a request, as an orchestrator does."""
        try:
            return await self._manager.get_messages_for_request(provider=self._provider)
        except ContextLengthError:
            return None

    def asked(self) -> list[Asked]:
        """What the stand-in was asked."""
        return self._provider.take() if self._provider is not None else []

    async def recalls(self, term: str, inserted: str) -> bool:
        """Ask as the tool `recall` does."""
        questions: list[dict[str, Any]] = [{"query": term, "limit": 1}, {"query": term}]
        questions += [{"reference": reference} for reference in dict.fromkeys(_REFERENCE.findall(inserted))]
        for question in questions if self._recalls else ():
            try:
                page = await self._manager.recall(**question)
            except RecallError:
                continue
            shown = page.text or "\n".join(hit.excerpt for hit in page.hits)
            if term in shown:
                return True
        return False

    async def close(self) -> None:
        """Close the manager."""
        await self._manager.close()


class Summarized(Managed):
    """The strategy `summarize`, with a stand-in for the provider."""

    def __init__(self, budget_tokens: int, counter: TokenCounter, options: Mapping[str, Any]) -> None:
        super().__init__(budget_tokens, counter, {**options, "compaction_strategy": SUMMARIZE})
        self._provider = Excerpts()


def strategy(name: str) -> Open:
    """A `compaction_strategy` as a policy."""
    if name == SUMMARIZE:
        return Summarized
    return lambda budget, counter, options: Managed(budget, counter, {**options, "compaction_strategy": name})


POLICIES: dict[str, Open] = {
    "none": Whole,
    "stateless": Stateless,
    "sliding": Sliding,
    **{name: strategy(name) for name in STRATEGIES},
}
"""By name."""
