"""Views made again one after the other, with the window of one plan, against views made from nothing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.sessions.view_rebuild import (
    PlacedReceipt,
    Rebuilder,
    RebuiltView,
    ReceiptLog,
    read_receipts,
)
from tests.support.messages import Message, user
from tests.support.recorded_sessions import Recorded
from tests.support.sweeps import proof, spread


class CountingReader(LogReader):
    """A log of which is counted how many messages are read."""

    messages_read = 0

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        self.messages_read += len(ordinals)
        return super().read(ordinals)


async def record(path: Path, **config: Any) -> Path:
    """Plans, smaller budgets, head texts, something ephemeral, a reset, another process."""
    recorded = Recorded(path, **config)
    await recorded.head("one head")
    await recorded.play(30)
    await recorded.view(budget=2_000)
    await recorded.add(user("aside", ephemeral=True))
    await recorded.view()
    await recorded.restart()
    await recorded.play(24, seed=4)
    await recorded.manager.clear()
    await recorded.play(24, seed=5)
    await recorded.manager.close()
    return path


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return asyncio.run(record(tmp_path_factory.mktemp("recorded") / "log.jsonl")).read_bytes()


@pytest.fixture
def log(content: bytes, path: str) -> Path:
    """A log of its own for each test, of a session that is recorded once."""
    Path(path).write_bytes(content)
    return Path(path)


@pytest.fixture
def reader(log: Path) -> Iterator[CountingReader]:
    reader = CountingReader(log)
    reader.follow()
    yield reader
    reader.close()


def made_from_nothing(reader: LogReader, book: ReceiptLog, requests: Iterable[PlacedReceipt]) -> list[RebuiltView]:
    """Each view by a rebuilder of its own."""
    return [Rebuilder(reader, book).view(noted) for noted in requests]


@proof
def test_they_are_those_that_are_made_from_nothing(reader: CountingReader) -> None:
    """In their order and in any other one: messages, reasons, and whether they are proved."""
    book = read_receipts(reader)
    expected = list(zip(book.requests, made_from_nothing(reader, book, book.requests), strict=True))
    for order in (expected, random.Random(1).sample(expected, len(expected))):
        rebuilder = Rebuilder(reader, book)
        assert [(noted, rebuilder.view(noted)) for noted, _ in order] == order
    assert {one.proved for _, one in expected} == {True, False}


async def test_a_message_is_read_once_between_two_plans(tmp_path: Path) -> None:
    """With four times the requests, far fewer than four times the messages are read."""
    recorded = Recorded(tmp_path / "log.jsonl", max_tokens=100_000)
    for number in range(80):
        await recorded.add(user(f"question {number} " + "word " * 40))
        await recorded.view()
    await recorded.manager.close()
    reader = CountingReader(recorded.path)
    reader.follow()
    book = read_receipts(reader)
    rebuilder = Rebuilder(reader, book)
    assert [rebuilder.view(noted).messages for noted in book.requests] == recorded.views
    assert reader.messages_read <= 2 * len(reader.index)
    reader.close()


def altered(line: bytes) -> bytes:
    """Another message, whose checksum does not hold."""
    return line.replace(b'"content":"', b'"content":"x', 1)


def damaged(line: bytes) -> bytes:
    """The same message with another checksum."""
    return line[:-4] + (b"0" if line[-4:-3] != b"0" else b"1") + line[-3:]


@proof(quick=1)
@pytest.mark.parametrize("change", [altered, damaged])
def test_an_altered_log_is_not_believed(log: Path, change: Callable[[bytes], bytes]) -> None:
    """What is altered proves nothing, and what is damaged alone is named, as by views made from nothing."""
    lines = log.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b'"role":"user"' in line)
    lines[at] = change(lines[at])
    log.write_bytes(b"".join(lines))
    with closing(CountingReader(log)) as reader:
        reader.follow()
        book = read_receipts(reader)
        rebuilder = Rebuilder(reader, book)
        asked = list(spread(book.requests, 3))
        expected = made_from_nothing(reader, book, asked)
        assert [rebuilder.view(noted) for noted in asked] == expected
    assert any(one.damaged for one in expected)
    assert change is damaged or not all(one.proved for one in expected)
