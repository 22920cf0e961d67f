"""People's messages that repeat each other: the text of a skill, a template or a log that was sent several times.

Only the newest copy stays whole. An older one keeps its beginning, and the lines that no newer message has. The first
message of a person, the task, stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import partial
from itertools import groupby

from ..messages.elide import LEAST_SHOWN_CHARS, Cut, prose_cut
from ..messages.message import Message, texts_of
from ..view.entry import Entry
from .always_kept import LEAST_SAVED
from .draft import Draft

_LINE = re.compile(r"[^\n]+")


def shorten_repeated(draft: Draft) -> None:
    """Shorten each message of a person that newer messages of people repeat, if that saves `LEAST_SAVED` tokens."""
    memory = draft.request.so_far.memory
    long = [position for position in draft.view.people if draft.view.groups[position].head.tokens >= LEAST_SAVED]
    newer = set[str]()
    for position in reversed(long if len(long) > 1 else []):
        entry = draft.view.groups[position].head
        if entry.id in draft.cuts:
            continue
        lines = memory.lines(entry, partial(_lines_of, draft, entry))
        is_task = position == draft.view.first_person
        repeated = lines & newer
        may_be_cut = repeated and not is_task and position not in draft.fixed
        if may_be_cut and memory.repeated_in_vain(entry) != repeated:
            draft.cut(position, entry, cut_of_repeated(draft.message_of(entry), repeated))
            if entry.tokens - draft.tokens_of(entry) >= LEAST_SAVED:
                continue
            draft.show_whole(position, entry)
            memory.remember_in_vain(entry, repeated)
        newer |= lines


def _lines_of(draft: Draft, entry: Entry) -> frozenset[str]:
    """Return the lines of a message's texts, without spaces around them."""
    found = set[str]()
    for text in texts_of(draft.message_of(entry)):
        found.update([line.strip() for line in text.split("\n")])
    return frozenset(found)


def cut_of_repeated(message: Message, newer: Collection[str]) -> Cut:
    """Return the cut that keeps the beginning of a message, and the lines that are not among `newer`."""
    shown_runs = list[tuple[int, int, int]]()
    for number, text in enumerate(texts_of(message)):
        matches = _LINE.finditer(text)
        for is_repeated, some in groupby(matches, key=lambda match: match[0].strip() in newer):
            run = list(some)
            if not is_repeated or run[-1].end() - run[0].start() < LEAST_SHOWN_CHARS:
                shown_runs.append((number, run[0].start(), run[-1].end()))
    return prose_cut(LEAST_SHOWN_CHARS, 0, tuple(shown_runs))
