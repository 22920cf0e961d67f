"""Reading a history again: what was verified once is compared, and nothing else is different."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import Message, encode_control, encode_message
from amplifier_module_context_persistent.log.verified_pages import PAGE
from tests.support.logs import STAMP, body, reset_bodies, sealed
from tests.support.sweeps import proof

PAGES = 3
COUNT = PAGES * PAGE - 40
BIG = encode_message({"role": "user", "content": 2**70}, message_id="big", timestamp=STAMP)
OWN_RESET = encode_message({"role": "user", "content": "x", "_reset": ["r", 0, 1]}, message_id="own", timestamp=STAMP)
BARE = b'{"role":"user","content":"bare"}\n'


def usage(number: int) -> bytes:
    return encode_control("usage", provider="p", model="m", input_tokens=number)


def bodies_with(special: dict[int, bytes], *, between: bool = False) -> list[bytes]:
    """The bodies of messages, some replaced; with `between`, control records lie between them."""
    bodies: list[bytes] = []
    for number in range(COUNT):
        bodies.append(special.get(number, body(number)))
        if between and number % 3 == 0:
            bodies.append(usage(number))
    return bodies


CONTENTS = {
    "plain": b"".join(sealed(bodies_with({}))),
    "control records between": b"".join(sealed(bodies_with({}, between=True))),
    "marked values": b"".join(sealed(bodies_with({5: BIG, PAGE + 9: BIG}))),
    "an own key": b"".join(sealed(bodies_with({7: OWN_RESET}))),
    "a line of the older module": BARE + b"".join(sealed(bodies_with({}), 99)),
    "a reset": b"".join(sealed([body(9_000), *reset_bodies("r", *(body(number) for number in range(COUNT)))])),
}


@pytest.fixture(params=list(CONTENTS.values()), ids=list(CONTENTS))
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LogReader]:
    path = tmp_path / "log.jsonl"
    path.write_bytes(request.param)
    with closing(LogReader(path)) as opened:
        opened.follow()
        yield opened


def one_by_one(reader: LogReader, ordinals: Sequence[int]) -> list[Message]:
    """Messages as they are read alone: never as part of a page."""
    return [message for ordinal in ordinals for message in reader.read([ordinal])]


@proof(quick=1)
def test_every_read_gives_the_same_fresh_messages(reader: LogReader) -> None:
    """Whatever the lines are, and whatever a caller did to the messages that it got before."""
    live = reader.index.live
    expected = copy.deepcopy(one_by_one(reader, live))
    for _ in range(3):
        messages = list(reader.read(live))
        assert messages == expected
        assert [list(message) for message in messages] == [list(message) for message in expected]
        for message in messages:
            message["metadata"].clear()
            message["content"] = "altered"


@proof(quick=1)
def test_any_ordinals_are_read_in_the_order_asked_for(reader: LogReader) -> None:
    """Ranges, ranges that begin within a page, single ones, backwards, and repeated; also after a whole read."""
    last = len(reader.index)
    for _ in range(2):
        list(reader.read(range(last)))
    dice = random.Random(1)
    asked = [
        range(last),
        range(10, last),
        range(PAGE - 100, PAGE + 100),
        range(last)[::-1],
        [*range(100), *range(90, 300), 5, 5, *range(PAGE, last), 0],
        sorted(dice.sample(range(last), 400)),
        [],
    ]
    for ordinals in asked:
        assert list(reader.read(ordinals)) == one_by_one(reader, ordinals)


def test_a_page_grows(tmp_path: Path) -> None:
    """What is appended to a page that was verified is read with it."""
    path = tmp_path / "log.jsonl"
    whole = sealed([body(number) for number in range(200)])
    path.write_bytes(b"".join(whole[:100]))
    with closing(LogReader(path)) as reader:
        for count in (100, 130, 131, 200):
            path.write_bytes(b"".join(whole[:count]))
            reader.follow()
            for _ in range(3):
                assert list(reader.read(reader.index.live)) == one_by_one(reader, range(count))


@proof(quick=3)
@pytest.mark.parametrize("place", ["text", "checksum", "key", "line end"])
@pytest.mark.parametrize("page", range(PAGES))
def test_a_line_that_changed_since_it_was_verified_is_an_error(tmp_path: Path, page: int, place: str) -> None:
    """Wherever it is in whichever page; the messages before it are given, and nothing after it."""
    path = tmp_path / "log.jsonl"
    content = CONTENTS["control records between"]
    path.write_bytes(content)
    with closing(LogReader(path)) as reader:
        reader.follow()
        for _ in range(3):  # the third one has nothing left to verify
            expected = list(reader.read(reader.index.live))
        ordinal = page * PAGE + 77
        start, length = reader.index.columns.offsets[ordinal], reader.index.columns.lengths[ordinal]
        at = start + {"text": 30, "checksum": length - 5, "key": 3, "line end": 40}[place]
        altered = bytearray(content)
        altered[at] = ord("\n") if place == "line end" else altered[at] ^ 1
        with path.open("r+b") as file:
            file.write(altered)
        messages = reader.read(reader.index.live)
        assert list(islice(messages, ordinal)) == expected[:ordinal]
        with pytest.raises(LogUnreadableError, match="was changed since it was read"):
            next(messages)


def test_a_control_record_between_is_no_part_of_a_page(tmp_path: Path) -> None:
    """If it is altered, whoever reads control records tells; the messages are what they were."""
    path = tmp_path / "log.jsonl"
    content = CONTENTS["control records between"]
    path.write_bytes(content)
    with closing(LogReader(path)) as reader:
        reader.follow()
        for _ in range(3):
            expected = list(reader.read(reader.index.live))
        altered = bytearray(content)
        altered[content.index(b'"input_tokens":0') + 15] = ord("7")
        with path.open("r+b") as file:
            file.write(altered)
        assert list(reader.read(reader.index.live)) == expected
