"""What was tried in vain: commands in what a view leaves out that failed and were not run with success later.

A reader who does not know them tries them again. They are told in one line each, in the notice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..messages.message import call_arguments_of
from ..messages.tool_kinds import RUN, calls_with_arguments, command_of
from .draft import Draft

MOST_KNOWN = 40
MOST_CHARS = 80

_DIRECTORY = re.compile(r"\s*cd\s+\S+\s*(?:&&|;)\s*")


def tried_in_vain(draft: Draft, known: Sequence[str]) -> tuple[str, ...]:
    """The commands, the newest last; `known` are those of what earlier plans left out."""
    succeeded: dict[bytes, int] = {}
    for position, group in enumerate(draft.groups):
        for call, result in zip(group.head.calls, group.results, strict=True):
            if result is not None and not result.failed_run:
                succeeded[call.asks] = position
    found = list(known)
    for position, group in enumerate(draft.groups):
        if draft.kept[position]:
            continue
        pairs = zip(group.head.uses, group.head.calls, group.results, strict=False)
        failed = [
            number
            for number, (use, call, result) in enumerate(pairs)
            if use.kind == RUN and result is not None and result.failed_run and succeeded.get(call.asks, -1) < position
        ]
        if failed:
            (message,) = draft.fetch([group.head])
            calls = calls_with_arguments(message)
            commands = [command_of(call_arguments_of(calls[number])) for number in failed if number < len(calls)]
            found += [_short(command) for command in commands if command.strip()]
    return tuple(reversed(dict.fromkeys(reversed(found))))[-MOST_KNOWN:]


def _short(command: str) -> str:
    """The first line of a command without the directory that it goes to, as much of it as ends with a word."""
    line = next(line for line in command.split("\n") if line.strip())
    line = _DIRECTORY.sub("", line, count=1).strip() or line.strip()
    if len(line) <= MOST_CHARS:
        return line
    return f"{line[: MOST_CHARS + 1].rpartition(' ')[0] or line[:MOST_CHARS]} …"
