"""Patterns with words that are looked for first: they match what the pattern alone matches."""

import re
import string
import sys

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages import command_outcome, metadata
from amplifier_module_context_persistent.messages.worded_pattern import WordedPattern

PIECES = (
    *("error", "Error:", "error[", ": ERROR", "*** x error", "exception", "Traceback (most recent call last)"),
    *("failed", "fatal:", "fatal", "PANIC", "panicked at", "denied", "not found", "command not found"),
    *("no such file or directory", "Segmentation fault", "exit code 1", "exited with status: 2", '"returncode": 1'),
    *(
        '"exit_code":3',
        "Err\u0130or",
        "FA\u0131LED",
        "pan\u0130c",
        "trace\u212a",
        "\u017fegmentation fault",
        "bac\u212a",
    ),
    *("trac", "e", "r", " ", "\n", ".", "\u2713", "\U0001f600", "k", "I"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_words_change_nothing(text: str) -> None:
    """The patterns that are in use match the same texts as without their words."""
    for worded in (metadata.ERROR, command_outcome.TELLS_ERROR, command_outcome.RUN_FAILED):
        assert worded.is_in(text) is (worded.pattern.search(text) is not None)


def test_every_letter_that_stands_for_another() -> None:
    """Whatever a pattern that ignores case takes for a letter of ASCII is taken for it in its words too."""
    any_letter = re.compile("[a-z]", re.IGNORECASE)
    signs = [sign for sign in map(chr, range(sys.maxunicode + 1)) if any_letter.match(sign)]
    assert len(signs) > 2 * len(string.ascii_lowercase)
    for letter in string.ascii_lowercase:
        worded = WordedPattern(re.compile(letter, re.IGNORECASE), (letter,))
        assert [sign for sign in signs if worded.is_in(sign)] == [sign for sign in signs if worded.pattern.match(sign)]


def test_a_text_without_the_words_is_not_searched() -> None:
    """Also where the pattern would match it."""
    assert not WordedPattern(re.compile("a|b", re.IGNORECASE), ("a",)).is_in("b")
