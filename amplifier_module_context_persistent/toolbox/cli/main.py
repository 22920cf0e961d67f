"""The `context-persistent` command: the table of all commands, and the handling of errors that end a command.

A command's module is imported when the command runs or shows its help. `--help` and the completion of command names
need only the table.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click
from click.exceptions import Exit

from ... import __version__
from ...installation import needs_extra
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
        """Run the command, with given arguments or those of the process."""
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
        """Run a command."""
        with _ending(ctx):
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
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error what is done without being asked for.")
def main(*, verbose: bool) -> None:
    """Durable memory for long-running Amplifier agent sessions."""
    if verbose:
        import logging

        logger = logging.getLogger(__name__.partition(".")[0])
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)


TOOLBOX = __name__.rpartition(".cli.")[0]


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """The entry of a command in the table."""

    target: str
    """The module below the package `toolbox`, and the command's name in it: `MODULE:NAME`."""
    short_help: str

    def load(self) -> click.Command:
        """Import and return the command, with its options in the order of the help."""
        module, _, name = self.target.partition(":")
        command: click.Command = getattr(import_module(f"{TOOLBOX}.{module}"), name)
        command.params.sort(key=_place_in_help)
        return command


_FIRST = (
    "url",
    "no_catalogue",
    "last",
    "everywhere",
    "places",
    "project",
    "since_s",
    "until_s",
    "model",
    "tools",
    "name",
)
_THEN = ("tags", "without_tags", "untagged", "excepted", "failed", "most")
_LAST = ("output", "force", "dry_run", "yes", "as_json")


def _place_in_help(parameter: click.Parameter) -> int:
    """Return the sort key of an option in the help: sessions first, then own options, output, `--json`."""
    name = parameter.name or ""
    if not isinstance(parameter, click.Option):
        return -1  # arguments keep their order
    if name in (*_FIRST, *_THEN):
        return (*_FIRST, *_THEN).index(name)
    return 100 + (_LAST.index(name) + 1 if name in _LAST else 0)


SECTIONS = {
    "Look into sessions": {
        "list": CommandEntry(
            "cli.list_:list_sessions", "List the sessions of this project, by their last messages, the newest first."
        ),
        "show": CommandEntry("cli.show:show", "Show the messages of SESSION, its turns, or the calls that failed."),
        "tail": CommandEntry("cli.tail:tail", "Show the last messages of SESSION."),
        "search": CommandEntry(
            "cli.search:search_command", "Search messages of this project's sessions, or of each SESSION."
        ),
        "files": CommandEntry("cli.files:files", "Show which files SESSION touched, or which sessions touched PATH."),
        "stats": CommandEntry(
            "cli.stats:stats", "Show where the tokens, the time and the money of SESSION went, or of many sessions."
        ),
        "sql": CommandEntry("cli.sql:sql", "Ask in SQL about the figures of sessions."),
        "mcp": CommandEntry(
            "cli.mcp:mcp", "Serve past sessions to agents, over standard input and output (Model Context Protocol)."
        ),
    },
    "What the model saw": {
        "report": CommandEntry("cli.report:report", "Make one HTML page of SESSION, to read and to send round."),
        "reports": CommandEntry(
            "cli.report:reports",
            "Make pages of this project's sessions, or of those that filters choose, and one that lists them.",
        ),
        "views": CommandEntry("cli.view:views", "List the requests of SESSION."),
        "view": CommandEntry("cli.view:view", "Show what the model saw, and did not see, at a request of SESSION."),
        "replay": CommandEntry("cli.replay:replay", "Play SESSION as it happened, with its pauses."),
        "compare": CommandEntry(
            "cli.compare:compare", "Play SESSION under several policies and compare what each costs and keeps."
        ),
        "compact": CommandEntry(
            "cli.compact:compact", "Compact what the model sees of SESSION now, see what that would do, or undo it."
        ),
        "hide": CommandEntry(
            "cli.hide:hide", "Keep TURN of SESSION out of what the model sees, from the next plan on."
        ),
        "show-again": CommandEntry("cli.hide:show_again", "Show a hidden TURN of SESSION to the model again."),
    },
    "Name sessions": {
        "rename": CommandEntry("cli.label:rename", "Call SESSION by NAME, in every list, search and report."),
        "tag": CommandEntry("cli.label:tag", "Put each TAG on SESSION; without one, show its tags."),
    },
    "Copy and branch sessions": {
        "export": CommandEntry("cli.export:export", "Export the live history of SESSION, without its secrets."),
        "import": CommandEntry(
            "cli.import_:import_",
            "Make new sessions from SOURCE: a file of another agent, of the host, or of this package; "
            "or a directory of such.",
        ),
        "fork": CommandEntry("cli.fork:fork", "Make a new session that begins with SESSION's history up to turn N."),
        "diff": CommandEntry("cli.diff:diff", "Show where SESSION and OTHER part, and what each did since."),
        "copy": CommandEntry(
            "cli.copy:copy", "Copy a session's log byte for byte: to keep it, to move it, into a database."
        ),
        "sync": CommandEntry("cli.sync:sync", "Copy what is new between this home and DIR or URL, in both directions."),
        "backup": CommandEntry(
            "cli.backup:backup", "Keep copies of all sessions of this home in DIR, or restore them."
        ),
        "rewind": CommandEntry("cli.rewind:rewind", "Make SESSION's history end with turn N again."),
    },
    "Delete": {
        "delete": CommandEntry(
            "cli.delete:delete", "Delete SESSION: its log, what belongs to it, and its sub-agents' sessions."
        ),
        "prune": CommandEntry(
            "cli.prune:prune",
            "Delete the sessions that filters choose, such as those whose last message is older than a time.",
        ),
        "purge": CommandEntry("cli.purge:purge", "Remove history from a log for good, or a text from all logs."),
    },
    "Maintain logs": {
        "du": CommandEntry(
            "cli.du:du",
            "Show what SESSION takes on the disk, or the sessions of this project, and what could be freed.",
        ),
        "archive": CommandEntry(
            "cli.archive:archive",
            "Compress the logs of closed sessions, which every command goes on reading.",
        ),
        "verify": CommandEntry(
            "cli.verify_and_repair:verify", "Check logs: their records, their chain of checksums, their tails."
        ),
        "repair": CommandEntry("cli.verify_and_repair:repair", "Repair the end of a log without losing anything."),
        "storage": CommandEntry("cli.storage:storage", "Prepare a PostgreSQL database for logs."),
    },
    "More": {
        "demo": CommandEntry(
            "demo.command:demo", "Kill a session in the middle of a turn, resume it, and show what came of it."
        ),
    },
}
"""The commands in the order of the help."""

TABLE = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
