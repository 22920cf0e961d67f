"""Nothing stale: what a view shows of a file is not older than a change to it that the view leaves out.

Where a plan leaves out a change, results of reading the same file before it, which show lines that the change replaced,
become a line that says so. A read that has to stay as it is, a pin for example, keeps the change in the view instead.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..messages.elide import Cut, texts_of
from ..messages.message import call_arguments_of
from ..messages.tool_kinds import CHANGE, READ, Replaced, calls_with_arguments, file_name, replaced_by, same_file
from ..view.entry import Entry
from ..view.render import shorten
from .draft import Draft

LEAST_LINE_CHARS = 6
"""A shorter line (a bracket, a keyword) occurs everywhere and shows nothing."""

_NUMBER = re.compile(r"^\s*\d+\s?[\t→|:]")


@dataclass(frozen=True, slots=True)
class _FileUse:
    """A call of a group that reads or changes a file, and its result."""

    position: int
    call: int
    path: str
    result: Entry


def replace_stale_reads(draft: Draft) -> bool:
    """Replace the stale results of a view that leaves groups out; whether anything changed."""
    changes = _by_name(draft, CHANGE)
    if all(draft.kept[change.position] for found in changes.values() for change in found):
        return False
    replaced: dict[tuple[int, int], Replaced] = {}
    changed = False
    for read in [use for found in _by_name(draft, READ).values() for use in found]:
        if not draft.kept[read.position] or not read.result.id:
            continue
        later = [
            change
            for change in changes.get(file_name(read.path), ())
            if change.position > read.position and same_file(change.path, read.path)
        ]
        hidden = [change for change in later if not draft.kept[change.position]]
        stale = _stale_by(draft, read, hidden, replaced) if hidden else []
        if not stale:
            continue
        changed = True
        if read.position in draft.fixed or draft.groups[read.position].pinned:
            for change in stale:
                if not draft.kept[change.position]:
                    draft.restore(change.position)
        else:
            note = f"[out of date: {read.path} changed since by {_edits(len(later))}; read it again]"
            draft.show_by(read.position, read.result, Cut(0, 0, instead=note))
    return changed


def _edits(count: int) -> str:
    return "1 edit" if count == 1 else f"{count} edits"


def _by_name(draft: Draft, kind: str) -> Mapping[str, list[_FileUse]]:
    """The calls of a kind that had a result and were not refused, by the name of the file."""
    found: defaultdict[str, list[_FileUse]] = defaultdict(list)
    for position, group in enumerate(draft.groups):
        for number, (use, result) in enumerate(zip(group.head.uses, group.results, strict=False)):
            if use.kind == kind and result is not None and not result.refused:
                for path in use.paths:
                    found[file_name(path)].append(_FileUse(position, number, path, result))
    return found


def _stale_by(
    draft: Draft, read: _FileUse, hidden: list[_FileUse], replaced: dict[tuple[int, int], Replaced]
) -> list[_FileUse]:
    """Those of the changes that are left out which replaced lines that the result of a read shows."""
    shown = list(_shown_lines(draft, read.result))
    if not shown:
        return []
    text = "\n".join(shown)
    stale = []
    for change in hidden:
        key = change.position, change.call
        if key not in replaced:
            replaced[key] = _replaced(draft, change)
        if _takes_away(replaced[key], shown, text):
            stale.append(change)
    return stale


def _takes_away(replaced: Replaced, shown: list[str], text: str) -> bool:
    """Whether a change takes lines away that are shown, or a part of one."""
    if replaced.unknown:
        return True
    if replaced.new is not None:
        return any(line not in replaced.new for line in shown)
    return any(line in text for line in replaced.gone if len(line) >= LEAST_LINE_CHARS)


def _shown_lines(draft: Draft, result: Entry) -> Iterator[str]:
    cut = draft.cuts.get(result.id)
    if cut is not None and (cut.instead or cut.head_chars + cut.tail_chars == 0):
        return
    (message,) = draft.fetch([result])
    message = shorten(result, message, cut, draft.config.truncate_boundary)
    for text in texts_of(message):
        for line in text.split("\n"):
            line = _NUMBER.sub("", line).strip()
            if len(line) >= LEAST_LINE_CHARS and not line.startswith("[…"):
                yield line


def _replaced(draft: Draft, change: _FileUse) -> Replaced:
    (message,) = draft.fetch([draft.groups[change.position].head])
    calls = calls_with_arguments(message)
    if change.call >= len(calls):
        return Replaced(unknown=True)
    return replaced_by(call_arguments_of(calls[change.call]))
