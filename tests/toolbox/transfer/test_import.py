"""Imports: what is carried over, what is told of the rest, and the round trips."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.messages.host_form import as_hosts_write
from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.export_session import export_session
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.checker import assert_valid, same
from tests.support.exports import SESSION, store
from tests.support.histories import messages as any_histories
from tests.support.logs import assert_sound
from tests.support.messages import fill
from tests.support.places import FIXTURES
from tests.support.sweeps import proof, some

Message = dict[str, Any]


async def stored_in(path: Path | str) -> list[Message]:
    """The live history as a session reads it; its view is valid."""
    async with PersistentContextManager(path, durability="write") as manager:
        stored = await manager.get_messages()
        assert_valid(await manager.get_messages_for_request(), history=stored)
    return stored


def write_lines(path: Path, *lines: Any, end: str = "\n") -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_bytes(("\n".join(texts) + end).encode("utf-8", "surrogateescape"))
    return path


def said(text: str, **more: Any) -> Message:
    return {"role": "user", "content": text, **more}


@proof
@settings(deadline=None, max_examples=some(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(SESSION)
@example([{"role": "user", "content": "for now", "metadata": {"ephemeral": True}}])
@given(any_histories())
async def test_any_history_comes_back_equal(tmp_path_factory: pytest.TempPathFactory, history: list[Message]) -> None:
    """Whatever messages hold; a history of which nothing is stored leaves no log."""
    directory = tmp_path_factory.mktemp("any")
    stored = await store(directory / "log", history)
    if not stored:
        return
    export_session(directory / "log", directory / "out", "jsonl", redact=False)
    import_session(directory / "out", path=directory / "new")
    async with PersistentContextManager(directory / "new", durability="write") as again:
        assert same(await again.get_messages(), stored)
    assert verify_log(str(directory / "new")).is_sound


async def test_a_transcript_comes_back_up_to_what_it_drops(tmp_path: Path) -> None:
    """What a host's transcript holds of a history is what is imported from it."""
    stored = await store(tmp_path / "log", SESSION)
    export_session(tmp_path / "log", tmp_path / "transcript.jsonl", "transcript", redact=False)
    report = import_session(tmp_path / "transcript.jsonl", path=tmp_path / "new")
    kept = [as_hosts_write(message) for message in stored if message["role"] not in ("system", "developer")]
    assert await stored_in(report.path) == kept
    assert report.format == "transcript"


async def test_the_older_modules_file_comes_over_as_it_is_read(tmp_path: Path) -> None:
    """The same messages, ids and timestamps as a session gets that is started on the file itself."""
    shutil.copy(FIXTURES / "older-module.jsonl", tmp_path / "older.jsonl")
    report = import_session(tmp_path / "older.jsonl", path=tmp_path / "new")
    assert report.format == "older"
    assert report.derived_ids == report.messages
    imported = await stored_in(tmp_path / "new")
    assert imported == await stored_in(tmp_path / "older.jsonl")
    assert all(message["timestamp"] for message in imported)
    assert report.without_timestamp == 0


async def test_as_json_lines_every_message_of_a_log_comes_over(tmp_path: Path) -> None:
    """Hidden ones too, as messages of a new session; what is no message stays behind, and is counted."""
    async with PersistentContextManager(tmp_path / "log") as manager:
        await manager.add_message(said("before"))
        await manager.get_messages_for_request()
        await manager.clear()
        await manager.add_message(said("after"))
    everything = import_session(tmp_path / "log", path=tmp_path / "all", source_format="jsonl")
    assert [message["content"] for message in await stored_in(everything.path)] == ["before", "after"]
    assert (everything.format, everything.hidden, everything.controls) == ("jsonl", 0, {"view": 1})


async def test_what_cannot_be_carried_is_told_with_its_line(tmp_path: Path) -> None:
    """Damaged and foreign lines and a torn end are passed over; everything around them comes."""
    lines = [
        said("one"),
        "not JSON",
        "",
        [1, 2],
        {"role": "nobody", "content": "x"},
        said("no object", metadata="text"),
        '{"role":"user","content":"\udcff"}',
        said("deep", extra=json.loads("[" * 260 + "]" * 260)),
        said("two"),
    ]
    path = write_lines(tmp_path / "in.jsonl", *lines, '{"role":"user","con', end="")
    report = import_session(path, path=tmp_path / "new")
    assert [message["content"] for message in await stored_in(tmp_path / "new")] == ["one", "two"]
    assert [loss.line for loss in report.not_carried] == [2, 3, 4, 5, 6, 7, 8, 10]
    content = path.read_bytes()
    for loss in report.not_carried:
        assert content[: loss.offset].count(b"\n") == loss.line - 1
        assert loss.reason
    assert "must be an object" in report.not_carried[4].reason
    assert "nested too deeply" in report.not_carried[6].reason
    assert "no whole record" in report.not_carried[7].reason


