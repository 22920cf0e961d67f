"""What users of other systems suffer from, where no other test shows that it cannot happen here.

`docs/proofs.md` has the table of all points.
"""

import json
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.file_log import FileLog
from tests.support.logs import body, content_of, number_of, sealed, stored_numbers, write_file
from tests.support.real_sessions import StartSession
from tests.support.sweeps import proof


@proof
def test_opening_a_long_log_takes_little_memory_and_time(tmp_path: Path) -> None:
    """Twelve megabytes are opened in a fraction of their size and in seconds, and nothing is left out (FIELD 7)."""
    path, count = str(tmp_path / "log.jsonl"), 6_000
    write_file(path, b"".join(sealed([body(number, text=" " + "x" * 2_000) for number in range(count)])))
    log = FileLog(path)
    begin = time.monotonic()
    tracemalloc.start()
    try:
        log.follow()
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.monotonic() - begin < 10
    assert most_bytes < os.path.getsize(path) / 4
    assert len(log.index.live) == count
    (last,) = log.read([count - 1])
    assert number_of(last) == count - 1


async def filled(start_session: StartSession, path: str, *, messages: int) -> Any:
    """A session that was compacted many times."""
    config = {"transcript_path": path, "max_tokens": 6_000, "durability": "write"}
    session = await start_session({"module": "context-persistent", "config": config})
    manager = session.coordinator.get("context")
    for number in range(messages):
        role = "assistant" if number % 2 else "user"
        await manager.add_message({"role": role, "content": f"message {number} " + "word " * 200})
        await manager.get_messages_for_request()
    return manager


def records(path: str) -> list[tuple[str, int]]:
    """The kind and the size of each record."""
    return [(json.loads(line).get("_record", "message"), len(line)) for line in content_of(path).splitlines()]


@proof
async def test_compactions_do_not_make_the_file_grow_without_bound(tmp_path: Path, start_session: StartSession) -> None:
    """A plan's record has a bounded size, whatever it leaves out: no compaction stores the history again (FIELD 8)."""
    path = str(tmp_path / "log.jsonl")
    await filled(start_session, path, messages=100)
    stored = records(path)
    plans = [size for kind, size in stored if kind == "plan"]
    messages = sum(size for kind, size in stored if kind == "message")
    assert len(plans) >= 5
    assert max(plans) < 4_000
    assert sum(size for _, size in stored) - messages < 100 * 1_000  # receipts of 100 requests, and the plans


@proof
async def test_nothing_that_a_session_does_removes_a_byte(tmp_path: Path, start_session: StartSession) -> None:
    """Through compactions, clears, resets, closes and resumes, what stood in the file stands there (FIELD 9, 20)."""
    path = str(tmp_path / "log.jsonl")
    manager = await filled(start_session, path, messages=60)
    seen = content_of(path)
    for step in ("clear", "set_messages", "add", "close", "resume"):
        if step == "clear":
            await manager.clear()
        elif step == "set_messages":
            await manager.set_messages([{"role": "user", "content": "message 900"}])
        elif step == "add":
            await manager.add_message({"role": "user", "content": "message 901"})
        elif step == "close":
            await manager.close()
        else:
            manager = await filled(start_session, path, messages=30)
        now = content_of(path)
        assert now.startswith(seen), step
        seen = now
    assert set(os.listdir(tmp_path)) <= {"log.jsonl", "log.jsonl.catalogue", "log.jsonl.open"}
    assert all(f"message {number} ".encode() in seen for number in range(60))


@pytest.mark.parametrize("written", [1, 30, 100])
def test_a_retry_behind_a_partial_write_splices_nothing(tmp_path: Path, written: int) -> None:
    """Whoever tries the same message again has it once, after a tail that was saved aside (FIELD 1, 2)."""
    path = str(tmp_path / "log.jsonl")
    lines = sealed([body(0), body(1)])
    write_file(path, lines[0] + lines[1][:written])
    log = FileLog(path)
    (outcome,) = log.append([lambda _index: [body(1)]])
    assert outcome == range(1, 2)
    assert stored_numbers(path) == [0, 1]
    assert content_of(path) == b"".join(lines)
