"""`context-persistent checkpoint`: a checkpoint for a log that has none; who only reads makes none."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from amplifier_module_context_persistent.cli.main import main
from amplifier_module_context_persistent.log.checkpoint_file import SUFFIX
from tests.support.checkpoints import always, is_used, put, stored
from tests.support.logs import body, reset_bodies, sealed, write_file


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A log that some other program copied here."""
    path = str(tmp_path / "log.jsonl")
    write_file(path, b"".join(sealed([*map(body, range(9)), *reset_bodies("r", body(9))])))
    return path


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(main, arguments)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_it_makes_one_for_an_old_log(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And makes it anew where there is one."""
    always(monkeypatch)
    done = run("checkpoint", path)
    assert (done.exit_code, done.stdout) == (0, f"{path}: a checkpoint of 10 messages is in {path}{SUFFIX}\n")
    assert is_used(path)
    put(path, stored(path)[:-1])
    assert run("checkpoint", path).exit_code == 0
    assert is_used(path)


def test_a_small_log_needs_none(path: str) -> None:
    """It says so."""
    done = run("checkpoint", path)
    assert done.exit_code == 0
    assert "scanned as quickly" in done.stdout
    assert not os.path.exists(path + SUFFIX)


def test_a_log_that_cannot_have_one_is_said(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1: a reset is open; 2: there is no log."""
    always(monkeypatch)
    write_file(path, b"".join(sealed([body(0), *reset_bodies("r", body(1))[:1]])))
    done = run("--verbose", "checkpoint", path)
    assert done.exit_code == 1
    assert "a reset is open" in done.stderr
    assert run("checkpoint", path + ".none").exit_code == 2


@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["tail"],
        ["stats"],
        ["verify"],
        ["export"],
        ["views"],
        ["search", "message"],
        ["purge", "--cleared", "--dry-run"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_who_only_reads_makes_none(path: str, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    """What a command that only reads leaves is the log alone."""
    always(monkeypatch)
    done = run(command[0], *command[1:], path)
    assert done.exit_code in (0, 1), done.output
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]


def test_a_purge_removes_it(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the new log takes its place; what was left of unfinished ones too."""
    always(monkeypatch)
    assert run("checkpoint", path).exit_code == 0
    write_file(f"{path}{SUFFIX}-01234567.part", b"x")
    assert run("purge", path, "--cleared", "--yes").exit_code == 0
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
