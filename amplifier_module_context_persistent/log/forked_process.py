"""Forked processes: a child must not go on with what its parent opened or started.

Rules of a child:
- It opens a log's file again before it uses the log, because it shares the lock of an open file with its parent
  (`LogReader`).
- It begins with an empty queue and without threads, because what was queued belongs to its parent (`AppendQueue`,
  `ThreadPool`).
- It closes its parent's marks of open sessions (`open_mark`), and connects to a database again
  (`postgres/server_connections`).

An object keeps the id of the process that made it and asks `is_child_of` before it goes on; `call_in_children` serves
what must be given up at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable


def is_child_of(pid: int) -> bool:
    """Tell whether this process was forked from the process with this id."""
    return pid != os.getpid()


def call_in_children(function: Callable[[], object]) -> None:
    """Call a function at the beginning of each child that is forked from now on, if the system can fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
