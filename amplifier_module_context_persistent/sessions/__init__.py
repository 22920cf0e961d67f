"""Read sessions from their logs: find them by name, rebuild their views, make statistics, and search them.

Programs use `sessions()`, `search()`, `cost()` and `files()` (`public_functions.py`); docs/from_python.md shows them.

Rules of this package:
- Nothing in this package writes to a log, not even to repair its tail; `delete_log` deletes a whole log.

Where things are done:
- all logs of a project, a directory or a database: `session_files`; the log that has a name which a person gives:
  `find_session`, in a moved checkout too; the last session of a project (`--last`), and
  sessions of other projects: `other_projects`; times: `given_times`; conditions: `filters`; the
  name and tags that a session got: `session_name`;
- what `list` shows: `overview`; whether a session runs: `session_is_open`; new messages as they come: `follow_session`;
- a pattern is searched in one session: `pattern_in_session`; in all, with the catalogue's help: `pattern_in_projects`;
- a question in words: `index_fill` indexes what is new (`indexed_log`: of one log), `all_sessions_index` joins the
  sessions' ranked indexes, `search/ranking.py` ranks, and `best_messages` reads the messages;
- tokens and calls of a session: `statistics`; of many: `gather_figures`, `totals`; in SQL: `sql_query`; money:
  `request_costs`, with `prices`; what copies and forks share counts once: `count_copies_once`;
- a view is made again from the log, and proved: `view_rebuild`; its request is found by a number: `find_request`;
- sub-agents: `sub_agents`; where a fork or an import comes from: `session_origin`; damaged lines: `raw_records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .public_functions import cost, files, search, sessions

__all__ = ["cost", "files", "search", "sessions"]


def __getattr__(name: str) -> Any:
    """Import a public function at its first use, because commands and running sessions need none of these functions."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import public_functions as functions

    return getattr(functions, name)
