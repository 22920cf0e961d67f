"""A session that was forked to another agent: a purge of its origin reaches the agent's file, or names it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.paths import log_path
from amplifier_module_context_persistent.toolbox.transfer.erasing.noted_agent_forks import (
    agent_forks,
    list_of_agent_forks,
)
from amplifier_module_context_persistent.toolbox.transfer.fork_to_agent import AGENTS
from tests.support.commands import run
from tests.support.imports import write_jsonl
from tests.support.kills import kills
from tests.support.sweeps import proof
from tests.support.two_homes import holders

pytestmark = [pytest.mark.usefixtures("project"), pytest.mark.parametrize("agent", AGENTS)]

KEY = "zq-leaked-0123456789"
PURGE = ("purge", "--redact", KEY, "--all", "--yes")


async def says(session: str, *texts: str) -> None:
    path = log_path(Config(), session_id=session, working_dir=None)
    async with PersistentContextManager(path, session_id=session, durability="write") as manager:
        for text in texts:
            await manager.add_message({"role": "user", "content": text})
            await manager.add_message({"role": "assistant", "content": "ok"})


async def forked(agent: str, *more: str) -> Path:
    """The agent's file of a short session with the key."""
    await says("talk", f"my key is {KEY}", "and now?")
    return Path(json.loads(run("fork", "talk", "--to", agent, *more, "--json").stdout)["path"])


def go_on(file: Path, said: str = "I go on") -> None:
    """Let the agent go on: it repeats a record with other words and ids, and without the mark."""
    lines = file.read_text().splitlines()
    record: dict[str, Any] = json.loads(next(line for line in lines if KEY in line or "[redacted]" in line))
    record = json.loads(json.dumps(record).replace(f"my key is {KEY}", said).replace("my key is [redacted]", said))
    record.pop("contextPersistent", None)
    record |= {"uuid": "5f0e0000-0000-4000-8000-0000000000aa", "id": "000000aa"}
    with file.open("a") as end:
        end.write(json.dumps(record) + "\n")


def imported(agent: str, code: int | None = 0) -> str:
    return run("import", "--from", agent, code=code).output


async def test_a_file_as_it_was_written_is_redacted_with_its_origin(agent: str) -> None:
    """The agent can still go on with it, and an import of it has the redacted words."""
    file = await forked(agent)
    before = [sorted(json.loads(line)) for line in file.read_text().splitlines()]
    shown = run(*PURGE).stdout
    assert f"{file}, a fork to {agent} that has not gone on, is redacted" in shown
    assert holders(Path.home(), KEY) == []
    assert [sorted(json.loads(line)) for line in file.read_text().splitlines()] == before
    assert "[redacted]" in file.read_text()
    imported(agent)
    assert run("search", "redacted", "--all", "-l").stdout.count("\n") == 2
    assert "nothing" in run(*PURGE, code=None).output or run(*PURGE).exit_code == 0


@pytest.mark.parametrize("more", [(), ("--at", "1")], ids=["whole", "turn"])
async def test_a_fork_that_went_on_is_named_and_does_not_bring_the_text_back(agent: str, more: tuple[str, ...]) -> None:
    """It is the agent's by then. Its new messages are imported, also those that say the text again."""
    file = await forked(agent, *more)
    go_on(file, f"again: {KEY}")
    shown = run(*PURGE, code=1).stdout
    assert f"{file}: " in shown
    assert f"a fork that went on in {agent}" in shown
    assert KEY in file.read_text()
    assert "a text was purged here on" in imported(agent)
    assert holders(Path.home() / ".amplifier", KEY) == []
    assert run("search", "again:", "--all", "-l").stdout.count("\n") == 1
    run("import", str(file), "--again", "--session", "other")
    assert holders(Path.home() / ".amplifier", KEY)


