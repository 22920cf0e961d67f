"""The ladder: steps that make a view smaller, each only as far as needed, oldest first, whole tool groups only.

Each step is a function over a `Draft`. Steps 0 (superseded results) and 2 (thinking of finished turns) have their place
in `STEPS` and come later. Shares are of tokens, never of message counts.

Never touched by steps 1 to 5: system text, pins, the last human message, open calls, the newest group. Step 6 may
shorten the results and texts of the newest group, as nothing else is left by then; it never touches the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .config import Config
from .elide import cut_for, text_chars
from .entry import Entry
from .plan import Cut
from .rules import Group, first_human, last_human, tool_groups, untouchable
from .shape import Message
from .view import Count, Fetch, shorten, stand_in

MIN_SAVED_TOKENS = 24  # an elision that saves less is not worth its marker
HUMAN_FACTOR = 2  # a human message keeps so many times `truncate_chars`
LEAST_CHARS = 160  # the least that step 6 leaves of a text


@dataclass(slots=True)
class Draft:
    """A view in the making: which groups stay, what is cut, what it comes to.

    `goal_tokens` is what the steps aim at; `fixed_tokens` is counted in the total and cannot be compacted.
    """

    groups: list[Group]
    config: Config
    count: Count
    fetch: Fetch
    fixed_tokens: int
    goal_tokens: int
    target_tokens: int
    goal_messages: int | None
    kept: list[bool] = field(default_factory=list)
    cuts: dict[str, Cut] = field(default_factory=dict)
    cut_tokens: dict[str, int] = field(default_factory=dict)
    fixed: set[int] = field(default_factory=set)
    total_tokens: int = 0
    total_messages: int = 0

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
    ) -> Draft:
        """Begin with all that there is, cut as it was before."""
        groups = tool_groups(entries)
        goal_messages = None if config.max_messages is None else max(1, int(config.max_messages * config.target_usage))
        draft = cls(
            groups=groups,
            config=config,
            count=count,
            fetch=fetch,
            fixed_tokens=fixed_tokens,
            goal_tokens=target_tokens,
            target_tokens=target_tokens,
            goal_messages=goal_messages,
            kept=[True] * len(groups),
            cuts=dict(cuts),
            cut_tokens=dict(cut_tokens),
            fixed=untouchable(groups, preserve_system=config.preserve_system),
        )
        draft.total_tokens = fixed_tokens + sum(map(draft.group_tokens, groups))
        draft.total_messages = sum(1 + len(group.results) for group in groups)
        return draft

    @property
    def fits(self) -> bool:
        """Whether the goal is reached."""
        few = self.goal_messages is None or self.total_messages <= self.goal_messages
        return few and self.total_tokens <= self.goal_tokens

    def tokens_of(self, entry: Entry) -> int:
        """What a message comes to, cut as it is."""
        return self.cut_tokens.get(entry.id, entry.tokens) if entry.id in self.cuts else entry.tokens

    def group_tokens(self, group: Group) -> int:
        """What a group comes to, with stand-ins for missing results."""
        tokens = sum(map(self.tokens_of, group.entries()))
        if group.unanswered:
            pairs = zip(group.head.calls, group.results, strict=True)
            tokens += sum(self.count(stand_in(call.id, call.name)) for call, result in pairs if result is None)
        return tokens

    def drop(self, place: int) -> None:
        """Leave a group out."""
        self.kept[place] = False
        self.total_tokens -= self.group_tokens(self.groups[place])
        self.total_messages -= 1 + len(self.groups[place].results)

    def cut(self, entry: Entry, message: Message, cut: Cut, *, least_saved: int = MIN_SAVED_TOKENS) -> None:
        """Shorten a message if that saves enough."""
        before = self.tokens_of(entry)
        after = self.count(shorten(entry, message, cut, self.config.truncate_boundary))
        if before - after >= least_saved:
            self.cuts[entry.id], self.cut_tokens[entry.id] = cut, after
            self.total_tokens += after - before

    def recent_start(self, share: float) -> int:
        """Where the newest `share` of the target's tokens begins."""
        room = share * self.target_tokens
        for place in reversed(range(len(self.groups))):
            if self.kept[place]:
                room -= self.group_tokens(self.groups[place])
                if room < 0:
                    return place + 1
        return 0

    def left(self) -> list[int]:
        """The places of the groups that stay."""
        return [place for place, kept in enumerate(self.kept) if kept]


Step = Callable[[Draft], None]


