"""The console of all commands that print with rich."""

from __future__ import annotations

from rich.console import Console


class PlainConsole(Console):
    """A console that lets a broken pipe reach the command."""

    def on_broken_pipe(self) -> None:
        """Raise the error again; this is called while it is caught."""
        raise
