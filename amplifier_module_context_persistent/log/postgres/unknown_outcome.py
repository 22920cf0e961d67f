"""Find out whether the lines of an append are stored, after the connection broke and the server did not say.

The outcome is decided under the lock of the log's row, by comparing the lines at the append's numbers with the sent
lines. The old statement cannot be executed later, since the log's head has moved on by then. "Not stored" is reported
only after such a decision. If none is possible before the append's deadline, the next append begins with it.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import LogFailedError
from ..contract import Outcome
from .rows import Head, Row
from .server_connections import ServerError, is_refusal
from .stored_lines import StoredLines

if TYPE_CHECKING:
    from .connection import Connection

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SentRows:
    """Lines that were sent to the server.

    Attributes:
        after: the log's row before these lines.
        rows: the lines.
        outcomes: the outcomes of their callers, valid once the lines are stored.
        place: the place of the log's row after the lines were stored (`Head.place`); "" if it is unknown.
    """

    after: Head
    rows: list[Row]
    outcomes: list[Outcome]
    place: str = ""


class UnknownOutcome:
    """The sent lines of the current append, which may be stored, and those of an earlier append that got no answer.

    Args:
        shown_location: the log's name, for errors and warnings.
        stored: the log's lines on the server.
        known: returns the log's row at the last reading.
    """

    def __init__(self, shown_location: str, stored: StoredLines, known: Callable[[], Head]) -> None:
        self._shown = shown_location
        self._stored = stored
        self._known = known
        self._sent: SentRows | None = None
        """The sent lines of the current append, which may be stored."""
        self._earlier: SentRows | None = None
        """The sent lines of an earlier append whose outcome is unknown."""

    @property
    def may_be_stored(self) -> bool:
        """Whether lines of the current append were sent, and it is unknown whether they are stored."""
        return self._sent is not None

    def begin_append(self) -> bool:
        """Begin an append, of which nothing was sent yet. Return whether the outcome of an earlier one is unknown."""
        self._sent = None
        return self._earlier is not None

    @contextmanager
    def sending(self, sent: SentRows) -> Iterator[None]:
        """Keep lines that a block sends, because an error may leave it unknown whether they are stored."""
        self._sent = sent
        with self.forgetting_refused():
            yield

    @contextmanager
    def forgetting_refused(self) -> Iterator[None]:
        """Forget the sent lines if the server refuses a statement in a block, because they were rolled back then."""
        try:
            yield
        except Exception as error:
            if is_refusal(error):
                self._sent = None
            raise

    def forget(self) -> None:
        """Forget the sent lines of the current append: the server has answered."""
        self._sent = None

    def find_stored(self, connection: Connection) -> SentRows | None:
        """Return the sent lines of the current append if they are stored; else forget them, and return None.

        The log must have been read to its end, and its row be locked.

        Raises:
            LogFailedError: the outcome stays unknown, because the log was purged.
        """
        sent = self._sent
        if sent is not None and self._is_stored(connection, sent):
            return sent
        self._sent = None
        return None

    def settle_earlier(self, connection: Connection) -> None:
        """Log as a warning whether the lines of an earlier append are stored, if that was unknown until now.

        Call this after new lines were stored. Before, the server may still store the earlier lines.
        """
        if self._earlier is None:
            return
        try:
            became = "is stored" if self._is_stored(connection, self._earlier) else "was not stored"
        except LogFailedError:
            became = "may have been stored: the log was purged since"
        logger.warning("%s: the append that ended without an answer %s", self._shown, became)
        self._earlier = None

    def leave_open(self, error: ServerError) -> LogFailedError:
        """Keep the sent lines for the next append, which finds out, and return the error for the callers."""
        self._earlier = self._sent
        reason = f"the server did not say whether this is stored ({error}); the next append finds out"
        return LogFailedError(errno.EIO, reason, self._shown)

    def _is_stored(self, connection: Connection, sent: SentRows) -> bool:
        """Return whether sent lines are in the log.

        Raises:
            LogFailedError: the outcome is unknown, because the log was purged.
        """
        if self._known().generation != sent.after.generation:
            reason = "the log was purged before it was known whether this is stored"
            raise LogFailedError(errno.EIO, reason, self._shown)
        first = sent.after.head
        found = self._stored.lines(connection, first, first + len(sent.rows))
        return list(found) == [row.line for row in sent.rows]
