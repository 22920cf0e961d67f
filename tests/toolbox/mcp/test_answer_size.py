"""How much of an answer fits: whatever its letters, and as many items as there is room for."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.mcp import answer_size
from amplifier_module_context_persistent.toolbox.mcp.answer_size import MOST_TOKENS, fits, in_limit


@pytest.mark.parametrize("letter", ["ж", "é", "अ", "語", "→"])
def test_each_letter_beyond_ascii_may_be_a_token(letter: str) -> None:
    """Of models whose vocabulary lacks the language."""
    assert fits({"text": letter * (MOST_TOKENS // 2)})
    assert not fits({"text": letter * MOST_TOKENS})


def test_a_text_in_ascii_takes_what_the_estimate_says() -> None:
    assert fits({"text": "some words " * (MOST_TOKENS // 3)})
    assert not fits({"text": "some words " * MOST_TOKENS})


@pytest.mark.parametrize("room", [0, 1, 2, 6, 7, 8])
def test_as_many_items_are_given_as_fit(room: int) -> None:
    """From the first one on, in order; without asking for each."""
    items: list[dict[str, Any]] = [{"number": number} for number in range(7)]
    asked = 0

    def fits_together(given: list[dict[str, Any]]) -> bool:
        nonlocal asked
        asked += 1
        assert given == items[: len(given)]
        return len(given) <= room

    assert in_limit(items, fits_together) == items[:room]
    assert asked <= 3
    assert in_limit([], fits_together) == []


def test_the_limit_is_that_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """One token more does not fit."""
    answer = {"text": "x"}
    sizes = [size for size in range(20) if monkeypatch.setattr(answer_size, "MOST_TOKENS", size) or fits(answer)]
    assert sizes == list(range(sizes[0], 20))
    assert 3 <= sizes[0] <= 10
