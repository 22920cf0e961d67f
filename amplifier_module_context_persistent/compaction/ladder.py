"""The ladder: steps that make a view smaller, each only as far as needed, whole tool groups only.

Each step is a function over a `Draft`. Shares are of tokens, never of message counts.

Never touched by steps 1 to 5: system text, pins, the last human message, open calls, the newest group. Step 6 may
shorten the results and texts of the newest group, as nothing else is left by then, and step 5 its results where they
do not fit alone; neither touches the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..messages.elide import LEAST_SHOWN_CHARS, word_cut_for
from ..view.entry import Entry
from ..view.group_table import CALLS
from ..view.rules import first_human, last_human
from .draft import Draft
from .last_words import answers_by_human
from .least_loss import lose_least
from .level import bring_down
from .newest_results import hold_newest_results, shorten_for_people, shorten_newest_group
from .pasted_lines import cut_with_lines

HUMAN_FACTORS = (2, 1, 0.5, 0.25)  # a human message keeps so many times `truncate_chars`


Step = Callable[[Draft], None]


def supersede_results(draft: Draft) -> None:
    """Step 0: a result goes, but for its reference, where the same tool was called with the same arguments later."""
    answered: set[bytes] = set()
    older: list[tuple[int, Entry]] = []
    for position in reversed(draft.table.positions(CALLS)):
        if not draft.kept[position]:
            continue
        group = draft.groups[position]
        calls, results = group.head.calls, group.results
        pairs = zip(calls[::-1], results[::-1], strict=True) if len(calls) > 1 else ((calls[0], results[0]),)
        for call, result in pairs:
            if result is None:
                continue
            again = call.asks in answered and result.id and position not in draft.fixed and position >= draft.sealed
            if again and draft.can_shorten(result):
                older.append((position, result))
            answered.add(call.asks)
    draft.cut_each(older[::-1], lambda _: word_cut_for(0))


def shorten_humans(draft: Draft) -> None:
    """Step 4: long old human messages are shortened, block lists too; the first one last, and less at first.

    Of a pasted text the lines that a person wrote into it stay (`pasted_lines`).
    """
    first, last = first_human(draft.groups), last_human(draft.groups)
    humans = [position for position in draft.left() if draft.groups[position].head.human]
    humans = [position for position in humans if position not in draft.fixed]
    ordered = [position for position in humans if position != first] + [p for p in humans if p == first]
    for factor in HUMAN_FACTORS:
        chars = int(factor * draft.config.truncate_chars)
        if draft.fits or (factor < 1 and chars < LEAST_SHOWN_CHARS):
            return
        heads = [(position, draft.groups[position].head) for position in ordered if position != last]
        long = [(position, head) for position, head in heads if head.id and draft.chars_of(head) > chars]
        draft.cut_each(long, partial(cut_with_lines, keep_chars=chars))


def narrow_protections(draft: Draft) -> None:
    """Step 5: what is recent counts for less and less; at the end human messages go, the first one last.

    With a person's message its answer goes, and before any does, the view may come to more, and what is held is
    shortened as far as it may be. What is held goes after that. A newest group that does not fit alone is shortened
    before all of it: it has to be in any case.
    """
    shorten_newest_group(draft)
    config = draft.config
    for share in (config.protected_recent / 2, config.protected_recent / 4, 0.0):
        spared = int(config.protected_tool_results * share / config.protected_recent) if share else 0
        lose_least(draft, share=share, spared=spared)
    draft.goal_tokens = max(draft.goal_tokens, draft.people_goal_tokens)
    shorten_for_people(draft)
    first, answers = first_human(draft.groups), answers_by_human(draft)
    humans = [position for position in draft.left() if draft.groups[position].head.human]
    humans = [position for position in humans if position not in draft.fixed]
    ordered = [position for position in humans if position != first] + [p for p in humans if p == first]
    for position in ordered:
        if draft.fits:
            return
        answer = answers.get(position)
        if answer is not None and draft.kept[answer] and answer not in draft.fixed:
            draft.drop(answer)
        draft.drop(position)
    for position in sorted(draft.held - draft.opening):
        if draft.fits:
            return
        if draft.kept[position] and position not in draft.fixed:
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
    bring_down(draft, pieces, draft.goal_tokens, to_nothing=True)


LAST_STEPS: tuple[tuple[int, Step], ...] = ((4, shorten_humans), (5, narrow_protections))
"""The last steps of every strategy; `shorten_largest` comes after them."""

LADDER: tuple[tuple[int, Step], ...] = (
    (0, supersede_results),
    (1, hold_newest_results),
    (3, lose_least),  # with step 1
    *LAST_STEPS,
)
