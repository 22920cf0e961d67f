"""The reason of a failure, as text for a report."""

from __future__ import annotations


def reason_of(error: Exception) -> str:
    """Return the reason of a failure, as text on one line."""
    said = error.strerror if isinstance(error, OSError) else None
    return " ".join(str(said or error).split())
