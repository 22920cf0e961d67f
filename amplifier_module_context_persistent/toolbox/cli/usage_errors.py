"""Usage errors on one line, with hints for wrong names of options and commands, as of other programs."""

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
"""The right names of options, by a command and a wrong name. These entries have priority over `_RENAMED`."""
_OPTION_OF_WORD = {
    "fork": ("--at", "the last turn to copy, or a message's id"),
    "rewind": ("--to", "the last turn to keep, or a message's id"),
    "show": ("--turn", "a turn"),
    "view": ("--request", "a request"),
    "tail": ("--number", "how many messages"),
}
"""The option that a person may mean by an extra argument, and the option's value, by command."""
_ARGUMENTS = {("reports", "-o"): "DIRECTORY", ("reports", "--output"): "DIRECTORY", ("rename", "--name"): "NAME"}
"""The argument to use instead of an option that a command does not have, by command and option."""


def in_one_line(error: click.UsageError, group: click.Context | None = None) -> UnusableError:
    """Return a usage error of click as an error on one line that says what to do.

    Args:
        error: an error of click; its message may have several lines.
        group: the context of the group that runs the command, for errors without a context.
    """
    context = error.ctx
    path = "context-persistent"
    if context is not None:
        path = context.command_path
    elif group is not None:
        path = f"{group.command_path} {group.invoked_subcommand or ''}".rstrip()
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        return _with_help(_no_such_option(error, context), path)
    extra = _EXTRA.fullmatch(message)
    command = _NO_COMMAND.fullmatch(message)
    if context is not None and extra is not None:
        hint = _as_option(extra[1], context)
        return UnusableError(hint) if hint else _with_help(one_line(message), path)
    if context is not None and command is not None:
        return UnusableError(_no_such_command(command[1], context, path))
    says_what_to_do = type(error) is click.UsageError and not one_line(message).startswith(_CLICKS_OWN)
    if says_what_to_do:
        return UnusableError(one_line(message))
    return _with_help(one_line(message), path)


def _with_help(text: str, path: str) -> UnusableError:
    """Return an error whose text also says how to get help on a command."""
    return UnusableError(f"{text.rstrip('.')}; see `{path} --help`")


_CLICKS_OWN = ("Got unexpected", "No such command")
"""The beginnings of click's own messages of the class `UsageError`. All other texts of this class are from this
package."""


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
    """Return a hint for a word that a command cannot take: the option that the word was probably meant for.

    The hint is "" if the command has no such option.
    """
    option, meaning = _OPTION_OF_WORD.get(context.info_name or "", ("", ""))
    if not option or " " in word:
        return ""
    parts = ["context-persistent", str(context.info_name)]
    session = context.params.get("session")
    if isinstance(session, str):
        parts.append(session)
    elif context.params.get("last"):
        parts.append("--last")
    command = shlex.join([*parts, option, word])
    return f"{option} takes {meaning}: {one_line(command)}"


def _no_such_command(command_name: str, context: click.Context, path: str) -> str:
    """Return the text that a command does not exist, with the name of the most similar command."""
    group = context.command
    names = group.list_commands(context) if isinstance(group, click.Group) else []
    similar = (
        [_COMMANDS[command_name]] if _COMMANDS.get(command_name) in names else get_close_matches(command_name, names, 1)
    )
    hint = f"see `{path} --help`"
    if similar:
        hint = f"did you mean `{path} {similar[0]}`?"
    return f"there is no command {one_line(command_name)}; {hint}"


def _no_such_option(error: click.NoSuchOption, context: click.Context | None) -> str:
    """Return a message that an option does not exist, with the option or argument to use instead."""
    problem = f"there is no option {one_line(error.option_name)}"
    if context is None:
        return problem
    known = {name for parameter in context.command.params for name in parameter.opts}
    key = (context.info_name or "", error.option_name)
    new_name = _RENAMED_IN.get(key) or _RENAMED.get(error.option_name)
    if new_name in known:
        return f"{problem}; it is {new_name}"
    if key in _ARGUMENTS:
        return f"{problem}; give {_ARGUMENTS[key]} without one"
    if error.possibilities:
        return f"{problem}; did you mean {' or '.join(sorted(error.possibilities))}?"
    return problem
