"""What a purge asks is what it does: nothing more goes, and what it leaves is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.cli import purge
from tests.support.commands import run, shows
from tests.support.sessions_of_a_home import log_of, write

pytestmark = pytest.mark.usefixtures("project")

KEY = "sk-leaked-0123456789"
SAID = [{"role": "user", "content": f"my key is {KEY}"}, {"role": "assistant", "content": "Thank you."}]


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Have something happen between the question of a purge and its answer."""
    monkeypatch.setattr(purge, "ask", lambda *_, **__: act())


def append(message: dict[str, Any]) -> None:
    with log_of("talk").open("a") as log:
        log.write(json.dumps(message) + "\n")


def test_a_message_that_came_after_the_question_does_not_go(monkeypatch: pytest.MonkeyPatch) -> None:
    write(log_of("talk"), SAID)
    meanwhile(monkeypatch, lambda: append({"role": "user", "content": "and now?"}))
    shows(run("purge", "talk", "--everything", code=2).output, "1 more message would go", "look again")
    assert KEY in log_of("talk").read_text()
    assert "and now?" in log_of("talk").read_text()


def test_a_text_goes_from_messages_that_came_after_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question named the text, and not its messages."""
    write(log_of("talk"), SAID)
    meanwhile(monkeypatch, lambda: append(SAID[0]))
    shows(run("purge", "talk", "--redact", KEY).stdout, "Done.")
    assert KEY not in log_of("talk").read_text()


def write_sub_agent(said: list[dict[str, Any]]) -> None:
    """Two sessions; the host's file beside one says that it belongs to the other."""
    write(log_of("talk"), SAID)
    write(log_of("kid"), said)
    metadata = {"session_id": "kid", "parent_id": "talk"}
    log_of("kid").with_name("metadata.json").write_text(json.dumps(metadata))


def test_a_sub_agents_session_that_holds_the_text_is_named() -> None:
    write_sub_agent([{"role": "user", "content": f"the helper saw {KEY}"}])
    done = run("purge", "talk", "--redact", KEY, "--yes", code=1)
    shows(done.stdout, "kid", "a sub-agent's session of talk, holds it too", "purge it by its id")
    assert KEY not in log_of("talk").read_text()
    shows(run("purge", "kid", "--redact", KEY, "--yes").stdout, "Done.")


def test_a_sub_agents_session_that_holds_the_text_is_named_in_json() -> None:
    """Also if nothing is to be purged from the parent's session."""
    write_sub_agent([{"role": "user", "content": f"the helper saw {KEY}"}])
    for removed in (1, 0):
        answer = json.loads(run("purge", "talk", "--redact", KEY, "--yes", "--json", code=1).stdout)
        assert len(answer["purged"]) == removed
        assert answer["copies_that_stay"] == [f"{log_of('kid')}: a sub-agent's session"]


def test_a_sub_agents_session_without_the_text_is_not_named() -> None:
    write_sub_agent([{"role": "user", "content": "count the files"}])
    assert "kid" not in run("purge", "talk", "--redact", KEY, "--yes").stdout
