"""Generated sessions of three providers, held against the checkers; a turn of screenshots, a tenth of its size."""

import pytest

from benchmarks.requests import Found, play, screenshots
from fixtures.providers import mixed_session


@pytest.mark.parametrize("first", range(0, 200, 50))
async def test_every_view_is_one_that_its_provider_accepts(first: int) -> None:
    """With images, documents, thinking and encrypted items, and switches: no violation, and no request refused."""
    found = Found()
    for seed in range(first, first + 50):
        await play(mixed_session(seed), found)
    assert found.violations == {}, found.examples
    assert (found.sessions, found.refused) == (50, 0)
    assert found.views > 300
    assert found.switches > 20
    assert found.plans > 50
    assert found.left_out > 100


async def test_a_session_is_the_same_for_a_seed() -> None:
    """In every process."""
    assert mixed_session(7) == mixed_session(7)
    assert mixed_session(7) != mixed_session(8)


async def test_a_turn_of_screenshots_keeps_its_limit() -> None:
    """Few breaks of the prefix, and every image that gave way to a line is recalled byte for byte."""
    shots = await screenshots(60, 90_000, max_request_bytes=2_000_000)
    assert shots.most_bytes <= 2_000_000
    assert shots.breaks <= 10
    assert shots.recalled == shots.left_out >= 40
