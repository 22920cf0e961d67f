"""Keys, read one at a time from a terminal."""

import contextlib
import os
import sys
from collections.abc import Iterator

import pytest

from amplifier_module_context_persistent.cli import keyboard
from amplifier_module_context_persistent.cli.keyboard import QUIT, Keys

posix = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")


@pytest.fixture
def typist(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of the terminal that is the standard input."""
    typist, terminal = os.openpty()
    with os.fdopen(terminal, closefd=True) as stdin:
        monkeypatch.setattr(keyboard.sys, "stdin", stdin)
        yield typist
    os.close(typist)


@posix
def test_a_key_is_read_without_return(typist: int) -> None:
    """As soon as it is there; without one, nothing after the timeout."""
    with Keys() as keys:
        assert keys.wait(0.01) == ""
        os.write(typist, b"ab")
        assert keys.wait(5) == "a"
        assert keys.wait(None) == "b"


@posix
def test_a_terminal_may_have_any_descriptor(typist: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that holds a thousand files open reads keys, too."""
    import fcntl
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit != resource.RLIM_INFINITY and limit < 1_200:
        pytest.skip("a process may not hold that many files here")
    high = fcntl.fcntl(keyboard.sys.stdin.fileno(), fcntl.F_DUPFD, 1_100)
    with os.fdopen(high) as stdin:
        monkeypatch.setattr(keyboard.sys, "stdin", stdin)
        with Keys() as keys:
            os.write(typist, b"a")
            assert keys.wait(5) == "a"


@posix
def test_the_terminal_is_left_as_it_was(typist: int) -> None:
    """Also after an error."""
    import termios

    before = termios.tcgetattr(typist)
    keys = Keys()
    with contextlib.suppress(KeyError), keys:
        assert termios.tcgetattr(typist) != before
        raise KeyError
    assert termios.tcgetattr(typist) == before


@posix
def test_the_end_of_the_input_quits(monkeypatch: pytest.MonkeyPatch, typist: int) -> None:
    """Nobody can press a key any more."""
    monkeypatch.setattr(keyboard.os, "read", lambda *_: b"")
    with Keys() as keys:
        os.write(typist, b"x")
        assert keys.wait(5) == QUIT


def test_without_a_terminal_it_only_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the time that it was given."""
    waited: list[float] = []
    monkeypatch.setattr(keyboard.time, "sleep", waited.append)
    with open(os.devnull, encoding="utf-8") as stdin:
        monkeypatch.setattr(keyboard.sys, "stdin", stdin)
        with Keys() as keys:
            assert keys.wait(3.5) == ""
    assert waited == [3.5]
