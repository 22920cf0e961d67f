"""The contract of a log, kept by a file, by memory and by rows of SQLite; and a session on each of them."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.base import Log
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.replay.temporary_log import TemporaryLog
from tests.support.log_contract import LogContract, OpenLog
from tests.support.sqlite_log import SQLiteLog


class TestFileLog(LogContract):
    @pytest.fixture(params=["fsync", "write"])
    def open_log(self, tmp_path: Path, request: pytest.FixtureRequest) -> OpenLog:
        return lambda: FileLog(tmp_path / "log.jsonl", durability=request.param)

    def tamper(self, log: Log, old: bytes, new: bytes) -> bool:
        path = Path(log.describe().location)
        if old:
            content = path.read_bytes()
            with path.open("r+b") as file:
                file.write(content.replace(old, new))
        return True


class TestMemoryLog(LogContract):
    shares = survives = False

    @pytest.fixture
    def open_log(self) -> OpenLog:
        return MemoryLog


class TestTemporaryLog(LogContract):
    shares = survives = False

    @pytest.fixture
    def open_log(self) -> Iterator[OpenLog]:
        opened: list[TemporaryLog] = []

        def another() -> Log:
            opened.append(TemporaryLog())
            return opened[-1]

        yield another
        for log in opened:
            log.close()


class TestSQLiteLog(LogContract):
    @pytest.fixture
    def open_log(self, tmp_path: Path) -> Iterator[OpenLog]:
        opened: list[SQLiteLog] = []

        def another() -> Log:
            opened.append(SQLiteLog(str(tmp_path / "log.db")))
            return opened[-1]

        yield another
        for log in opened:
            log.close()

    def tamper(self, log: Log, old: bytes, new: bytes) -> bool:
        if old:
            with sqlite3.connect(log.describe().location) as database:
                rows = database.execute("SELECT number, line FROM record").fetchall()
                changed = [(line.replace(old, new), number) for number, line in rows]
                database.executemany("UPDATE record SET line = ? WHERE number = ?", changed)
            database.close()
        return True


async def test_a_session_runs_on_rows(tmp_path: Path) -> None:
    """Messages, a reset and a resumed session, on a log that no code above it knows."""
    path = str(tmp_path / "log.db")
    async with PersistentContextManager(log=SQLiteLog(path)) as manager:
        await manager.add_message({"role": "user", "content": "old"})
        await manager.set_messages([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}])
        await manager.add_message({"role": "user", "content": "three"})
    async with PersistentContextManager(log=SQLiteLog(path)) as manager:
        assert [message["content"] for message in await manager.get_messages()] == ["one", "two", "three"]
        assert await manager.get_messages_for_request(10_000)
