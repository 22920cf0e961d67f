"""The deletion of a second import or copy of a source is about that one: the session that stays can be continued."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME
from tests.support.claude_entries import answers, says, text
from tests.support.commands import run
from tests.support.imports import write_jsonl
from tests.support.sessions_of_a_home import log_of
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")

SESSION = "5f0e-1"


def source(path: Path, turns: int) -> Path:
    """A session of Claude Code with long answers."""
    entries = []
    for turn in range(turns):
        entries += [
            says(f"u{turn}", f"a{turn - 1}" if turn else None, f"question {turn}"),
            answers(f"a{turn}", f"u{turn}", f"msg_{turn}", text(f"answer {turn} " * 20), stop="end_turn"),
        ]
    return write_jsonl(path, entries)


def second_as_jsonl(given: Path) -> str:
    exported = given.with_name("exported.jsonl")
    run("copy", SESSION, exported)
    run("import", exported, "--format", "jsonl", "--session", "second")
    return "second"


def second_of_source(given: Path) -> str:
    run("import", given, "--session", "second")
    return "second"


def damaged_copy(_: Path) -> str:
    """A copy of the log without its first line."""
    return copied("second", 1, None)


def copy_of_damaged(_: Path) -> str:
    """A whole copy, of a log that has lost its first line."""
    copied("second", 0, None)
    lines = log_of(SESSION).read_bytes().splitlines(keepends=True)
    log_of(SESSION).write_bytes(b"".join(lines[1:]))
    return "second"


def copied(name: str, first: int, last: int | None) -> str:
    shutil.copytree(log_of(SESSION).parent, log_of(name).parent)
    lines = log_of(name).read_bytes().splitlines(keepends=True)
    log_of(name).write_bytes(b"".join(lines[first:last]))
    return name


@proof(quick=1)
@pytest.mark.parametrize("second", [second_as_jsonl, second_of_source, damaged_copy])
@pytest.mark.parametrize("command", ["file", "directory", "sync"])
def test_a_session_is_continued_after_a_second_import_of_it_was_deleted(
    tmp_path: Path, second: object, command: str
) -> None:
    given, stick = source(tmp_path / "given" / "talk.jsonl", 2), tmp_path / "stick"
    run("import", given)
    assert callable(second)
    name = second(given)
    stick.mkdir()
    if command == "sync":
        run("sync", stick, "--yes", code=None)
    run("delete", name, "--yes")
    source(given, 3)
    if command == "sync":
        assert "NOT" not in run("sync", stick, "--yes").output
    run("import", given.parent if command == "directory" else given)
    assert log_of(SESSION).exists()
    assert "answer 2" in log_of(SESSION).read_text()


def test_a_deleted_second_import_does_not_come_back_by_a_sync(tmp_path: Path) -> None:
    given, stick = source(tmp_path / "talk.jsonl", 2), tmp_path / "stick"
    stick.mkdir()
    run("import", given)
    run("import", given, "--session", "second")
    run("sync", stick, "--yes")
    assert "stays, another import of the same source" in run("delete", "second", "--yes").stdout
    run("sync", stick, "--yes")
    assert not log_of("second").exists()
    assert [log.parent.name for log in stick.rglob(LOG_NAME)] == [SESSION]


def test_a_session_without_a_header_stays_when_a_copy_with_one_is_deleted(tmp_path: Path) -> None:
    given, stick = source(tmp_path / "talk.jsonl", 2), tmp_path / "stick"
    stick.mkdir()
    run("import", given)
    name = copy_of_damaged(given)
    run("delete", name, "--yes")
    run("sync", stick, "--yes", code=None)
    assert log_of(SESSION).exists()


def test_both_imports_of_a_source_are_deleted_as_one_session(tmp_path: Path) -> None:
    """Then the source is not imported again."""
    given = source(tmp_path / "talk.jsonl", 2)
    run("import", given)
    run("import", given, "--session", "second")
    run("delete", SESSION, "second", "--yes")
    assert "was deleted here" in run("import", given, code=2).stderr


@pytest.mark.parametrize("erase", [("purge", SESSION, "--redact", "question 0"), ("delete", SESSION)], ids=" ".join)
def test_a_branch_of_an_erased_session_is_known_by_its_messages(tmp_path: Path, erase: tuple[str, ...]) -> None:
    """The branch has the same messages with the same ids under another id, and no long answer."""
    ids = [f"5f0e0000-0000-4000-8000-00000000000{number}" for number in range(4)]
    entries = []
    for turn in range(2):
        user, agent = ids[2 * turn : 2 * turn + 2]
        entries += [
            says(user, ids[2 * turn - 1] if turn else None, f"question {turn}"),
            answers(agent, user, f"msg_{turn}", text("done"), stop="end_turn"),
        ]
    run("import", write_jsonl(tmp_path / "first.jsonl", entries), "--session", SESSION)
    run(*erase, "--yes")
    branch = [entry | {"sessionId": "5f0e-2"} for entry in entries]
    source = write_jsonl(tmp_path / "branch.jsonl", [*branch, says("u9", ids[-1], "more")])
    done = run("import", source, "--session", "branch", code=None)
    assert "here on" in done.output
    assert not log_of("branch").exists() or "question 0" not in log_of("branch").read_text()


def test_a_session_is_imported_though_another_with_the_same_beginning_was_deleted(tmp_path: Path) -> None:
    """An agent gives the messages before a fork the same ids in both sessions."""
    ids = [f"5f0e0000-0000-4000-8000-00000000000{number}" for number in range(6)]

    def forked(name: str, session: str, user: str, agent: str) -> Path:
        entries = [
            says(ids[0], None, "question 0"),
            answers(ids[1], ids[0], "msg_0", text("done"), stop="end_turn"),
            says(user, ids[1], f"question of {session}"),
            answers(agent, user, f"msg_{agent}", text("done"), stop="end_turn"),
        ]
        return write_jsonl(tmp_path / name, [entry | {"sessionId": session} for entry in entries])

    run("import", forked("first.jsonl", "5f0e-1", *ids[2:4]), "--session", "first")
    run("delete", "first", "--yes")
    run("import", forked("second.jsonl", "5f0e-2", *ids[4:]), "--session", "second")
    assert "question 0" in log_of("second").read_text()
