"""Printing, asking and reporting: what comes from a log never acts on the terminal."""

import pytest

from amplifier_module_context_persistent.catalogue.catalogue_file import CatalogueError
from amplifier_module_context_persistent.errors import DependencyError, LogUnreadableError
from amplifier_module_context_persistent.toolbox.cli.terminal import (
    UnusableError,
    counted,
    escaped,
    escaped_body,
    one_line,
    open_transcript,
    unreadable,
    unusable,
)


def test_one_line_holds_no_control_character() -> None:
    """Each becomes a question mark."""
    assert one_line("a\x1b[31m\nb\x07\u202eü") == "a?[31m?b??ü"


def test_text_is_escaped_and_keeps_its_lines() -> None:
    """What prints stays as it is; the rest is shown as JSON would show it."""
    assert escaped("a ü\n\x1b[0m") == "a ü\n\\u001b[0m"
    assert escaped("\u202e") == "\\u202e"
    assert escaped_body("a\tb") == "a       b"


def test_numbers_are_counted_in_words() -> None:
    """One of it, or more."""
    assert [counted(number, "message") for number in (0, 1, 1_234)] == ["0 messages", "1 message", "1,234 messages"]
    assert [counted(number, "entry") for number in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file", "a\nb"), "a?b: No such file"),
        (ValueError("x\ny"), "c: x?y"),
        (DependencyError("Install it:\nuv pip install x"), "c: Install it: uv pip install x"),
        (LogUnreadableError("cannot be read"), "c: cannot be read"),
    ],
)
def test_an_error_is_told_with_its_file_and_reason(error: Exception, said: str) -> None:
    """The file that it names, or the one that was asked for; never more than one line."""
    with pytest.raises(UnusableError) as told, unusable("c"):
        raise error
    assert told.value.message == said


def test_an_error_of_the_output_is_none_of_the_session() -> None:
    """Where something is printed, only errors of the work itself are turned into a line."""
    with pytest.raises(BrokenPipeError), unreadable("c"):
        raise BrokenPipeError
    for error in (LogUnreadableError("gone"), CatalogueError("gone"), ValueError("gone")):
        with pytest.raises(UnusableError) as told, unreadable():
            raise error
        assert told.value.message == "gone"


def test_a_session_that_cannot_be_opened_is_named() -> None:
    """With exit code 2."""
    with pytest.raises(UnusableError, match="nobody") as caught:
        open_transcript("nobody.jsonl")
    assert caught.value.exit_code == 2
