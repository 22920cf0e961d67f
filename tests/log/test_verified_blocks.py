"""Bytes that were verified are compared when they are read again, and any others are verified."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log import read_back, verified_blocks
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.record import encode_control, encode_message
from amplifier_module_context_persistent.log.verified_blocks import VerifiedBlocks, VerifiedBytes
from tests.support.logs import STAMP, body, number_of, reset_bodies, sealed
from tests.support.scans import scan

LINES = sealed([body(number) for number in range(150)])
BIG = encode_message({"role": "user", "content": 2**70}, message_id="big", timestamp=STAMP)


class Counted(bytes):
    """Bytes that were read: how many are held, and how often one was asked for its length."""

    held = asked = 0

    def __init__(self, _content: bytes) -> None:
        Counted.held += 1

    def __del__(self) -> None:
        Counted.held -= 1

    def __len__(self) -> int:
        Counted.asked += 1
        return super().__len__()


class Log:
    """A log's bytes, its index, and what was verified of it; `checksums` counts the bytes that were summed."""

    def __init__(self, lines: Sequence[bytes], patch: pytest.MonkeyPatch) -> None:
        self.content = bytearray(b"".join(lines))
        self.index: Index = scan(lines).index
        self.blocks = VerifiedBlocks()
        self.checksums = 0
        real = read_back.crc32

        def counting(data: bytes, seed: int = 0) -> int:
            self.checksums += len(data)
            return real(data, seed)

        patch.setattr(read_back, "crc32", counting)

    def messages(self, ordinals: Sequence[int]) -> Iterator[dict[str, object]]:
        return self.blocks.parsed(
            self.index, ordinals, lambda offset, size: Counted(self.content[offset : offset + size]), "log"
        )

    def numbers(self, ordinals: Sequence[int]) -> list[int]:
        return [number_of(message) for message in self.messages(ordinals)]

    def summed(self, ordinals: Sequence[int]) -> int:
        """How many bytes were summed to read records, which must be the right ones."""
        before = self.checksums
        assert self.numbers(ordinals) == list(ordinals)
        return self.checksums - before


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    return Log(LINES, monkeypatch)


def test_what_is_read_again_needs_no_checksum(log: Log) -> None:
    """Nor does a part of it from its beginning; of one that goes on, only the rest does."""
    first = log.summed(range(100))
    assert first > 0
    assert log.summed(range(100)) == 0
    assert log.summed(range(70)) == 0
    assert 0 < log.summed(range(150)) < 0.6 * first
    assert log.summed(range(150)) == 0
    assert log.summed(range(100)) == 0


def test_other_records_of_the_same_bytes_are_verified(log: Log) -> None:
    """What lies between two records that were asked for was not verified."""
    log.summed([0, 2, 4])
    assert log.summed([0, 1, 2, 3, 4]) > 0
    assert log.summed([0, 2, 4]) > 0


def test_each_reading_gives_messages_of_its_own(log: Log) -> None:
    """A caller may change them."""
    one, other = list(log.messages(range(5))), list(log.messages(range(5)))
    one[0]["content"] = "changed"
    assert other == list(log.messages(range(5)))


def test_who_takes_no_more_than_the_messages_leaves_them_verified(log: Log) -> None:
    """A reader that knows their number does not ask whether there is one more."""
    messages = log.messages(range(80))
    for _ in range(80):
        next(messages)
    assert log.summed(range(80)) == 0


