"""A text that was purged does not come back with a fork that was made before the purge, through no door."""

from __future__ import annotations

import json
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


FORKS_OF_OLD = [["-o", "HOME"], ["--session", "5f0e0000-0000-4000-8000-00000000000b"], ["--to", "claude-code"]]


@pytest.fixture
def old_copy(laptop: Home) -> Path:
    """A copy of a session from before its purge, with its name, outside of the home."""
    laptop.says("talk", "one", f"my key is {KEY}", "three")
    laptop.run("fork", "talk", "--session", "named")
    laptop.run("rename", "named", f"about {KEY}")
    old = laptop.root / "outside" / "named" / LOG_NAME
    shutil.copytree(laptop.log("named").parent, old.parent)
    return old


def forked(laptop: Home, old: Path, options: list[str], *more: str, code: int = 0) -> str:
    """What a fork of an old copy prints; of `HOME` becomes a place for a session of the home."""
    laptop.log("new").parent.mkdir(exist_ok=True)
    given = [str(laptop.log("new")) if one == "HOME" else one for one in options]
    done = laptop.run("fork", old, *given, *more, code=code)
    return " ".join((done.stdout + done.stderr).split())


def in_home(laptop: Home) -> list[str]:
    """The files with the text in the directories of this and of other agents."""
    found = [path for name in (".amplifier", ".claude") for path in holders(laptop.root / name, KEY)]
    return [path for path in found if "catalogue" not in path]


@proof(quick=2)
@pytest.mark.parametrize("options", FORKS_OF_OLD, ids=["place", "session", "agent"])
def test_a_fork_of_an_old_copy_does_not_have_what_was_purged(laptop: Home, old_copy: Path, options: list[str]) -> None:
    """The rest of the history comes; `--again` copies the text, too."""
    laptop.run("purge", "--redact", KEY, "--all", "--yes")
    assert "A text was purged here on" in forked(laptop, old_copy, options, "--dry-run")
    assert "A text was purged here on" in forked(laptop, old_copy, options)
    assert in_home(laptop) == []
    if options[0] == "-o":
        assert laptop.texts("new") == ["one", "my key is [redacted]", "three"]
        shutil.rmtree(laptop.log("new").parent)
    if options[0] != "--session":
        assert "purged" not in forked(laptop, old_copy, options, "--again")
        assert in_home(laptop) != []


@proof(quick=1)
@pytest.mark.parametrize("options", FORKS_OF_OLD, ids=["place", "session", "agent"])
def test_a_fork_of_an_old_copy_does_not_have_purged_messages(laptop: Home, options: list[str]) -> None:
    laptop.says("talk", "one", f"my key is {KEY}", "three")
    old = laptop.root / "old.jsonl"
    old.write_bytes(laptop.log("talk").read_bytes())
    last = laptop.run("show", "talk", "--json").stdout.splitlines()
    third = next(json.loads(line) for line in last if '"three"' in line)
    laptop.run("purge", "talk", "--before", third["message"]["metadata"]["message_id"], "--yes")
    assert "Messages were purged here on" in forked(laptop, old, options)
    assert in_home(laptop) == []
    if options[0] == "-o":
        assert laptop.texts("new") == ["three"]


def id_of(laptop: Home, session: str, words: str) -> str:
    """The id of the message that says just these words."""
    shown = [json.loads(line) for line in laptop.run("show", session, "--json").stdout.splitlines()]
    found = (one["message"] for one in shown if one["message"]["content"] == words)
    return str(next(found)["metadata"]["message_id"])


@proof(quick=2)
@pytest.mark.parametrize("to", ["HOME", "claude-code"])
@pytest.mark.parametrize(
    ("turn", "texts"), [("3", ["three"]), ("4", ["three", "four"]), ("5", ["three", "four", "five"])]
)
def test_a_turn_of_an_old_copy_counts_as_the_copy_shows_it(laptop: Home, turn: str, texts: list[str], to: str) -> None:
    """Though the turns before it were purged."""
    laptop.says("talk", "one", "two", "three", "four", "five")
    old = laptop.root / "old.jsonl"
    old.write_bytes(laptop.log("talk").read_bytes())
    laptop.run("purge", "talk", "--before", id_of(laptop, "talk", "three"), "--yes")
    if to == "HOME":
        forked(laptop, old, ["-o", "HOME"], "--at", turn)
        assert laptop.texts("new") == texts
    else:
        laptop.run("fork", old, "--to", to, "-o", laptop.root / "given.jsonl", "--at", turn)
        entries = map(json.loads, (laptop.root / "given.jsonl").read_text().splitlines())
        assert [one["message"]["content"] for one in entries if one["type"] == "user"] == texts


def test_a_purged_turn_of_an_old_copy_is_refused_and_says_why(laptop: Home) -> None:
    laptop.says("talk", "one", "two", "three")
    old = laptop.root / "old.jsonl"
    old.write_bytes(laptop.log("talk").read_bytes())
    laptop.run("purge", "talk", "--before", id_of(laptop, "talk", "three"), "--yes")
    said = forked(laptop, old, ["-o", "HOME"], "--at", "2", code=2)
    assert "nothing is left up to turn 2" in said
    assert "purged here on" in said
    assert "--again" in said
    assert "the turns 1 to 3" in forked(laptop, old, ["-o", "HOME"], "--at", "4", code=2)


@pytest.mark.parametrize("options", FORKS_OF_OLD[:1])
def test_a_fork_at_a_purged_place_is_refused_and_says_why(laptop: Home, options: list[str]) -> None:
    laptop.says("talk", "one", "two")
    old = laptop.root / "old.jsonl"
    old.write_bytes(laptop.log("talk").read_bytes())
    laptop.run("purge", "talk", "--everything", "--yes")
    assert "was purged here on" in forked(laptop, old, options, code=2)
    assert not laptop.log("new").exists()


@pytest.mark.parametrize("options", FORKS_OF_OLD, ids=["place", "session", "agent"])
def test_a_deleted_session_is_forked_from_a_copy_and_its_deletion_told(laptop: Home, options: list[str]) -> None:
    laptop.says("talk", "one")
    old = laptop.root / "old.jsonl"
    old.write_bytes(laptop.log("talk").read_bytes())
    laptop.run("delete", "talk", "--yes")
    assert "was deleted here on" in forked(laptop, old, options)


def test_a_fork_of_a_purged_session_and_of_a_fork_in_the_home_says_nothing(laptop: Home) -> None:
    """A fork that is here keeps what was purged from its origin alone, so a fork of it does, too."""
    laptop.says("talk", "one", f"my key is {KEY}")
    laptop.run("fork", "talk", "--session", "kept")
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    for origin, says in (("talk", "my key is [redacted]"), ("kept", f"my key is {KEY}")):
        assert "purged here" not in laptop.run("fork", origin, "--session", f"of-{origin}").stdout
        assert laptop.texts(f"of-{origin}") == ["one", says]
