"""The table of all commands: which module has each, and its line in the help.

`--help` and the completion of command names need only this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import click

TOOLBOX = __name__.rpartition(".cli.")[0]


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """The entry of a command in the table."""

    target: str
    """The command's module below the package `toolbox`, and the name of the command in this module: `MODULE:NAME`."""
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
            "cli.stats:stats", "Show the tokens, the time and the money that SESSION, or many sessions, used."
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
            "Compress the logs of closed sessions.",
        ),
        "verify": CommandEntry(
            "cli.verify_and_repair:verify", "Check logs: their records, their chain of checksums, their tails."
        ),
        "repair": CommandEntry("cli.verify_and_repair:repair", "Repair the end of a log without losing anything."),
        "storage": CommandEntry("cli.storage:storage", "Prepare a PostgreSQL database for logs, and check it."),
    },
    "More": {
        "demo": CommandEntry(
            "demo.command:demo", "Kill a session in the middle of a turn, resume it, and show what came of it."
        ),
    },
}
"""The commands in the order of the help."""

TABLE = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
