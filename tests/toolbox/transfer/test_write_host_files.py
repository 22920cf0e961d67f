"""The host's files of a session: written for new ones, cut by a rewind, named by a purge, left alone while in use."""

from __future__ import annotations

import errno
import json
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import ConfigError
from amplifier_module_context_persistent.log import open_mark
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.host_files.after_rewind_or_purge import (
    finish_rewind,
    rewinding,
    was_rewinding,
)
from amplifier_module_context_persistent.toolbox.transfer.host_files.find_host_copies import host_copies, told_matches
from amplifier_module_context_persistent.toolbox.transfer.host_files.write_host_files import write_host_files
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from amplifier_module_context_persistent.toolbox.transfer.rewind_session import rewind_session
from tests.support.messages import Message, fill, user
from tests.support.resumed_sessions import transcript_of
from tests.support.sweeps import proof

REMINDER = user("<system-reminder>mind the style</system-reminder>", source="hook")
HISTORY = [
    {"role": "system", "content": "Be careful."},
    user("one"),
    {"role": "assistant", "content": "1", "thinking_block": {"type": "thinking", "thinking": "hm", "signature": "x"}},
    REMINDER,
    user("two"),
    {"role": "assistant", "content": "2"},
]
METADATA = {"session_id": "origin", "bundle": "foundation", "model": "m/1", "name": "Numbers", "turn_count": 3}


async def session(tmp_path: Path) -> Path:
    """A session as the host keeps it: its log, and the host's files as it saved them."""
    directory = tmp_path / "sessions" / "origin"
    async with PersistentContextManager(directory / LOG_NAME, session_id="origin") as manager:
        await fill(manager, HISTORY)
        history = await manager.get_messages()
    lines = [json.dumps(message) + "\n" for message in transcript_of(history)]
    (directory / "transcript.jsonl").write_text("".join(lines), encoding="utf-8")
    (directory / "metadata.json").write_text(json.dumps(METADATA), encoding="utf-8")
    return directory


