"""The ladder: steps that make a view smaller, each only as far as needed, whole tool groups only.

Each step is a function over a `Draft`. Steps 0 (superseded results) and 2 (thinking of finished turns) have their place
in `STEPS` and come later. Shares are of tokens, never of message counts.

Never touched by steps 1 to 5: system text, pins, the last human message, open calls, the newest group. Step 6 may
shorten the results and texts of the newest group, as nothing else is left by then; it never touches the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .choice import lose_least
from .draft import Draft
from .elide import cut_for, text_chars
from .entry import Entry
from .plan import Cut
from .rules import first_human, last_human

HUMAN_FACTOR = 2  # a human message keeps so many times `truncate_chars`
LEAST_CHARS = 160  # the least that step 6 leaves of a text


Step = Callable[[Draft], None]


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
        lose_least(draft, share=share, spared=spared)
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
    (3, lose_least),  # with step 1
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
