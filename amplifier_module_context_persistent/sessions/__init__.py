"""Read sessions from their logs: find them by name, rebuild their views, make statistics, and search them.

Programs use `sessions()`, `search()`, `cost()` and `files()` (`public_functions.py`); docs/from_python.md shows them.

Rules of this package:
- Nothing in this package writes to a log, not even to repair its tail; `delete_log` deletes a whole log.

Where things are done:
- a pattern is searched in one session: `pattern_in_session`; in all, with the catalogue's help: `pattern_in_projects`;
- a question in words: `index_fill` indexes what is new (`indexed_log`: of one log), `all_sessions_index` joins the
  sessions' ranked indexes, `search/ranking.py` ranks, and `best_messages` reads the messages;
- SQL over the figures of sessions: `sql_query`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .public_functions import cost, files, search, sessions

__all__ = ["cost", "files", "search", "sessions"]


def __getattr__(name: str) -> Any:
    """Import a public function at its first use, because commands and running sessions need none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import public_functions as functions

    return getattr(functions, name)
