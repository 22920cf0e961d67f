"""What messages say stands in the log alone: no line of any logger and no event of a session holds a word of it."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import ContextPersistentError
from amplifier_module_context_persistent.log.append_queue import AppendQueue
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.fakefs import FakeFiles
from tests.support.logs import STAMP, append, append_bodies, content_of, giving, write_file
from tests.support.real_sessions import Events, StartSession
from tests.support.sweeps import proof

WORD = "zq-secret-word"
PACKAGE = "amplifier_module_context_persistent"


def said(number: int, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": f"{WORD} {number}", **more}


def assert_unsaid(caplog: pytest.LogCaptureFixture, *told: Any) -> None:
    """Neither the lines that were logged, nor what their records carry, nor anything else that was told says it."""
    for record in caplog.records:
        if record.name.startswith(PACKAGE):
            assert WORD not in record.getMessage()
            assert WORD not in repr(record.__dict__)
    assert WORD not in json.dumps(told, default=repr)


@pytest.fixture(autouse=True)
def all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def body(number: int) -> bytes:
    return encode_message(said(number), message_id=f"id-{number}", timestamp=STAMP)


@proof
async def test_a_session_over_a_damaged_log_says_nothing_of_its_messages(
    path: str, start_session: StartSession, record_events: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Through damage, a torn tail, a resume with set_messages, replays under another content, and refused messages."""
    append_bodies(FileLog(path), *map(body, range(4)))
    lines = content_of(path).splitlines(keepends=True)
    lines[1] = lines[1].replace(b" 1", b" 7")
    lines[2:2] = [f'{{"role":"user","content":"{WORD}" oops}}\n'.encode(), f"{WORD}\n".encode()]
    write_file(path, b"".join(lines) + f'{{"role":"user","content":"{WORD}'.encode())
    context = {"module": "context-persistent", "config": {"transcript_path": path, "max_tokens": 4000}}
    session = await start_session({**context})
    events: Events = record_events(session.coordinator)
    manager = session.coordinator.get("context")
    stored = await manager.get_messages()
    assert any(WORD in str(message["content"]) for message in stored)
    await manager.set_messages([said(9)])
    await manager.add_message(said(0, metadata={"message_id": "id-0"}))
    await manager.add_message(said(55, metadata={"message_id": "id-0"}))
    for wrong in (said(1, role=5), said(1, tool_calls={1: WORD}), said(1, blob=b"zq-secret-word")):
        with pytest.raises((ContextPersistentError, ValueError, TypeError)) as refused:
            await manager.add_message(wrong)
        assert WORD not in str(refused.value)
    for number in range(60):
        await manager.add_message(said(number + 100, content=f"{WORD} " * 100))
        await manager.get_messages_for_request()
    await manager.clear()
    assert caplog.records
    assert events
    assert_unsaid(caplog, events)


async def test_a_session_that_is_kept_in_memory_only_says_nothing_of_its_messages(
    tmp_path: Path, start_session: StartSession, record_events: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Degradation is told loudly, and without what was to be stored."""
    write_file(str(tmp_path / "file"), b"")
    config = {"transcript_path": str(tmp_path / "file" / "log.jsonl")}
    session = await start_session({"module": "context-persistent", "config": config})
    events: Events = record_events(session.coordinator)
    manager = session.coordinator.get("context")
    await manager.add_message(said(0))
    assert events[0][0] == "context:degraded"
    assert_unsaid(caplog, events)


async def test_a_failing_disk_says_nothing_of_the_messages(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever call fails, no error that is raised or logged quotes a record."""
    errors = []
    for nth in range(1, 25):
        path = str(tmp_path / f"{nth}.jsonl")
        files = FakeFiles()
        files.fail(nth=nth, forever=True)
        queue = AppendQueue(FileLog(path, files=files), inline=False)
        try:
            await queue.append(giving(body(0)))
            write_file(path, content_of(path) + f'{{"{WORD}'.encode())
            await queue.append(giving(body(1)))
        except ContextPersistentError as error:
            errors.append(f"{error!r} {error}")
        await queue.close()
    assert len(errors) > 10
    assert_unsaid(caplog, errors)


def test_an_overwritten_record_is_not_quoted(path: str, log: FileLog, caplog: pytest.LogCaptureFixture) -> None:
    """A record that is no longer what was scanned is an error without its bytes."""
    append(log, 0)
    with open(path, "r+b") as file:
        file.write(f'{{"{WORD}" {WORD}'.encode())
    with pytest.raises(ContextPersistentError) as raised:
        list(log.read([0]))
    assert_unsaid(caplog, str(raised.value))


def test_reports_and_purges_say_nothing_of_the_messages(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the report of a damaged log nor what a purge tells and records."""
    append_bodies(FileLog(path), body(0), body(1))
    write_file(path, content_of(path) + f"{WORD}\n[{WORD}\n".encode() + f'{{"{WORD}'.encode())
    report = verify_log(path)
    counts = purge_log(path, Purge(everything=True), now=lambda: STAMP)
    assert len(report.damage) == 3
    assert_unsaid(caplog, report.to_json(), repr(counts), content_of(path).decode())
