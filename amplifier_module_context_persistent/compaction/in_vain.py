"""What was tried in vain: commands in what a view leaves out that failed and were not run with success later.

A reader who does not know them tries them again. They are told in one line each, in the notice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from ..messages.message import call_arguments_of
from ..messages.tool_kinds import RUN, calls_with_arguments, command_of
from ..view.entry import Entry
from .draft import Draft

MOST_KNOWN = 40
MOST_CHARS = 80

_DIRECTORY = re.compile(r"\s*cd\s+\S+\s*(?:&&|;)\s*")


def tried_in_vain(draft: Draft, known: Sequence[str]) -> tuple[str, ...]:
    """The commands, the newest last; `known` are those of what earlier plans left out."""
    left_out: list[tuple[int, list[int]]] = []
    for position, (group, kept) in enumerate(zip(draft.groups, draft.kept, strict=True)):
        if kept or not group.results:
            continue
        pairs = zip(group.head.uses, group.results, strict=False)
        failed = [number for number, (use, result) in enumerate(pairs) if use.kind == RUN and _failed(result)]
        if failed:
            left_out.append((position, failed))
    found = list(known)
    asked = {draft.groups[position].head.calls[number].asks for position, numbers in left_out for number in numbers}
    succeeded = _last_successes(draft, asked) if left_out else {}
    in_vain: list[tuple[Entry, list[int]]] = []
    for position, numbers in left_out:
        head = draft.groups[position].head
        failed = [number for number in numbers if succeeded.get(head.calls[number].asks, -1) < position]
        if failed:
            in_vain.append((head, failed))
    for (_, failed), message in zip(in_vain, draft.fetch([head for head, _ in in_vain]), strict=True):
        calls = calls_with_arguments(message)
        commands = [command_of(call_arguments_of(calls[number])) for number in failed if number < len(calls)]
        found += [_short(command) for command in commands if command.strip()]
    return tuple(reversed(dict.fromkeys(reversed(found))))[-MOST_KNOWN:]


def _failed(result: Entry | None) -> bool:
    return result is not None and result.failed_run


def _last_successes(draft: Draft, asked: AbstractSet[bytes]) -> dict[bytes, int]:
    """By what a call asked, the position of the last group in which that had a result that tells of no failure."""
    return {
        call.asks: position
        for position, (head, results) in enumerate(draft.groups)
        if results
        for call, result in zip(head.calls, results, strict=True)
        if call.asks in asked and result is not None and not result.failed_run
    }


def _short(command: str) -> str:
    """The first line of a command without the directory that it goes to, as much of it as ends with a word."""
    line = next(line for line in command.split("\n") if line.strip())
    line = _DIRECTORY.sub("", line, count=1).strip() or line.strip()
    if len(line) <= MOST_CHARS:
        return line
    return f"{line[: MOST_CHARS + 1].rpartition(' ')[0] or line[:MOST_CHARS]} …"
