"""When a session is kept in memory only, and the log that it then has.

A session is kept in memory if

- its configuration or its host says so (`storage: memory`, `InMemoryContextManager`);
- nothing names a place for its log (`choose_log`);
- its log cannot be created when the first message is appended (`Store.append`).

In the last two cases the person and the host are told (`log_events`), or it is an error (`require_persistence`).
"""

from __future__ import annotations

import os

from ..config import Config
from ..errors import LogCreateError
from ..log.contract import Log
from ..log.open_log import IN_MEMORY, open_log

NO_PATH = "neither transcript_path nor storage_path nor a session id says where its log lies"


def log_in_memory(config: Config) -> Log:
    """Open a log in memory, with the configured limit for records."""
    return open_log(IN_MEMORY, max_record_bytes=config.max_record_bytes)


def may_go_on_in_memory(config: Config, *, is_acknowledged: bool) -> bool:
    """Return whether a session whose log cannot be created goes on in memory.

    Args:
        config: the configuration.
        is_acknowledged: whether a message of the session was acknowledged; then it was stored, or is in memory already.
    """
    return not (config.require_persistence or is_acknowledged)


def why_in_memory(error: LogCreateError, location: str) -> str:
    """Return the reason why a session goes on in memory: the location of its log, and why the log cannot be created."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return f"{location}: {reason}"
