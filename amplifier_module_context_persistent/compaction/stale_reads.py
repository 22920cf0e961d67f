"""Nothing stale: what a view shows of a file is not older than a change to it that the view leaves out.

Where a plan leaves out a change, results of reading the same file before it, which show lines that the change replaced,
become a line that says so. A read that has to stay as it is, a pin for example, keeps the change in the view instead.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..messages.elide import Cut
from ..messages.message import call_arguments_of, texts_of
from ..messages.outcome import ANSWERED
from ..messages.tool_kinds import CHANGE, READ, Replaced, calls_with_arguments, file_name, replaced_by, same_file
from ..view.entry import Entry
from ..view.render import shorten
from .draft import Draft

LEAST_LINE_CHARS = 6
"""A shorter line (a bracket, a keyword) occurs everywhere and shows nothing."""

_NUMBER = re.compile(r"^\s*\d+\s?[\t→|:]")


class FileUse(NamedTuple):
    """A call of a group that reads or changes a file, and its result."""

    position: int
    call: int
    path: str
    result: Entry


class FileUses(NamedTuple):
    """The calls of a draft's groups that read or change files, had a result and were not refused."""

    reads: list[FileUse]
    changes: Mapping[str, list[FileUse]]
    """By the name of the file."""

    @classmethod
    def of(cls, draft: Draft) -> FileUses:
        """Look at all groups, those too that are left out."""
        reads: list[FileUse] = []
        changes: defaultdict[str, list[FileUse]] = defaultdict(list)
        for position in draft.view.calling:
            head, results = draft.view.groups[position]
            for number, use in enumerate(head.uses):
                if use.kind not in (READ, CHANGE) or number >= len(results):
                    continue
                result = results[number]
                if result is None or result.outcome != ANSWERED:
                    continue
                for path in use.paths:
                    found = changes[file_name(path)] if use.kind == CHANGE else reads
                    found.append(FileUse(position, number, path, result))
        return cls(reads, changes)


def replace_stale_reads(draft: Draft, uses: FileUses) -> bool:
    """Replace the stale results of a view that leaves groups out; whether anything changed."""
    replaced: dict[tuple[int, int], Replaced] = {}
    changed = False
    kept = draft.kept
    for read in uses.reads:
        changes = uses.changes.get(file_name(read.path))
        if not changes or not kept[read.position] or not read.result.id:
            continue
        later = [change for change in changes if change.position > read.position and same_file(change.path, read.path)]
        hidden = [change for change in later if not kept[change.position]]
        stale = _stale_by(draft, read, hidden, replaced) if hidden else []
        if not stale:
            continue
        changed = True
        if read.position in draft.fixed or draft.view.groups[read.position].pinned:
            for change in stale:
                if not draft.kept[change.position]:
                    draft.restore(change.position)
        else:
            note = f"[out of date: {read.path} changed since by {_edits(len(later))}; read it again]"
            draft.cut(read.position, read.result, Cut(0, 0, instead=note))
    return changed


def _edits(count: int) -> str:
    return "1 edit" if count == 1 else f"{count} edits"


def _stale_by(
    draft: Draft, read: FileUse, hidden: list[FileUse], replaced: dict[tuple[int, int], Replaced]
) -> list[FileUse]:
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


def _replaced(draft: Draft, change: FileUse) -> Replaced:
    (message,) = draft.fetch([draft.view.groups[change.position].head])
    calls = calls_with_arguments(message)
    if change.call >= len(calls):
        return Replaced(unknown=True)
    return replaced_by(call_arguments_of(calls[change.call]))
