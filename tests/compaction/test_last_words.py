"""The last words of finished turns."""

from amplifier_module_context_persistent.compaction.last_words import answers_by_human, hold_last_words, last_words
from tests.support.drafts import draft


def test_they_are_the_last_text_before_a_person_speaks() -> None:
    """Not what was said on the way, nor a turn that ends with a call, nor the turn in progress."""
    made = draft("u:10 a:20 t:30 a:20 u:10 t:30 u:10 a:5", 1_000)
    assert last_words(made.groups) == [3]
    assert answers_by_human(made.groups) == {0: 3}


def test_the_newest_are_held_within_a_quarter_of_the_target() -> None:
    """Long ones by what they come to when they are shortened."""
    made = draft("u:1 a:900 " * 6 + "u:1 a:9", 1_600)
    hold_last_words(made)
    assert made.held == {5, 7, 9, 11}
    assert {cut.head_chars for cut in made.shorter.values()} == {270}
    made = draft("u:1 a:900 " * 6 + "u:1 a:9", 16_000)
    hold_last_words(made)
    assert made.held == {1, 3, 5, 7, 9, 11}
    assert {cut.head_chars for cut in made.shorter.values()} == {400}


def test_short_ones_stay_as_they_are() -> None:
    """A text that is not much longer than its cut is not worth a marker."""
    made = draft("u:1 a:110 u:1 a:9", 1_600)
    hold_last_words(made)
    assert (made.held, made.shorter) == ({1}, {})
