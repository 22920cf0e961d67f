"""Progress of long reading: on a terminal's error stream, and gone before anything is printed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.cli import progress as module
from amplifier_module_context_persistent.toolbox.cli.main import main
from amplifier_module_context_persistent.toolbox.cli.progress import progress, stages
from tests.support.commands import run
from tests.support.sessions_of_a_home import write


class Terminal(io.StringIO):
    """What takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log that counts as a long one."""
    monkeypatch.setattr(module, "LONG_BYTES", 1)
    monkeypatch.setenv("TERM", "xterm")
    return write(tmp_path / "log.jsonl")


def read(path: Path) -> int:
    with progress(str(path), title="reading") as files, Transcript(path, files=files) as transcript:
        return len(list(transcript.messages()))


def test_a_long_log_shows_how_far_it_was_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar on the error stream, which is erased in the end; the output is left alone."""
    errors, output = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(sys, "stdout", output)
    assert read(path) == 7
    assert "reading" in errors.getvalue()
    assert "100%" in errors.getvalue()
    assert errors.getvalue().rstrip().endswith("\x1b[2K")
    assert output.getvalue() == ""


def test_nothing_is_shown_where_it_is_no_terminal(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in a pipe nor for a short log."""
    assert read(path) == 7
    assert capsys.readouterr() == ("", "")


def test_long_work_is_told_in_lines_where_it_is_no_terminal(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every ten seconds, of reading and of stages; nothing on the output."""
    seconds = iter(range(0, 10_000, 4))
    monkeypatch.setattr(module, "monotonic", lambda: next(seconds))
    with stages() as tell:
        for number in range(8):
            tell("making reports", number, 8)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [f"making reports: {number} of 8" for number in (2, 5)]
    assert read(path) == 7
    assert "reading, MB: 0 of 0\n" in capsys.readouterr().err


def test_nothing_is_shown_for_a_short_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read at once."""
    errors = Terminal()
    monkeypatch.setattr(sys, "stderr", errors)
    assert read(write(tmp_path / "log.jsonl")) == 7
    assert errors.getvalue() == ""


def test_no_bar_begins_once_the_log_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that goes on to print reads through the same files, however late it is."""
    errors = Terminal()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setenv("TERM", "xterm")
    path = str(write(tmp_path / "log.jsonl"))
    with progress(path) as files:
        transcript = Transcript(path, files=files)
    monkeypatch.setattr(module, "monotonic", lambda: 1e12)
    with transcript:
        assert len(list(transcript.messages())) == 7
    assert errors.getvalue() == ""


@pytest.mark.parametrize(
    "arguments", [["show"], ["tail"], ["search", "total"], ["verify"], ["stats"], ["list"]], ids=lambda one: one[0]
)
def test_commands_that_read_long_show_it(path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """Each of them reads with a bar."""
    begun = []
    monkeypatch.setattr(module.WatchedFiles, "__init__", lambda self, bar, task: begun.append((self, bar, task)))
    monkeypatch.setattr(module.WatchedFiles, "read", module.FileSystem.read)
    target = path.parent if arguments == ["list"] else path
    write(path.parent / "context-messages.jsonl")
    monkeypatch.setattr(module, "sys", type("Streams", (), {"stderr": Terminal(), "stdout": io.StringIO()}))
    run(*arguments, target)
    assert len(begun) == (2 if arguments == ["list"] else 1)  # the directory holds two


@pytest.mark.parametrize("pager", ["", "sh -c 'cat >/dev/null'"])
@pytest.mark.parametrize(
    "arguments",
    [["show", "--tool", "read_file"], ["show", "--errors"], ["show", "--outline"], ["search", "total"]],
    ids=lambda one: "-".join(one),
)
def test_the_bar_lasts_until_something_is_printed(
    path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], pager: str
) -> None:
    """Reading the messages moves it on, and nothing is printed while it is shown."""
    monkeypatch.setenv("PAGER", pager)
    terminal = Terminal()  # for both streams, as a person has it
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    shown_while_read, reads = [], module.WatchedFiles.read

    def read_watched(self: module.WatchedFiles, fd: int, size: int, offset: int) -> bytes:
        shown_while_read.append(self.bar.live.is_started)
        return reads(self, fd, size, offset)

    monkeypatch.setattr(module.WatchedFiles, "read", read_watched)
    with progress(str(path)) as files, Transcript(path, files=files):
        opening_reads = len(shown_while_read)
    shown_while_read.clear()
    main([*arguments, str(path)], standalone_mode=False)
    assert shown_while_read[0]
    assert sum(shown_while_read) > opening_reads, "the bar is shown while the messages are read too"
    assert "\x1b[2K" in terminal.getvalue()


def test_the_bar_returns_if_nothing_is_printed_for_a_second(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a pager it does not: the terminal belongs to that."""
    terminal, now = Terminal(), [0.0]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    for returns in (True, False):
        with progress(str(path)) as files, Transcript(path, files=files) as transcript:
            assert isinstance(files, module.WatchedFiles)
            files.before_printing(returns=returns)
            assert not files.bar.live.is_started
            list(transcript.messages())
            assert not files.bar.live.is_started
            now[0] += 2
            list(transcript.messages())
            assert files.bar.live.is_started == returns


def test_the_bar_stays_while_output_goes_to_a_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is printed there disturbs it."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with progress(str(path)) as files:
        assert isinstance(files, module.WatchedFiles)
        files.before_printing()
        assert files.bar.live.is_started


def test_stages_are_shown_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their names, while they last; in a pipe nothing is."""
    monkeypatch.setenv("TERM", "xterm")
    for errors in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", errors)
        with stages() as tell:
            tell("one", 1, 2)
            tell("two [b]", 1, 2)
        assert ("two [b]" in errors.getvalue()) == errors.isatty()
        assert errors.getvalue().endswith("\x1b[2K") == errors.isatty()


@pytest.mark.parametrize("arguments", [["--json"], ["--json", "--policy", "default", "--turn", "2"]])
@pytest.mark.parametrize("to_terminal", [False, True])
def test_a_replay_into_a_file_shows_a_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], to_terminal: bool
) -> None:
    """On the error stream; where the output is the terminal, only until the first thing is printed."""
    monkeypatch.setenv("TERM", "xterm")
    errors, output = Terminal(), Terminal() if to_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(sys, "stdout", output)
    log = write(tmp_path / "log.jsonl")
    assert main(["replay", str(log), "--tokenizer", "estimate", *arguments], standalone_mode=False) == 0
    assert ("playing" in errors.getvalue()) == (not to_terminal or "--turn" in arguments)
    assert all(line.startswith("{") for line in output.getvalue().splitlines())
    assert output.getvalue()
