"""Hints for wrong names of options and commands: names of older versions, or of other programs."""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches

import click

from .error_messages import UnusableError
from .terminal import one_line

_RENAMED = {
    "--all-projects": "--all",
    "--all-sessions": "--all",
    "--everywhere": "--all",
    "--no-index": "--no-catalogue",
    "--turns": "--turn",
    "--limit": "--number",
    "--before": "--until",
    "--after": "--since",
    "--newer": "--since",
    "--session": "--name",
    "--tools": "--tool",
    "--models": "--model",
    "--errors": "--failed",
    "--cwd": "--project",
    "--force": "--yes",
    "-f": "--yes",
    "-y": "--yes",
    "--out": "--output",
    "--budget": "--spend-limit",
}
"""The right names of options, by wrong names that people try."""
_RENAMED_IN = {
    ("stats", "--turns"): "--top",
    ("compare", "--yes"): "--force",
    ("purge", "--cleared-only"): "--cleared",
    ("show", "--failed"): "--errors",
}
"""The right names of options, by a command and a wrong name; these precede `_RENAMED`."""
_OPTION_OF_WORD = {
    "fork": ("--at", "the last turn to copy, or a message's id"),
    "rewind": ("--to", "the last turn to keep, or a message's id"),
    "show": ("--turn", "a turn"),
    "view": ("--request", "a request"),
    "tail": ("--number", "how many messages"),
}
"""The option that a person may mean by an extra argument, and the option's value, by command."""
_ARGUMENTS = {("reports", "-o"): "DIRECTORY", ("reports", "--output"): "DIRECTORY", ("rename", "--name"): "NAME"}
"""The argument to use, by a command and an option that it does not have."""


def in_one_line(error: click.UsageError, group: click.Context | None = None) -> UnusableError:
    """Return a usage error as an error on one line that says what to do.

    Args:
        error: the error.
        group: the context of the group that runs the command, for errors without a context.
    """
    context = error.ctx
    path = "context-persistent"
    if context is not None:
        path = context.command_path
    elif group is not None:
        path = " ".join(filter(None, (group.command_path, group.invoked_subcommand)))
    said = one_line(error.format_message())
    if isinstance(error, click.NoSuchOption):
        said = _no_such_option(error, context)
    elif context is not None and (found := _EXTRA.fullmatch(error.format_message())):
        if hint := _as_option(found[1], context):
            return UnusableError(hint)
    elif context is not None and (found := _NO_COMMAND.fullmatch(error.format_message())):
        return UnusableError(_no_such_command(found[1], context, path))
    elif type(error) is click.UsageError and not said.startswith(("Got unexpected", "No such command")):
        return UnusableError(said)  # the message says what to do
    return UnusableError(f"{said.rstrip('.')}; see `{path} --help`")


_EXTRA = re.compile(r"Got unexpected extra argument \((.*)\)\.?", re.DOTALL)
_NO_COMMAND = re.compile(r"No such command '(.*)'\.?", re.DOTALL)
_COMMANDS = {
    **dict.fromkeys(("cost", "costs", "usage", "money", "spend"), "stats"),
    **dict.fromkeys(("ls", "sessions", "history"), "list"),
    **dict.fromkeys(("grep", "find"), "search"),
    **dict.fromkeys(("cat", "log", "read"), "show"),
    **dict.fromkeys(("rm", "remove"), "delete"),
    **dict.fromkeys(("undo", "reset"), "rewind"),
    **dict.fromkeys(("html", "page"), "report"),
}
"""The right names of commands, by wrong names that people try."""


def _as_option(word: str, context: click.Context) -> str:
    """Return a hint on the option that takes an extra argument; "" if no option fits."""
    option, meaning = _OPTION_OF_WORD.get(context.info_name or "", ("", ""))
    if not option or " " in word:
        return ""
    session = context.params.get("session")
    named = [session] if isinstance(session, str) else ["--last"] if context.params.get("last") else []
    command = shlex.join(["context-persistent", str(context.info_name), *named, option, word])
    return f"{option} takes {meaning}: {one_line(command)}"


def _no_such_command(given: str, context: click.Context, path: str) -> str:
    """Return a message that a command does not exist, with the most similar one."""
    group = context.command
    names = group.list_commands(context) if isinstance(group, click.Group) else []
    close = [_COMMANDS[given]] if _COMMANDS.get(given) in names else get_close_matches(given, names, 1)
    hint = f"; did you mean `{path} {close[0]}`?" if close else f"; see `{path} --help`"
    return f"there is no command {one_line(given)}{hint}"


def _no_such_option(error: click.NoSuchOption, context: click.Context | None) -> str:
    given = one_line(error.option_name)
    if context is None:
        return f"there is no option {given}"
    known = {name for parameter in context.command.params for name in parameter.opts if not _is_hidden(parameter)}
    new = _RENAMED_IN.get((context.info_name or "", error.option_name)) or _RENAMED.get(error.option_name)
    if new in known:
        return f"there is no option {given}; it is {new}"
    if argument := _ARGUMENTS.get((context.info_name or "", error.option_name)):
        return f"there is no option {given}; give {argument} without one"
    if error.possibilities:
        return f"there is no option {given}; did you mean {' or '.join(sorted(error.possibilities))}?"
    return f"there is no option {given}"


def _is_hidden(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.hidden
