"""The `context-persistent` command."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from .. import __version__
from ..demo.command import demo
from .compare import compare
from .exit_codes import INTERRUPTED, NO_READER
from .export import export
from .fork import fork, rewind
from .import_ import import_
from .list_ import list_sessions
from .maintenance import purge, repair, verify
from .replay import replay
from .report import report
from .search import search_command
from .show import show
from .stats import stats
from .tail import tail
from .terminal import UnusableError, reason
from .views import view, views

SECTIONS = {
    "Look into sessions": ("list", "show", "tail", "search", "stats"),
    "What the model saw": ("report", "views", "view", "replay", "compare"),
    "Copy and branch sessions": ("export", "import", "fork", "rewind"),
    "Maintain logs": ("verify", "repair", "purge"),
}
"""The commands in the order of the help; a command that is not listed here comes last."""


class Commands(click.Group):
    """The commands in sections; Ctrl-C and a closed pipe end any of them without a traceback."""

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
            ctx.exit(NO_READER)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except OSError as error:
            raise UnusableError(f"cannot continue: {reason(error)}") from error
        finally:
            _let_go_of_output()


def _let_go_of_output() -> None:
    """Discard buffered output that cannot be written, so that the interpreter does not try again at exit."""
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
main.add_command(report)
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
