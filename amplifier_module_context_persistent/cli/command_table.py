"""All commands, by section: what each does in one line, and where it is.

A command is imported when it is run or asked for its help, not before: `--help` and the completion of names need only
this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import click

PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command of the table."""

    target: str
    """The module below the package, and the command's name in it."""
    short_help: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, name = self.target.partition(":")
        command: click.Command = getattr(import_module(f"{PACKAGE}.{module}"), name)
        return command


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
        "stats": CommandEntry(
            "cli.stats:stats", "Show where the tokens, the time and the money of SESSION went, or of many sessions."
        ),
        "sql": CommandEntry("cli.sql:sql", "Ask in SQL what sessions come to."),
    },
    "What the model saw": {
        "report": CommandEntry("cli.report:report", "Make one HTML page of SESSION, to read and to send round."),
        "reports": CommandEntry(
            "cli.report:reports", "Make pages of this project's sessions, and one that lists them."
        ),
        "views": CommandEntry("cli.views:views", "List the requests of SESSION."),
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
    "Copy and branch sessions": {
        "export": CommandEntry("cli.export:export", "Export the live history of SESSION, without its secrets."),
        "import": CommandEntry(
            "cli.import_:import_",
            "Make new sessions from SOURCE: a file of another agent, of the host, or of this package; "
            "or a directory of such.",
        ),
        "fork": CommandEntry("cli.fork:fork", "Make a new session that begins with SESSION's history up to turn N."),
        "copy": CommandEntry(
            "cli.copy:copy", "Copy a session's log byte for byte: to keep it, to move it, into a database."
        ),
        "rewind": CommandEntry("cli.fork:rewind", "Make SESSION's history end with turn N again."),
    },
    "Delete": {
        "delete": CommandEntry(
            "cli.delete:delete", "Delete SESSION: its log, what belongs to it, and its sub-agents' sessions."
        ),
        "prune": CommandEntry(
            "cli.delete:prune", "Delete this project's sessions whose last message is older than a time."
        ),
        "purge": CommandEntry("cli.purge:purge", "Remove history from a log for good, or a text from all logs."),
    },
    "Maintain logs": {
        "verify": CommandEntry(
            "cli.maintenance:verify", "Check logs: their records, their chain of checksums, their tails."
        ),
        "repair": CommandEntry("cli.maintenance:repair", "Repair the end of a log without losing anything."),
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
