"""The error codes of PostgreSQL (SQLSTATE) that decide what is done after an error."""

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
