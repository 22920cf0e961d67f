"""Long output through a pager, as git does it: only in a terminal, only if it is longer than the screen.

`PAGER` names the program (`less` by default); empty or `cat` means none. `LESS` is `FRX` by default: leave at once if
the text is short, show colours, keep the text on the screen.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator

_DEFAULT = "less"
_NONE = ("", "cat")


@contextlib.contextmanager
def paged() -> Iterator[bool]:
    """Send what is printed meanwhile through the pager; leaving the pager early is no error.

    Yields:
        Whether there is a pager: from the first line that is printed on, the terminal belongs to it.
    """
    command = os.environ.get("PAGER", _DEFAULT).strip()
    if command in _NONE or not sys.stdout.isatty():
        yield False
        return
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    try:
        pager = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, env=environment)  # noqa: S603 - the user's own
    except (OSError, ValueError):
        yield False  # there is no such program
        return
    if pager.stdin is None:
        raise AssertionError("a pipe was asked for")
    terminal, sys.stdout = sys.stdout, _Terminal(pager.stdin, encoding=sys.stdout.encoding, errors="backslashreplace")
    try:
        yield True
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader has seen enough
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        sys.stdout = terminal
        _wait(pager)


class _Terminal(io.TextIOWrapper):
    """A pipe to a program that shows colours."""

    def isatty(self) -> bool:
        """Say yes: the pager prints to a terminal."""
        return True


def _wait(pager: subprocess.Popen[bytes]) -> None:
    """Wait for the reader; Ctrl-C belongs to the pager as long as that runs."""
    while True:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
        return
