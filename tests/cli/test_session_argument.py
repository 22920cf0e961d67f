"""The argument SESSION and the option --last."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import click
import pytest

from amplifier_module_context_persistent.cli.parameters import Span, SpanType, chosen_positions
from amplifier_module_context_persistent.cli.session_argument import complete
from amplifier_module_context_persistent.cli.terminal import UnusableError
from amplifier_module_context_persistent.transcript.transcript import Turn
from tests.support.commands import refused, run, shows
from tests.support.projects import two_projects


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return two_projects(tmp_path, monkeypatch)


@pytest.mark.usefixtures("home")
def test_commands_take_a_name_or_the_last_session_but_not_both() -> None:
    """`--last` stands for a name; without either, or with both, it is an error in usage."""
    run("stats", "firs")
    run("verify", "firs", "fist")
    for command in ("stats", "verify"):
        run(command, "--last")
        run(command, code=2)
        run(command, "--last", "first", code=2)
    refused("stats", "nobody")


@pytest.mark.usefixtures("home")
def test_a_shell_completes_ids() -> None:
    """What was typed is completed to ids, and else to files."""
    offered = complete(None, None, "fi")  # type: ignore[arg-type]
    assert {item.value for item in offered} == {"first", "fist", "fir"}
    assert [item.type for item in complete(None, None, "x")] == ["file"]  # type: ignore[arg-type]


@pytest.mark.usefixtures("home")
def test_an_ambiguous_name_lists_the_ids() -> None:
    """So that one can be chosen."""
    said = " ".join(run("show", "fi", code=2).output.split())
    shows(said, "more than one session has that name: ", "first")
    assert "/" not in said.partition("that name: ")[2].partition(";")[0]


@pytest.mark.parametrize(
    ("text", "span"),
    [("3", (3, 3)), ("3:5", (3, 5)), ("3:", (3, None)), (":5", (None, 5)), (":", (None, None)), ("-2:", (-2, None))],
)
def test_a_range_is_read(text: str, span: Span) -> None:
    """Both ends are included; either may be left out."""
    assert SpanType().convert(text, None, None) == span


@pytest.mark.parametrize("text", ["", "0", "0:3", "a", "1:2:3", "1-2", " 1", "9" * 16])
def test_what_is_no_range_is_refused(text: str) -> None:
    """The error says how a range is written."""
    with pytest.raises(click.BadParameter, match="A:B"):
        SpanType().convert(text, None, None)


@pytest.mark.parametrize(
    ("span", "places"),
    [
        (None, (0, 10)),
        ((3, 3), (2, 3)),
        ((3, 5), (2, 5)),
        ((3, None), (2, 10)),
        ((None, 5), (0, 5)),
        ((-2, None), (8, 10)),
        ((-3, -2), (7, 9)),
        ((9, 99), (8, 10)),
    ],
)
def test_numbers_begin_at_one_and_negative_ones_count_from_the_end(span: Span | None, places: tuple[int, int]) -> None:
    """Of ten messages; a range may reach beyond the ends."""
    assert chosen_positions(10, [], None, span) == places


@pytest.mark.parametrize(("span", "said"), [((11, 11), "no message 11"), ((5, 4), "no message 5:4")])
def test_an_empty_range_says_how_many_there_are(span: Span, said: str) -> None:
    """It is an error that a person can mend."""
    with pytest.raises(UnusableError, match=rf"{said}: the session has 10"):
        chosen_positions(10, [], None, span)


def turns(*starts: int) -> Sequence[Turn]:
    return [Turn(at + 1, start, stop) for at, (start, stop) in enumerate(pairwise([*starts, 10]))]


def test_turns_are_ranges_of_messages() -> None:
    """From the first message of the first one to the last of the last one; not beside a range of messages."""
    assert chosen_positions(10, turns(0, 4, 7), (2, 2), None) == (4, 7)
    assert chosen_positions(10, turns(0, 4, 7), (-1, None), None) == (7, 10)
    assert chosen_positions(0, [], (None, None), None) == (0, 0)
    with pytest.raises(click.UsageError):
        chosen_positions(10, turns(0), (1, 1), (1, 1))
    with pytest.raises(UnusableError, match="no turn 4: the session has 3"):
        chosen_positions(10, turns(0, 4, 7), (4, 4), None)
