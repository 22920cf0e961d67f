"""What was tried in vain: commands in what a view leaves out that failed and were not run with success later.

A reader who does not know them tries them again. They are told in one line each, in the notice. A search that found
nothing did not fail (`messages/outcome.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from ..messages.message import call_arguments_of, given_calls
from ..messages.outcome import ANSWERED, FAILED, answers_with_1, outcome_of
from ..messages.tool_kinds import RUN, command_of
from ..view.entry import Entry
from ..view.rules import Group
from .draft import Draft

MOST_KNOWN = 40  # that a plan keeps of commands, of files, and of what was done in a gap
MOST_CHARS = 80

_DIRECTORY = re.compile(r"\s*cd\s+\S+\s*(?:&&|;)\s*")


def tried_in_vain(draft: Draft, known: Sequence[str]) -> tuple[str, ...]:
    """The commands, the newest last; `known` are those of what earlier plans left out."""
    left_out: list[tuple[int, list[int]]] = []
    for position in draft.view.with_tool(RUN):
        if draft.kept[position]:
            continue
        group = draft.view.groups[position]
        pairs = zip(group.head.uses, group.results, strict=False)
        failed = [
            number
            for number, (use, result) in enumerate(pairs)
            if use.kind == RUN and result and result.outcome == FAILED
        ]
        if failed:
            left_out.append((position, failed))
    found = list(known)
    asked = {
        draft.view.groups[position].head.calls[number].asks for position, numbers in left_out for number in numbers
    }
    results = _results(draft, asked) if left_out else []
    last = {asks: result for _, asks, result in results}
    succeeded = {asks: position for position, asks, result in results if result.outcome != FAILED}
    in_vain: list[tuple[Group, list[int]]] = []
    for position, numbers in left_out:
        group = draft.view.groups[position]
        failed = [number for number in numbers if succeeded.get(group.head.calls[number].asks, -1) < position]
        if failed:
            in_vain.append((group, failed))
    for (group, failed), message in zip(in_vain, draft.fetch([group.head for group, _ in in_vain]), strict=True):
        calls = list(given_calls(message).values())
        for number in failed:
            command = command_of(call_arguments_of(calls[number])) if number < len(calls) else ""
            if command.strip() and not _answered(draft, command, last[group.head.calls[number].asks]):
                found.append(_short(command))
    return tuple(reversed(dict.fromkeys(reversed(found))))[-MOST_KNOWN:]


def _failed(result: Entry | None) -> bool:
    return result is not None and result.outcome == FAILED


def _results(draft: Draft, asked: AbstractSet[bytes]) -> list[tuple[int, bytes, Entry]]:
    """The results of some calls, by what these asked, each with the position of its group."""
    return [
        (position, call.asks, result)
        for position in draft.view.with_tool(RUN)
        for call, result in zip(
            draft.view.groups[position].head.calls, draft.view.groups[position].results, strict=True
        )
        if call.asks in asked and result is not None
    ]


def _answered(draft: Draft, command: str, result: Entry) -> bool:
    """Whether a command only found nothing, or a difference: its exit code is no error."""
    return answers_with_1(command) and all(
        outcome_of(message, asks=True) == ANSWERED for message in draft.fetch([result])
    )


def _short(command: str) -> str:
    """The first line of a command without the directory that it goes to, as much of it as ends with a word."""
    line = next(line for line in command.split("\n") if line.strip())
    line = _DIRECTORY.sub("", line, count=1).strip() or line.strip()
    if len(line) <= MOST_CHARS:
        return line
    return f"{line[: MOST_CHARS + 1].rpartition(' ')[0] or line[:MOST_CHARS]} …"
