"""Memory files: stored in a fresh session, told, and never too large."""

import json
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent import MemoryFilesError
from tests.support.checker import assert_valid
from tests.support.messages import user
from tests.support.real_sessions import SECRET, RecordEvents, StartSession, configured, context_of, named
from tests.support.resumed_sessions import open_manager, write_lines
from tests.support.stored_logs import stored_bytes
from tests.support.sweeps import proof


async def test_memory_files_are_stored_in_a_fresh_session_only(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each becomes `[Context from NAME]`; missing ones warn; at a resume they are not loaded again."""
    (tmp_path / "NOTES.md").write_text("Use tabs.", encoding="utf-8")
    files = {"memory_files": [str(tmp_path / "NOTES.md"), str(tmp_path / "absent.md")]}
    async with open_manager(path, **files) as manager:
        assert [m["content"] for m in await manager.get_messages()] == ["[Context from NOTES.md]\n\nUse tabs."]
        assert "absent.md is skipped" in caplog.text
        assert stored_bytes(path) == b""
        await manager.add_message(user("hello"))
        history = await manager.get_messages()
        assert [message["role"] for message in history] == ["system", "user"]
    (tmp_path / "NOTES.md").write_text("Use spaces. " * 1000, encoding="utf-8")
    async with open_manager(path, max_tokens=1000, **files) as manager:
        assert await manager.get_messages() == history
        assert_valid(await manager.get_messages_for_request(), history=history)


async def test_what_is_no_text_is_skipped(path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A FIFO would be waited for; each is named with what is wrong."""
    (tmp_path / "bytes.md").write_bytes(b"\xff")
    (tmp_path / "directory.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "NOTES.md").write_text("Use t\u00e4bs.\r\n", encoding="utf-8")
    names = ["bytes.md", "directory.md", "pipe.md", "NOTES.md"]
    async with open_manager(path, memory_files=[str(tmp_path / name) for name in names]) as manager:
        assert [m["content"] for m in await manager.get_messages()] == ["[Context from NOTES.md]\n\nUse t\u00e4bs.\n"]
    for name in names[:3]:
        assert f"{name} is skipped" in caplog.text


@proof(quick=1)
@pytest.mark.parametrize("stored", [False, True])
async def test_memory_files_do_not_make_a_session_look_resumed(path: Path, tmp_path: Path, stored: bool) -> None:
    """With nothing but memory files in the log, `set_messages` is obeyed, and the files stay in front."""
    (tmp_path / "NOTES.md").write_text("Use tabs.", encoding="utf-8")
    if stored:
        write_lines(path, [{"role": "system", "content": "[Context from NOTES.md]\n\nUse tabs."}])
    manager = open_manager(path, memory_files=[str(tmp_path / "NOTES.md")])
    await manager.set_messages([user("one")])
    assert [message["content"] for message in await manager.get_messages()][1:] == ["one"]
    assert [message["role"] for message in await manager.get_messages_for_request()] == ["system", "user"]


async def test_memory_files_are_told_with_source_and_size(
    start_session: StartSession, record_events: RecordEvents, tmp_path: Path
) -> None:
    """`context:include` is emitted once for each file that was loaded."""
    (tmp_path / "NOTES.md").write_text(SECRET, encoding="utf-8")
    session = await start_session(configured(tmp_path / "log.jsonl", memory_files=["NOTES.md"]))
    events = record_events(session.coordinator)
    await context_of(session).get_messages()
    await context_of(session).get_messages()
    (told,) = named(events, "context:include")
    assert told["source"] == str(tmp_path / "NOTES.md")
    assert told["size"] >= len(SECRET)
    assert SECRET not in json.dumps(events)


async def test_memory_files_over_the_budget_are_refused(start_session: StartSession, tmp_path: Path) -> None:
    """The error lists each file's tokens, and nothing is created."""
    for name in ("one.md", "two.md"):
        (tmp_path / name).write_text("word " * 400, encoding="utf-8")
    path = tmp_path / "log.jsonl"
    context = context_of(await start_session(configured(path, max_tokens=500, memory_files=["one.md", "two.md"])))
    with pytest.raises(MemoryFilesError, match=r"(?s)one\.md.*two\.md") as refused:
        await context.add_message(user("hello"))
    rows = [line.split() for line in str(refused.value).splitlines() if line.startswith("  ")]
    assert [int(tokens.replace(",", "")) >= 400 for tokens, _ in rows] == [True, True]
    assert not path.exists()