def test_a_reading_that_is_given_up_verifies_nothing_for_the_next(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of its block was not looked at."""
    monkeypatch.setattr(verified_blocks, "BATCH_LINES", 64)
    next(log.messages(range(150)))
    assert log.summed(range(150)) > 0


@pytest.mark.parametrize("reads", [1, 2, 3])
def test_every_changed_bit_is_an_error_however_often_the_bytes_were_read(log: Log, reads: int) -> None:
    """And what comes before the line is given; with the old bytes back, all is given."""
    for _ in range(reads):
        log.numbers(range(9))
    start, length = log.index.offsets[6], log.index.lengths[6]
    for at in range(start, start + length - 1):
        for bit in range(8):
            log.content[at] ^= 1 << bit
            given = []
            with pytest.raises(LogUnreadableError, match="was changed since it was read"):
                given.extend(map(number_of, log.messages(range(9))))
            assert given == [*range(6)]
            log.content[at] ^= 1 << bit
    assert log.summed(range(9)) == 0


def test_a_message_exchanged_for_another_sound_one_is_an_error(log: Log) -> None:
    """One whose own checksum holds, at the place of one that was verified."""
    log.numbers(range(9))
    other = sealed([body(5)], log.index.seeds[4])[0]
    at = log.index.offsets[4]
    assert len(other) == log.index.lengths[4]
    log.content[at : at + len(other)] = other
    with pytest.raises(LogUnreadableError):
        log.numbers(range(9))


@pytest.mark.parametrize("cut", [1, 2, 20, 100, 500])
def test_a_log_that_was_cut_is_an_error(log: Log, cut: int) -> None:
    """Whatever was verified of it; but for the last LF, which is no part of a record."""
    log.numbers(range(150))
    del log.content[-cut:]
    if cut == 1:
        assert log.summed(range(150)) > 0
        return
    with pytest.raises(LogUnreadableError):
        log.numbers(range(150))


def test_changes_between_the_records_asked_for_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that nobody asked for are not handed out; the records are verified again."""
    log = Log(sealed([body(0), encode_control("view", id="v"), body(1)]), monkeypatch)
    log.summed([0, 1])
    assert log.summed([0, 1]) == 0
    log.content[log.index.lengths[0] + 5] ^= 1
    assert log.summed([0, 1]) > 0


def test_another_index_begins_anew(log: Log) -> None:
    """What was verified for one scan says nothing of another one."""
    log.summed(range(9))
    log.index = scan(LINES).index
    assert log.summed(range(9)) > 0
    log.blocks.clear()
    assert log.summed(range(9)) > 0


def test_no_more_is_kept_than_the_bound(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading of more keeps nothing; of several, those go that were verified longest ago."""
    tenth = log.index.offsets[15]
    monkeypatch.setattr(verified_blocks, "KEPT_BYTES", 5 * tenth)
    log.summed(range(20))
    log.summed(range(150))
    assert log.summed(range(20)) == 0
    assert log.summed(range(150)) > 0
    log.summed(range(50, 90))
    log.summed(range(100, 140))
    assert log.summed(range(20)) > 0
    assert log.summed(range(100, 140)) == 0


def test_a_reading_of_more_holds_no_more_than_the_bound(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long log is passed by: what was read of it goes, even while the reading goes on."""
    monkeypatch.setattr(verified_blocks, "KEPT_BYTES", log.index.offsets[15])
    backwards = range(149, -1, -1)  # each one a block of its own
    held = {Counted.held for _ in log.messages(backwards)}
    assert max(held) - min(held) < 20


def test_a_message_more_costs_the_same_however_many_are_kept(log: Log) -> None:
    """Those that are kept are not gone through for each one that is read."""
    costs = []
    for ordinal in range(149, -1, -1):
        before = Counted.asked
        log.summed([ordinal])
        costs.append(Counted.asked - before)
    assert max(costs) == costs[0]


@pytest.mark.parametrize(
    "lines",
    [
        sealed([BIG, *reset_bodies("r", BIG, body(1))]),
        [b'{"role":"user","content":%d}\n' % 2**70, *sealed([BIG], 7)],
        [sealed([BIG])[0].replace(b'"}\n', b'" }\n'), *sealed([BIG])],  # another program wrote the first one anew
        [*sealed([body(0), BIG])[1:], *sealed([BIG])],  # the first one's checksum does not hold
    ],
)
def test_what_is_written_otherwise_than_most_lines_is_the_same_each_time(
    lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marked values, members of a reset, lines without a checksum or with a wrong one."""
    log = Log(lines, monkeypatch)
    ordinals = range(len(log.index))
    first = list(log.messages(ordinals))
    assert 2**70 in [message["content"] for message in first]
    assert all({"_json", "_reset", "_crc"}.isdisjoint(message) for message in first)
    assert list(log.messages(ordinals)) == list(log.messages(ordinals)) == first


# -- bytes that are kept to be compared -------------------------------------------------------------------------------


def holding(log: Log, asked: list[int]) -> Callable[[Iterable[tuple[int, bytes]]], bool]:
    """Compares pieces with a log's bytes, and notes how many there were."""

    def holds(pieces: Iterable[tuple[int, bytes]]) -> bool:
        pieces = list(pieces)
        asked.append(len(pieces))
        return all(log.content[start : start + len(content)] == content for start, content in pieces)

    return holds


def test_bytes_are_kept_of_what_was_verified_alone(log: Log) -> None:
    """Of a record that was not read, or whose bytes went since, nothing is known."""
    verified = VerifiedBytes(log.blocks, log.index, holding(log, []))
    assert not verified.add([3])
    log.summed([3, 4, 9])
    assert verified.add([3, 4, 9])
    assert verified.unchanged()
    assert not verified.add([9, 10])
    log.blocks.clear()
    assert not verified.add([3])
    assert verified.unchanged()


def test_a_changed_bit_of_any_record_that_was_added_is_seen(log: Log) -> None:
    """And none of any other record after a cut."""
    log.summed(range(20))
    log.summed([30, 31])
    verified = VerifiedBytes(log.blocks, log.index, holding(log, []))
    assert verified.add([*range(10)])
    log.summed([10, 12, 14])
    assert verified.add([10, 12, 14])
    assert verified.add([30, 31])
    starts = {ordinal: log.index.offsets[ordinal] for ordinal in range(40)}
    for ordinal in (*range(10), 10, 12, 14, 30, 31):
        log.content[starts[ordinal] + 30] ^= 4
        assert not verified.unchanged()
        log.content[starts[ordinal] + 30] ^= 4
    log.content[starts[20] + 30] ^= 4
    assert verified.unchanged()
    verified.cut(13)
    log.content[starts[31] + 30] ^= 4
    assert verified.unchanged()
    log.content[starts[5] + 30] ^= 4
    assert not verified.unchanged()
    verified.cut(0)
    assert verified.unchanged()


def test_what_is_added_after_a_cut_is_cut_by_its_own_place(log: Log) -> None:
    """Records are counted from the beginning, without those that went."""
    log.summed(range(10))
    log.summed([30, 31])
    log.summed([40])
    verified = VerifiedBytes(log.blocks, log.index, holding(log, []))
    assert verified.add([*range(10)])
    assert verified.add([30, 31])
    verified.cut(10)
    assert verified.add([40])
    verified.cut(11)
    log.content[log.index.offsets[40] + 30] ^= 4
    assert not verified.unchanged()
    verified.cut(10)
    assert verified.unchanged()


def test_what_follows_each_other_is_compared_together(log: Log) -> None:
    """So a session that goes on does not read more and more pieces."""
    asked: list[int] = []
    verified = VerifiedBytes(log.blocks, log.index, holding(log, asked))
    for ordinal in range(60):
        log.summed([ordinal])
        assert verified.add([ordinal])
        assert verified.unchanged()
    assert asked == [1] * 60


def test_a_part_of_what_was_read_together_is_kept_too(log: Log) -> None:
    """After a plan that leaves out the rest of it."""
    log.summed(range(8))
    log.summed([90, 91])
    verified = VerifiedBytes(log.blocks, log.index, holding(log, []))
    assert verified.add([0, 1, 2, 90])
    log.content[log.index.offsets[3] + 30] ^= 4
    log.content[log.index.offsets[91] + 30] ^= 4
    assert verified.unchanged()
    log.content[log.index.offsets[2] + 30] ^= 4
    assert not verified.unchanged()


def test_no_more_bytes_are_kept_to_be_compared_than_the_bound(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was added before stays, and a cut gives room again."""
    monkeypatch.setattr(verified_blocks, "KEPT_BYTES", log.index.offsets[12])
    verified = VerifiedBytes(log.blocks, log.index, holding(log, []))
    for first in (0, 6):
        log.summed(range(first, first + 6))
        assert verified.add([*range(first, first + 6)])
    log.summed([12])
    assert not verified.add([12])
    verified.cut(0)
    assert verified.add([12])
    assert verified.unchanged()


@pytest.mark.parametrize("odd", [BIG, b'{"role":"user","content":"of the older module"}'])
def test_records_that_are_parsed_one_by_one_are_kept_too(odd: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with large numbers, and those without a checksum, with all that stands beside them."""
    lines = sealed([body(0), BIG, body(2)]) if odd is BIG else [odd + b"\n", odd.replace(b"of", b"after") + b"\n"]
    log = Log(lines, monkeypatch)
    wanted = range(len(lines))
    list(log.messages(wanted))
    verified = VerifiedBytes(log.blocks, log.index, holding(log, []))
    assert verified.add([*wanted])
    assert verified.unchanged()
    log.content[log.index.offsets[1] + 20] ^= 1
    assert not verified.unchanged()
    with pytest.raises(LogUnreadableError):
        list(log.messages(wanted))
