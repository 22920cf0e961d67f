"""Stale reads: a view never shows lines of a file without a later change of these lines.

A read is a tool's result with lines of a file. If a plan leaves out a later call that changed the file, reads that show
replaced lines are replaced by one line that says that they are out of date. If a read must not be altered, for instance
because it is pinned, the change stays in the view instead. If the change only added lines around the shown ones, a line
after the read says that the file has changed since.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, partial
from typing import NamedTuple

from ..messages.elide import WHOLE, Cut
from ..messages.message import call_arguments_of, given_calls, texts_of
from ..messages.outcome import ANSWERED
from ..messages.paths_and_ids import LEAST_CHARS
from ..messages.tool_kinds import CHANGE, READ, ReplacedLines, file_name, replaced_by, same_file
from ..view.entry import Entry
from ..view.render import shorten
from .draft import Draft
from .groups import AnsweredCall

_NUMBER = re.compile(r"^\s*\d+\s?[\t→|:]")


def replace_stale_reads(draft: Draft) -> dict[str, str]:
    """Replace outdated results of reads by a note.

    A result is outdated if a later change replaced lines that the result shows, and the view does not show this change.
    If the result must not be altered, the change is put back into the view instead.

    Returns:
        The lines to put after results, by the result's id. A result gets such a line if a later change only added lines
        beside the shown lines. A result that shows lines of the file also keeps such a line of the previous plan.
    """
    older: defaultdict[str, list[str]] = defaultdict(list)
    is_kept = draft.kept
    answered = [call for call in draft.view.calls(READ, CHANGE) if call.result.gist.outcome == ANSWERED]
    changes = _changes_by_name(answered)
    replaced = cache(partial(_replaced, draft))
    reads = [call for call in answered if call.use.kind == READ and is_kept[call.position] and call.result.id]
    for read, path in [(call, path) for call in reads for path in call.use.paths]:
        result = read.result
        line = f"[{path} changed since; read it again]"
        cut_before = draft.request.so_far.plan.cuts.get(result.id, WHOLE)
        had_line_before = line in cut_before.then
        later = _later_changes(read, path, changes)
        hidden = [change for change in later if not is_kept[change.position]]
        if not hidden and not had_line_before:
            continue
        shown_lines = set(_shown_lines(draft, result))
        if not shown_lines:
            continue
        effects = [(change.position, replaced(change.position, change.number)) for change in hidden]
        text = "\n".join(shown_lines)
        stale = [position for position, lines in effects if _takes_away(lines, shown_lines, text)]
        must_stay_unaltered = read.position in draft.fixed or draft.view.facts[read.position].is_pinned
        if stale and must_stay_unaltered:
            _put_back(draft, stale)
        elif stale:
            draft.cut(read.position, result, Cut(0, 0, instead=_note_about(path, edits=len(later))))
        elif had_line_before or any(_puts_in(lines, shown_lines) for _, lines in effects):
            older[result.id].append(line)
    return {result_id: "\n".join(dict.fromkeys(lines)) for result_id, lines in older.items()}


class _Change(NamedTuple):
    """A call that changed a file."""

    path: str
    call: AnsweredCall


def _changes_by_name(calls: Iterable[AnsweredCall]) -> Mapping[str, Sequence[_Change]]:
    """Return the changes among `calls`, by the name of the file without its directory."""
    found: defaultdict[str, list[_Change]] = defaultdict(list)
    for call in calls:
        if call.use.kind == CHANGE:
            for path in call.use.paths:
                found[file_name(path)].append(_Change(path, call))
    return found


def _later_changes(read: AnsweredCall, path: str, changes: Mapping[str, Sequence[_Change]]) -> list[AnsweredCall]:
    """Return the calls that changed a file after the call `read` had read the file."""
    of_name = changes.get(file_name(path), ())
    return [change.call for change in of_name if change.call.position > read.position and same_file(change.path, path)]


def _note_about(path: str, *, edits: int) -> str:
    """Return the note that replaces the outdated result of a read."""
    by = "1 edit" if edits == 1 else f"{edits} edits"
    return f"[out of date: {path} changed since by {by}; read it again]"


def _put_back(draft: Draft, positions: Iterable[int]) -> None:
    """Put groups back into the view, unless the view has them."""
    for position in positions:
        if not draft.kept[position]:
            draft.put_back(position)


def _takes_away(replaced: ReplacedLines, shown_lines: Set[str], text: str) -> bool:
    """Return whether a change may have removed a shown line or a part of one.

    The result is True if the effect of the change is unknown.
    """
    if replaced.new is not None:
        return not shown_lines <= replaced.new
    return replaced.unknown or any(line in text for line in replaced.removed_lines if len(line) >= LEAST_CHARS)


def _puts_in(replaced: ReplacedLines, shown_lines: Set[str]) -> bool:
    """Return whether a change adds lines beside the shown lines, or adds lines at an unknown place.

    A change that writes the whole file counts if it adds any line that is not shown.
    """
    if replaced.new is not None:
        return any(len(line) >= LEAST_CHARS for line in replaced.new - shown_lines)
    if not replaced.put:
        return False
    around = {line for line in replaced.around if len(line) >= LEAST_CHARS}
    if around:
        return not shown_lines.isdisjoint(around)
    return not replaced.removed_lines


def _shown_lines(draft: Draft, result: Entry) -> Iterator[str]:
    """Yield the lines of a result that the view shows, without line numbers.

    Lines of fewer than `LEAST_CHARS` characters and the marks of cuts are left out.
    """
    cut = draft.cuts.get(result.id)
    if cut is not None:
        shows_nothing = cut.head_chars + cut.tail_chars == 0 and not cut.lines
        if cut.instead or shows_nothing:
            return
    (message,) = draft.request.fetch([result])
    message = shorten(result, message, cut, draft.config.truncate_boundary)
    for line in "\n".join(texts_of(message)).split("\n"):
        line = _NUMBER.sub("", line).strip()
        if len(line) >= LEAST_CHARS and not line.startswith("[…"):
            yield line


def _replaced(draft: Draft, position: int, call: int) -> ReplacedLines:
    """Return the lines of a file that a call replaces; `call` is the index of the call in its group."""
    (message,) = draft.request.fetch([draft.view.groups[position].head])
    calls = list(given_calls(message).values())
    return replaced_by(call_arguments_of(calls[call]) if call < len(calls) else {})
