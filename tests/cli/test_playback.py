"""Steps with a way back, and keys as commands."""

from __future__ import annotations

import pytest

from amplifier_module_context_persistent.cli.keyboard import QUIT, Keys
from amplifier_module_context_persistent.cli.playback import BACK, GO, PAUSE, TELL, Course, wait_for_command
from amplifier_module_context_persistent.replay.api import Seen
from amplifier_module_context_persistent.replay.timeline import Step
from amplifier_module_context_persistent.transcript.transcript import Placed


def message(number: int) -> Step:
    return Step(1, number - 1, None, placed=Placed(number, {"role": "user", "content": ""}, tuple))


def request(number: int) -> Step:
    return Step(1, number, None, seen=Seen(number, number, "", 0, 0, None, None))


class Pressed(Keys):
    """A keyboard on which keys were pressed."""

    def __init__(self, *keys: str) -> None:
        self._keys = list(keys)

    def wait(self, timeout_s: float | None) -> str:
        return self._keys.pop(0) if self._keys else ""


def test_a_course_goes_forward_and_back() -> None:
    """Back is to the message before the last one; from there everything comes again, requests too, and once."""
    steps = [message(1), request(1), message(2), message(3)]
    course = Course(iter(steps))
    assert course.back() is None
    for step in steps[:3]:
        assert course.peek() is step
        course.advance()
    assert course.back() is steps[0]
    assert course.back() is None
    for step in steps[1:]:
        assert course.peek() is step
        course.advance()
    assert course.peek() is None
    assert course.back() is steps[2]
    assert course.peek() is steps[3]


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ((" ",), GO),
        (("\r",), GO),
        (("",), GO),
        (("p",), PAUSE),
        (("b",), BACK),
        (("\x7f",), BACK),
        (("?",), TELL),
        (("x", "\x1b", "[", "p"), PAUSE),
        (("n",), 4),
        (("1", "2", "g"), 9),
        (("g", "7", "g"), 7),
        (("0", "g"), 1),
        ((QUIT,), 0),
    ],
)
def test_keys_are_commands(keys: tuple[str, ...], wanted: str | int) -> None:
    """In turn 3 of 9; other keys do nothing, and the end of the time is like space."""
    assert wait_for_command(Pressed(*keys), 3, 9, 1.0) == wanted


def test_after_the_last_turn_is_the_end() -> None:
    """N in the last turn quits."""
    assert wait_for_command(Pressed("n"), 9, 9, None) == 0
