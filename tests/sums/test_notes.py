"""The notes that a session keeps up: after it, `stats` and `list` find all of its log summed up."""

import asyncio
import logging
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.checkpoint_file import read_note
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.open_log import OpenLog
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record import MAX_RECORD_BYTES, encode_message
from amplifier_module_context_persistent.session import idle_work
from amplifier_module_context_persistent.sums import notes
from amplifier_module_context_persistent.sums.notes import KeptNotes, keep_notes
from amplifier_module_context_persistent.sums.stored_sums import StoredSums
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.checkpoints import always
from tests.support.logs import append, append_bodies

COUNTER = EstimateCounter()


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    monkeypatch.setattr(idle_work, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(idle_work, "PAUSE_S", 0.0)
    monkeypatch.setattr(notes, "LAST_SLICE_S", 600.0)


def left_to_read(path: str) -> int:
    """How many bytes of messages the sums of a log do not cover."""
    reader = LogReader(path)
    reader.follow()
    try:
        sums = StoredSums(reader, COUNTER)
        assert sums.go_on()
        return sums.read_bytes
    finally:
        reader.close()


def has_glance(path: str) -> bool:
    log = OpenLog(path)
    assert log.open(create=False)
    try:
        return read_note(log, "glance", MAX_RECORD_BYTES) is not None
    finally:
        log.close()


async def test_a_session_leaves_its_log_summed_up(tmp_path: Path) -> None:
    """Through several of them, and a clear in between."""
    path = tmp_path / "log.jsonl"
    for number in range(3):
        async with PersistentContextManager(path, tokenizer="estimate") as manager:
            for step in range(5):
                await manager.add_message({"role": "user", "content": f"question {number} {step}"})
                await manager.get_messages_for_request()
            if number == 1:
                await manager.clear()
                await manager.add_message({"role": "user", "content": "anew"})
        assert left_to_read(str(path)) == 0
        assert has_glance(str(path))


async def test_it_is_summed_up_while_the_session_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a view was handed out, without any further call, and before the session is closed."""
    done = asyncio.Event()
    loop, go_on = asyncio.get_running_loop(), KeptNotes.go_on

    def told(self: KeptNotes, slice_s: float = notes.SLICE_S) -> bool:
        more = go_on(self, slice_s)
        if not more and self.grown_bytes:
            loop.call_soon_threadsafe(done.set)
        return more

    monkeypatch.setattr(KeptNotes, "go_on", told)
    async with PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate") as manager:
        for step in range(20):
            await manager.add_message({"role": "user", "content": f"question {step}"})
        await manager.get_messages_for_request()
        await asyncio.wait_for(done.wait(), 60)


def test_a_slice_leaves_what_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice ends when its time is over, and goes on where it was; a large message is put off for ever."""
    monkeypatch.setattr(notes, "MOST_MESSAGE_BYTES", 200)
    log = FileLog(tmp_path / "log.jsonl")
    append(log, *range(10))
    large = {"role": "user", "content": "x" * 300}
    append_bodies(log, encode_message(large, message_id="large", timestamp="2026-01-05T09:00:00Z"))
    append(log, 11)
    go_on = keep_notes(log, COUNTER)
    slices = 1
    while go_on(0.0):
        slices += 1
    assert slices > 5
    length = log.index.lengths[10]
    log.close()
    assert left_to_read(log.path) == length


def test_appends_do_not_wait_until_all_is_summed_up(tmp_path: Path) -> None:
    """A checkpoint between appends notes what was kept up by then; the one at the close goes on first."""
    log = FileLog(tmp_path / "log.jsonl")
    append(log, *range(10))
    go_on = keep_notes(log, COUNTER)
    kept = log.checkpoint_writer.notes
    assert isinstance(kept, KeptNotes)
    assert go_on(0.0)
    known = kept.grown_bytes
    append(log, *range(10, 20))
    log.write_checkpoint()
    assert "sums" in log.checkpoint_writer.reader.notes
    assert known < kept.grown_bytes == sum(log.index.lengths) - known
    assert go_on(0.0)
    log.close()
    assert left_to_read(log.path) == 0


def test_a_log_that_cannot_be_read_stops_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever reads the log is told; what only keeps it summed up says nothing and raises nothing."""
    log = FileLog(tmp_path / "log.jsonl")
    append(log, *range(10))
    go_on = keep_notes(log, COUNTER)
    Path(log.path).write_bytes(Path(log.path).read_bytes().replace(b"message 3", b"massage 3"))
    caplog.set_level(logging.INFO)
    assert go_on(600.0) is False
    assert not log.checkpoint_writer.notes or log.checkpoint_writer.notes.make(is_last=True).keys() <= {
        "sums",
        "glance",
    }
    log.close()
