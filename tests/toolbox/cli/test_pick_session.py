"""In a terminal a command that needs a session and gets none opens a list to choose from."""

from __future__ import annotations

import pytest

from amplifier_module_context_persistent.toolbox.cli import pick_session as picking
from tests.support.commands import refused, run, shows
from tests.support.sessions_of_a_home import log_of, write

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def sessions(project: object) -> None:  # in its directory
    for name, said in (("one", "Fix the total."), ("two", "Refund for Müller\u202e."), ("three", "Fix the login.")):
        write(log_of(name), [{"role": "user", "content": said}])


@pytest.mark.usefixtures("sessions")
def test_a_number_or_words_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that one session has choose it at once; others narrow the list."""
    monkeypatch.setattr(picking, "can_pick", lambda: True)
    assert "Refund for" in run("show", answer="refund\n").stdout
    narrowed = run("show", answer="fix\nlogin\n")
    assert "Fix the login." in narrowed.stdout
    assert narrowed.stderr.count("Refund") == 1
    assert "Fix the" in run("export", answer="fix\n2\n").stdout
    assert "no session has nobody" in run("show", answer="nobody\nrefund\n").stderr


@pytest.mark.usefixtures("sessions")
def test_a_line_says_what_a_session_is_and_nothing_that_a_terminal_acts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picking, "can_pick", lambda: True)
    asked = run("show", answer="refund\n").stderr
    shows(asked, "  1  20", "one", "Fix the total.")
    assert "\u202e" not in asked


@pytest.mark.usefixtures("sessions")
def test_without_an_answer_or_a_terminal_it_says_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "name one SESSION" in refused("export")
    monkeypatch.setattr(picking, "can_pick", lambda: True)
    assert "name one SESSION" in run("export", answer="\n", code=2).stderr
