"""The contract of a log, kept by a file and by memory; `tests/log/postgres` has it kept by rows of PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.toolbox.replay.temporary_log import TemporaryLog
from tests.support.log_contract import LogContract, OpenLog


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
