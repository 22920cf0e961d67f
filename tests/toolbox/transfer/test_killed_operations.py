"""Operations on sessions that are killed before any call that changes a file, and then run once more.

Afterwards every file of ours is as after an operation that was never interrupted, and nothing that was to go is left.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.maintenance.note_beside_log import NOTE_SUFFIX
from tests.support.commands import run
from tests.support.kills import kills
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof, whole

pytestmark = [
    pytest.mark.usefixtures("project"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the operation runs in a forked child"),
]

KEY = "sk-leaked-0123456789"
SAID = [
    {"role": "user", "content": f"my key is {KEY}"},
    {"role": "assistant", "content": "Thank you."},
    {"role": "user", "content": "and now?"},
    {"role": "assistant", "content": f"I have {KEY}."},
]

Command = tuple[str, ...]


def command(*arguments: str) -> Callable[[], Any]:
    return lambda: run(*arguments, code=None)


def files() -> dict[str, bytes]:
    """All files below the home directory but for the catalogues, by their paths there."""
    found = {}
    home = Path.home()
    for path in sorted(home.rglob("*")):
        if path.is_file() and "catalogue" not in path.name:
            found[str(path.relative_to(home))] = path.read_bytes()
    return found


def holders() -> list[str]:
    """The files below the home directory that hold the key."""
    return sorted(str(path) for path in Path.home().rglob("*") if path.is_file() and KEY.encode() in path.read_bytes())


def is_unfinished(name: str, content: bytes) -> bool:
    """Whether a file is one of those that only an interrupted operation leaves; a mark without a lock says nothing."""
    if name.endswith(NOTE_SUFFIX):
        return bool(json.loads(content).get("begun"))
    return name.endswith(".part") or ".purging" in name


@pytest.fixture
def prepare(tmp_path: Path) -> Callable[[], None]:
    """Puts the home directory back to how it was when the test first called it."""
    kept = tmp_path / "kept"

    def restore() -> None:
        if not kept.exists():
            shutil.copytree(Path.home(), kept)
        shutil.rmtree(Path.home())
        shutil.copytree(kept, Path.home())

    return restore


def sessions(tmp_path: Path) -> None:
    """A session, its fork with a backup of a rewind, and an import."""
    write(log_of("talk"), SAID)
    run("fork", "talk", "--session", "forked")
    run("fork", "talk", "--session", "rewound")
    run("rewind", "rewound", "--to", "1", "--yes")
    source = tmp_path / "plain.jsonl"
    source.write_text("".join(json.dumps(message) + "\n" for message in SAID))
    run("import", str(source), "--session", "imported")


def each(operation: Callable[[], Any], prepare: Callable[[], None]) -> Iterator[int]:
    """Each kill, or in a quick run some of them."""
    for number in kills(operation, prepare):
        if whole() or number % 7 == 3:
            yield number


PURGES = [
    ("purge", "forked", "--redact", KEY, "--yes"),
    ("purge", "rewound", "--cleared", "--yes"),
    ("purge", "imported", "--everything", "--yes"),
    ("purge", "--redact", KEY, "--all", "--yes"),
]


@proof
@pytest.mark.parametrize("arguments", PURGES, ids=" ".join)
def test_a_purge_that_was_killed_is_finished_by_a_second_one(
    tmp_path: Path, prepare: Callable[[], None], arguments: Command
) -> None:
    """The log is the old one or the new one in between; afterwards nothing of what was to go is left in any file."""
    sessions(tmp_path)
    before = set(holders())
    count = 0
    for count in each(command(*arguments), prepare):
        assert run(*arguments).exit_code == 0
        gone = before if arguments[1].startswith("--") else {name for name in before if f"/{arguments[1]}/" in name}
        left = gone & set(holders()) if "--cleared" not in arguments else backups_of("rewound")
        assert not left, f"killed before call {count}"
        assert not [name for name, content in files().items() if is_unfinished(name, content)], count
    assert count > 10


def backups_of(session: str) -> list[Path]:
    return list(log_of(session).parent.glob("*.bak-*"))


@proof
@pytest.mark.parametrize("more", [(), ("--host-files",)], ids=["log", "host-files"])
@pytest.mark.parametrize("session", ["talk", "forked", "rewound", "imported"])
def test_a_deletion_that_was_killed_is_finished_by_a_second_one(
    tmp_path: Path, prepare: Callable[[], None], session: str, more: Command
) -> None:
    """As long as anything of the session is there, it is found by its name."""
    sessions(tmp_path)
    directory = log_of(session).parent
    count = 0
    for count in each(command("delete", session, *more, "--yes"), prepare):
        if directory.exists() and list(directory.iterdir()):
            done = run("delete", session, *more, "--yes")
            assert "Deleted" in done.output or "finishes it" in done.output, count
        assert not directory.exists() or not list(directory.iterdir()), count
    assert count > 3


@proof
def test_a_killed_deletion_of_a_session_with_sub_agents_is_finished_by_a_second_one(
    tmp_path: Path, prepare: Callable[[], None]
) -> None:
    """The sub-agents' sessions go first: whatever is left at any moment, the session's own name finds it."""
    source = tmp_path / "plain.jsonl"
    source.write_text("".join(json.dumps(message) + "\n" for message in SAID))
    for name in ("talk", "talk-0123456789abcdef_explorer"):
        run("import", str(source), "--session", name)
    sessions = log_of("talk").parent.parent
    for count in kills(command("delete", "talk", "--yes"), prepare):
        if any(path.is_file() for path in sessions.rglob("*")):
            run("delete", "talk", "--yes")
        assert not [path for path in sessions.rglob("*") if path.is_file()], count


@proof
def test_a_deletion_says_that_it_finishes_another_one(tmp_path: Path, prepare: Callable[[], None]) -> None:
    """And a deletion of what is whole does not say so."""
    sessions(tmp_path)
    told = set()
    for _ in kills(command("delete", "forked", "--yes"), prepare):
        if log_of("forked").exists():
            is_noted = log_of("forked").with_name("transcript.jsonl").exists()
            told.add((is_noted, "this one finishes it" in run("delete", "forked", "--dry-run").output))
    assert (True, True) in told
    assert (True, False) in told
    assert (False, False) not in told


@proof
def test_what_a_killed_deletion_left_is_purged_too(tmp_path: Path, prepare: Callable[[], None]) -> None:
    """A purge of all sessions reaches all that is left at any moment."""
    sessions(tmp_path)
    for count in each(command("delete", "forked", "--yes"), prepare):
        run("purge", "--redact", KEY, "--all", "--yes")
        assert holders() == [], count


@proof
@pytest.mark.parametrize("more", [(), ("--host-files",)], ids=["log", "host-files"])
def test_a_prune_that_was_killed_is_finished_by_a_second_one(
    tmp_path: Path, prepare: Callable[[], None], more: Command
) -> None:
    """Of several sessions; what is left at any moment is found, by its log or as a deletion that was interrupted."""
    sessions(tmp_path)
    home = log_of("talk").parent.parent
    count = 0
    for count in each(command("prune", "--everything", *more, "--yes"), prepare):
        run("prune", "--everything", *more, "--yes", code=None)
        left = [path for path in home.rglob("*") if path.is_file() and path.stat().st_size]  # a lock is empty
        assert not left, count
    assert count > 12


@proof
@pytest.mark.parametrize("then", ["again", "purge"])
@pytest.mark.parametrize("what", ["fork", "import", "import of a log"])
def test_a_session_that_is_made_appears_whole_and_is_finished_by_a_second_call(
    tmp_path: Path, prepare: Callable[[], None], what: str, then: str
) -> None:
    """Its log, and the host's files; and whatever is left in between, a purge of all sessions reaches."""
    sessions(tmp_path)
    log = write(tmp_path / "log.jsonl", SAID)
    commands: dict[str, Command] = {
        "fork": ("fork", "forked", "--session", "made"),
        "import": ("import", str(tmp_path / "plain.jsonl"), "--session", "made"),
        "import of a log": ("import", str(log), "--session", "made"),
    }
    arguments = commands[what]
    directory = log_of("made").parent
    for count in each(command(*arguments), prepare):
        if then == "purge":
            run("purge", "--redact", KEY, "--all", "--yes")
            assert holders() == [], count
            continue
        had_log = log_of("made").exists()
        done = run(*arguments, code=None)
        assert done.exit_code == 0, (count, done.output)
        assert {path.name for path in directory.iterdir()} == {
            LOG_NAME,
            LOG_NAME + NOTE_SUFFIX,
            "transcript.jsonl",
            "metadata.json",
        }, (count, had_log)
        assert not [name for name, content in files().items() if is_unfinished(name, content)], count
        assert len((directory / "transcript.jsonl").read_text().splitlines()) == len(SAID)


