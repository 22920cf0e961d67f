"""Which log a session gets."""

import os
from pathlib import Path

import pytest
from amplifier_core.testing import MockCoordinator

from amplifier_module_context_persistent import InMemoryContextManager, mount
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.errors import ConfigError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.paths import log_name
from amplifier_module_context_persistent.session.choose_log import choose_log
from amplifier_module_context_persistent.session.kept_in_memory import log_in_memory
from amplifier_module_context_persistent.session.session_identity import SessionIdentity
from tests.support.messages import user
from tests.support.sweeps import proof


def test_a_configured_path_is_a_file(tmp_path: Path) -> None:
    """Nothing is created before the first append."""
    config = Config.load({"transcript_path": "log.jsonl", "durability": "write"})
    chosen = choose_log(config, SessionIdentity(working_dir=str(tmp_path)))
    assert isinstance(chosen.log, FileLog)
    assert chosen.degraded_because == ""
    assert not chosen.log.waits_for_storage
    assert list(tmp_path.iterdir()) == []


def test_without_a_path_it_is_in_memory_and_says_why() -> None:
    """A session that was to be kept is not; the host is told."""
    chosen = choose_log(Config.load({}), SessionIdentity())
    assert isinstance(chosen.log, MemoryLog)
    assert "transcript_path" in chosen.degraded_because


def test_a_log_in_memory_has_the_configured_bound() -> None:
    """Of its records."""
    log = log_in_memory(Config.load({"max_record_bytes": 1_024}))
    (outcome,) = log.append([lambda _: [b'{"role":"user","content":"' + b"x" * 2_000 + b'"}']])
    assert isinstance(outcome, ValueError)


@proof
async def test_a_session_that_is_not_to_be_kept_leaves_nothing(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A host that hands a whole history to a new id for each request makes no log each time; nobody is warned."""
    for number in range(3):
        coordinator = MockCoordinator()
        cleanup = await mount(coordinator, {"storage": "memory"})
        context = coordinator.get("context")
        await context.set_messages([user(f"question {at}") for at in range(number + 1)])
        assert len(await context.get_messages_for_request()) == number + 1
        await cleanup()
    assert os.listdir(home) == []
    assert not caplog.records


def test_a_project_can_be_named_where_a_database_keeps_the_logs() -> None:
    """So two checkouts of one project in different places are one."""
    assert log_name("s1", "/here/one", "app") == log_name("s1", "/elsewhere/two", "app") == "app/s1"
    assert log_name("s1", "/here/one") != log_name("s1", "/elsewhere/two")
    config = Config.load({"storage": "postgresql://h/db", "project": "app"})
    chosen = choose_log(config, SessionIdentity("s1", working_dir="/here/one"))
    assert chosen.log.describe().location == "postgresql://h/db#app/s1"


async def test_it_keeps_no_file(tmp_path, monkeypatch, caplog) -> None:
    """Whatever the configuration says about files; and nobody is warned, since memory was asked for."""
    monkeypatch.chdir(tmp_path)
    async with InMemoryContextManager(
        transcript_path="log.jsonl", session_id="s1", require_persistence=True
    ) as manager:
        await manager.add_message({"role": "user", "content": "hello"})
        assert [message["content"] for message in await manager.get_messages()] == ["hello"]
    assert manager.log_path is None
    assert list(tmp_path.iterdir()) == []
    assert caplog.records == []


@pytest.mark.parametrize(
    ("storage", "named"),
    [("postgresql://u:p@ss@h/db", "URL"), ("postgresql://u@h/db?pgbouncer=true", "'pgbouncer'"), ("mysql://h/db", "")],
)
def test_a_storage_that_cannot_be_read_is_a_wrong_configuration(storage: str, named: str) -> None:
    """As any other option: the error says which, and comes before anything connects."""
    with pytest.raises(ConfigError, match=f"storage: .*{named}") as raised:
        choose_log(Config.load({"storage": storage}), SessionIdentity("s"))
    assert "ss@h" not in str(raised.value)
