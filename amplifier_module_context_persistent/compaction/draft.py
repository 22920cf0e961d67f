"""A draft: a view in the making, on which the steps of the ladder work until it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress

from ..config import Config
from ..messages.elide import Cut, stays_whole
from ..messages.message import Message
from ..view.arrangement import Count, Fetch
from ..view.entry import Entry
from ..view.group_table import OPEN, GroupTable
from ..view.inserted import stand_in
from ..view.render import shorten
from ..view.rules import Group, tool_groups
from .term_counts import shown_by

MIN_SAVED_TOKENS = 24  # an elision that saves less is not worth its marker
_READ_TOGETHER = 32  # messages: one by one they take several times as long to read


@dataclass(slots=True)
class Draft:
    """A view in the making: which groups stay, what is cut, what it comes to.

    `goal_tokens` is what the steps aim at; `fixed_tokens` is counted in the total and cannot be compacted.

    17 public methods: each is one change of a view, and all of them keep the same sums.
    """

    table: GroupTable
    groups: list[Group]
    """The tool groups of the view, those too that are left out."""
    members: list[tuple[Entry, ...]]
    """The messages of each group."""
    config: Config
    count: Count
    fetch: Fetch
    fixed_tokens: int
    goal_tokens: int
    target_tokens: int
    goal_messages: int | None
    people_goal_tokens: int = 0
    """What a view may come to before people's messages and last words are left out; 0 for no more than the goal."""
    kept: list[bool] = field(default_factory=list)
    cuts: dict[str, Cut] = field(default_factory=dict)
    cut_tokens: dict[str, int] = field(default_factory=dict)
    cut_groups: set[int] = field(default_factory=set)
    """Positions of groups of which messages are cut, or were."""
    silent: set[str] = field(default_factory=set)
    """The ids of messages whose thinking is left out."""
    fixed: set[int] = field(default_factory=set)
    """Positions of groups that no step but the last one touches."""
    last_words: list[int] | None = None
    """Positions of the last words of finished turns, once they were looked for."""
    held: set[int] = field(default_factory=set)
    """Positions of groups that are not left out while anything else can go; they may be shortened."""
    opening: set[int] = field(default_factory=set)
    """Positions of those held groups that go last of all: without them a gap has no marker."""
    shorter: dict[int, Cut] = field(default_factory=dict)
    """By the position of a group, the only cut to which its message, or with calls its results, may be shortened."""
    sizes: list[int] = field(default_factory=list)
    """The tokens of each group, cut as it is, with stand-ins for missing results."""
    total_tokens: int = 0
    total_messages: int = 0
    sealed: int = 0
    """So many of the first groups stay as they are, for the provider's cache, until that costs too much."""

    _estimated: dict[str, tuple[int, Entry, Cut | None, int]] = field(default_factory=dict)
    """By id, messages whose tokens are estimated: position, message, and the cut and the tokens that it had before."""

    @classmethod
    def of(
        cls,
        entries: Sequence[Entry],
        *,
        config: Config,
        count: Count,
        fetch: Fetch,
        fixed_tokens: int,
        target_tokens: int,
        cuts: Mapping[str, Cut],
        cut_tokens: Mapping[str, int],
        silent: Iterable[str] = (),
        table: GroupTable | None = None,
    ) -> Draft:
        """Begin with all that there is, cut as it was before; `table` has the tool groups, where they are known."""
        table = GroupTable.of(tool_groups(entries)) if table is None else table
        offloaded = table.offloaded()
        goal_messages = None if config.max_messages is None else max(1, int(config.max_messages * config.target_usage))
        draft = cls(
            table=table,
            groups=table.groups,
            members=table.members,
            config=config,
            count=count,
            fetch=fetch,
            fixed_tokens=fixed_tokens,
            goal_tokens=target_tokens,
            target_tokens=target_tokens,
            goal_messages=goal_messages,
            kept=[True] * len(table.groups),
            cuts={entry.id: entry.offload for entry in offloaded if entry.offload} | dict(cuts),
            cut_tokens={entry.id: entry.tokens for entry in offloaded} | dict(cut_tokens),
            silent=set(silent),
            fixed=table.untouchable(preserve_system=config.preserve_system),
        )
        draft.total_messages = sum(map(len, table.members))
        draft._take_in_cuts()
        draft.total_tokens = fixed_tokens + sum(draft.sizes)
        return draft

    @property
    def fits(self) -> bool:
        """Whether the goal is reached."""
        few = self.goal_messages is None or self.total_messages <= self.goal_messages
        return few and self.total_tokens <= self.goal_tokens

    def tokens_of(self, entry: Entry) -> int:
        """What a message comes to, cut as it is."""
        tokens = self._whole_tokens(entry)
        return tokens - entry.thinking_tokens if entry.id in self.silent else tokens

    def can_shorten(self, entry: Entry) -> bool:
        """Whether a cut to head and tail may make a message shorter than it is; it is not read for that."""
        if entry.id in self.cuts or entry.omits:
            return True
        return not stays_whole(entry.terms.text_chars, entry.refers_to or entry.id)

    def chars_of(self, entry: Entry) -> int:
        """How many characters the longest text of a message has, cut as it is."""
        known = self.cuts.get(entry.id)
        return known.head_chars + known.tail_chars if known else max(entry.terms.text_chars, default=0)

    def _take_in_cuts(self) -> None:
        """Find the sizes of the groups, with stand-ins for missing results, and which groups have cuts."""
        cuts, silent, sizes = self.cuts, self.silent, list(self.table.tokens)
        changed = cuts.keys() | silent
        members = enumerate(self.members)
        for position, entry in [(at, entry) for at, some in members for entry in some if entry.id in changed]:
            if entry.id in cuts:
                self.cut_groups.add(position)
            sizes[position] += self.tokens_of(entry) - entry.tokens
        for position in self.table.calling(OPEN):
            group = self.groups[position]
            pairs = zip(group.head.calls, group.results, strict=True)
            missing = [call for call, result in pairs if result is None]
            self.total_messages += len(missing)
            sizes[position] += sum(self.count(stand_in(call.id, call.name)) for call in missing)
        self.sizes = sizes

    def reserve(self, tokens: int) -> None:
        """Leave room for what is inserted."""
        self.fixed_tokens += tokens
        self.total_tokens += tokens

    def drop(self, position: int) -> None:
        """Leave a group out."""
        self.kept[position] = False
        self.total_tokens -= self.sizes[position]
        self.total_messages -= 1 + len(self.groups[position].results)

    def restore(self, position: int) -> None:
        """Take a group in again that was left out."""
        self.kept[position] = True
        self.total_tokens += self.sizes[position]
        self.total_messages += 1 + len(self.groups[position].results)

    def show_by(self, position: int, entry: Entry, cut: Cut) -> None:
        """Show a message of a group by a cut, whatever it saves or costs."""
        (message,) = self.fetch([entry])
        tokens = self.count(shorten(entry, message, cut, self.config.truncate_boundary))
        self._set_cut(position, entry, cut, tokens)

    def cut(self, position: int, entry: Entry, cut: Cut, *, least_saved: int = MIN_SAVED_TOKENS) -> None:
        """Shorten a message of a group if that saves enough."""
        (message,) = self.fetch([entry])
        self._cut_message(position, entry, message, cut, least_saved)

    def cut_each(self, pieces: Sequence[tuple[int, Entry]], cut_of: Callable[[Message], Cut]) -> None:
        """Shorten messages, each with the position of its group, as `cut`, in order, until the goal is reached."""
        for start in range(0, len(pieces), _READ_TOGETHER):
            if self.fits:
                return
            some = pieces[start : start + _READ_TOGETHER]
            for (position, entry), message in zip(some, self.fetch([entry for _, entry in some]), strict=True):
                if self.fits:
                    return
                self._cut_message(position, entry, message, cut_of(message), MIN_SAVED_TOKENS)

    def _cut_message(self, position: int, entry: Entry, message: Message, cut: Cut, least_saved: int) -> None:
        after = self.count(shorten(entry, message, cut, self.config.truncate_boundary))
        if self._whole_tokens(entry) - after >= least_saved:
            self._set_cut(position, entry, cut, after)

    def cut_about(self, position: int, entry: Entry, cut: Cut, tokens: int) -> None:
        """Shorten a message of a group to about so many tokens; `settle` counts it exactly."""
        known, before = self.cuts.get(entry.id), self._whole_tokens(entry)
        self._estimated.setdefault(entry.id, (position, entry, known, before))
        self._set_cut(position, entry, cut, tokens)

    def settle(self) -> list[tuple[int, Entry, Cut | None, Cut]]:
        """Count the cuts of `cut_about` that are still made, and take back those that save too little.

        Returns:
            What was taken back: the position, the message, the cut that it has again and the one that it had.
        """
        taken_back = []
        standing = [one for one in self._estimated.values() if self.kept[one[0]]]
        self._estimated.clear()
        for (position, entry, known, before), message in zip(
            standing, self.fetch([s[1] for s in standing]), strict=True
        ):
            cut = self.cuts[entry.id]
            after = self.count(shorten(entry, message, cut, self.config.truncate_boundary))
            if before - after >= MIN_SAVED_TOKENS:
                self._set_cut(position, entry, cut, after)
            else:
                taken_back.append((position, entry, known, cut))
                self._set_cut(position, entry, known, before)
        return taken_back

    def cut_entries(self) -> list[Entry]:
        """The messages that stay and are cut."""
        positions = [position for position in self.cut_groups if self.kept[position]]
        return [entry for position in positions for entry in self.members[position] if entry.id in self.cuts]

    def shown_terms(self) -> list[tuple[str, ...]]:
        """The terms that each group shows; one may be there several times."""
        shown = list(self.table.terms)
        for position in self.cut_groups:
            shown[position] = tuple(chain.from_iterable([shown_by(e, self.cuts) for e in self.members[position]]))
        return shown

    def _whole_tokens(self, entry: Entry) -> int:
        """What a message comes to, cut as it is, with its thinking."""
        return self.cut_tokens.get(entry.id, entry.tokens) if entry.id in self.cuts else entry.tokens

    def _set_cut(self, position: int, entry: Entry, cut: Cut | None, tokens: int) -> None:
        freed = self._whole_tokens(entry) - tokens
        self.sizes[position] -= freed
        self.total_tokens -= freed
        if cut is None:
            self.cuts.pop(entry.id, None)
        else:
            self.cuts[entry.id], self.cut_tokens[entry.id] = cut, tokens
            self.cut_groups.add(position)

    def recent_start(self, share: float) -> int:
        """Where the newest `share` of the target's tokens begins."""
        room = share * self.target_tokens
        for position in reversed(range(len(self.groups))):
            if self.kept[position]:
                room -= self.sizes[position]
                if room < 0:
                    return position + 1
        return 0

    def left(self) -> list[int]:
        """The positions of the groups that stay."""
        return list(compress(range(len(self.kept)), self.kept))
