"""The ladder: steps that make a view smaller, each only as far as needed, whole tool groups only.

Each step is a function over a `Draft`. Shares are of tokens, never of message counts.

Never touched by steps 1 to 5: system text, pins, the last human message, open calls, the newest group. Step 6 may
shorten the results and texts of the newest group, as nothing else is left by then; it never touches the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..messages.elide import cut_for
from ..view.entry import Entry
from ..view.rules import first_human, last_human
from .draft import Draft
from .least_loss import lose_least

HUMAN_FACTOR = 2  # a human message keeps so many times `truncate_chars`
LEAST_CHARS = 160  # the least that step 6 leaves of a text


Step = Callable[[Draft], None]


def supersede_results(draft: Draft) -> None:
    """Step 0: a result goes, but for its reference, where the same tool was called with the same arguments later."""
    answered: set[bytes] = set()
    older: list[tuple[int, Entry]] = []
    for position in reversed(draft.left()):
        group = draft.groups[position]
        for call, result in zip(reversed(group.head.calls), reversed(group.results), strict=True):
            if result is None:
                continue
            if call.asks in answered and result.id and position not in draft.fixed and position >= draft.sealed:
                older.append((position, result))
            answered.add(call.asks)
    for position, result in reversed(older):
        if draft.fits:
            return
        draft.cut(position, result, cut_for(0))


def silence_turns(draft: Draft) -> None:
    """Step 2: the thinking of finished turns goes, the oldest turn first; pins keep theirs."""
    turn = last_human(draft.groups) or 0
    for position in draft.left():
        if draft.fits or position >= turn:
            return
        if not draft.groups[position].pinned and draft.groups[position].head.thinking_tokens:
            draft.silence(position)


def shorten_humans(draft: Draft) -> None:
    """Step 4: long old human messages are shortened, block lists too; the first one last."""
    first, last = first_human(draft.groups), last_human(draft.groups)
    humans = [
        position for position in draft.left() if draft.groups[position].head.human and position not in draft.fixed
    ]
    ordered = [position for position in humans if position != first] + [
        position for position in humans if position == first
    ]
    chars = HUMAN_FACTOR * draft.config.truncate_chars
    for position in ordered:
        if draft.fits:
            return
        head = draft.groups[position].head
        if position != last and head.id and draft.chars_of(head) > chars:
            draft.cut(position, head, cut_for(chars))


def narrow_protections(draft: Draft) -> None:
    """Step 5: what is recent counts for less and less; at the end human messages go, the first one last."""
    config = draft.config
    for share in (config.protected_recent / 2, config.protected_recent / 4, 0.0):
        spared = int(config.protected_tool_results * share / config.protected_recent) if share else 0
        lose_least(draft, share=share, spared=spared)
    first = first_human(draft.groups)
    humans = [
        position for position in draft.left() if draft.groups[position].head.human and position not in draft.fixed
    ]
    for position in [position for position in humans if position != first] + [
        position for position in humans if position == first
    ]:
        if draft.fits:
            return
        draft.drop(position)


def shorten_largest(draft: Draft) -> None:
    """Step 6: the largest pieces that remain are brought down to one level, as high as the goal allows."""
    last = last_human(draft.groups)
    pieces = [
        (position, entry)
        for position in draft.left()
        for entry in draft.members[position]
        if position != last and not draft.groups[position].pinned and not entry.instructs and entry.id
    ]
    for tightening in (1.0, 0.9, 0.75, 0.5, 0.0):
        if draft.total_tokens <= draft.goal_tokens:
            return
        excess = draft.total_tokens - draft.goal_tokens
        level = _level([draft.tokens_of(entry) for _, entry in pieces], excess) * tightening
        for position, entry in pieces:
            chars = max(entry.terms.text_chars, default=0)
            if draft.tokens_of(entry) > level and chars > LEAST_CHARS:
                keep = max(LEAST_CHARS, int(chars * level / max(1, entry.tokens)))
                draft.cut(position, entry, cut_for(keep), least_saved=1)


LAST_STEPS: tuple[tuple[int, Step], ...] = ((4, shorten_humans), (5, narrow_protections))
"""The last steps of every strategy; `shorten_largest` comes after them."""

LADDER: tuple[tuple[int, Step], ...] = (
    (0, supersede_results),
    (2, silence_turns),
    (3, lose_least),  # with step 1
    *LAST_STEPS,
)


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
