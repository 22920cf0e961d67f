"""Show long output in a pager, as git does: only in a terminal, and only if it is longer than the screen.

`PAGER` names the program (`less` by default); empty or `cat` means none. `LESS` is `FRX` by default: end at once if
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
    """Send the output of a `with` block through the pager; leaving the pager early is no error.

    Yields:
        Whether there is a pager. If so, the pager owns the terminal from the first printed line on.
    """
    command = os.environ.get("PAGER", _DEFAULT).strip()
    if command in _NONE or not sys.stdout.isatty():
        yield False
        return
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    try:
        pager = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, env=environment)  # noqa: S603 - the user's own
    except (OSError, ValueError):
        yield False  # the program does not exist
        return
    if pager.stdin is None:
        raise AssertionError("a pipe was asked for")
    terminal = sys.stdout
    sys.stdout = _Terminal(pager.stdin, encoding=sys.stdout.encoding, errors="backslashreplace")
    try:
        yield True
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the user has left the pager
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        sys.stdout = terminal
        _wait(pager)


class _Terminal(io.TextIOWrapper):
    """A pipe to a pager, which shows colours."""

    def isatty(self) -> bool:
        """Return True, because the pager prints to a terminal."""
        return True


def _wait(pager: subprocess.Popen[bytes]) -> None:
    """Wait until the pager ends; until then the pager handles Ctrl-C."""
    while True:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
        return
