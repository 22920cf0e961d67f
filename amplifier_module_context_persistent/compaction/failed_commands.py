"""Failed commands that a view leaves out, unless the same command succeeded later.

A model that does not know of them runs them again. So the notice, the text in which a view says what it leaves out,
names them. A search that found nothing did not fail (`messages/outcome.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..messages.message import Message, call_arguments_of, given_calls
from ..messages.outcome import ANSWERED, FAILED, answers_with_1, outcome_of
from ..messages.tool_kinds import RUN, command_of
from ..view.entry import Entry
from .draft import Draft

MOST_KNOWN = 40  # most commands that a plan stores, most files of a kind, and most actions in one gap
MOST_CHARS = 80

_DIRECTORY = re.compile(r"\s*cd\s+\S+\s*(?:&&|;)\s*")


class _FailedRun(NamedTuple):
    """A failed command that the view leaves out."""

    head: Entry
    """The message with the call."""
    number: int
    """The index of the call among the calls of that message."""
    last_result: Entry
    """The result of the newest run of the same command."""


def failed_commands(draft: Draft, known: Sequence[str]) -> tuple[str, ...]:
    """Return the failed commands that the view leaves out, each once, the newest last.

    Args:
        draft: the view in the making.
        known: the failed commands that earlier plans left out, which are returned too.
    """
    fetch = draft.request.fetch
    failed = _failed_runs(draft)
    found = list(known)
    for run, message in zip(failed, fetch([run.head for run in failed]), strict=True):
        command = _command_of_call(message, run.number)
        if not command.strip():
            continue
        if answers_with_1(command) and _answered(*fetch([run.last_result])):
            continue
        found.append(_short(command))
    return tuple(each_once(found)[-MOST_KNOWN:])


def each_once(found: Sequence[str]) -> list[str]:
    """Return the texts in order without duplicates. Of equal texts the last one stays."""
    newest_first = dict.fromkeys(reversed(found))
    return list(newest_first)[::-1]


def _failed_runs(draft: Draft) -> list[_FailedRun]:
    """Return the failed runs of commands that the view leaves out, unless the same command succeeded later."""
    groups = draft.view.groups
    runs = list(draft.view.calls(RUN))
    commands = [groups[run.position].head.calls[run.number].asks for run in runs]
    last_result = dict[object, Entry]()
    last_success = dict[object, int]()
    for command, run in zip(commands, runs, strict=True):
        last_result[command] = run.result
        if run.result.gist.outcome != FAILED:
            last_success[command] = run.position
    found = list[_FailedRun]()
    for command, run in zip(commands, runs, strict=True):
        succeeded_later = last_success.get(command, -1) >= run.position
        if run.result.gist.outcome == FAILED and not draft.kept[run.position] and not succeeded_later:
            found.append(_FailedRun(groups[run.position].head, run.number, last_result[command]))
    return found


def _command_of_call(message: Message, number: int) -> str:
    """Return the command of a message's call with this index, or "" if there is no such call or command."""
    calls = list(given_calls(message).values())
    return command_of(call_arguments_of(calls[number])) if number < len(calls) else ""


def _answered(result: Message) -> bool:
    """Return whether the exit code 1 of a result only says that nothing was found, or that files differ."""
    return outcome_of(result, asks=True) == ANSWERED


def _short(command: str) -> str:
    """Return the first line of a command without a leading `cd`, shortened at a space if the line is too long."""
    line = next(line for line in command.split("\n") if line.strip())
    line = _DIRECTORY.sub("", line, count=1).strip() or line.strip()
    if len(line) <= MOST_CHARS:
        return line
    return f"{line[: MOST_CHARS + 1].rpartition(' ')[0] or line[:MOST_CHARS]} …"
