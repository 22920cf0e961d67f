"""Which log a session gets."""

from pathlib import Path

import pytest

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.errors import ConfigError
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.session.choose_log import choose_log, log_in_memory


def test_a_configured_path_is_a_file(tmp_path: Path) -> None:
    """Nothing is created before the first append."""
    config = Config.load({"transcript_path": "log.jsonl", "durability": "write"})
    chosen = choose_log(config, session_id=None, parent_id=None, working_dir=str(tmp_path))
    assert isinstance(chosen.log, FileLog)
    assert chosen.degraded_because == ""
    assert not chosen.log.waits_for_storage
    assert list(tmp_path.iterdir()) == []


def test_without_a_path_it_is_in_memory_and_says_why() -> None:
    """A session that was to be kept is not; the host is told."""
    chosen = choose_log(Config.load({}), session_id=None, parent_id=None, working_dir=None)
    assert isinstance(chosen.log, MemoryLog)
    assert "transcript_path" in chosen.degraded_because


def test_an_id_that_leads_out_is_refused() -> None:
    """Before anything is opened."""
    with pytest.raises(ConfigError):
        choose_log(Config.load({}), session_id="../x", parent_id=None, working_dir=None)


def test_a_log_in_memory_has_the_configured_bound() -> None:
    """Of its records."""
    log = log_in_memory(Config.load({"max_record_bytes": 1_024}))
    (outcome,) = log.append([lambda _: [b'{"role":"user","content":"' + b"x" * 2_000 + b'"}']])
    assert isinstance(outcome, ValueError)
