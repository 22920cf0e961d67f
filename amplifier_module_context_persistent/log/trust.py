"""Look at a log's file whenever another one was opened: whether it is there if it ever was, and whose it is."""

from __future__ import annotations

import errno

from ..errors import LogUnreadableError
from .filesystem import check_trust
from .reader import LogReader


class OpenedCheck:
    """The check of one log's file.

    Args:
        reader: the log.
    """

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._checked: tuple[int, int] | None = None
        """The file whose owner was looked at; None as long as there was none."""

    def check(self) -> None:
        """Look at the file that is open by now.

        Raises:
            LogUnreadableError: it was there and is no more, or somebody else may have made it up.
        """
        reader = self._reader
        if reader.file.fd is None:
            if self._checked is not None:
                reason = "the log was removed since this session opened it; put it back, or begin a new session"
                raise LogUnreadableError(errno.ENOENT, reason, reader.path)
            return
        status = reader.file.opened_status
        if status is not None and self._checked != reader.file.identity:
            try:
                check_trust(status, reader.path)
            except LogUnreadableError:
                reader.close()
                raise
        self._checked = reader.file.identity
