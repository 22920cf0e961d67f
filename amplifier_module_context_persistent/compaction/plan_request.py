"""What a plan is made from."""

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

FALLBACK = "truncate"  # where there is no summary


@dataclass(frozen=True, slots=True)
class Summary:
    """A text that replaces the messages with these ordinals, as long as the history's `basis` is the same."""

    text: str
    ordinals: frozenset[int]
    basis: Hashable


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The entries of a view that is too large, its budget, the policy, and the plan that was followed so far."""

    entries: Sequence[Entry]
    """What the view would hold without a new plan, in the history's order."""
    config: Config
    budget_tokens: int
    """Of the whole request."""
    fixed_tokens: int
    """What of it is taken by head text, tool definitions and overhead."""
    count: Count
    fetch: Fetch
    """Parses the messages of entries."""
    plan_id: str
    """The id of the new plan."""
    previous: Plan = NO_PLAN
    """The plan that was followed so far; its cuts stay."""
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """By message id, what its cut messages come to."""
    left_out: int = 0
    """Messages of the history that are not among `entries`."""
    positions: Mapping[int, int] | None = None
    """By ordinal, where messages are in the live history; None where ordinals are positions in it."""
    shown_anyway: frozenset[int] = frozenset()
    """Ordinals of messages that are not among `entries` and do not count as left out."""
    arranged: Arrangement | None = None
    """The view as it was arranged before; what it inserted is not counted again."""
    reader: Recipient = NOBODY
    """Who gets the view."""
    unbound: frozenset[str] = frozenset()
    """The ids of messages whose reasoning the new view will not show, as what stands before it changes."""
    wire: WireRules = TAKES_ALL
    """What they take."""
    memory: PlanMemory = field(default_factory=PlanMemory)
    """What plans before it found out about the same messages; it makes the plan no other, only sooner."""
    summary: Summary | None = None
    """Replaces some of them; without it the summary of the previous plan stays."""

    def index_of(self, ordinal: int) -> int:
        """The position of a message in the live history."""
        return ordinal if self.positions is None else self.positions.get(ordinal, -1)

    @property
    def summary_so_far(self) -> str:
        """The text of the summary that the view shows; empty where there is none."""
        return self.summary.text if self.summary is not None else self.previous.summary

    @property
    def strategy(self) -> str:
        """The strategy of the plan: `summarize` only where there is a summary; `native` makes its own plans."""
        strategy = self.config.compaction_strategy
        needs_provider = strategy == NATIVE or (strategy == SUMMARIZE and self.summary is None)
        return FALLBACK if needs_provider else strategy
