"""The `context-persistent` command: the group of all commands, and how each of them ends."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import click

from .. import __version__
from .command_table import SECTIONS, TABLE
from .exit_codes import INTERRUPTED, NO_READER


class Commands(click.Group):
    """The commands in sections; Ctrl-C and a closed pipe end any of them without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the help's order."""
        return list(TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        return TABLE[cmd_name].load() if cmd_name in TABLE else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, section by section."""
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.short_help) for name, entry in entries.items()])

    def main(self, args: Any = None, *more: Any, **options: Any) -> Any:
        """Run as a process's command, or with given arguments."""
        _open_what_is_closed()
        try:
            return super().main(args, *more, **options)
        finally:
            if args is None:  # the process ends; what is left to do cannot be interrupted
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the arguments, which may import a command."""
        try:
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            _let_go_of_output()
            raise SystemExit(NO_READER) from None
        except OSError as error:  # the help could not be printed
            _let_go_of_output()
            raise _unusable(error) from error

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
            raise _unusable(error) from error
        finally:
            _let_go_of_output()


def _unusable(error: OSError) -> click.ClickException:
    from .terminal import UnusableError, reason

    return UnusableError(f"cannot continue: {reason(error)}")


def _open_what_is_closed() -> None:
    """Let what a shell closed (`>&-`) lead nowhere: a file that is opened must not take its number."""
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
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error what is done without being asked for.")
def main(*, verbose: bool) -> None:
    """Durable memory for long-running Amplifier agent sessions."""
    if verbose:
        import logging

        logger = logging.getLogger(__name__.partition(".")[0])
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)
