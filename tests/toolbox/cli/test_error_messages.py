"""Errors of commands, told on one line."""

import pytest

from amplifier_module_context_persistent.catalogue.catalogue_file import CatalogueError
from amplifier_module_context_persistent.errors import DependencyError, LogUnreadableError
from amplifier_module_context_persistent.toolbox.cli.error_messages import UnusableError, unreadable, unusable
from amplifier_module_context_persistent.toolbox.cli.open_transcript import open_transcript


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file", "a\nb"), "a?b: No such file"),
        (ValueError("x\ny\a"), "c: x y?"),
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