def metadata(directory: Path) -> dict[str, Any]:
    value = json.loads((directory / "metadata.json").read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def transcript(directory: Path) -> list[Message]:
    return [json.loads(line) for line in (directory / "transcript.jsonl").read_bytes().splitlines()]


async def live(directory: Path) -> list[Message]:
    async with PersistentContextManager(directory / LOG_NAME) as manager:
        return await manager.get_messages()


def listing(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


async def test_a_fork_has_the_files_by_which_the_host_knows_a_session(tmp_path: Path) -> None:
    """Its bundle and model are those of the origin, and turns are counted as the host counts them."""
    origin = await session(tmp_path)
    before = listing(origin)
    made = fork_session(origin / LOG_NAME, 1, now=lambda: "2026-01-05T09:00:00Z")
    assert listing(origin) == before
    fork = Path(made.path).parent
    assert fork.parent == origin.parent
    assert "_" not in fork.name
    assert metadata(fork) == {
        "session_id": fork.name,
        "parent_id": "origin",
        "forked_from_turn": 2,
        "forked_at": "2026-01-05T09:00:00Z",
        "created": "2026-01-05T09:00:00Z",
        "turn_count": 2,
        "bundle": "foundation",
        "model": "m/1",
        "name": "Numbers (fork)",
    }
    assert (made.turn, made.host_turn) == (1, 2)
    assert made.to_json()["host_turn"] == 2
    assert all(stat.S_IMODE((fork / name).stat().st_mode) == 0o600 for name in ("metadata.json", "transcript.jsonl"))


@proof
async def test_the_transcript_of_a_fork_agrees_with_its_log(tmp_path: Path) -> None:
    """The host sets it at the first resume, and that changes nothing."""
    origin = await session(tmp_path)
    fork = Path(fork_session(origin / LOG_NAME).path).parent
    stored = (fork / LOG_NAME).read_bytes()
    handed = transcript(fork)
    assert [message["content"] for message in handed] == [message["content"] for message in HISTORY[1:]]
    assert all("thinking_block" not in message and message["timestamp"] for message in handed)
    async with PersistentContextManager(fork / LOG_NAME, receipts=False, session_id=fork.name) as manager:
        history = await manager.get_messages()
        await manager.set_messages(handed)
        assert await manager.get_messages() == history
    assert (fork / LOG_NAME).read_bytes() == stored


async def test_only_a_new_directory_gets_files(tmp_path: Path) -> None:
    """A log elsewhere gets none, nor does a directory that has one of them, nor a dry run."""
    origin = await session(tmp_path)
    assert fork_session(origin / LOG_NAME, path=tmp_path / "elsewhere.jsonl").host_files == []
    assert fork_session(origin / LOG_NAME, dry_run=True).host_files == []
    taken = origin.parent / "taken"
    taken.mkdir()
    (taken / "metadata.json").write_text("{}", encoding="utf-8")
    assert fork_session(origin / LOG_NAME, session_id="taken").host_files == []
    assert sorted(listing(taken)) == [LOG_NAME, "metadata.json"]
    assert sorted(listing(tmp_path)) == ["elsewhere.jsonl"]
    assert write_host_files(origin / LOG_NAME, created="") == []


async def test_an_id_of_a_fork_holds_no_underscore(tmp_path: Path) -> None:
    """The host would take it for a sub-session and hide it."""
    origin = await session(tmp_path)
    with pytest.raises(ConfigError, match="hides ids with '_'"):
        fork_session(origin / LOG_NAME, session_id="my_fork")
    assert [path.name for path in origin.parent.iterdir()] == ["origin"]


async def test_a_rewind_brings_the_hosts_files_in_step_and_keeps_the_old_ones(tmp_path: Path) -> None:
    """Else the next resume would set the old transcript."""
    origin = await session(tmp_path)
    before = listing(origin)
    done = rewind_session(origin / LOG_NAME, 1, now=lambda: "2026-01-05T09:00:00Z")
    assert [Path(path).name for path in done.host_files] == ["transcript.jsonl", "metadata.json"]
    kept = await live(origin)
    assert [message["content"] for message in transcript(origin)] == [
        m["content"] for m in kept if m["role"] != "system"
    ]
    assert metadata(origin) == {**METADATA, "turn_count": 2}
    for name in ("transcript.jsonl", "metadata.json"):
        assert (origin / f"{name}.bak-context-persistent-20260105090000").read_bytes() == before[name]
    assert not was_rewinding(origin / LOG_NAME)
    assert finish_rewind(origin / LOG_NAME) == ([], "")


async def test_a_rewind_that_failed_is_no_interrupted_one(tmp_path: Path) -> None:
    """One that was killed is finished by the next command, once."""
    origin = await session(tmp_path)
    log, time = origin / LOG_NAME, "2026-01-05T09:00:00Z"
    with suppress(RuntimeError), rewinding(log, time):
        assert was_rewinding(log)
        raise RuntimeError
    assert not was_rewinding(log)
    with rewinding(log, time):
        pass  # killed here, before the files of the host are written
    assert was_rewinding(log)
    changed, why = finish_rewind(log)
    assert ([Path(path).name for path in changed], why) == (["transcript.jsonl", "metadata.json"], "")
    assert finish_rewind(log) == ([], "")


async def test_a_rewind_of_an_open_session_leaves_the_hosts_files(tmp_path: Path) -> None:
    """The host writes them while it runs."""
    origin = await session(tmp_path)
    before = listing(origin)
    async with PersistentContextManager(origin / LOG_NAME) as manager:
        await manager.get_messages()
        done = rewind_session(origin / LOG_NAME, 1)
    assert (done.host_files, done.host_files_because) == ([], "the session is open")
    after = listing(origin)
    assert {name: after[name] for name in before if name != LOG_NAME} == {
        name: before[name] for name in before if name != LOG_NAME
    }


@proof
async def test_where_nobody_can_tell_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives no locks, somebody might have the session open."""
    origin = await session(tmp_path)

    def refuse(*_: Any, **__: Any) -> bool:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(open_mark, "try_lock", refuse)
    done = rewind_session(origin / LOG_NAME, 1)
    assert "does not tell" in done.host_files_because
    assert len(transcript(origin)) == len(HISTORY) - 1


async def test_the_hosts_copies_are_named(tmp_path: Path) -> None:
    """Those that exist, with their backups; for a log elsewhere none."""
    origin = await session(tmp_path)
    for name in ("transcript.jsonl.backup", "events.jsonl", "context-intelligence/events.jsonl"):
        (origin / name).parent.mkdir(exist_ok=True)
        (origin / name).write_text("{}", encoding="utf-8")
    named = [str(Path(path).relative_to(origin)) for path in host_copies(origin / LOG_NAME)]
    assert named == ["context-intelligence/events.jsonl", "events.jsonl", "transcript.jsonl", "transcript.jsonl.backup"]
    assert host_copies(origin / "other.jsonl") == []


async def test_an_import_is_known_to_the_host_too(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is listed and resumed as a session of its own."""
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "talk.jsonl"
    messages = [user("one"), {"role": "assistant", "content": "1"}]
    source.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    imported = Path(import_session(source).path).parent
    assert imported.is_relative_to(home)
    assert "_" not in imported.name
    assert metadata(imported)["session_id"] == imported.name
    assert metadata(imported)["turn_count"] == 1
    assert [message["content"] for message in transcript(imported)] == ["one", "1"]
    before = listing(imported)
    import_session(source)
    assert listing(imported) == before


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_copy_that_nests_deep_is_looked_into(tmp_path: Path, depth: int) -> None:
    """As text if it nests deeper than JSON is read; a purge of all sessions goes on."""
    copy = tmp_path / "transcript.jsonl"
    copy.write_text("[" * depth + '"hunter2"' + "]" * depth + "\n")
    assert told_matches(copy, lambda text: text.replace("hunter2", "")) == "1 line"
