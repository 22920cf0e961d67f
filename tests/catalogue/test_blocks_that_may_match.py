"""Filters that say in which blocks a text may stand: what catalogues hold was made with the same hashes."""

from zlib import crc32

from amplifier_module_context_persistent.catalogue.blocks_that_may_match import filters_of
from amplifier_module_context_persistent.catalogue.bloom_filter import RUN_CHARS, asked_parts, make_filters, may_hold

TEXT = "".join(f"{number * 7919 % 10007} word{number} " for number in range(2_000))


def runs_of(text: str) -> set[str]:
    return {text[at : at + RUN_CHARS] for at in range(len(text) - RUN_CHARS + 1)}


def passes(run: str, filters: list[bytes]) -> bool:
    """Whether a run may be in a block."""
    ((part, places),) = asked_parts([run])
    return may_hold(filters[part], places)


def test_a_filter_is_the_one_that_catalogues_hold() -> None:
    """With other hashes, a search would pass over what older filters were made for."""
    assert crc32(b"".join(make_filters(["abc", "bcd", "cde", "xyz"]))) == 2_755_747_420


def test_a_block_has_the_runs_of_its_text_and_no_other() -> None:
    assert filters_of(TEXT) == make_filters(runs_of(TEXT))


def test_a_run_that_is_not_there_seldom_passes() -> None:
    """Both places of a run are used: with one, four times as many would."""
    runs = runs_of(TEXT)
    filters = filters_of(TEXT)
    letters = "abcdefghijklmnopqrstuvwxyz"
    others = {f"{one}{other}{digit}" for one in letters for other in letters for digit in range(9)} - runs
    assert all(passes(run, filters) for run in runs)
    assert sum(passes(run, filters) for run in others) < 0.08 * len(others)
