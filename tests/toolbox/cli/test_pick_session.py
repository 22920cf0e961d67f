"""In a terminal a command that needs a session and gets none opens a list to choose from."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from amplifier_module_context_persistent.sessions.session_files import project_sessions
from amplifier_module_context_persistent.toolbox.cli import pick_session as picking
from amplifier_module_context_persistent.toolbox.cli.live_list import LiveList
from amplifier_module_context_persistent.toolbox.cli.pick_session import SessionChoices
from tests.support.commands import refused, run, shows
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof
from tests.support.terminals import Terminal, posix

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def sessions(project: object) -> None:  # in its directory
    for name, said in (("one", "Fix the total."), ("two", "Refund for Müller\u202e."), ("three", "Fix the login.")):
        write(log_of(name), [{"role": "user", "content": said}])


def by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands ask, as in a terminal that draws nothing again."""
    monkeypatch.setattr(picking, "can_pick", lambda: True)
    monkeypatch.setattr(picking, "is_possible", lambda: False)


@pytest.mark.usefixtures("sessions")
def test_a_number_or_words_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that one session has choose it at once; others narrow the list."""
    by_lines(monkeypatch)
    assert "Refund for" in run("show", answer="refund\n").stdout
    narrowed = run("show", answer="fix\nlogin\n")
    assert "Fix the login." in narrowed.stdout
    assert narrowed.stderr.count("Refund") == 1
    assert "Fix the" in run("export", answer="fix\n2\n").stdout
    assert "0 files" in run("files", answer="refund\n", code=1).stderr
    assert "two" in run("delete", "--dry-run", answer="refund\n").stdout
    assert "no session has nobody" in run("show", answer="nobody\nrefund\n").stderr


@pytest.mark.usefixtures("sessions")
def test_a_line_says_what_a_session_is_and_nothing_that_a_terminal_acts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    by_lines(monkeypatch)
    asked = run("show", answer="refund\n").stderr
    shows(asked, "  1  ", "one", "Fix the total.")
    assert "\u202e" not in asked


@pytest.mark.usefixtures("sessions")
def test_without_an_answer_or_a_terminal_it_says_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("export", "files", "stats"):
        assert "name one SESSION" in refused(command)
    assert "name each SESSION" in refused("delete")
    by_lines(monkeypatch)
    assert "name one SESSION" in run("export", answer="\n", code=2).stderr


def drawn(keys: list[str], *, columns: int = 40, rows: int = 3, items: int = 5) -> list[str]:
    """The lines after some keys; items are found whatever the words are, but for a z."""

    def find(words: str, most: int) -> tuple[list[str], int]:
        return ([] if "z" in words else [f"item {at}" for at in range(items)][:most]), items

    listed = LiveList[str](find, str.ljust)
    listed.lines(columns, rows)
    for key in keys:
        listed.press(key, rows)
        listed.lines(columns, rows)
    lines = listed.lines(columns, rows)
    assert all(len(line) < columns for line in lines)
    return [line.rstrip() for line in lines]


def test_keys_move_the_mark_and_what_is_shown() -> None:
    """It stops at both ends; typing goes back to the first."""
    assert drawn([])[1:4] == ["> item 0", "  item 1", "  item 2"]
    assert drawn(["down"] * 3)[1:4] == ["  item 1", "  item 2", "> item 3"]
    assert drawn(["down"] * 9)[1:4] == ["  item 2", "  item 3", "> item 4"]
    assert drawn(["page down", "up"])[1:4] == ["  item 1", "> item 2", "  item 3"]
    assert drawn(["page down", "a"])[:2] == ["Which session? a", "> item 0"]
    assert drawn(["down", "page up"])[1] == "> item 0"


def test_words_are_typed_and_erased() -> None:
    assert drawn([*"ab c", "erase"])[0] == "Which session? ab"
    assert drawn([*"ab c", "erase word"])[0] == "Which session? ab"
    assert drawn([*"ab c", "erase all", "x"])[0] == "Which session? x"
    assert drawn(["z"])[1].startswith("nothing has these words")
    assert drawn(["\x07", "tab\t"])[0] == "Which session?"


def test_of_thousands_only_those_are_looked_at_that_are_needed() -> None:
    """The first page at once; all of them for words that few have."""
    for number in range(450):
        write(log_of(f"s{number:04}"), [{"role": "user", "content": f"Question {number}."}])
    choices = SessionChoices(project_sessions())
    assert choices.find("", 10)[1] == 450
    assert len(choices._seen) == 200
    assert [one.session.id for one in choices.find("question 449.", 10)[0]] == ["s0449"]
    assert choices.find("nobody", 10) == ([], 0)


def in_terminal(*arguments: str, keys: Sequence[tuple[str, str]], code: int = 0, **environment: str) -> str:
    """What a command prints in a terminal after its list is gone.

    Each key is pressed once the text before it is there. The terminal is set as before in the end.
    """
    import termios

    terminal = Terminal(*arguments, **{"PAGER": "cat", **environment})
    watched = os.dup(terminal.own)
    before = termios.tcgetattr(watched)
    for wanted, key in keys:
        terminal.until(wanted)
        terminal.shown = ""
        terminal.press(key)
    assert terminal.end() == code
    assert termios.tcgetattr(watched) == before
    os.close(watched)
    return terminal.shown.rpartition("\x1b[J")[2]


@proof
@posix
@pytest.mark.usefixtures("sessions")
def test_in_a_terminal_one_types_into_the_list() -> None:
    """Words and arrows choose; the list is gone afterwards, and the terminal as it was."""
    keys = [("1 of 3", "fix"), ("1 of 2", "\x1b[B"), ("2 of 2", "\r")]
    assert "Fix the" in in_terminal("show", keys=keys)
    assert "name one SESSION" in in_terminal("show", keys=[("1 of 3", "\x1b")], code=2)
    assert "Fix the" in in_terminal("show", keys=[("narrow the list", "1\n")], TERM="dumb")


@proof
@posix
@pytest.mark.usefixtures("sessions")
def test_ctrl_c_leaves_the_list() -> None:
    """As any other command."""
    terminal = Terminal("show")
    terminal.until("1 of 3")
    terminal.interrupt()
    assert terminal.end() == 130
    assert terminal.shown.endswith("\x1b[J")


@proof
@posix
@pytest.mark.usefixtures("sessions")
def test_keys_that_are_typed_fast_are_all_taken() -> None:
    """Also an answer in the same moment, in a narrow terminal."""
    assert "Fix the login." in in_terminal("show", keys=[("1 of 3", "loginx\x7f\r")], COLUMNS="30")
