"""The messages of one session for its windows: described as entries, counted, and parsed.

Between two plans a view is the last view plus the appended messages. So a request reads, verifies and renders only the
new messages, and parses the others from kept bytes (`shown_messages`).

Messages that are in no log (`UnloggedMessages`) have negative ordinals. An ephemeral one follows the record that was
the last one when it was added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ..config import Config
from ..log.contract import Log
from ..log.index import TOOL
from ..messages.elide import Cut
from ..messages.message import Message
from ..messages.tool_kinds import ToolKinds
from ..tokens.counter import TokenCounter, count_message
from ..view.arrangement import Arrangement, Item
from ..view.entry import Entry, classify
from ..view.render import render, shorten
from .ephemerals import UnloggedMessages
from .late_system_text import conversation_start
from .shown_messages import ReadLines, ShownLines, ShownMessages


class MessageSource:
    """Reads the messages of a log and the messages that are not in the log.

    Args:
        config: the policy.
        counter: counts tokens.
        unlogged: the messages that are in no log.
    """

    def __init__(self, config: Config, counter: TokenCounter, unlogged: UnloggedMessages) -> None:
        self._reminds = config.late_system == "reminder"
        self._counter = counter
        self.unlogged = unlogged
        self._kinds = ToolKinds(config.tool_kinds)
        self._lines = ShownLines()
        self._shown = ShownMessages(self._lines)
        self._boundary = config.truncate_boundary

    def count(self, message: Message) -> int:
        """Count a message's tokens."""
        return count_message(message, self._counter)

    def describe(self, log: Log, ordinals: Sequence[int]) -> list[Entry]:
        """Describe messages of the log as entries."""
        reminds = self._reminds
        index = log.index
        early = set(index.live[: conversation_start(index)])
        return [
            classify(
                ordinal,
                message,
                self.count,
                late=ordinal not in early,
                reminds=reminds,
                kinds=self._kinds,
                size_bytes=index.columns.lengths[ordinal],
                asked=index.model_of(ordinal),
                follows_result=ordinal > 0 and index.columns.roles[ordinal - 1] == TOOL,
            )
            for ordinal, message in zip(ordinals, log.read(ordinals), strict=True)
        ]

    def cut_sizes(self, log: Log, entries: Sequence[Entry], cuts: Mapping[str, Cut]) -> dict[str, int]:
        """Count the tokens of cut messages after the cut. Return the counts by message id."""
        cut = [entry for entry in entries if entry.id in cuts]
        tokens: dict[str, int] = {}
        for entry, message in zip(cut, self.fetch(log, cut), strict=True):
            tokens[entry.id] = self.count(shorten(entry, message, cuts[entry.id], self._boundary))
        return tokens

    def fetch(self, log: Log, entries: Sequence[Entry]) -> Iterator[Message]:
        """Parse the messages of entries, in order. Each call returns new objects."""
        return self._fetch(partial(self._lines.read, log), entries)

    def look_at(self, log: Log, items: Sequence[Item]) -> Sequence[Message]:
        """Render items of the view that is being made. Do not change the messages: `view` returns the same objects."""
        return self._shown.look_at(log, items, self._render)

    def view(self, log: Log, items: Sequence[Item]) -> list[Message]:
        """Return the messages of a view. Their bytes are kept for the next view."""
        return self._shown.view(log, items, self._render)

    def _render(self, items: Sequence[Item], read: ReadLines) -> list[Message]:
        return render(Arrangement(list(items)), partial(self._fetch, read), boundary=self._boundary)

    def _fetch(self, read: ReadLines, entries: Sequence[Entry]) -> Iterator[Message]:
        stored = read([entry.ordinal for entry in entries if entry.ordinal >= 0])
        return (next(stored) if entry.ordinal >= 0 else self.unlogged.message(entry.ordinal) for entry in entries)
