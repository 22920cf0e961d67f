"""The lines that a message shows as the answer to a question."""

from amplifier_module_context_persistent.search.ranking import Ranked
from amplifier_module_context_persistent.search.snippet import marks_of
from amplifier_module_context_persistent.sessions.best_messages import BestMessage
from amplifier_module_context_persistent.sessions.session_files import SessionFile
from amplifier_module_context_persistent.sessions.transcript import LiveMessage


def found(text: str, word: str) -> BestMessage:
    message = {"role": "assistant", "content": text}
    marks = marks_of(text, {word: 1.0})
    ranked = Ranked(0, 0, 1.0, (), spoke=False, in_period=False, seconds=0)
    placed = LiveMessage(1, message, tuple)
    return BestMessage(SessionFile("log", "s", "", 0.0), placed, ranked, text, marks, range(len(marks)))


def test_the_lines_with_the_words_are_shown() -> None:
    told = found("\nfirst\nthe index\nmore\nindex again", "index")
    assert [(line.number, line.text) for line in told.lines()] == [(3, "the index"), (5, "index again")]
    assert [line.number for line in told.lines(1)] == [3]


def test_without_any_of_the_words_the_first_words_are_shown() -> None:
    """A word may be in a form that the text has not; a text of blanks has an empty line."""
    assert [line.text for line in found("\n \nfirst\nsecond", "index").lines()] == ["first"]
    assert [line.text for line in found(" \n", "index").lines()] == [""]
