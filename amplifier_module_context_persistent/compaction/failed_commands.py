"""Failed commands that a view leaves out, unless they were run with success later.

A model that does not know them tries them again. The notice has one line for each. A search that found nothing did not
fail (`messages/outcome.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..messages.message import Message, call_arguments_of, given_calls
from ..messages.outcome import ANSWERED, FAILED, answers_with_1, outcome_of
from ..messages.tool_kinds import RUN, command_of
from .draft import Draft

MOST_KNOWN = 40  # that a plan keeps of commands, of files, and of what was done in a gap
MOST_CHARS = 80

_DIRECTORY = re.compile(r"\s*cd\s+\S+\s*(?:&&|;)\s*")


def tried_in_vain(draft: Draft, known: Sequence[str]) -> tuple[str, ...]:
    """The failed commands, the newest last; `known` are the commands that earlier plans left out."""
    groups, runs = draft.view.groups, list(draft.view.calls(RUN))
    asked = [groups[run.position].head.calls[run.number].asks for run in runs]
    last = {asks: run.result for asks, run in zip(asked, runs, strict=True)}
    succeeded = {asks: run.position for asks, run in zip(asked, runs, strict=True) if run.result.gist.outcome != FAILED}
    in_vain = [
        (groups[run.position].head, run.number, last[asks])
        for asks, run in zip(asked, runs, strict=True)
        if not draft.kept[run.position] and run.result.gist.outcome == FAILED and succeeded.get(asks, -1) < run.position
    ]
    found = list(known)
    fetch = draft.request.fetch
    for (_, number, result), message in zip(in_vain, fetch([head for head, _, _ in in_vain]), strict=True):
        calls = list(given_calls(message).values())
        command = command_of(call_arguments_of(calls[number])) if number < len(calls) else ""
        if command.strip() and not (answers_with_1(command) and _answered(*fetch([result]))):
            found.append(_short(command))
    return tuple(reversed(dict.fromkeys(reversed(found))))[-MOST_KNOWN:]


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
