"""The `context-persistent` command: the group of all commands, and the handling of errors that end a command.

`command_table` says which module has which command. A module is imported when its command runs or shows its help.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import click
from click.exceptions import Exit

from ... import __version__
from ...installation import needs_extra
from ..abandoned_copies import may_be_left
from .command_table import SECTIONS, TABLE
from .exit_codes import INTERRUPTED, NO_READER, UNUSABLE


class Commands(click.Group):
    """A group of commands in sections; Ctrl-C and a closed pipe end each command without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return list(TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None if there is none with this name."""
        if cmd_name not in TABLE:
            return None
        return TABLE[cmd_name].load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands to the help, section by section."""
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.short_help) for name, entry in entries.items()])

    def main(self, args: Any = None, *more: Any, **options: Any) -> Any:
        """Run the command with the given arguments, by default those of the process.

        Raises:
            SystemExit: the command has ended; its code is the exit code.
        """
        _open_what_is_closed()
        if find_spec("rich") is None:  # every command prints with rich
            click.echo(f"context-persistent: {needs_extra('cli', 'rich')}", err=True)
            raise SystemExit(UNUSABLE)
        try:
            return super().main(args, *more, **options)
        finally:
            if args is None:  # the process ends; Ctrl-C must not interrupt the rest
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the arguments, which may import a command or print its help."""
        with _ending():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Remove plain copies of sealed files that a killed command left, and run a command."""
        with _ending(ctx):
            if may_be_left():
                from ..transfer.plain_copies import remove_abandoned_copies

                remove_abandoned_copies()
            return super().invoke(ctx)


@contextmanager
def _ending(context: click.Context | None = None) -> Iterator[None]:
    """Turn an interrupt, a closed pipe or an error of a command into a message and an exit code.

    Args:
        context: the context of the group, once it runs a command.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        raise Exit(NO_READER) from None
    except KeyboardInterrupt:
        raise Exit(INTERRUPTED) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == __name__.partition(".")[0]:
            raise
        from .error_messages import UnusableError

        raise UnusableError(needs_extra("cli", package)) from error
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # `context-persistent` alone shows the help
            raise
        from .usage_errors import in_one_line

        raise in_one_line(error, context) from error
    except OSError as error:
        from .error_messages import UnusableError, reason

        raise UnusableError(f"cannot continue: {reason(error)}") from error
    finally:
        _let_go_of_output()


def _open_what_is_closed() -> None:
    """Open /dev/null for each standard stream that the shell closed (`>&-`), so that no file gets its descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends


def _let_go_of_output() -> None:
    """Discard buffered output that cannot be written, so that the interpreter does not try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__, prog_name="context-persistent")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Report automatic steps, such as the update of a catalogue, on standard error.",
)
def main(*, verbose: bool) -> None:
    """Durable memory for long-running Amplifier agent sessions."""
    if verbose:
        import logging

        logger = logging.getLogger(__name__.partition(".")[0])
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)
