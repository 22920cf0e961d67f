"""What was tried in vain: commands in what a view leaves out that failed and were not run with success later.

A reader who does not know them tries them again. They are told in one line each, in the notice. A search that found
nothing did not fail (`messages/outcome.py`).
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
    """The commands, the newest last; `known` are those of what earlier plans left out."""
    runs = [
        (position, group.head, number, group.head.calls[number].asks, result)
        for position in draft.view.with_tool(RUN)
        for group in (draft.view.groups[position],)
        for number, (use, result) in enumerate(zip(group.head.uses, group.results, strict=False))
        if use.kind == RUN and result is not None
    ]
    last = {asks: result for _, _, _, asks, result in runs}
    succeeded = {asks: position for position, _, _, asks, result in runs if result.outcome != FAILED}
    in_vain = [
        (head, number, last[asks])
        for position, head, number, asks, result in runs
        if not draft.kept[position] and result.outcome == FAILED and succeeded.get(asks, -1) < position
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
