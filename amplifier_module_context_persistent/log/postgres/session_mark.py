"""The mark of one log that a session has open (`open_marks`), in the server that the session is connected to."""

from __future__ import annotations

from ..database_location import Location
from ..forked_process import is_child_of
from .open_marks import mark_key
from .server_connections import Server


class SessionMark:
    """The mark of one log that a session has open, in the server that it is connected to.

    Args:
        location: the log's location.
    """

    def __init__(self, location: Location) -> None:
        self._key = mark_key(location)
        self._server: Server | None = None
        """The server in which the log is marked as open."""
        self._is_doubtful = False

    def keep(self, server: Server) -> None:
        """Mark the log as open in a server, if it is not marked there."""
        if self._server is not server:
            self._server = server
            server.marks.take(self._key)
        elif self._is_doubtful:
            server.marks.check()
        self._is_doubtful = False

    def doubt(self) -> None:
        """Let the next `keep` check the mark: its connection may be lost too."""
        self._is_doubtful = True

    def give_back(self) -> None:
        """Remove the mark. A forked child does not remove the mark of its parent."""
        server = self._server
        self._server = None
        if server is not None and not is_child_of(server.pid):
            server.marks.give_back(self._key)
