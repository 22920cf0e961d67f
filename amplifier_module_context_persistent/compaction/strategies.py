"""The strategies: by name, the steps that make a draft fit. What differs is what goes first.

All of them share the rules, the plan, the writing of views and the budget: system text, pins, the last human message,
open calls and the newest group stay, whole tool groups go, and where a strategy's own steps are not enough the ladder's
take over, down to the largest pieces. A strategy that needs a provider runs before the steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..config import SUMMARIZE
from ..messages.elide import word_cut_for
from ..view.rules import first_human
from .draft import Draft
from .ladder import LADDER, LAST_STEPS, Step
from .least_loss import lose_least

REFERENCED, MOST_REFERENCES = 2, 10
HUMAN = 30
ERROR = 10
RECENT = 20


def slide(draft: Draft) -> None:
    """Leave out what is older than the newest `keep_recent` messages, but for the first human message.

    The window is widened to whole tool groups, and does not move while it fits: it is as sticky as every plan.
    """
    if draft.fits:
        return
    first, left = first_human(draft.groups), draft.config.keep_recent
    for position in reversed(draft.left()):
        if left <= 0 and position not in draft.fixed and position != first:
            draft.drop(position)
        left -= len(draft.members[position])


def lose_unimportant(draft: Draft) -> None:
    """Shorten results and then leave out groups, the least important first (`scores`); the recent share is spared."""
    scored = scores(draft)
    start = draft.recent_start(draft.config.protected_recent)
    old = [position for position in draft.left() if position < start and position not in draft.fixed]
    ordered = sorted(old, key=lambda position: (scored[position], position))
    cut = word_cut_for(draft.config.truncate_chars)
    for position in ordered:
        for result in draft.members[position][1:]:
            if draft.fits:
                return
            if result.id and draft.chars_of(result) > draft.config.truncate_chars:
                draft.cut(position, result, cut)
    first = first_human(draft.groups)
    for position in ordered:
        if draft.fits:
            return
        if position != first:
            draft.drop(position)


def scores(draft: Draft) -> list[int]:
    """Score each group: how much it matters, in whole numbers.

    `REFERENCED` for each of its terms (paths, names, ids) that the arguments of a later call use, up to
    `MOST_REFERENCES` of them; `HUMAN` for a person's message; `ERROR` for a result that tells of one; and up to
    `RECENT` by how new it is.
    """
    last_used: dict[str, int] = {}
    for position, group in enumerate(draft.groups):
        last_used.update(dict.fromkeys(group.head.terms.used, position))
    newest = max(1, len(draft.groups) - 1)
    found = []
    for position, (group, members) in enumerate(zip(draft.groups, draft.members, strict=True)):
        names = {name for entry in members for name in entry.terms.names}
        references = sum(last_used.get(name, -1) > position for name in names)
        found.append(
            REFERENCED * min(references, MOST_REFERENCES)
            + HUMAN * group.head.human
            + ERROR * any(entry.failed for entry in members)
            + RECENT * position // newest
        )
    return found


STRATEGIES: Mapping[str, tuple[tuple[int, Step], ...]] = {
    "truncate": LADDER,
    SUMMARIZE: LADDER,  # after the summary
    "sliding_window": ((3, slide), (3, lose_least), *LAST_STEPS),
    "importance": ((3, lose_unimportant), *LAST_STEPS),
}
