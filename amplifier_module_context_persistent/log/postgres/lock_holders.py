"""Name the server processes that hold what others wait for, for the text of an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .connection import Connection


def blockers_of(connection: Connection, pid: int) -> str:
    """Return the processes that block a process of the server; "" if none does.

    Raises:
        psycopg.Error, TimeoutError: the server refused, or did not answer.
    """
    found = connection.execute(
        b"select pid, application_name, state from pg_catalog.pg_stat_activity"
        b" where pid = any(pg_catalog.pg_blocking_pids(%s))",
        [pid],
    )
    return named_processes(found.fetchall())


def named_processes(found: Iterable[Sequence[Any]]) -> str:
    """Return processes as text for a person.

    Args:
        found: for each process its number, and what `pg_stat_activity` says of it; the server hides most of that from
            a role without `pg_read_all_stats`.
    """
    processes = []
    for pid, *facts in found:
        known = ", ".join(filter(None, facts))
        processes.append(f"process {pid} ({known})" if known else f"process {pid}")
    return ", ".join(processes)
