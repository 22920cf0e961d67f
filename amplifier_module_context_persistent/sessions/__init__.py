"""A session opened to be read: sessions by name, views made again and proved, statistics, searches.

For programs there are `sessions()`, `search()` and `cost()` (`public_functions.py`); docs/recall.md shows them.

Rules of this package:
- Nothing here writes to a log, not even to repair its tail; `delete_log` removes a whole one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .public_functions import cost, files, search, sessions

__all__ = ["cost", "files", "search", "sessions"]


def __getattr__(name: str) -> Any:
    """Import a function when it is used: commands and a running session need none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import public_functions as functions

    return getattr(functions, name)
