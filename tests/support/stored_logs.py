"""Keep the logs of sessions that name files in a database instead: the same tests for both, by a parameter."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.database_location import is_postgres, location_of
from amplifier_module_context_persistent.log.open_log import IN_MEMORY, open_log
from amplifier_module_context_persistent.session import choose_log

_DATABASES: list[str] = []
"""The database of the test at hand; none where logs are files."""


def keep_logs_in(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every session of this test whose log would be a file have it in a database, by the file's name."""

    def opened(location: str, **options: Any) -> Log:
        is_file = location != IN_MEMORY and not is_postgres(location)
        return open_log(location_of(storage, location) if is_file else location, **options)

    monkeypatch.setattr(choose_log, "open_log", opened)
    monkeypatch.setattr(f"{__name__}._DATABASES", [storage])


def place_of(path: Path) -> str:
    """Where the test keeps a session's log that would be this file."""
    return location_of(_DATABASES[0], str(path)) if _DATABASES else str(path)


def stored_bytes(path: Path) -> bytes:
    """The bytes of a session's log, wherever the test keeps it; none where there is no log."""
    if not _DATABASES:
        return path.read_bytes() if path.exists() else b""
    with closing(open_log(place_of(path))) as log:
        log.follow()
        return b"".join(log.records())