@proof
def test_a_rewind_that_was_killed_is_finished_by_a_second_one(tmp_path: Path, prepare: Callable[[], None]) -> None:
    """The host's transcript ends with the history, and the old one is kept beside it once."""
    sessions(tmp_path)
    for count in each(command("rewind", "forked", "--to", "1", "--yes"), prepare):
        run("rewind", "forked", "--to", "1", "--yes")
        with suppress(FileNotFoundError):
            lines = log_of("forked").with_name("transcript.jsonl").read_text().splitlines()
            assert len(lines) == 2, count
        assert len(backups_of("forked")) == 2, count
        assert not [name for name, content in files().items() if is_unfinished(name, content)], count


@proof
def test_an_undo_that_was_killed_leaves_the_plan_before_or_after(tmp_path: Path, prepare: Callable[[], None]) -> None:
    """It appends one record, so there is nothing in between; a second one says why there is no more to undo."""
    long = [{"role": role, "content": f"{number} " + "word " * 400} for number in range(12) for role in ("user",)]
    answers = [{"role": "assistant", "content": f"answer {number} " + "word " * 400} for number in range(12)]
    write(log_of("long"), [one for pair in zip(long, answers, strict=True) for one in pair])
    run("compact", "long", "--budget", "4000")
    whole = log_of("long").read_bytes()
    for count in each(command("compact", "long", "--budget", "400000", "--undo"), prepare):
        added = log_of("long").read_bytes().removeprefix(whole)
        assert added.count(b"\n") in (0, 1), count
        done = run("compact", "long", "--budget", "400000", "--undo", code=None)
        assert done.exit_code == (2 if added else 0), (count, done.output)


