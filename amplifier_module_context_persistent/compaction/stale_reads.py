"""Nothing stale: what a view shows of a file is not older than a change to it that the view leaves out.

Where a plan leaves out a change, results of reading the same file before it, which show lines that the change replaced,
become a line that says so. A read that has to stay as it is, a pin for example, keeps the change in the view instead.
Where the change only put lines in around those that a result shows, a line after it says that the file changed since.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

from ..messages.elide import Cut
from ..messages.message import call_arguments_of, given_calls, texts_of
from ..messages.outcome import ANSWERED
from ..messages.terms import LEAST_CHARS
from ..messages.tool_kinds import CHANGE, READ, Replaced, file_name, replaced_by, same_file
from ..view.entry import Entry
from ..view.render import shorten
from .draft import Draft

_NUMBER = re.compile(r"^\s*\d+\s?[\t→|:]")


class FileUse(NamedTuple):
    """A call of a group that reads or changes a file, and its result."""

    position: int
    call: int
    path: str
    result: Entry


def _file_uses(draft: Draft) -> Iterator[tuple[str, FileUse]]:
    """The calls that read or change files, had a result and were not refused, by kind; of all groups, kept or not."""
    for position in draft.view.calling:
        group = draft.view.groups[position]
        for number, (use, result) in enumerate(zip(group.head.uses, group.results, strict=False)):
            if use.kind in (READ, CHANGE) and result is not None and result.outcome == ANSWERED:
                yield from ((use.kind, FileUse(position, number, path, result)) for path in use.paths)


def replace_stale_reads(draft: Draft, before: Mapping[str, Cut]) -> dict[str, str]:
    """Replace the results that show what a change replaced which the view leaves out.

    Args:
        draft: the view in the making.
        before: the cuts of the plan that was followed so far.

    Returns:
        By the id of a result, the line to put after it where such a change only put lines in around what it shows.
    """
    replaced: dict[tuple[int, int], Replaced] = {}
    older: defaultdict[str, list[str]] = defaultdict(list)
    kept, uses = draft.kept, list(_file_uses(draft))
    changes: defaultdict[str, list[FileUse]] = defaultdict(list)
    for kind, use in uses:
        if kind == CHANGE:
            changes[file_name(use.path)].append(use)
    for read in [use for kind, use in uses if kind == READ]:
        result, path = read.result, read.path
        if not kept[read.position] or not result.id:
            continue
        line = f"[{path} changed since; read it again]"
        said_before = result.id in before and line in before[result.id].then
        later = [change for change in changes.get(file_name(path), ()) if change.position > read.position]
        later = [change for change in later if same_file(change.path, path)]
        hidden = [change for change in later if not kept[change.position]]
        shown = set(_shown_lines(draft, result)) if hidden or said_before else None
        if not shown:
            continue
        text = "\n".join(shown)
        what = [(change, _replaced(draft, change, replaced)) for change in hidden]
        stale = [change for change, lines in what if _takes_away(lines, shown, text)]
        if stale and (read.position in draft.fixed or draft.view.groups[read.position].pinned):
            for change in stale:
                if not kept[change.position]:
                    draft.restore(change.position)
        elif stale:
            note = f"[out of date: {path} changed since by {_edits(len(later))}; read it again]"
            draft.cut(read.position, result, Cut(0, 0, instead=note))
        elif said_before or any(_puts_in(lines, shown) for _, lines in what):
            older[result.id].append(line)
    return {key: "\n".join(dict.fromkeys(lines)) for key, lines in older.items()}


def _edits(count: int) -> str:
    return "1 edit" if count == 1 else f"{count} edits"


def _takes_away(replaced: Replaced, shown: Set[str], text: str) -> bool:
    """Whether a change takes lines away that are shown, or a part of one."""
    if replaced.unknown:
        return True
    if replaced.new is not None:
        return not shown <= replaced.new
    return any(line in text for line in replaced.gone if len(line) >= LEAST_CHARS)


def _puts_in(replaced: Replaced, shown: Set[str]) -> bool:
    """Whether a change that takes nothing away puts lines in beside those that are shown, or nobody knows where."""
    if replaced.new is not None:
        return any(len(line) >= LEAST_CHARS for line in replaced.new - shown)
    around = {line for line in replaced.around if len(line) >= LEAST_CHARS}
    return bool(replaced.put) and (not shown.isdisjoint(around) if around else not replaced.gone)


def _shown_lines(draft: Draft, result: Entry) -> Iterator[str]:
    cut = draft.cuts.get(result.id)
    if cut is not None and (cut.instead or (cut.head_chars + cut.tail_chars == 0 and not cut.lines)):
        return
    (message,) = draft.fetch([result])
    message = shorten(result, message, cut, draft.config.truncate_boundary)
    for text in texts_of(message):
        for line in text.split("\n"):
            line = _NUMBER.sub("", line).strip()
            if len(line) >= LEAST_CHARS and not line.startswith("[…"):
                yield line


def _replaced(draft: Draft, change: FileUse, known: dict[tuple[int, int], Replaced]) -> Replaced:
    key = change.position, change.call
    if key not in known:
        (message,) = draft.fetch([draft.view.groups[change.position].head])
        calls = list(given_calls(message).values())
        arguments = call_arguments_of(calls[change.call]) if change.call < len(calls) else {}
        known[key] = replaced_by(arguments)
    return known[key]
