"""The console of all commands that print with rich."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.theme import Theme

_THEME = Theme({"markdown.code": "bold cyan", "markdown.code_block": "cyan"})
"""Shows code without its own background, which would be a dark patch in a light terminal."""


_PIPE_COLUMNS = 100_000
"""The width in a pipe, so that nothing is wrapped: nobody can use an id or a path on two lines."""


class PlainConsole(Console):
    """A console on the standard output that prints square brackets literally, and raises on a broken pipe."""

    def __init__(self) -> None:
        super().__init__(file=sys.stdout, markup=False, highlight=False, emoji=False, theme=_THEME)
        if not self.is_terminal:
            self.width = _PIPE_COLUMNS

    def on_broken_pipe(self) -> None:
        """Raise the error again; rich calls this while it handles the error."""
        raise
