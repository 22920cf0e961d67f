"""The live history as a host sees it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from ..log.collector_paused import collector_paused
from ..log.contract import Log
from ..messages.host_order import host_order
from ..messages.message import Message
from ..messages.metadata import PLACE_KEY, is_ephemeral


class LiveHistory(NamedTuple):
    """The live history as a host sees it: without ephemeral messages, and with repairs in their places."""

    messages: list[Message]
    ordinals: Sequence[int]
    """The ordinals of the messages."""
    all_ordinals: Sequence[int]
    """The ordinals of the whole live history, in the order of the log."""

    @classmethod
    def of(cls, log: Log) -> LiveHistory:
        """Read the live history of a log.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        live = log.index.live
        with collector_paused():
            stored = list(log.read(live))
        if not _any_out_of_place(stored):
            return cls(stored, live, live)
        order = [position for position in host_order(stored) if not is_ephemeral(stored[position])]
        return cls([stored[position] for position in order], [live[position] for position in order], live)

    def with_others(self, order: Sequence[int | Message]) -> list[int | Message]:
        """Add the messages that hosts do not see to a new order.

        Each of these stays after the message that it follows now.
        """
        seen_by_hosts = frozenset(self.ordinals)
        followers = defaultdict[int | None, list[int]](list)  # None: at the start of the history
        before: int | None = None
        for ordinal in self.all_ordinals:
            if ordinal in seen_by_hosts:
                before = ordinal
            else:
                followers[before].append(ordinal)
        whole: list[int | Message] = [*followers[None]]
        for item in order:
            whole.append(item)
            if isinstance(item, int):
                whole += followers.get(item, ())
        return whole


def _any_out_of_place(stored: Sequence[Message]) -> bool:
    """Return whether hosts see any of the messages at another place than the log, or do not see it at all."""
    # the history may be long; a function call for each message takes twice the time
    every_metadata = map(itemgetter("metadata"), stored)
    return any(PLACE_KEY in metadata or "ephemeral" in metadata for metadata in every_metadata)
