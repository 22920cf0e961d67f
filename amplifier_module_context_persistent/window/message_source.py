"""The messages of one session for its windows: described as entries, counted, and parsed afresh."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..config import Config
from ..log.base import Log
from ..messages.message import Message
from ..messages.tool_kinds import ToolKinds
from ..tokens.counter import TokenCounter, count_message
from ..view.entry import Entry, classify
from .ephemeral import Extras
from .shown_lines import ShownLines


class MessageSource:
    """Messages of a log, and those that are in no log.

    Args:
        config: the policy.
        counter: counts tokens.
        extras: the messages that are in no log.
        bound: whether entries say what is bound to a provider.
    """

    def __init__(self, config: Config, counter: TokenCounter, extras: Extras, *, bound: bool = True) -> None:
        self._reminds, self._boundary = config.late_system == "reminder", config.truncate_boundary
        self._counter, self.extras = counter, extras
        self._bound = bound
        self._kinds = ToolKinds(config.tool_kinds)
        self._shown = ShownLines()

    def count(self, message: Message) -> int:
        """Count a message."""
        return count_message(message, self._counter)

    def describe(
        self, log: Log, ordinals: Sequence[int], where: Callable[[Message], bool] | None = None
    ) -> list[Entry]:
        """Describe messages of the log as entries; where `where` is given, those of which it is true."""
        reminds, index = self._reminds, log.index
        early = set(index.live[: index.conversation_start()]) if reminds else ()
        messages = zip(ordinals, log.read(ordinals), strict=True)
        return [
            classify(
                ordinal,
                message,
                self.count,
                late=reminds and ordinal not in early,
                kinds=self._kinds,
                size_bytes=index.lengths[ordinal],
                asked=index.model_of(ordinal) if self._bound else None,
            )
            for ordinal, message in messages
            if where is None or where(message)
        ]

    def fetch(self, log: Log, entries: Sequence[Entry]) -> Iterator[Message]:
        """Parse the messages of entries afresh, in order."""
        return self._with_extras(entries, lambda ordinals: self._shown.read(log, ordinals))

    def show(self, log: Log, entries: Sequence[Entry]) -> Iterator[Message]:
        """Parse the messages of a view's entries, as `fetch`; their lines are kept for the next view."""
        return self._with_extras(entries, lambda ordinals: self._shown.show(log, ordinals))

    def _with_extras(
        self, entries: Sequence[Entry], read: Callable[[Sequence[int]], Iterator[Message]]
    ) -> Iterator[Message]:
        ordinals = [entry.ordinal for entry in entries]
        stored = read([ordinal for ordinal in ordinals if ordinal >= 0])
        if min(ordinals, default=0) >= 0:
            return stored
        return (next(stored) if ordinal >= 0 else self.extras.message(ordinal) for ordinal in ordinals)