async def test_a_purge_of_all_reaches_it_when_its_origin_is_gone(agent: str) -> None:
    """The list of these files tells where it is."""
    file = await forked(agent)
    shown = run("delete", "talk", "--yes").stdout
    assert f"stays, another agent's session that was forked from it: {file.parent}/ {file.name}" in shown
    assert str(file) in run(*PURGE).stdout
    assert KEY not in file.read_text()
    assert run(*PURGE).exit_code == 0


async def test_a_fork_of_a_deleted_session_is_not_imported_unasked(agent: str) -> None:
    """It would bring the deleted messages back."""
    file = await forked(agent)
    go_on(file)
    run("delete", "talk", "--yes")
    assert "was deleted here on" in run("import", str(file), code=2).stderr
    run("import", str(file), "--again")


async def test_an_export_of_a_deleted_session_is_not_imported_unasked(agent: str, tmp_path: Path) -> None:
    """Although the session says little, by which other copies are known."""
    await says("talk", "one", "two")
    file = tmp_path / "talk.jsonl"
    run("export", "talk", "--format", agent, "-o", str(file))
    run("delete", "talk", "--yes")
    assert "was deleted here on" in run("import", str(file), code=2).stderr


async def test_a_fork_that_is_here_keeps_what_was_purged_from_its_origin_alone(agent: str) -> None:
    """As any fork does; what the agent adds is imported."""
    file = await forked(agent)
    imported(agent)
    run("purge", "talk", "--redact", KEY, "--yes")
    assert "[redacted]" in file.read_text()
    go_on(file)
    shown = imported(agent, code=None)
    assert "a text was purged" not in shown
    assert "I go on" in run("show", "--last").stdout


async def test_a_fork_of_many_answers_keeps_its_own_history_too(agent: str) -> None:
    """Although it has the answers of the session that was purged, by which copies are recognised."""
    path = log_path(Config(), session_id="talk", working_dir=None)
    async with PersistentContextManager(path, session_id="talk", durability="write") as manager:
        for number in range(6):
            await manager.add_message({"role": "user", "content": f"question {number}: my key is {KEY}"})
            await manager.add_message({"role": "assistant", "content": f"answer {number} with {KEY} in it. " * 9})
    file = Path(json.loads(run("fork", "talk", "--to", agent, "--json").stdout)["path"])
    go_on(file)
    imported(agent)
    run("purge", "talk", "--redact", KEY, "--yes", code=1)
    shown = imported(agent)
    assert "a text was purged" not in shown
    assert "0 messages added" in shown


async def test_a_fork_that_came_in_after_the_purge_can_be_imported_again(agent: str) -> None:
    """The text is replaced each time, so that what the agent adds is all that is new."""
    file = await forked(agent)
    go_on(file)
    run(*PURGE, code=1)
    imported(agent)
    with file.open("a") as end:
        last = json.loads(file.read_text().splitlines()[-1].replace("I go on", f"and on: {KEY}"))
        last |= {"uuid": "5f0e0000-0000-4000-8000-0000000000bb", "id": "000000bb"}
        end.write(json.dumps(last) + "\n")
    assert "1 message added" in imported(agent)
    assert holders(Path.home() / ".amplifier", KEY) == []


async def test_other_purges_name_the_file(agent: str) -> None:
    """It cannot be told what of it would have to go."""
    file = await forked(agent)
    assert f"{file}: a fork to {agent}" in run("purge", "talk", "--everything", "--yes", code=1).stdout
    assert KEY in file.read_text()
    assert "messages of this session were purged here" in run("import", str(file), code=2).stderr


async def test_a_dry_run_writes_nothing(agent: str) -> None:
    file = await forked(agent)
    before, noted = file.read_bytes(), list_of_agent_forks().read_bytes()
    assert str(file) in run(*PURGE[:-1], "--dry-run").stdout
    assert (file.read_bytes(), list_of_agent_forks().read_bytes()) == (before, noted)


