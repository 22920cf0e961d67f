"""The `context-persistent` command."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from .. import __version__
from ..demo.command import demo
from .compare import compare
from .export import export, import_
from .fork import fork, rewind
from .list_ import list_sessions
from .maintenance import purge, repair, verify
from .replay import replay
from .search import search_command
from .show import show
from .stats import stats
from .tail import tail
from .terminal import UnusableError, reason
from .views import view, views

SECTIONS = {
    "Look into sessions": ("list", "show", "tail", "search", "stats"),
    "What the model saw": ("views", "view", "replay", "compare"),
    "Carry sessions over": ("export", "import", "fork", "rewind"),
    "Look after logs": ("verify", "repair", "purge"),
}
"""The commands in the help's order; those that it does not name come last."""

_INTERRUPTED = 130  # as a shell tells of a process that SIGINT ended
_NO_READER = 141  # likewise of SIGPIPE


class Commands(click.Group):
    """The commands in sections; an interrupt and a reader that has gone end any of them without a word."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the help's order."""
        sorted_names = [name for names in SECTIONS.values() for name in names if name in self.commands]
        return [*sorted_names, *sorted(self.commands.keys() - set(sorted_names))]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, section by section."""
        listed = self.list_commands(ctx)
        sections = {title: [name for name in names if name in listed] for title, names in SECTIONS.items()}
        sections["More"] = [name for name in listed if not any(name in names for names in SECTIONS.values())]
        limit = formatter.width - 6 - max(map(len, listed))
        for title, names in sections.items():
            if names:
                with formatter.section(title):
                    formatter.write_dl([(name, self.commands[name].get_short_help_str(limit)) for name in names])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            ctx.exit(_NO_READER)
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except OSError as error:
            raise UnusableError(f"it cannot go on: {reason(error)}") from error
        finally:
            _let_go_of_output()


def _let_go_of_output() -> None:
    """Throw away what is buffered where it cannot be written, so that the interpreter does not try again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="context-persistent")
def main() -> None:
    """Durable memory for long-running Amplifier agent sessions."""


main.add_command(demo)
main.add_command(list_sessions)
main.add_command(show)
main.add_command(tail)
main.add_command(search_command)
main.add_command(stats)
main.add_command(views)
main.add_command(view)
main.add_command(replay)
main.add_command(compare)
main.add_command(verify)
main.add_command(repair)
main.add_command(purge)
main.add_command(export)
main.add_command(import_)
main.add_command(fork)
main.add_command(rewind)