def elide_results(draft: Draft, *, share: float | None = None, spared: int | None = None) -> None:
    """Step 1: old tool results become head and tail with a reference."""
    config = draft.config
    start = draft.recent_start(config.protected_recent if share is None else share)
    results = [
        (place, result) for place in draft.left() for result in draft.groups[place].results if result is not None
    ]
    spared = config.protected_tool_results if spared is None else spared
    old = results[: max(0, len(results) - spared)]
    cut = cut_for(config.truncate_chars)
    # A character is a token at most, and rarely less than a fifth of one: shorter results cannot save enough.
    candidates = [
        result
        for place, result in old
        if place < start
        and place not in draft.fixed
        and result.id
        and draft.tokens_of(result) > config.truncate_chars // 5 + MIN_SAVED_TOKENS
    ]
    _cut_all(draft, candidates, cut)


def drop_groups(draft: Draft, *, share: float | None = None) -> None:
    """Step 3: the oldest groups are left out; human messages stay."""
    start = draft.recent_start(draft.config.protected_recent if share is None else share)
    for place in draft.left():
        if draft.fits or place >= start:
            return
        if place not in draft.fixed and not draft.groups[place].head.human:
            draft.drop(place)


def shorten_humans(draft: Draft) -> None:
    """Step 4: long old human messages are shortened, block lists too; the first one last."""
    first, last = first_human(draft.groups), last_human(draft.groups)
    humans = [place for place in draft.left() if draft.groups[place].head.human and place not in draft.fixed]
    ordered = [place for place in humans if place != first] + [place for place in humans if place == first]
    heads = [draft.groups[place].head for place in ordered if place != last and draft.groups[place].head.id]
    _cut_all(draft, heads, cut_for(HUMAN_FACTOR * draft.config.truncate_chars))


def narrow_protections(draft: Draft) -> None:
    """Step 5: what is recent counts for less and less; at the end human messages go, the first one last."""
    config = draft.config
    for share in (config.protected_recent / 2, config.protected_recent / 4, 0.0):
        spared = int(config.protected_tool_results * share / config.protected_recent) if share else 0
        elide_results(draft, share=share, spared=spared)
        drop_groups(draft, share=share)
    first = first_human(draft.groups)
    humans = [place for place in draft.left() if draft.groups[place].head.human and place not in draft.fixed]
    for place in [place for place in humans if place != first] + [place for place in humans if place == first]:
        if draft.fits:
            return
        draft.drop(place)


def shorten_largest(draft: Draft) -> None:
    """Step 6: the largest pieces that remain are brought down to one level, as high as the goal allows."""
    last = last_human(draft.groups)
    pieces = [
        entry
        for place in draft.left()
        for entry in draft.groups[place].entries()
        if place != last and not draft.groups[place].pinned and not entry.instructs and entry.id
    ]
    messages = dict(zip((entry.key for entry in pieces), draft.fetch(pieces), strict=True)) if pieces else {}
    for tightening in (1.0, 0.9, 0.75, 0.5, 0.0):
        if draft.total_tokens <= draft.goal_tokens:
            return
        excess = draft.total_tokens - draft.goal_tokens
        level = _level([draft.tokens_of(entry) for entry in pieces], excess) * tightening
        for entry in pieces:
            chars = text_chars(messages[entry.key])
            if draft.tokens_of(entry) > level and chars > LEAST_CHARS:
                keep = max(LEAST_CHARS, int(chars * level / max(1, entry.tokens)))
                draft.cut(entry, messages[entry.key], cut_for(keep), least_saved=1)


STEPS: tuple[tuple[int, Step], ...] = (
    # (0, supersede_results) and (2, drop_thinking) come with a later issue
    (1, elide_results),
    (3, drop_groups),
    (4, shorten_humans),
    (5, narrow_protections),
)


def _cut_all(draft: Draft, entries: Sequence[Entry], cut: Cut) -> None:
    if draft.fits or not entries:
        return
    for entry, message in zip(entries, draft.fetch(entries), strict=True):
        known = draft.cuts.get(entry.id)
        if known is None or known.head_chars + known.tail_chars > cut.head_chars + cut.tail_chars:
            draft.cut(entry, message, cut)
        if draft.fits:
            return


def _level(sizes: Sequence[int], excess: int) -> float:
    """The height to which the tallest must be brought down to lose `excess` altogether."""
    tallest = sorted(sizes, reverse=True)
    removed = 0
    for count, size in enumerate(tallest, start=1):
        lower = tallest[count] if count < len(tallest) else 0
        if removed + (size - lower) * count >= excess:
            return size - (excess - removed) / count
        removed += (size - lower) * count
    return 0.0
