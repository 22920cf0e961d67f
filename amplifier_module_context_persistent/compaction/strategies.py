"""The strategies: by name, the steps that make a draft fit. What differs is what goes first.

All of them share the rules, the plan, the writing of views and the budget: system text, pins, the last human message,
open calls and the newest group stay, whole tool groups go, and where a strategy's own steps are not enough the ladder's
take over, down to the largest pieces. A strategy that needs a provider is not made of steps; it goes before them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..config import SUMMARIZE
from ..messages.elide import cut_for
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
    for place in reversed(draft.left()):
        if left <= 0 and place not in draft.fixed and place != first:
            draft.drop(place)
        left -= len(draft.members[place])


def lose_unimportant(draft: Draft) -> None:
    """Shorten results and then leave out groups, the least important first (`scores`); the recent share is spared."""
    scored = scores(draft)
    start = draft.recent_start(draft.config.protected_recent)
    old = [place for place in draft.left() if place < start and place not in draft.fixed]
    ordered = sorted(old, key=lambda place: (scored[place], place))
    cut = cut_for(draft.config.truncate_chars)
    for place in ordered:
        for result in draft.members[place][1:]:
            if draft.fits:
                return
            if result.id and draft.chars_of(result) > draft.config.truncate_chars:
                draft.cut(place, result, cut)
    first = first_human(draft.groups)
    for place in ordered:
        if draft.fits:
            return
        if place != first:
            draft.drop(place)


def scores(draft: Draft) -> list[int]:
    """Score each group: how much it matters, in whole numbers.

    `REFERENCED` for each of its terms (paths, names, ids) that the arguments of a later call use, up to
    `MOST_REFERENCES` of them; `HUMAN` for a person's message; `ERROR` for a result that tells of one; and up to
    `RECENT` by how new it is.
    """
    last_used: dict[str, int] = {}
    for place, group in enumerate(draft.groups):
        last_used.update(dict.fromkeys(group.head.terms.used, place))
    newest = max(1, len(draft.groups) - 1)
    found = []
    for place, (group, members) in enumerate(zip(draft.groups, draft.members, strict=True)):
        names = {name for entry in members for name in entry.terms.names}
        references = sum(last_used.get(name, -1) > place for name in names)
        found.append(
            REFERENCED * min(references, MOST_REFERENCES)
            + HUMAN * group.head.human
            + ERROR * any(entry.failed for entry in members)
            + RECENT * place // newest
        )
    return found


STRATEGIES: Mapping[str, tuple[tuple[int, Step], ...]] = {
    "truncate": LADDER,
    SUMMARIZE: LADDER,  # behind the summary
    "sliding_window": ((3, slide), (3, lose_least), *LAST_STEPS),
    "importance": ((3, lose_unimportant), *LAST_STEPS),
}
