"""What the items of a view add up to, besides its tokens: a view that continues the last one costs what is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..compaction.request_limits import view_bytes
from ..view.arrangement import Item
from ..view.receipts import extras_in, keeps_wire_rules
from ..view.wire import WIRE


@dataclass(frozen=True, slots=True)
class ViewSums:
    """What the items of a view add up to."""

    size_bytes: int = 0
    """About how many bytes their messages have, rather more than fewer."""
    extras: int = 0
    """How many are messages that are in no log."""
    keeps_wire_rules: bool = False
    """Whether any is shown otherwise for what providers refuse."""
    has_media: bool = False
    """Whether any has images or documents."""

    def rendered_by(self) -> dict[str, Any]:
        """What a receipt says of it besides options."""
        return {WIRE: 1} if self.keeps_wire_rules else {}

    def __add__(self, other: ViewSums) -> ViewSums:
        return ViewSums(
            self.size_bytes + other.size_bytes,
            self.extras + other.extras,
            self.keeps_wire_rules or other.keeps_wire_rules,
            self.has_media or other.has_media,
        )


class RunningSums:
    """The sums of a window's views, one after the other."""

    def __init__(self) -> None:
        self._items: Sequence[Item] = ()
        self._sums = ViewSums()

    def of(self, items: Sequence[Item]) -> ViewSums:
        """What items add up to."""
        known = len(self._items)
        if known and items[:known] == self._items:
            sums = self._sums + _sums_of(items[known:]) if len(items) > known else self._sums
        else:
            sums = _sums_of(items)
        self._items, self._sums = items, sums
        return sums


def _sums_of(items: Sequence[Item]) -> ViewSums:
    has_media = any(item.entry is not None and item.entry.media for item in items)
    return ViewSums(view_bytes(items), extras_in(items), keeps_wire_rules(items), has_media)
