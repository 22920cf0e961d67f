"""Making the views of a session again one after the other, as its session made them: with the window of one plan.

Between two plans a view goes on where the one before it ended. So the window that made it makes the next one too, from
what was appended. It is believed only if the hash of the receipt proves it; else the view is made from nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import ConfigError
from ..log.base import ReadableLog
from ..log.index import Index
from ..log.record import Message
from ..view.plan import live_positions
from ..window.window import Window
from .view_rebuild import (
    PAST_COLUMNS,
    Noted,
    Past,
    Rebuilt,
    ReceiptLog,
    as_of,
    config_of,
    index_of,
    rebuild,
    request_of,
    unknown_options,
    window_of,
)

_MOST_SHARED = 1_000


class Rebuilder:
    """Makes the views of a session again, best in the order of its requests.

    Args:
        reader: the log.
        book: its receipts.
        shares_messages: neighbouring views hold the same objects, which is quicker; who gets them must not alter them.
    """

    def __init__(self, reader: ReadableLog, book: ReceiptLog, *, shares_messages: bool = False) -> None:
        self._reader, self._book = reader, book
        self._shared: dict[int, Message] | None = {} if shares_messages else None
        self._key: object = None
        self._window: Window | None = None
        self._index = Index()

    def view(self, noted: Noted) -> Rebuilt:
        """Make the view of a request again; as `rebuild`.

        Raises:
            LogUnreadableError: the log's bytes changed while they were read.
        """
        return self._go_on(noted) or rebuild(self._reader, self._book, noted)

    def _go_on(self, noted: Noted) -> Rebuilt | None:
        """Make a view with the window of its plan; None where that does not prove it."""
        receipt, book = noted.receipt, self._book
        if book.index.damage or book.lacks(noted) or unknown_options(receipt):
            return None
        window = self._window_of(noted)
        if window is None or not self._reach(noted):
            self._key = None
            return None
        request = request_of(book, receipt)
        shared, index = self._shared, self._index
        past = Past(self._reader, index) if shared is None else _SharingPast(self._reader, index, shared)
        built = window.build(past, request)
        view, head = built.view or [], request.head
        if len(view) == receipt.messages:
            found = window.chain.hash_of(built.items, lambda at: view[len(head) + at :], head, of=self._index)
            if found == receipt.hash:
                return Rebuilt(view, [], proved=True)
        self._key = None
        return None

    def _window_of(self, noted: Noted) -> Window | None:
        """The window of the history, the plan and the options of a request; None where there can be none."""
        receipt, record = noted.receipt, self._book.plan(noted.receipt.plan)
        key = (id(noted.live), receipt.plan, sorted(map(repr, receipt.render.items())), bool(receipt.bound))
        if key == self._key and len(self._index) <= noted.records:
            return self._window
        try:
            config = config_of(receipt)
        except ConfigError:
            return None
        index = as_of(index_of(self._book.index, noted.records), noted.live, receipt.upto, record)
        if index is None:
            return None
        self._key, self._index = key, index
        self._window = window_of(config, receipt)
        return self._window

    def _reach(self, noted: Noted) -> bool:
        """Let the index be what it was at a request; False if it had been further."""
        index, upto = self._index, noted.receipt.upto
        for name in PAST_COLUMNS:
            getattr(index, name).extend(getattr(self._book.index, name)[len(getattr(index, name)) : noted.records])
        ordinal = index.find(upto) if upto else None
        if ordinal is None:
            return not upto and not index.live
        try:
            (position,) = live_positions(noted.live, [ordinal])
        except KeyError:
            return False
        if position + 1 < len(index.live):
            return False
        index.live.extend(noted.live[len(index.live) : position + 1])
        return True


class _SharingPast(Past):
    """A log as it was, of which a message that was read for the view before is given out as the same object."""

    def __init__(self, reader: ReadableLog, index: Index, known: dict[int, Message]) -> None:
        super().__init__(reader, index)
        self._known = known

    @property
    def shares_messages(self) -> bool:
        """It does."""
        return True

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Give messages in the order asked for."""
        known = self._known
        new = [ordinal for ordinal in dict.fromkeys(ordinals) if ordinal not in known]
        known.update(zip(new, super().read(new), strict=True))
        messages = [known[ordinal] for ordinal in ordinals]
        if len(known) > _MOST_SHARED + 2 * len(ordinals):
            known.clear()
            known.update(zip(ordinals, messages, strict=True))
        return iter(messages)