async def test_the_list_holds_no_text_and_survives_damage(agent: str) -> None:
    file = await forked(agent)
    place = list_of_agent_forks()
    assert KEY not in place.read_text()
    assert os.name == "nt" or place.stat().st_mode & 0o777 == 0o600
    place.write_bytes(b'{"path": 1}\n[]\n\xff\n' + place.read_bytes() + b'{"path": "x')
    (one,) = agent_forks()
    assert (one.path, one.agent) == (str(file), agent)


async def test_a_list_that_cannot_be_read_ends_a_purge_before_it_begins(agent: str) -> None:
    await forked(agent)
    list_of_agent_forks().unlink()
    list_of_agent_forks().mkdir()
    assert "move it away" in run(*PURGE, code=2).output
    assert holders(Path.home() / ".amplifier", KEY)


def restoring(kept: Path) -> Callable[[], None]:
    """Return what puts the home directory back to how it is now."""
    shutil.copytree(Path.home(), kept)

    def restore() -> None:
        shutil.rmtree(Path.home())
        shutil.copytree(kept, Path.home())

    return restore


@proof
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the operation runs in a forked child")
@pytest.mark.parametrize("has_unnamed", [True, False], ids=["unnamed files", "no unnamed files"])
async def test_what_a_killed_fork_left_is_purged(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_unnamed: bool
) -> None:
    """Also if the file had to be written under a name, as on most file systems but those of Linux."""
    if not has_unnamed:
        monkeypatch.setattr(FileSystem, "create_unnamed", lambda *_: None)
    await says("talk", f"my key is {KEY}", "and now?")
    count = 0
    for count in kills(lambda: run("fork", "talk", "--to", agent), restoring(tmp_path / "kept")):
        run(*PURGE)
        assert holders(Path.home(), KEY) == [], count
    assert count > 3


@proof
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the operation runs in a forked child")
async def test_a_purge_that_was_killed_is_finished_by_a_second_one(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent's file is as it was, or redacted; and ours at every moment."""
    monkeypatch.setattr(FileSystem, "create_unnamed", lambda *_: None)
    await forked(agent)
    count = 0
    for count in kills(lambda: run(*PURGE, code=None), restoring(tmp_path / "kept")):
        assert all(one.is_ours() for one in agent_forks()), count
        assert run(*PURGE).exit_code == 0, count
        assert not list(Path.home().rglob("*.part")), count
        assert holders(Path.home(), KEY) == [], count
    assert count > 8


def test_a_fork_of_a_session_that_was_imported_twice_is_found_by_a_purge(agent: str, tmp_path: Path) -> None:
    """Each import writes a header; all have the id of the first one."""
    talk = [{"role": "user", "content": f"my key is {KEY}"}, {"role": "assistant", "content": "ok"}]
    source = write_jsonl(tmp_path / "talk.jsonl", talk)
    run("import", source, "--session", "talk")
    run("import", write_jsonl(source, [*talk, {"role": "user", "content": "and now?"}]), "--session", "talk")
    given = Path(json.loads(run("fork", "talk", "--to", agent, "--json").stdout)["path"])
    run("purge", "talk", "--redact", KEY, "--yes")
    assert KEY not in given.read_text()


@pytest.mark.parametrize("is_directory", [True, False])
async def test_a_file_that_its_agent_moved_is_purged(agent: str, *, is_directory: bool) -> None:
    """Codex moves archived sessions; a project's directory may get another name."""
    file = await forked(agent)
    root = next(parent for parent in file.parents if parent.name.startswith("."))
    moved = root / "archived" / file.name
    if is_directory:
        file.parent.rename(moved.parent)
    else:
        moved.parent.mkdir()
        file.rename(moved)
    for text in (KEY, "and now?"):  # the second purge knows what the first one wrote
        purge = ("purge", "--redact", text, "--all", "--yes")
        assert "is redacted" in run(*purge).stdout
        assert text not in moved.read_text()
        assert "nothing to purge" in run(*purge).stdout
