"""Totals over the items of a view, kept so that a request adds up only its new items.

A view often begins with the same items as the last view; the totals continue after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..compaction.provider_limits import item_bytes
from ..view.arrangement import Item, same_items, unmovable_tokens


class Totals(NamedTuple):
    """Totals of the first items of a view."""

    size_bytes: int = 0
    """Approximate bytes of the messages, rounded up."""
    unmovable_tokens: int = 0
    """Tokens of the messages that no plan may leave out."""
    with_media: int = 0
    """Number of messages with images or documents."""


class ViewTotals:
    """Computes the `Totals` of a window's views. Each view continues from the totals of the view before."""

    def __init__(self) -> None:
        self._items: Sequence[Item] = ()
        self._totals = [Totals()]
        """The totals before each item of the last view, and after the last item."""

    def of(self, items: Sequence[Item]) -> Totals:
        """Return the totals of a view. The sequence is kept and must not change."""
        same = same_items(self._items, items)
        self._items = items
        del self._totals[same + 1 :]
        size_bytes, unmovable, with_media = self._totals[-1]
        for item in items[same:]:
            size_bytes += item_bytes(item)
            unmovable += unmovable_tokens(item)
            with_media += item.entry is not None and bool(item.entry.form.media)
            self._totals.append(Totals(size_bytes, unmovable, with_media))
        return self._totals[-1]
