"""`archive_after_days`: the logs of a project that nobody wrote to are archived as a session ends."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import ConfigError
from amplifier_module_context_persistent.log.file_handle import is_archived
from amplifier_module_context_persistent.session import archive_old_logs
from tests.support.archives import content_of_log, write_numbered
from tests.support.messages import user

LOG = "context-messages.jsonl"


def log_of(tmp_path: Path, name: str, *, days: float, count: int = 100) -> Path:
    """A log that was last written to so many days ago."""
    path = tmp_path / name / LOG
    write_numbered(path, count)
    os.utime(path, (time.time() - days * 86_400,) * 2)
    return path


async def one_session(tmp_path: Path, **config: Any) -> None:
    """A session beside the logs, from its first message to its end."""
    manager = PersistentContextManager(tmp_path / "own" / LOG, tokenizer="estimate", durability="write", **config)
    await manager.add_message(user("hello"))
    await manager.close()


async def test_old_logs_are_archived_as_a_session_ends(tmp_path: Path) -> None:
    """Not its own, no newer one, no small one."""
    old, new = log_of(tmp_path, "old", days=31), log_of(tmp_path, "new", days=29)
    small = log_of(tmp_path, "small", days=99, count=3)
    content = old.read_bytes()
    await one_session(tmp_path, archive_after_days=30)
    assert is_archived(old)
    assert content_of_log(old) == content
    assert not any(map(is_archived, (new, small, tmp_path / "own" / LOG)))


async def test_nothing_is_archived_without_it(tmp_path: Path) -> None:
    old = log_of(tmp_path, "old", days=999)
    await one_session(tmp_path)
    assert not is_archived(old)


async def test_an_open_session_and_what_cannot_be_archived_stay(tmp_path: Path) -> None:
    """The end of the session is no error."""
    idle, torn = log_of(tmp_path, "idle", days=60), log_of(tmp_path, "torn", days=50)
    torn.write_bytes(torn.read_bytes() + b'{"role":')
    os.utime(torn, (time.time() - 50 * 86_400,) * 2)
    link = tmp_path / "link" / LOG
    link.parent.mkdir()
    link.symlink_to(torn)
    manager = PersistentContextManager(idle, tokenizer="estimate")
    await manager.get_messages()
    await one_session(tmp_path, archive_after_days=30)
    assert not is_archived(idle)
    assert not is_archived(torn)
    await manager.close()
    await one_session(tmp_path, archive_after_days=30)
    assert is_archived(idle)


async def test_a_close_archives_so_much_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest first; the next close goes on."""
    logs = [log_of(tmp_path, f"old-{days}", days=days) for days in (90, 80, 70)]
    monkeypatch.setattr(archive_old_logs, "MOST_BYTES", 2 * logs[0].stat().st_size + 10)
    await one_session(tmp_path, archive_after_days=30)
    assert list(map(is_archived, logs)) == [True, True, False]
    await one_session(tmp_path, archive_after_days=30)
    assert is_archived(logs[2])


def test_it_is_refused_with_a_database() -> None:
    """A session archives files only, and has no rights to delete rows; it must not seem to work."""
    with pytest.raises(ConfigError, match=r"archive_after_days: only files are archived"):
        PersistentContextManager(session_id="s", storage="postgresql:///amplifier", archive_after_days=90)
