"""The input of a plan, which says which messages a view keeps, shortens or leaves out."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from ..config import NATIVE, SUMMARIZE, Config
from ..view.arrangement import Arrangement, Count, Fetch
from ..view.entry import Entry
from ..view.plan import NO_PLAN, Plan
from ..view.recipients import NOBODY, Recipient
from ..view.wire_rules import TAKES_ALL, WireRules
from .plan_memory import PlanMemory

FALLBACK = "truncate"  # the strategy if the configured one needs a provider's answer that is missing


@dataclass(frozen=True, slots=True)
class Summary:
    """A text that replaces messages of the history."""

    text: str
    ordinals: frozenset[int]
    """The ordinals of the replaced messages."""
    basis: Hashable
    """Identifies the history and its plan. The summary is valid only while history and plan are the same."""


@dataclass(frozen=True, slots=True)
class ViewSoFar:
    """The view before the new plan, and facts that earlier plans found out."""

    plan: Plan = NO_PLAN
    """The plan that the view follows so far. Its cuts stay."""
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """The tokens of the messages that this plan cuts, by message id."""
    arranged: Arrangement | None = None
    """The arrangement of the previous view, whose inserted messages are not counted again; None if there is none."""
    memory: PlanMemory = field(default_factory=PlanMemory)
    """Facts about the same messages from earlier plans. Without these facts the plan is the same and takes longer."""


@dataclass(frozen=True, slots=True)
class RestOfHistory:
    """The messages of the history that a plan does not choose from."""

    left_out: int = 0
    """The number of messages of the history that are not among the entries."""
    positions: Mapping[int, int] | None = None
    """The position of each message in the live history, by ordinal. None if the ordinals are the positions."""
    shown_anyway: frozenset[int] = frozenset()
    """The ordinals of messages that are not among the entries and do not count as left out."""

    def index_of(self, ordinal: int) -> int:
        """Return the position of a message in the live history, or -1 if the message is not in it."""
        return ordinal if self.positions is None else self.positions.get(ordinal, -1)

    def places_of(self, ordinals: Collection[int]) -> list[int]:
        """Return the positions of messages in the live history, sorted. Messages that are not live are left out."""
        places = [ordinal for ordinal in ordinals if ordinal >= 0]
        if self.positions is not None:
            positions = self.positions
            places = [positions[ordinal] for ordinal in places if ordinal in positions]
        return sorted(places)


@dataclass(frozen=True, slots=True)
class ViewReader:
    """The reader of a view (a provider's model), and the rules for the messages that it accepts."""

    recipient: Recipient = NOBODY
    wire: WireRules = TAKES_ALL
    unbound: frozenset[str] = frozenset()
    """The ids of messages whose reasoning the new view will not show, because the messages before them change."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The entries of a view that is too large, its budget, the policy, and the view so far."""

    entries: Sequence[Entry]
    """The messages of the view before the new plan, in the history's order."""
    config: Config
    budget_tokens: int
    """The budget of the whole request."""
    fixed_tokens: int
    """Tokens of head text, tool definitions and overhead."""
    count: Count
    fetch: Fetch
    """A function that reads the stored messages of entries."""
    plan_id: str
    """The id of the new plan."""
    so_far: ViewSoFar = field(default_factory=ViewSoFar)
    history: RestOfHistory = RestOfHistory()
    reader: ViewReader = ViewReader()
    target_share: float = 1.0
    """The share of the room that the plan aims at. It is below 1 for an early plan, which a view does not need yet."""
    summary: Summary | None = None
    """A new summary, which replaces some of the messages; None if the previous plan's summary stays."""

    @property
    def summary_so_far(self) -> str:
        """The text of the summary that the view shows; empty if there is none."""
        return self.summary.text if self.summary is not None else self.so_far.plan.summary

    @property
    def strategy(self) -> str:
        """The name of the plan's strategy.

        The configured strategy is used, with two exceptions. Instead of `summarize` without a new summary, `FALLBACK`
        is used. Instead of `native`, `FALLBACK` is used too, because plans with an item are made in `native_offer`.
        """
        strategy = self.config.compaction_strategy
        needs_provider = strategy == NATIVE or (strategy == SUMMARIZE and self.summary is None)
        return FALLBACK if needs_provider else strategy
