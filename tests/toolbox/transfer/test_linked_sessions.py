"""A session that a symbolic link brings in from elsewhere is read, and nothing is removed from it or written to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.file_handle import is_archived
from amplifier_module_context_persistent.paths import LOG_NAME
from tests.support.two_homes import Home, files_below, holders

KEY = "sk-leaked-0123456789"
COMMANDS = {
    "delete": ("delete", "LOG", "--yes"),
    "prune": ("prune", "SESSIONS", "--number", "5", "--yes"),
    "purge": ("purge", "LOG", "--redact", KEY, "--yes"),
    "purge all": ("purge", "--in", "STICK", "--redact", KEY, "--yes"),
    "purge everything": ("purge", "LOG", "--everything", "--yes"),
    "archive": ("archive", "LOG", "--yes"),
    "archive all": ("archive", "--in", "STICK", "--everything", "--yes"),
}


@pytest.fixture
def outside(laptop: Home, desktop: Home, stick: Path) -> Path:
    """The session's directory: it is in another home, and on the stick there is a link to it."""
    desktop.says("talk", f"my key is {KEY}", "x" * 20_000)
    laptop.says("other", "one")
    laptop.run("sync", stick, "--all")
    (project,) = stick.iterdir()
    directory = desktop.log("talk").parent
    (project / "sessions" / "talk").symlink_to(directory)
    return directory


@pytest.mark.parametrize("level", ["session", "project"])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_changed_through_a_link(laptop: Home, outside: Path, stick: Path, command: str, level: str) -> None:
    link = next(stick.glob("*/sessions/talk"))
    if level == "project":
        link.unlink()
        (stick / "-linked").symlink_to(outside.parents[1])
        link = stick / "-linked" / "sessions" / "talk"
    before = files_below(outside)
    places = {"LOG": link / LOG_NAME, "SESSIONS": link.parent, "STICK": stick}
    given = [places.get(word, word) for word in COMMANDS[command]]
    told = laptop.run(*given, code=None)
    assert told.exit_code in (1, 2), told.output
    assert f"a symbolic link brings it in from {outside}" in told.output
    assert files_below(outside) == before
    assert KEY in laptop.run("search", KEY, "--in", stick).output, "it is read"


def test_a_sync_changes_nothing_through_a_link(laptop: Home, desktop: Home, outside: Path, stick: Path) -> None:
    """Neither by an erasure nor by what is new; the other session is brought in step."""
    laptop.run("sync", stick, "--all", code=None)
    before = files_below(outside)
    assert laptop.texts("talk")[0] == f"my key is {KEY}", "it is copied from there"
    laptop.says("talk", "two")
    laptop.says("other", "two")
    told = laptop.run("sync", stick, "--all", code=1).output
    assert f"talk: a symbolic link brings it in from {outside}" in told
    assert "1 session brought in step" in told
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    told = laptop.run("sync", stick, "--all", "--yes", code=1).output
    assert "NOT ERASED: talk" in told
    assert files_below(outside) == before
    assert [holders(laptop.root, KEY), bool(holders(desktop.root, KEY))] == [[], True]


@pytest.mark.parametrize("command", ["delete", "purge", "archive"])
def test_a_link_that_stays_within_the_directory_of_projects_is_followed(
    laptop: Home, tmp_path: Path, command: str
) -> None:
    """A project has another name since its checkout moved, and the directory of projects is on another disk."""
    laptop.says("talk", f"my key is {KEY}", "x" * 20_000)
    projects = laptop.root / ".amplifier" / "projects"
    os.rename(projects, tmp_path / "disk")
    projects.symlink_to(tmp_path / "disk")
    (projects / "-moved").symlink_to(laptop.log("talk").parents[2].name)
    log = projects / "-moved" / "sessions" / "talk" / LOG_NAME
    options = {"delete": (), "purge": ("--redact", KEY), "archive": ()}[command]
    laptop.run(command, log, *options, "--yes")
    if command == "archive":
        assert is_archived(log)
    else:
        assert holders(laptop.root, KEY) == []
    assert log.exists() == (command != "delete")


@pytest.mark.parametrize("level", ["session", "project", "log"])
def test_a_session_with_a_further_path_is_one_session(laptop: Home, level: str) -> None:
    """A link within the directory of projects is no second session; its name leads to the session."""
    laptop.says("talk", f"my key is {KEY}")
    log = laptop.log("talk")
    sessions = log.parents[1]
    if level == "session":
        (sessions / "alias").symlink_to("talk")
    elif level == "project":
        (log.parents[3] / "-0-moved").symlink_to(log.parents[2].name)
    else:
        (sessions / "alias").mkdir()
        (sessions / "alias" / LOG_NAME).symlink_to(log)
    assert "alias" not in laptop.run("list", "--all", "--json").stdout
    assert "1 session looked at" in laptop.run("purge", "--redact", "nothing", "--all", "--dry-run").output
    if level != "project":
        assert KEY in laptop.run("show", "alias").output
    laptop.run("purge", "--redact", KEY, "--all", "--yes")
    laptop.run("delete", "talk", "--yes")
    assert holders(laptop.root, KEY) == []
    assert not log.parent.exists()
