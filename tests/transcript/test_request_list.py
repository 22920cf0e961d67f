"""The requests of a log, one after the other, and a single one, against a pass over the whole log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.control_lines import control_lines, has_known_places
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record import CRC_TAIL_BYTES
from amplifier_module_context_persistent.transcript import request_list
from amplifier_module_context_persistent.transcript.find_request import find_request
from amplifier_module_context_persistent.transcript.request_list import RequestList
from amplifier_module_context_persistent.transcript.transcript import Transcript
from amplifier_module_context_persistent.transcript.view_rebuild import read_receipts, rebuild
from tests.support.counted_reads import CountedReads
from tests.support.logs import sealed, write_file
from tests.support.messages import user
from tests.support.recorded_sessions import Recorded, controls
from tests.support.snapshots import always


async def record(path: Path) -> Recorded:
    """Plans, plans of smaller budgets, two head texts, something ephemeral."""
    recorded = Recorded(path)
    await recorded.head("one head")
    await recorded.play(60)
    await recorded.view(budget=2_000)
    await recorded.add(user("aside", ephemeral=True))
    await recorded.restart()
    await recorded.head("another head")
    await recorded.view()
    await recorded.play(60, seed=4)
    await recorded.view(budget=2_000)
    return recorded


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    recorded = await record(tmp_path / "log.jsonl")
    await recorded.manager.close()
    assert controls(recorded.path, "plan")
    assert controls(recorded.path, "side_plan")
    return recorded.path


@pytest.fixture
def reader(path: Path) -> Iterator[LogReader]:
    reader = LogReader(path)
    reader.follow()
    yield reader
    reader.close()


def without(path: Path, kind: str) -> None:
    """Write a log anew without the control records of a kind."""
    lines = [line for line in path.read_bytes().splitlines() if f'"{kind}"'.encode() not in line[:30]]
    write_file(path, b"".join(sealed([line[:-CRC_TAIL_BYTES] for line in lines])))


@pytest.mark.parametrize("most_waiting", [0, 1_000])
@pytest.mark.parametrize("gone", ["", "plan", "side_plan", "system"])
def test_the_list_is_that_of_a_pass_over_the_log(
    path: Path, gone: str, most_waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers, receipts and what their views lack, also where a plan stands after its receipt or nowhere."""
    monkeypatch.setattr(request_list, "_MOST_WAITING", most_waiting)
    if gone:
        without(path, gone)
    reader = LogReader(path)
    reader.follow()
    book = read_receipts(reader)
    expected = [(number, one.receipt, book.lacks(one)) for number, one in enumerate(book.requests, 1)]
    assert has_known_places(reader)
    assert any(lacks for *_, lacks in expected) == bool(gone)
    assert [(one.number, one.receipt, one.lacks) for one in RequestList(reader)] == expected
    reader.close()


def test_few_requests_wait_for_a_plan_that_is_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the plans of the whole log are looked up once, and the list goes on."""
    monkeypatch.setattr(request_list, "_MOST_WAITING", 2)
    without(path, "plan")
    reader = LogReader(path)
    reader.follow()
    passes: list[int] = []

    def counted(reader: LogReader) -> Iterator[bytes]:
        passes.append(0)
        number = len(passes) - 1
        for line in control_lines(reader):
            passes[number] += 1
            yield line

    monkeypatch.setattr(request_list, "control_lines", counted)
    listed = RequestList(reader)
    waited = []
    for one in listed:
        waited.append(bool(one.lacks))
        if waited[-1]:
            break
    assert waited[-1]
    assert passes[0] < passes[1]
    assert len(list(listed)) == listed.at_most
    assert len(passes) == 3
    reader.close()


async def test_a_view_with_messages_of_no_log_is_listed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it lacks cannot come later."""
    recorded = Recorded(tmp_path / "log.jsonl")
    await recorded.add(user("first"))
    await recorded.add(user("aside", ephemeral=True))
    await recorded.view()
    for number in range(5):
        await recorded.add(user(f"question {number}"))
        await recorded.view()
    await recorded.manager.close()
    reader = LogReader(recorded.path)
    reader.follow()
    lines, given = list(control_lines(reader)), []

    def counted(_reader: LogReader) -> Iterator[bytes]:
        for line in lines:
            given.append(line)
            yield line

    monkeypatch.setattr(request_list, "control_lines", counted)
    first = next(iter(RequestList(reader)))
    assert first.receipt.extras == 1
    assert first.lacks
    assert len(given) < len(lines) - 3
    reader.close()


def test_a_receipt_that_cannot_be_read_is_counted(path: Path) -> None:
    """The others keep their order, and are numbered without it."""
    lines = path.read_bytes().splitlines()
    at = [number for number, line in enumerate(lines) if line.startswith(b'{"_record":"view"')]
    for number in at[1:3]:
        lines[number] = b'{"_record":"view","id":7' + lines[number][-CRC_TAIL_BYTES:]
    write_file(path, b"".join(sealed([line[:-CRC_TAIL_BYTES] for line in lines])))
    reader = LogReader(path)
    reader.follow()
    listed = RequestList(reader)
    found = list(listed)
    assert [one.number for one in found] == list(range(1, len(at) - 1))
    assert listed.malformed == 2
    assert listed.at_most == len(at)
    assert list(listed) == found
    assert listed.malformed == 2
    reader.close()


def test_each_request_is_found(reader: LogReader) -> None:
    """From either end, with the plan and the head text that its view is made of."""
    book = read_receipts(reader)
    count = len(book.requests)
    for number, noted in enumerate(book.requests, 1):
        for named in (number, number - count - 1):
            found = find_request(reader, named)
            assert found is not None
            assert (found.number, found.count, found.noted.receipt) == (number, count, noted.receipt)
            assert found.book.lacks(found.noted) == book.lacks(noted)
            assert rebuild(reader, found.book, found.noted) == rebuild(reader, book, noted)
    assert [find_request(reader, number) for number in (0, count + 1, -count - 1)] == [None] * 3


async def test_only_what_came_after_a_reset_is_found(tmp_path: Path) -> None:
    """Before it the history was another one, which takes a pass over the log; the view is the same."""
    recorded = await record(tmp_path / "log.jsonl")
    await recorded.manager.clear()
    await recorded.play(20, seed=5)
    await recorded.manager.close()
    reader = LogReader(recorded.path)
    reader.follow()
    count = len(read_receipts(reader).requests)
    found = [find_request(reader, number) is not None for number in range(1, count + 1)]
    assert found == sorted(found)
    assert {False, True} == set(found)
    reader.close()
    with Transcript(recorded.path) as transcript:
        assert [transcript.view(number).messages for number in range(1, count + 1)] == recorded.views


async def test_neither_reads_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a snapshot, four times the messages cost far less than the 360 kB more that the log then has."""
    always(monkeypatch)
    read: dict[int, list[int]] = {}
    for turns in (50, 200):
        recorded = Recorded(tmp_path / f"{turns}.jsonl", max_tokens=3_000)
        for number in range(turns):
            await recorded.add(user(f"question {number} " + "word " * 400))
            if number > turns - 10:
                await recorded.view()
        await recorded.manager.close()
        for ask in (lambda one: next(iter(RequestList(one.reader))), lambda one: one.view(-1)):
            files = CountedReads()
            with Transcript(recorded.path, files=files) as transcript:
                ask(transcript)
            read.setdefault(turns, []).append(files.bytes_read)
    for few, many in zip(read[50], read[200], strict=True):
        assert many < few + 50_000
