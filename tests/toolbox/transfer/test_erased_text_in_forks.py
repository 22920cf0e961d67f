"""A text that was purged does not come back with a fork that was made before the purge, through no door."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME
from tests.support.sweeps import proof
from tests.support.two_homes import Home, holders

KEY = "zq-leaked-0123456789"
PURGED = "this session was purged here on"


@pytest.fixture
def purged(laptop: Home) -> Home:
    """A home with a session that was purged; a fork, a fork of the fork and an archived fork are outside of it."""
    laptop.says("talk", "one", f"my key is {KEY}", "three")
    outside = laptop.root / "outside"
    outside.mkdir()
    laptop.run("fork", "talk", "-o", outside / "fork.jsonl")
    laptop.run("fork", outside / "fork.jsonl", "--at", "2", "-o", outside / "again.jsonl")
    laptop.run("fork", "talk", "--session", "archived")
    laptop.run("archive", "archived", "--yes")
    laptop.log("archived").rename(outside / "archived.jsonl")
    shutil.rmtree(laptop.log("talk").parents[1] / "archived")
    laptop.run("purge", "--redact", KEY, "--all", "--yes")
    return laptop


@proof(quick=1)
@pytest.mark.parametrize("name", ["fork", "again", "archived"])
@pytest.mark.parametrize("command", ["import", "copy"])
def test_a_fork_from_before_a_purge_does_not_bring_the_text_back(purged: Home, name: str, command: str) -> None:
    """`--again` does."""
    given = purged.root / "outside" / f"{name}.jsonl"
    purged.log("new").parent.mkdir()
    to = [] if command == "import" else [purged.log("new")]
    assert PURGED in purged.run(command, given, *to, code=2).stderr
    assert holders(purged.root / ".amplifier", KEY) == []
    purged.run(command, given, *to, "--again")


def test_a_fork_from_after_a_purge_is_imported(purged: Home) -> None:
    purged.run("fork", "talk", "-o", purged.root / "later.jsonl")
    purged.run("import", purged.root / "later.jsonl")


def test_a_restored_fork_does_not_bring_a_purged_text_back(laptop: Home) -> None:
    laptop.says("talk", f"my key is {KEY}")
    laptop.run("fork", "talk", "--session", "other")
    (laptop.root / "backup").mkdir()
    laptop.run("backup", laptop.root / "backup")
    shutil.rmtree(laptop.log("other").parent)
    laptop.run("purge", "--redact", KEY, "--all", "--yes")
    said = laptop.run("backup", laptop.root / "backup", "--restore", "--yes", code=None)
    assert PURGED in said.output
    assert holders(laptop.root / ".amplifier", KEY) == []


def test_a_fork_that_a_sync_brings_is_purged_first(laptop: Home, desktop: Home, stick: Path) -> None:
    """A fork that is in the home, and was left out of the purge, keeps the text, and is copied with it."""
    laptop.says("talk", "one", f"my key is {KEY}")
    laptop.run("sync", stick, "--yes")
    desktop.run("sync", stick, "--yes")
    desktop.run("fork", "talk", "--session", "theirs")
    laptop.run("fork", "talk", "--session", "ours")
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    laptop.run("sync", stick, "--yes")
    (stick_fork,) = stick.rglob(f"ours/{LOG_NAME}")
    assert KEY in stick_fork.read_text()
    stick_fork.unlink()
    desktop.run("sync", stick, "--yes")
    laptop.run("sync", stick, "--yes")
    assert laptop.texts("theirs") == ["one", "my key is [redacted]"]
    assert laptop.texts("ours") == ["one", f"my key is {KEY}"]
