"""Failed commands that a view leaves out, unless they were run with success later.

A model that does not know them tries them again. The notice has one line for each. A search that found nothing did not
fail (`messages/outcome.py`).
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

MOST_KNOWN = 40  # that a plan keeps of commands, of files, and of what was done in a gap
MOST_CHARS = 80

_DIRECTORY = re.compile(r"\s*cd\s+\S+\s*(?:&&|;)\s*")


class _FailedRun(NamedTuple):
    """A failed command that the view leaves out."""

    head: Entry
    """The message with the call."""
    number: int
    """Of the call in that message."""
    last_result: Entry
    """The result of the newest run of the same command."""


def failed_commands(draft: Draft, known: Sequence[str]) -> tuple[str, ...]:
    """The failed commands, the newest last; `known` are the commands that earlier plans left out."""
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
    """Texts in order, each once, at its last place."""
    newest_first = dict.fromkeys(reversed(found))
    return list(newest_first)[::-1]


def _failed_runs(draft: Draft) -> list[_FailedRun]:
    """The runs of commands that the view leaves out, that failed, and after which the same command never succeeded."""
    groups, runs = draft.view.groups, list(draft.view.calls(RUN))
    commands = [groups[run.position].head.calls[run.number].asks for run in runs]
    last_result, last_success = dict[object, Entry](), dict[object, int]()
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
    """The command of one of a message's calls; empty if it has none."""
    calls = list(given_calls(message).values())
    return command_of(call_arguments_of(calls[number])) if number < len(calls) else ""


def _answered(result: Message) -> bool:
    """Whether exit code 1 only told that nothing was found, or a difference."""
    return outcome_of(result, asks=True) == ANSWERED


def _short(command: str) -> str:
    """The first line of a command without the directory that it goes to, as much of it as ends with a word."""
    line = next(line for line in command.split("\n") if line.strip())
    line = _DIRECTORY.sub("", line, count=1).strip() or line.strip()
    if len(line) <= MOST_CHARS:
        return line
    return f"{line[: MOST_CHARS + 1].rpartition(' ')[0] or line[:MOST_CHARS]} …"
