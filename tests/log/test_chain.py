"""CRC-32 backwards, and the order of lines that follows from it."""

import random
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.chain import Link, order_by_chain, seed_of, unshift
from amplifier_module_context_persistent.log.record import stored_crc
from tests.support.logs import body, sealed


@given(st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_a_crc_can_be_run_backwards(content: bytes, seed: int) -> None:
    """From the bytes and the result follows the value that they were started with."""
    assert unshift(crc32(content, seed) ^ crc32(content), len(content)) == seed


@given(st.permutations(range(8)))
def test_the_chain_gives_the_order_of_writing(order: list[int]) -> None:
    """Whatever order the lines stand in."""
    lines = [line.rstrip(b"\n") for line in sealed([body(number) for number in range(8)])]
    links = []
    for number in order:
        stored = stored_crc(lines[number])
        assert stored is not None
        links.append(Link(stored, seed_of(lines[number], stored)))
    assert [order[number] for number in order_by_chain(links)] == list(range(8))


@given(st.lists(st.none() | st.builds(Link, st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_every_line_is_given_once(links: list[Link | None]) -> None:
    """Also where checksums say nothing, contradict each other, or go round."""
    assert sorted(order_by_chain(links)) == list(range(len(links)))


def test_a_long_chain_is_no_deep_recursion() -> None:
    """The order of a long log costs memory in proportion, and no stack."""
    numbers = random.Random(1).sample(range(20_000), 20_000)
    links = [Link(number + 1, number) for number in numbers]
    assert [numbers[at] for at in order_by_chain(links)] == list(range(20_000))
