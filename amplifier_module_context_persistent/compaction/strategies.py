"""The strategies: by name, what goes in any case, what the rest loses, and which promises hold.

All of them share the stages of the choice, the plan, the writing of views and the budget. A strategy that needs a
provider is played once the provider has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ..config import NATIVE, SUMMARIZE
from .always_kept import PROMISES, Promise
from .draft import Draft
from .losses import ImportanceLoss, Loss, UniqueTermsLoss


class Strategy(NamedTuple):
    """The ways to make views smaller."""

    loss: type[Loss] = UniqueTermsLoss
    """The cost of a group's shorter forms, at the stages without another rule."""
    promises: tuple[Promise, ...] = PROMISES
    goes: Callable[[Draft], Iterable[int]] = lambda _: ()
    """The groups that are left out first in any case if a view does not fit."""
    uses_room: bool = False
    """Whether groups that still fit are shown again."""


def before_the_window(draft: Draft) -> list[int]:
    """All groups older than the newest `keep_recent` messages, except the first human message.

    The window is widened to whole tool groups, and does not move while the view fits, as with every plan.
    """
    gone, left = [], draft.config.keep_recent
    for position in reversed(draft.left()):
        if left <= 0 and position not in draft.fixed and position != draft.view.first_person:
            gone.append(position)
        left -= len(draft.view.members[position])
    return gone


FEW = tuple(promise for promise in PROMISES if promise.name not in ("last words", "interrupted turns", "what to do"))

STRATEGIES: Mapping[str, Strategy] = {
    "truncate": Strategy(uses_room=True),
    SUMMARIZE: Strategy(),  # after the summary
    NATIVE: Strategy(uses_room=True),  # if no provider's item is valid
    "sliding_window": Strategy(promises=FEW, goes=before_the_window),
    "importance": Strategy(loss=ImportanceLoss),
}
