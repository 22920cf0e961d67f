"""`context-persistent copy` between files; tests/toolbox/cli/test_stored_sessions.py has databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import run
from tests.support.sessions_of_a_home import log_of, write


def test_a_copy_is_equal_byte_for_byte(tmp_path: Path) -> None:
    """In the directory that was named."""
    log = write(tmp_path / "one" / "log.jsonl")
    run("copy", log, tmp_path / "two.jsonl")
    assert (tmp_path / "two.jsonl").read_bytes() == log.read_bytes()


def test_an_error_names_the_file_that_it_is_about(tmp_path: Path) -> None:
    """The target where that cannot be written, the source where that is not there."""
    log = write(tmp_path / "log.jsonl")
    target = log / "copy.jsonl"
    assert run("copy", log, target, code=2).stderr == f"Error: {target}: Not a directory\n"
    missing = run("copy", tmp_path / "gone.jsonl", target, code=2)
    assert missing.stderr.startswith(f"Error: {tmp_path / 'gone.jsonl'}: ")


def test_a_dry_run_of_a_copy_writes_nothing(tmp_path: Path) -> None:
    """It says what would be copied and where, and refuses what the copy would refuse."""
    log = write(tmp_path / "one" / "log.jsonl")
    target = tmp_path / "two.jsonl"
    told = run("copy", log, target, "--dry-run").stdout
    assert str(target) in told
    assert f"{log.stat().st_size:,} bytes would be copied" in told
    assert not target.exists()
    below_a_file = run("copy", log, log / "copy.jsonl", "--dry-run", code=2)
    assert below_a_file.stderr == f"Error: {log / 'copy.jsonl'}: Not a directory\n"
    target.write_text("taken")
    assert run("copy", log, target, "--dry-run", code=2).stderr == run("copy", log, target, code=2).stderr


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("erase", [("delete", "talk"), ("purge", "talk", "--redact", "rounds")], ids=" ".join)
def test_an_old_log_of_what_was_erased_is_not_copied(tmp_path: Path, erase: tuple[str, ...]) -> None:
    """A copy would bring back what a deletion or a purge removed; the purged log itself is copied."""
    log = write(log_of("talk"))
    old = tmp_path / "old.jsonl"
    run("copy", "talk", old)
    run(*erase, "--yes")
    for more in ((), ("--dry-run",)):
        refused = run("copy", old, tmp_path / "new.jsonl", *more, code=2)
        assert "here on" in refused.stderr
        assert "--again" in refused.stderr
    assert not (tmp_path / "new.jsonl").exists()
    run("copy", old, tmp_path / "new.jsonl", "--again")
    assert (tmp_path / "new.jsonl").read_bytes() == old.read_bytes()
    if log.exists():
        run("copy", "talk", tmp_path / "purged.jsonl")
