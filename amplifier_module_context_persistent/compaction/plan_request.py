"""The input of a plan."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from ..config import NATIVE, SUMMARIZE, Config
from ..view.arrangement import Arrangement, Count, Fetch
from ..view.entry import Entry
from ..view.plan import NO_PLAN, Plan
from ..view.recipients import NOBODY, Recipient
from ..view.wire_rules import TAKES_ALL, WireRules
from .plan_memory import PlanMemory

FALLBACK = "truncate"  # if there is no summary


@dataclass(frozen=True, slots=True)
class Summary:
    """A text that replaces the messages with these ordinals, as long as the history's `basis` is the same."""

    text: str
    ordinals: frozenset[int]
    basis: Hashable


@dataclass(frozen=True, slots=True)
class ViewSoFar:
    """The view without a new plan, and what plans before it found out."""

    plan: Plan = NO_PLAN
    """The plan that was followed so far; its cuts stay."""
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """Tokens of its cut messages, by message id."""
    arranged: Arrangement | None = None
    """The arrangement of the view before; its insertions are not counted again."""
    memory: PlanMemory = field(default_factory=PlanMemory)
    """Knowledge of the same messages from earlier plans; the plan is the same without it, and takes longer."""


@dataclass(frozen=True, slots=True)
class RestOfHistory:
    """The messages of the history that a plan does not choose from."""

    left_out: int = 0
    """Messages of the history that are not among the entries."""
    positions: Mapping[int, int] | None = None
    """Positions of messages in the live history, by ordinal; None if ordinals are such positions."""
    shown_anyway: frozenset[int] = frozenset()
    """Ordinals of messages that are not among the entries and do not count as left out."""

    def index_of(self, ordinal: int) -> int:
        """The position of a message in the live history."""
        return ordinal if self.positions is None else self.positions.get(ordinal, -1)


@dataclass(frozen=True, slots=True)
class ViewReader:
    """The reader of a view, and what it takes."""

    recipient: Recipient = NOBODY
    wire: WireRules = TAKES_ALL
    unbound: frozenset[str] = frozenset()
    """The ids of messages whose reasoning the new view will not show, as what comes before it changes."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The entries of a view that is too large, its budget, the policy, and the view so far."""

    entries: Sequence[Entry]
    """The messages of the view without a new plan, in the history's order."""
    config: Config
    budget_tokens: int
    """Of the whole request."""
    fixed_tokens: int
    """Tokens of head text, tool definitions and overhead."""
    count: Count
    fetch: Fetch
    """Parses the messages of entries."""
    plan_id: str
    """The id of the new plan."""
    so_far: ViewSoFar = field(default_factory=ViewSoFar)
    history: RestOfHistory = RestOfHistory()
    reader: ViewReader = ViewReader()
    summary: Summary | None = None
    """Replaces some of the messages; without it the summary of the previous plan stays."""

    @property
    def summary_so_far(self) -> str:
        """The text of the summary that the view shows; empty if there is none."""
        return self.summary.text if self.summary is not None else self.so_far.plan.summary

    @property
    def strategy(self) -> str:
        """The strategy of the plan: `summarize` only if there is a summary; `native` makes its own plans."""
        strategy = self.config.compaction_strategy
        needs_provider = strategy == NATIVE or (strategy == SUMMARIZE and self.summary is None)
        return FALLBACK if needs_provider else strategy
