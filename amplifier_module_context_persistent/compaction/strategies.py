"""The strategies: ways to make a view smaller, by name.

A strategy says which groups are left out in any case, which loss gives the other groups their prices, and which
promises (rules about what a view keeps) hold. All strategies share the stages of the choice, the plan, the writing of
views and the budget. A strategy that needs a provider's answer is used once the answer has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ..config import NATIVE, SUMMARIZE
from .always_kept import PROMISES, Promise
from .draft import Draft
from .losses import ImportanceLoss, Loss, UniqueTermsLoss


class Strategy(NamedTuple):
    """One way to make views smaller."""

    loss: type[Loss] = UniqueTermsLoss
    """The loss that gives a group's shorter forms their prices, at the stages that have no loss of their own."""
    promises: tuple[Promise, ...] = PROMISES
    left_out_first: Callable[[Draft], Iterable[int]] = lambda _: ()
    """A function that returns the positions of the groups that are left out first if a view does not fit."""
    uses_room: bool = False
    """Whether groups that still fit are put back after the choice."""


def before_the_window(draft: Draft) -> list[int]:
    """Return the positions of all groups older than the newest `keep_recent` messages.

    The first message of a person and groups that must stay are not returned. The window of the newest messages is
    extended to whole tool groups. As with every plan, the window does not move while the view fits.
    """
    left_out = []
    left = draft.config.keep_recent
    for position in reversed(draft.kept_positions()):
        if left <= 0 and position not in draft.fixed and position != draft.view.first_person:
            left_out.append(position)
        left -= len(draft.view.members[position])
    return left_out


FEW = tuple(promise for promise in PROMISES if promise.name not in ("last words", "interrupted turns", "what to do"))

STRATEGIES: Mapping[str, Strategy] = {
    "truncate": Strategy(uses_room=True),
    SUMMARIZE: Strategy(),  # after the summary
    NATIVE: Strategy(uses_room=True),  # if no provider's item is valid
    "sliding_window": Strategy(promises=FEW, left_out_first=before_the_window),
    "importance": Strategy(loss=ImportanceLoss),
}
