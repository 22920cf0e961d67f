"""What a plan is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from ..config import NATIVE, SUMMARIZE, Config
from ..messages.elide import WHOLE, Cut
from ..view.arrangement import Arrangement, Count, Fetch
from ..view.entry import Entry
from ..view.plan import Plan
from ..view.readers import NOBODY, Reader
from ..view.wire import TAKES_ALL, WireRules
from .draft import GAP_TOKENS, Draft
from .groups import Groups
from .summary_span import Summary

FALLBACK = "truncate"  # where there is no summary
CHARS_A_TOKEN = 3  # about, in the lines that mark gaps


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
    positions: Mapping[int, int] | None = None
    """By ordinal, where messages are in the live history; None where ordinals are positions in it."""
    shown_anyway: frozenset[int] = frozenset()
    """Ordinals of messages that are not among `entries` and do not count as left out."""
    arranged: Arrangement | None = None
    """The view as it was arranged before; what it inserted is not counted again."""
    reader: Reader = NOBODY
    """Who gets the view."""
    unbound: frozenset[str] = frozenset()
    """The ids of messages whose reasoning the new view will not show, as what stands before it changes."""
    wire: WireRules = TAKES_ALL
    """What they take."""
    summary: Summary | None = None
    """Replaces some of them; without it the summary of the previous plan stays."""

    def index_of(self, ordinal: int) -> int:
        """The position of a message in the live history."""
        return ordinal if self.positions is None else self.positions.get(ordinal, -1)

    @property
    def summary_so_far(self) -> str:
        """The text of the summary that the view shows; empty where there is none."""
        if self.summary is not None:
            return self.summary.text
        return self.previous.summary if self.previous is not None else ""

    @property
    def silent(self) -> frozenset[str]:
        """The messages whose thinking plans so far leave out."""
        return self.previous.silent if self.previous is not None else frozenset()

    @property
    def strategy(self) -> str:
        """The strategy of the plan: `summarize` only where there is a summary; `native` makes its own plans."""
        strategy = self.config.compaction_strategy
        if strategy == NATIVE:
            return FALLBACK
        return FALLBACK if strategy == SUMMARIZE and self.summary is None else strategy

    def draft(self) -> Draft:
        """A draft that begins with all entries, cut as they were so far."""
        view = Groups.of(self.entries, self.count)
        offloaded = {entry.id for members in view.members for entry in members if entry.offload is not None}
        cuts, cut_tokens = self._unmarked(offloaded)
        gaps = self.previous.gaps if self.previous is not None and self.previous.gaps else ()
        known = {gap.before for gap in gaps}
        return Draft(
            view,
            self.config,
            self.count,
            self.fetch,
            fixed_tokens=self.fixed_tokens,
            target_tokens=int(self.budget_tokens * self.config.target_usage),
            cuts=cuts,
            cut_tokens=cut_tokens,
            silent=self.silent | self.unbound,
            gap_tokens=GAP_TOKENS if self.config.compaction_notice_enabled else 0,
            gap_before=[group.head.id in known for group in view.groups],
        )

    def _unmarked(self, offloaded: AbstractSet[str]) -> tuple[dict[str, Cut], dict[str, int]]:
        """The cuts so far without the lines that mark gaps, and about what the messages come to then."""
        cuts, tokens = dict(self.previous.cuts if self.previous else {}), dict(self.cut_tokens)
        marked = [(message_id, cut) for message_id, cut in cuts.items() if cut.then]
        for message_id, cut in marked:
            plain = replace(cut, then="")
            if plain == WHOLE and message_id not in offloaded:
                del cuts[message_id]
                tokens.pop(message_id, None)
            else:
                cuts[message_id] = plain
                if message_id in tokens:
                    tokens[message_id] -= min(tokens[message_id], len(cut.then) // CHARS_A_TOKEN)
        return cuts, tokens