async def test_ids_are_unique(tmp_path: Path) -> None:
    """The first message keeps the id that two have; the other one gets its own, which is told."""
    twice = [said(text, metadata={"message_id": "same", "timestamp": "2026-01-05T09:00:00.000Z"}) for text in "ab"]
    write_lines(tmp_path / "in", *twice, said("c"))
    report = import_session(tmp_path / "in", path=tmp_path / "new", new_id=iter(["log"]).__next__)
    stored = await stored_in(tmp_path / "new")
    ids = [message["metadata"]["message_id"] for message in stored]
    assert ids[:2] == ["same", "same.2"]
    assert (report.renamed, report.derived_ids, report.without_timestamp) == ({"same.2": "same"}, 1, 1)
    assert "timestamp" not in stored[2]["metadata"]
    assert [message["metadata"].get("timestamp") for message in stored[:2]] == ["2026-01-05T09:00:00.000Z"] * 2


@proof
async def test_a_session_goes_on_where_the_import_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies where the host's sessions of this project lie; set_messages does not replace it; replays are known."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in", said("one", timestamp="2026-01-05T09:00:00"), {"role": "assistant", "content": "1"})
    report = import_session("in", session_id="s9")
    place = Path.home() / ".amplifier" / "projects" / project_slug(tmp_path) / "sessions" / "s9" / LOG_NAME
    assert (report.path, report.session_id) == (str(place), "s9")
    async with PersistentContextManager(session_id="s9", working_dir=str(tmp_path)) as manager:
        stored = await manager.get_messages()
        await manager.set_messages([said("other")])
        await fill(manager, stored)
        await manager.add_message(said("two"))
        assert [message["content"] for message in await manager.get_messages()] == ["one", "1", "two"]
        assert_valid(await manager.get_messages_for_request(), history=await manager.get_messages())
    assert_sound(report.path)
    header = json.loads(place.read_bytes().split(b"\n")[0])
    assert (header["_record"], header["session_id"], header["imported_from"]) == ("header", "s9", "older")
    assert place.read_bytes().count(b'"_record":"header"') == 1


def test_an_id_is_derived_where_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the file and its first message: a second import finds the session, another file makes another one."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in", said("one"))
    write_lines(tmp_path / "other", said("one"))
    first, again, other = (import_session(name) for name in ("in", "in", "other"))
    assert first.session_id == again.session_id != other.session_id
    assert (first.added, again.added, other.added) == (1, 0, 1)
    for report in (first, other):
        assert report.session_id
        assert "_" not in report.session_id
        assert Path(report.path).parent.name == report.session_id


def test_a_log_that_is_there_is_never_touched(tmp_path: Path) -> None:
    """Not even an empty file, nor the source itself; nothing is left beside it."""
    source = write_lines(tmp_path / "in", said("one"))
    (tmp_path / "there").write_bytes(b"")
    for place in (tmp_path / "there", source):
        with pytest.raises(FileExistsError):
            import_session(source, path=place)
        with pytest.raises(FileExistsError):
            import_session(source, path=place, dry_run=True)
    assert (tmp_path / "there").read_bytes() == b""
    assert sorted(os.listdir(tmp_path)) == ["in", "there"]


def test_a_named_format_is_held_to(tmp_path: Path) -> None:
    """Messages are no log; an unknown name is refused."""
    write_lines(tmp_path / "in", said("one"))
    with pytest.raises(ImportRefusedError, match="no log"):
        import_session(tmp_path / "in", path=tmp_path / "new", source_format="log")
    with pytest.raises(ValueError, match=r"allowed are: auto, log, .*claude-code"):
        import_session(tmp_path / "in", path=tmp_path / "new", source_format="csv")
    assert import_session(tmp_path / "in", path=tmp_path / "new", source_format="older").format == "older"


@proof
def test_what_is_more_than_memory_holds_comes_over_in_order(tmp_path: Path) -> None:
    """A session of 20 MB is written aside while its source is read; one message is larger than a block of it."""
    sizes = [3_000_000 if number == 100 else 40_000 for number in range(450)]
    lines = [said(f"{number} " + "x" * size) for number, size in enumerate(sizes)]
    report = import_session(write_lines(tmp_path / "in.jsonl", *lines), path=tmp_path / "log.jsonl")
    assert report.messages == len(lines)
    with Transcript(tmp_path / "log.jsonl") as transcript:
        assert [message["content"] for message in transcript.messages()] == [line["content"] for line in lines]


@proof
def test_an_import_loads_no_engine(tmp_path: Path) -> None:
    """Neither to write sessions nor to add to them: what views are made with stays where it is."""
    write_lines(tmp_path / "in", said("one"))
    script = """
import sys
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
source, path = sys.argv[1:]
print(import_session(source, path=path).added)
with open(source, "a") as file:
    file.write('{"role": "user", "content": "two"}')
print(import_session(source, path=path).added)
names = [name.split(".") for name in sys.modules if name.startswith("amplifier_module_context_persistent.")]
print(sorted({name[1] for name in names} & {"compaction", "session", "replay", "report"}))
"""
    command = [sys.executable, "-c", script, str(tmp_path / "in"), str(tmp_path / "log")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1", "1", "[]"]
