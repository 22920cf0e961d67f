"""What a plan is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..config import SUMMARIZE, Config
from ..view.arrangement import Count, Fetch
from ..view.entry import Entry
from ..view.plan import Plan
from .draft import Draft
from .summary_span import Summary

FALLBACK = "truncate"  # where there is no summary


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
    previous: Plan | None = None
    """The plan that was followed so far; its cuts stay."""
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """By message id, what its cut messages come to."""
    left_out: int = 0
    """Messages of the history that are not among `entries`."""
    summary: Summary | None = None
    """Replaces some of them; without it the summary of the previous plan stays."""

    @property
    def summary_so_far(self) -> str:
        """The text of the summary that the view shows; empty where there is none."""
        if self.summary is not None:
            return self.summary.text
        return self.previous.summary if self.previous is not None else ""

    @property
    def strategy(self) -> str:
        """The strategy of the plan: `summarize` only where there is a summary."""
        strategy = self.config.compaction_strategy
        return FALLBACK if strategy == SUMMARIZE and self.summary is None else strategy

    def draft(self) -> Draft:
        """A draft that begins with all entries, cut as they were so far."""
        return Draft.of(
            self.entries,
            config=self.config,
            count=self.count,
            fetch=self.fetch,
            fixed_tokens=self.fixed_tokens,
            target_tokens=int(self.budget_tokens * self.config.target_usage),
            cuts=self.previous.cuts if self.previous else {},
            cut_tokens=self.cut_tokens,
            silent=self.previous.silent if self.previous else (),
        )
