"""A directory of sessions can be named to every command that looks at sessions, in the same way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.sessions import sessions
from tests.support.commands import refused, run
from tests.support.sessions_of_a_home import CONVERSATION, log_of, write

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A directory with a log, and the logs of two projects; this project has another session."""
    write(log_of("own"), CONVERSATION)
    found = tmp_path / "place"
    for name in ("one.jsonl", "shop/sessions/two/context-messages.jsonl", "bank/sessions/three/context-messages.jsonl"):
        write(found / name, CONVERSATION)
    return str(found)


def asked(*arguments: Any) -> Any:
    return json.loads(run(*arguments, "--json", code=None).stdout)


@pytest.mark.parametrize("given", [("PLACE",), ("--in", "PLACE")], ids=" ".join)
def test_commands_that_read_take_a_directory_for_session(place: str, given: Sequence[str]) -> None:
    """As an argument in the place of SESSION, or by its option."""
    at = [place if one == "PLACE" else one for one in given]
    ids = {"one", "shop/sessions/two", "bank/sessions/three"}
    assert {one["session"] for one in asked("list", *at)["sessions"]} == ids
    assert asked("stats", *at)["sessions"] == 3
    assert len(asked("verify", *at)["logs"]) == 3
    assert {one["session"] for one in asked("du", *at)["sessions"]} == ids
    assert run("search", "-c", "the", *at, code=None).stdout.count("\n") == 3
    assert run("show", "--errors", *at).stderr.count("of 3 sessions") == 1
    assert len(asked("export", *at, "-o", "exported")["exports"]) == 3


def test_commands_without_session_take_the_option(place: str) -> None:
    assert asked("sql", "--in", place, "SELECT count(*) AS n FROM sessions")["rows"] == [{"n": 3}]
    assert asked("reports", "--in", place, "pages")["made"] == 3
    assert "1 session" in run("purge", "--in", place, "--name", "two", "--everything", "--dry-run").stdout
    assert asked("files", "--in", place)["files"]
    assert len(sessions(places=place)) == 3


def test_places_and_filters_hold_together(place: str) -> None:
    assert [one["session"] for one in asked("list", "--in", place, "--project", "shop")["sessions"]] == [
        "shop/sessions/two"
    ]
    assert {one["project"] for one in asked("stats", place, "--by", "project")["by_project"]} == {None, "shop", "bank"}


def test_a_home_is_a_place(tmp_path: Path) -> None:
    """Of Amplifier, with its `projects`, and of a person."""
    for name in ("home/.amplifier/projects/-shop/sessions/a", "home/.amplifier/projects/-shop/sessions/b"):
        write(tmp_path / name / "context-messages.jsonl", CONVERSATION)
    for home in ("home", "home/.amplifier", "home/.amplifier/projects", "home/.amplifier/projects/-shop"):
        assert asked("stats", tmp_path / home)["sessions"] == 2


def test_a_place_alone_is_no_filter_for_what_erases(place: str) -> None:
    assert f"all sessions in {place}" in refused("purge", "--in", place, "--everything")
    assert f"all sessions in {place}" in refused("archive", "--in", place)


def test_a_place_beside_another_is_refused(place: str, tmp_path: Path) -> None:
    assert "either --all or a directory" in refused("stats", "--all", place)
    assert "either --all or a directory" in refused("list", "--all", place)
    assert "a filter chooses among sessions" in refused("stats", "own", "--in", place)
    assert "is a directory of sessions" in refused("search", "x", "own", place)
    (tmp_path / "empty").mkdir()
    assert "no session is in" in refused("stats", tmp_path / "empty")
    assert f"{tmp_path / 'gone'}: " in refused("stats", "--in", tmp_path / "gone")