@proof
@pytest.mark.parametrize("to", [("-o",), ("--to", "codex")], ids=["log", "agent"])
def test_a_killed_fork_of_an_old_copy_leaves_nothing_of_what_was_purged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[], None], to: Command
) -> None:
    """Neither in the home nor among the temporary files; the next one makes the fork."""
    temporary = tmp_path / "temporary"
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    temporary.mkdir()
    sessions(tmp_path)
    old = tmp_path / "old.jsonl"
    shutil.copy(log_of("talk"), old)
    run("purge", "--redact", KEY, "--all", "--yes")
    place = (*to, str(log_of("again"))) if to == ("-o",) else to
    before = holders()
    count = 0

    def prepared() -> None:
        shutil.rmtree(temporary)
        temporary.mkdir()
        prepare()

    for count in each(command("fork", str(old), *place), prepared):
        left = [path for path in temporary.rglob("*") if path.is_file()]
        assert [path for path in left if KEY.encode() in path.read_bytes()] == [], count
        assert holders() == before, count
        again = run("fork", str(old), *place, code=None)  # a log that is whole already is refused
        assert again.exit_code == 0 or "there is a file of that name already" in again.stderr, count
        left = [path for path in temporary.rglob("*") if path.is_file() and ".lock" not in path.name]
        assert not left, count
        assert holders() == before, count
    assert count > 10


@proof
def test_an_import_after_a_rewind_that_was_killed_is_finished_by_a_second_one(
    tmp_path: Path, prepare: Callable[[], None]
) -> None:
    """What was rewound stays hidden, and nothing comes twice."""
    source = tmp_path / "talk.jsonl"
    talk = [{**message, "metadata": {"message_id": f"m{number}"}} for number, message in enumerate(SAID)]
    source.write_text("".join(f"{json.dumps(message)}\n" for message in talk))
    run("import", str(source), "--session", "imported")
    run("rewind", "imported", "1", "--yes")
    more = {"role": "user", "content": "something new", "metadata": {"message_id": "m9"}}
    source.write_text("".join(f"{json.dumps(message)}\n" for message in [*talk, more]))
    arguments = ("import", str(source), "--session", "imported")
    for count in each(command(*arguments), prepare):
        assert run(*arguments).exit_code == 0
        shown = run("export", "imported", "--format", "jsonl", "--no-redact").stdout
        live = [json.loads(line).get("content") for line in shown.splitlines()]
        assert [text for text in live if text] == [SAID[0]["content"], SAID[1]["content"], "something new"], count
        lines = log_of("imported").read_text()
        assert [lines.count(f'"message_id":"{message_id}"') for message_id in ("m2", "m3", "m9")] == [1, 1, 1], count
