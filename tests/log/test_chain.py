"""The chain: what a line that does not continue the one before it tells of its place."""

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.chain import Chain, Stray
from amplifier_module_context_persistent.log.record import seal
from tests.support.logs import body, sealed

SEEDS = st.integers(0, 0xFFFFFFFF)


@given(st.binary(min_size=1, max_size=200), SEEDS, SEEDS)
def test_a_stray_knows_its_seed_without_its_bytes(content: bytes, seed: int, other: int) -> None:
    """Only the one that it was written after; its checksum and its length are enough."""
    line, crc = seal(content, seed)
    stray = Stray.of(line[:-1], 1, crc, 0, is_message=True)
    assert stray.was_written_after(seed)
    assert stray.was_written_after(other) is (other == seed)


def test_a_line_that_was_moved_is_known_by_its_neighbours() -> None:
    """From where it stands too early, and from where it stands too late; with many strays, by none."""
    lines = [line[:-1] for line in sealed([*map(body, range(5))])]
    stored = [int(line[-10:-2], 16) for line in lines]
    strays = [Stray.of(lines[at], number, stored[at], number - 1, is_message=True) for number, at in ((2, 3), (3, 2))]
    chain = Chain()
    for stray in strays:
        chain.add_stray(stray)
    assert chain.written_before(lines[4], stored[4]) == strays[0]
    assert chain.written_before(lines[1], stored[1]) is None
    assert chain.written_after(stored[1]) == strays[1]
    assert chain.written_after(stored[0]) is None
    for _ in range(70):
        chain.add_stray(strays[0])
    assert chain.written_before(lines[4], stored[4]) is None
    assert chain.written_after(stored[1]) is None
