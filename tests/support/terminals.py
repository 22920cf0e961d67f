"""The command in a pseudo-terminal, and text on which a terminal would act."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HOSTILE = "[bold]bold[/bold] [link=http://x]\x1b[31mred\x1b[0m \x9b5n \u202e\x07 \ud800 ü"


COMMAND = str(Path(sys.executable).with_name("context-persistent"))


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        import pty

        self.own, other = pty.openpty()
        given = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40", **environment}
        self.process = subprocess.Popen(
            [COMMAND, *arguments], stdin=other, stdout=other, stderr=other, env=given, start_new_session=True
        )
        os.close(other)
        self.shown = ""

    def until(self, text: str) -> None:
        """Read until a text was shown."""
        end = time.monotonic() + 60
        while text not in self.shown:
            assert time.monotonic() < end, f"{text!r} is not in {self.shown!r}"
            if self.is_ready(1):
                try:
                    self.shown += os.read(self.own, 65_536).decode("utf-8", "replace")
                except OSError:
                    assert text in self.shown, self.shown
                    return

    def is_ready(self, timeout_s: float) -> bool:
        """Whether something was shown or the other side is closed."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.own, selectors.EVENT_READ)
            return bool(selector.select(timeout_s))

    def press(self, keys: str) -> None:
        os.write(self.own, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C, again after a while: Python loses one that comes just before it begins to wait for a line."""
        os.killpg(self.process.pid, signal.SIGINT)
        if not self.is_ready(10):  # a second one while the command ends would be told
            os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> int:
        """Wait for the end; the exit code."""
        try:
            while self.is_ready(60) and (more := os.read(self.own, 65_536)):
                self.shown += more.decode("utf-8", "replace")
        except OSError:
            pass  # the other side is closed
        os.close(self.own)
        return self.process.wait(timeout=60)


posix = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
