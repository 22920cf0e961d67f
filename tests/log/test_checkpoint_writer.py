"""When a checkpoint is written: not with each append, and once the uncovered tail is long enough."""

from pathlib import Path

import pytest

from amplifier_module_context_persistent.log import checkpoint_writer
from amplifier_module_context_persistent.log.file import FileLog
from tests.support.checkpoints import always
from tests.support.logs import (
    append_bodies,
    body,
)


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.jsonl")


def test_a_tail_is_covered_once_it_is_long_enough(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with each append."""
    monkeypatch.setattr(checkpoint_writer, "LEAST_TAIL_BYTES", 4000)
    log = FileLog(path)
    wanted = 0
    for number in range(100):
        append_bodies(log, body(number))
        if log.wants_checkpoint:
            wanted += 1
            log.write_checkpoint()
            assert not log.wants_checkpoint
    log.close()
    assert 1 < wanted < 6
