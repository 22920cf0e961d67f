"""The error codes of PostgreSQL (SQLSTATE) that decide what is done after an error, and advice."""

from __future__ import annotations

PREPARED_STATEMENTS_LOST = ("26000", "42P05")
"""The SQLSTATEs for a prepared statement that does not exist, or that another client of the pooler has under the same
name."""
READ_ONLY = "25006"
"""The SQLSTATE of a server that accepts no writes, because it is a replica or was made read-only."""
CONFLICTS = ("40001", "40P01")
"""The SQLSTATEs of a conflict with another transaction or, on a replica, with what it takes over from its primary."""
LOCK_NOT_AVAILABLE = "55P03"
"""SQLSTATE: another client holds a lock for longer than `lock_timeout`."""
NO_RIGHTS = "42501"
"""SQLSTATE: the role lacks a right."""
CONNECTION_CLASSES = ("08", "57P")  # SQLSTATE: connection exceptions, a server that shuts down
CANCELED = "57014"
"""SQLSTATE: a statement was cancelled, by a timeout or by an administrator."""

_ADVICE = {
    **dict.fromkeys(
        PREPARED_STATEMENTS_LOST, "behind a pooler without prepared statements, add prepare=off to the location"
    ),
    NO_RIGHTS: "storage init --grant, --grant-purge or --grant-read gives a role its rights",
    CANCELED: "if statement_timeout of the role, the database or the server did this, set it higher",
}


def with_advice(reason: str, sqlstate: str = "") -> str:
    """Return an error's text with what a person may do about it, if that is known.

    Args:
        reason: the error in one line.
        sqlstate: the server's error code; empty if the connection was refused.
    """
    advice = _ADVICE.get(sqlstate, "")
    if "row-level security" in reason:
        advice = ""  # the role has its rights, and these rows are another role's
    if not sqlstate and "no password supplied" in reason:
        advice = "give it by PGPASSWORD, .pgpass or a service file"
    if not sqlstate and "Connection refused" in reason:
        advice = "no server listens there: start it, or correct the host and the port in the location"
    return f"{reason} ({advice})" if advice else reason
