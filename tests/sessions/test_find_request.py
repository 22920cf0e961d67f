"""The receipts of a log, and a request by its number."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.checksum import CRC_TAIL_BYTES
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.sessions.view_rebuild import read_receipts
from tests.support.logs import sealed, write_file
from tests.support.messages import user
from tests.support.recorded_sessions import Recorded, controls
from tests.support.sweeps import proof


async def record(path: Path) -> Recorded:
    """Plans, plans of smaller budgets, two head texts, something ephemeral."""
    recorded = Recorded(path)
    await recorded.head("one head")
    await recorded.play(40)
    await recorded.view(budget=2_000)
    await recorded.add(user("aside", ephemeral=True))
    await recorded.restart()
    await recorded.head("another head")
    await recorded.view()
    await recorded.play(40, seed=4)
    await recorded.view(budget=2_000)
    return recorded


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    async def recorded() -> bytes:
        session = await record(tmp_path_factory.mktemp("recorded") / "log.jsonl")
        await session.manager.close()
        assert controls(session.path, "plan")
        assert controls(session.path, "side_plan")
        return session.path.read_bytes()

    return asyncio.run(recorded())


@pytest.fixture
def path(content: bytes, tmp_path: Path) -> Path:
    """A log of its own for each test, of a session that is recorded once."""
    (tmp_path / "log.jsonl").write_bytes(content)
    return tmp_path / "log.jsonl"


def without(path: Path, kind: str) -> None:
    """Write a log anew without the control records of a kind."""
    lines = [line for line in path.read_bytes().splitlines() if f'"{kind}"'.encode() not in line[:30]]
    write_file(path, b"".join(sealed([line[:-CRC_TAIL_BYTES] for line in lines])))


@proof
@pytest.mark.parametrize("gone", ["", "plan", "side_plan", "system"])
def test_what_a_view_lacks_is_said(path: Path, gone: str) -> None:
    """Where its plan or its system text stands nowhere in the log."""
    if gone:
        without(path, gone)
    with closing(LogReader(path)) as reader:
        reader.follow()
        book = read_receipts(reader)
        assert any(book.missing_parts(one) for one in book.requests) == bool(gone)


@proof
def test_a_receipt_that_cannot_be_read_is_counted(path: Path) -> None:
    """The others keep their order, and are numbered without it."""
    lines = path.read_bytes().splitlines()
    at = [number for number, line in enumerate(lines) if line.startswith(b'{"_record":"view"')]
    for number in at[1:3]:
        lines[number] = b'{"_record":"view","id":7' + lines[number][-CRC_TAIL_BYTES:]
    write_file(path, b"".join(sealed([line[:-CRC_TAIL_BYTES] for line in lines])))
    with closing(LogReader(path)) as reader:
        reader.follow()
        book = read_receipts(reader)
        assert len(book.requests) == len(at) - 2
        assert book.malformed == 2


@proof
def test_each_request_is_found(path: Path) -> None:
    """By its number, counted from either end."""
    with Transcript(path) as transcript:
        count = len(transcript.requests())
        for number, noted in enumerate(transcript.requests(), 1):
            for named in (number, number - count - 1):
                found = transcript.request(named)
                assert (found.number, found.count, found.noted) == (number, count, noted)
        for number in (0, count + 1, -count - 1):
            with pytest.raises(IndexError, match="there is no request"):
                transcript.request(number)
