"""Show a server that a transaction's client is alive while it works between two statements.

So the server may end an idle transaction soon, because then its client was killed or stopped.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .connection import Connection


class Pulse:
    """A thread that sends a statement on a connection at regular intervals, for a `with` statement.

    An error ends the thread and is not reported; the next statement of the transaction will fail too.

    Args:
        connection: the connection. Its lock keeps these statements and the transaction's own apart.
        every_s: the interval in seconds.
    """

    def __init__(self, connection: Connection, every_s: float) -> None:
        self._connection = connection
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="context-persistent pulse", daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        from psycopg import Error  # the driver is an extra

        with suppress(Error, TimeoutError):
            while not self._ended.wait(self._every_s):
                self._connection.execute(b"select 1")
