"""Fields of JSON objects that are left out if they are empty."""

from __future__ import annotations

from typing import Any


def present(**fields: Any) -> dict[str, Any]:
    """Return the given fields without those whose value is None, False, 0, "" or an empty list."""
    return {key: value for key, value in fields.items() if value}
