"""Choosing a log by its location."""

from pathlib import Path

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.open import IN_MEMORY, open_log
from tests.support.logs import append, content_of, numbers


def test_a_path_is_a_file(tmp_path: Path) -> None:
    """And nothing is created before the first append."""
    path = tmp_path / "log.jsonl"
    log = open_log(str(path), durability="write")
    assert isinstance(log, FileLog)
    assert (log.waits_for_storage, path.exists()) == (False, False)
    append(log, 1)
    assert log.describe().size_bytes == len(content_of(str(path)))


def test_memory_is_asked_for_by_name() -> None:
    """No missing path means it."""
    log = open_log(IN_MEMORY)
    assert isinstance(log, MemoryLog)
    append(log, 1, 2)
    assert (numbers(log), log.describe().location) == ([1, 2], "")


async def test_a_manager_takes_a_log(tmp_path: Path) -> None:
    """A log that is given is used as it is, whatever the configuration says of files."""
    log = FileLog(tmp_path / "own.jsonl")
    async with PersistentContextManager(tmp_path / "unused.jsonl", log=log) as manager:
        await manager.add_message({"role": "user", "content": "hello"})
        assert manager.log_path == str(tmp_path / "own.jsonl")
    assert not (tmp_path / "unused.jsonl").exists()
    assert b"hello" in content_of(str(tmp_path / "own.jsonl"))
