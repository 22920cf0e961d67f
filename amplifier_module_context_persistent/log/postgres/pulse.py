"""Show a server that a transaction's client is alive, also while it works between two statements.

So the server may end an idle transaction soon: a client that was killed or stopped sends nothing any more.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg


class Pulse:
    """Send a statement now and then on a connection; use it in a `with` statement.

    What goes wrong is not told: the next statement of the transaction finds out.

    Args:
        connection: other statements on it wait while this one is sent, and it for them.
        every_s: how long it waits between two.
    """

    def __init__(self, connection: psycopg.Connection[Any], every_s: float) -> None:
        self._connection, self._every_s = connection, every_s
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
