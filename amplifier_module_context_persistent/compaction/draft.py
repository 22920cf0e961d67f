"""A draft: which groups a view keeps and how their messages are cut, while a plan is being chosen.

The choice changes it by three operations (leave a group out, take it in again, cut a message), which keep its sums. All
else that a plan asks of a view never changes (`groups`).
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from itertools import compress

from ..config import Config
from ..messages.elide import Cut
from ..view.arrangement import Count, Fetch
from ..view.entry import Entry
from ..view.render import shorten
from .groups import Groups
from .pasted_lines import cut_with_lines

MARKER_TOKENS = 20  # about what says in a cut text how the rest is had; a cut that saves less is not worth it
GAP_TOKENS = 11  # about what the marker of a gap comes to


@dataclass(slots=True)
class Draft:
    """A view in the making; everything is kept at first."""

    view: Groups
    config: Config
    count: Count
    fetch: Fetch
    fixed_tokens: int
    """What is counted in the total and cannot be compacted."""
    target_tokens: int
    cuts: dict[str, Cut]
    cut_tokens: dict[str, int]
    """By message id, what cut messages come to with their thinking."""
    silent: Set[str]
    """The ids of messages whose thinking the view will not show."""
    gap_tokens: int = 0
    """What the marker of a gap comes to; 0 where gaps are not marked."""
    gap_before: list[bool] = field(default_factory=list)
    """By group, whether messages before it were left out already."""
    kept: list[bool] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """The tokens of each group, cut as it is."""
    total_tokens: int = 0
    total_messages: int = 0
    fixed: frozenset[int] = frozenset()
    """The groups that nothing may leave out."""
    _estimated: dict[str, tuple[int, Entry, Cut | None, int]] = field(default_factory=dict)
    """By id, messages whose tokens are estimated: position, message, and the cut and the tokens that it had before."""

    def __post_init__(self) -> None:
        view, number = self.view, len(self.view)
        self.kept, self.sizes = [True] * number, list(view.tokens)
        self.gap_before = self.gap_before or [False] * number
        self.fixed = frozenset(view.untouchable(preserve_system=self.config.preserve_system))
        for position, members in enumerate(view.members):
            for entry in members:
                if entry.offload is not None and entry.id not in self.cuts:
                    self.cuts[entry.id], self.cut_tokens[entry.id] = entry.offload, entry.tokens
                if entry.id in self.cuts or entry.id in self.silent:
                    self.sizes[position] += self.tokens_of(entry) - entry.tokens
        self.total_messages = sum(view.messages)
        self.total_tokens = self.fixed_tokens + sum(self.sizes) + self.gap_tokens * sum(self.gap_before)

    def fits(self, goal_tokens: int) -> bool:
        """Whether the view comes to no more than a goal."""
        most = self.config.max_messages
        few = most is None or self.total_messages <= max(1, int(most * self.config.target_usage))
        return few and self.total_tokens <= goal_tokens

    def left(self) -> list[int]:
        """The positions of the groups that stay."""
        return list(compress(range(len(self.kept)), self.kept))

    def tokens_of(self, entry: Entry) -> int:
        """What a message comes to, cut as it is."""
        tokens = self._with_thinking(entry)
        return tokens - entry.thinking_tokens if entry.id in self.silent else tokens

    def chars_of(self, entry: Entry) -> int:
        """How many characters the longest text of a message has, cut as it is."""
        known = self.cuts.get(entry.id)
        if known is None:
            return max(entry.terms.text_chars, default=0)
        return known.head_chars + known.tail_chars + sum([last - first for _, first, last in known.lines])

    def reserve(self, tokens: int) -> None:
        """Leave room for what is inserted."""
        self.fixed_tokens += tokens
        self.total_tokens += tokens

    def freed_by_leaving_out(self, position: int) -> int:
        """How many tokens a view has less without a group: its own, less the marker of a new gap.

        A group between two gaps frees its marker as well, as they become one.
        """
        return self.sizes[position] + self.gap_tokens * (self._gaps_beside(position) - 1)

    def drop(self, position: int) -> None:
        """Leave a group out."""
        self.total_tokens -= self.freed_by_leaving_out(position)
        self.total_messages -= self.view.messages[position]
        self.kept[position] = False

    def restore(self, position: int) -> None:
        """Take a group in again."""
        self.kept[position] = True
        self.total_messages += self.view.messages[position]
        self.total_tokens += self.freed_by_leaving_out(position)

    def _gaps_beside(self, position: int) -> int:
        kept, after = self.kept, position + 1
        before = self.gap_before[position] or (position > 0 and not kept[position - 1])
        return before + (after < len(kept) and (self.gap_before[after] or not kept[after]))

    def cut(self, position: int, entry: Entry, cut: Cut) -> None:
        """Show a message of a group by a cut, whatever it saves or costs."""
        (message,) = self.fetch([entry])
        self._set_cut(position, entry, cut, self.count(shorten(entry, message, cut, self.config.truncate_boundary)))

    def cut_about(self, position: int, entry: Entry, cut: Cut, saved: int) -> None:
        """Shorten a message of a group by about so many tokens; `settle` counts it exactly."""
        tokens = self._with_thinking(entry)
        self._estimated.setdefault(entry.id, (position, entry, self.cuts.get(entry.id), tokens))
        self._set_cut(position, entry, cut, tokens - saved)

    def settle(self, least_saved: int = MARKER_TOKENS) -> None:
        """Count exactly what was estimated; a cut that saves too little is taken back."""
        estimated = list(self._estimated.values())
        self._estimated.clear()
        messages = self.fetch([entry for _, entry, _, _ in estimated])
        for (position, entry, known, before), message in zip(estimated, messages, strict=True):
            cut = self.cuts[entry.id]
            if entry.human:
                cut = cut_with_lines(message, cut.head_chars + cut.tail_chars)
            after = self.count(shorten(entry, message, cut, self.config.truncate_boundary))
            if before - after >= least_saved:
                self._set_cut(position, entry, cut, after)
            else:
                self._set_cut(position, entry, known, before)

    def shown_terms(self, position: int) -> list[str]:
        """The terms that a group shows; one may be there several times."""
        members, cuts = self.view.members[position], self.cuts
        return [name for entry in members for name in entry.terms.shown(cuts.get(entry.id))]

    def _with_thinking(self, entry: Entry) -> int:
        return self.cut_tokens.get(entry.id, entry.tokens) if entry.id in self.cuts else entry.tokens

    def _set_cut(self, position: int, entry: Entry, cut: Cut | None, tokens: int) -> None:
        freed = self._with_thinking(entry) - tokens
        self.sizes[position] -= freed
        self.total_tokens -= freed * self.kept[position]
        if cut is None:
            del self.cuts[entry.id]
        else:
            self.cuts[entry.id], self.cut_tokens[entry.id] = cut, tokens
