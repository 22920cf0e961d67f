"""Terms: the paths, names and ids of a text that somebody may need again, and their places in the text.

A term is a path (a word with a slash), a name with a dot (of a file, or as in `os.environ`), a compound name
(snake_case, CamelCase or kebab-case; the first two also as a part of a path or of a name with a dot), or an id
(hexadecimal, capitals with digits as in `K3XQ7B`, or eight digits or more). A term has at least six characters. Plain
words are not terms, because they occur in many texts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from sys import intern
from typing import NamedTuple
from zlib import crc32

from .elide import Cut
from .message import Message, call_arguments_of, given_calls, strings_in, texts_of

LEAST_CHARS = 6
_MOST_CHARS = 200
_WORD = re.compile(r"[A-Za-z0-9_~@/.](?<![\w./~@][\w~@/.])[\w./~@+-]{4,}\w", re.ASCII)
"""A word; a word starts only at the end of another word, so that a row of dots is searched once and not from each dot.
"""
_PART = re.compile(r"[./~@+-]+")
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_+[A-Za-z0-9]")
_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}\Z")
_ID = re.compile(r"(?=[0-9]*[A-Z])(?=[A-Z]*[0-9])[A-Z0-9]{6,40}\Z|[0-9]{8,20}\Z")
_JOINED = re.compile(r"[\w@+-][\w.@+-]*\.[A-Za-z]\w*\Z|[a-z][a-z0-9]*(?:-[a-z0-9]+)+\Z", re.ASCII)

_FIGURE = re.compile(r"(?<![\w.→|#-])(?:0[.,]|[1-9])[\d.,:]*\d(?![\w→|\t:])")
"""A number of two digits or more that is neither a part of a name nor a line number that a tool added."""
FIGURES_CHARS = 240  # of the beginning and the end of a text; even the shortest cut shows them
MOST_FIGURES = 4  # at each end; more numbers of a table add nothing

Spans = dict[str, tuple[int, int]]
Place = tuple[int, int, int]
"""A line of a message, as (index of the text among the message's texts, start, end)."""
MOST_LINE_CHARS = 240
MOST_USED_CHARS = 150  # of an argument that names what somebody needed; longer ones are contents of files and edits
MOST_REPEATED_CHARS = 2_000  # of a text that is compared with others; longer texts are compared by their names


def terms_of_word(word: str) -> tuple[str, ...]:
    """Return the terms (paths, names, ids) in one word of a text, sorted."""
    word = word.strip("./~@+-")
    return _terms_of_stripped(word) if len(word) <= _MOST_CHARS else ()


@lru_cache(maxsize=2048)  # in sessions, six of seven words were among the last 2,048 different ones
def _terms_of_stripped(word: str) -> tuple[str, ...]:
    is_ordinary = word.isalpha() and (word.islower() or word.istitle())
    if is_ordinary:
        return ()
    found = {part for part in _PART.split(word) if len(part) >= LEAST_CHARS and _is_name(part)}
    if len(word) >= LEAST_CHARS and ("/" in word or _JOINED.match(word)):
        found.add(word)
    return tuple(sorted(found))


def _is_name(part: str) -> bool:
    return bool(_HEX.match(part) or _ID.match(part) or _COMPOUND.search(part))


def spans(text: str) -> Spans:
    """Return the terms in a text, each with the end of its first occurrence and the start of its last."""
    found: Spans = {}
    for match in _WORD.finditer(text):
        terms = terms_of_word(match[0])
        if terms:
            start, end = match.span()
            for term in terms:
                known = found.get(term)
                first_end = end if known is None else known[0]
                found[term] = (first_end, start)
    return found


def figures(text: str) -> Spans:
    """Return the figures at both ends of a text in the form of `spans`: a sentence with figures is often a result."""
    found: Spans = {}
    tail = max(0, len(text) - FIGURES_CHARS)
    for start, stop in ((0, min(FIGURES_CHARS, len(text))), (tail, len(text))):
        for match in islice(_FIGURE.finditer(text, start, stop), MOST_FIGURES):
            found[match[0]] = (match.end(), match.start())
    return found


def is_figure(term: str) -> bool:
    """Return whether a term is a figure and not an id."""
    return _FIGURE.fullmatch(term) is not None and _ID.match(term) is None


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one message.

    Terms in thinking are not included, because thinking is removed after its turn. The terms are kept with the entry
    of the message, so that a plan need not read the message again.
    """

    names: tuple[str, ...] = ()
    """The terms of the message. The terms that the shortest cuts still show come first (`needs`)."""
    needs: tuple[int, ...] = ()
    """The number of characters that a cut must keep to show each name; 0 for arguments, which are never cut."""
    used: frozenset[str] = frozenset()
    """Terms in short arguments of calls, which were therefore needed once."""
    text_chars: tuple[int, ...] = ()
    """The lengths of the texts that can be cut, in characters."""
    checksum: int = 0
    """The checksum of a short message's text, to find results that repeat each other; 0 for a longer one."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """The first line (or piece of a long line) with each term that a cut can remove, by term."""

    def shown(self, cut: Cut | None) -> Collection[str]:
        """Return the terms that the message still shows after a cut; None is no cut."""
        if cut is None:
            return self.names
        at_ends = self.names[: bisect_right(self.needs, _reach(cut))]
        if not cut.lines:
            return at_ends
        shown_places = set(cut.lines)
        shown_places.update(_within(set(self.places.values()) - shown_places, cut.lines))
        in_lines = [name for name, place in self.places.items() if place in shown_places]
        return {*at_ends, *in_lines}

    def lost(self, cut: Cut, among: frozenset[str]) -> frozenset[str]:
        """Return the terms that a cut removes, of those in `among`.

        The lines of the cut must be exactly places of terms: lines that have grown to include their neighbours show
        more (`shown`).
        """
        lost = among
        if cut.lines:
            places = self.places
            shown_places = set(cut.lines)
            lost = frozenset([name for name in among if places.get(name) not in shown_places])
        return lost.intersection(self.names[bisect_right(self.needs, _reach(cut)) :]) if lost else lost


def _within(places: Iterable[Place], lines: tuple[Place, ...]) -> list[Place]:
    """Return the places that are within one of the lines, which are sorted.

    The lines are few and the places many, so each place looks for its line, and the places are not sorted.
    """
    within = list[Place]()
    for place in places:
        after = bisect_right(lines, place)  # the position of the first line that begins after the place
        number, start, end = place
        if after > 0:
            line_number, _, line_end = lines[after - 1]
            if line_number == number and line_end >= end:
                within.append(place)
                continue
        if after < len(lines):  # a longer line that begins at the same character
            line_number, line_start, line_end = lines[after]
            if (line_number, line_start) == (number, start) and line_end >= end:
                within.append(place)
    return within


NO_TERMS = Terms()


class ArgumentTerms(NamedTuple):
    """The terms in the arguments of a message's calls."""

    names: frozenset[str] = frozenset()
    """The terms of all these messages."""
    used: frozenset[str] = frozenset()
    """Terms in arguments of at most `MOST_USED_CHARS`."""


NO_ARGUMENTS = ArgumentTerms()


def terms_of(message: Message) -> Terms:
    """Return the terms of a message in the form that `normalise` returns."""
    texts = texts_of(message)
    arguments = argument_terms(message) if message.get("role") == "assistant" else NO_ARGUMENTS
    # A term is in three messages on average. One object for it takes less memory and is compared faster.
    needs = dict.fromkeys(map(intern, sorted(arguments.names)), 0)
    places: dict[str, Place] = {}
    for number, text in enumerate(texts):
        length = len(text)
        for found, (first_end, last_start) in (spans(text) | figures(text)).items():
            term = intern(found)
            # Half of a cut is at the beginning and half at the end: to show a term there, it must be twice as long.
            # `cut_for` gives an odd character to the beginning. (This loop is long; `min` would double its time.)
            need = 2 * first_end - 1
            need_at_end = 2 * (length - last_start)
            if need_at_end <= need:
                need = need_at_end
            if need > length:
                need = length  # a cut of this length shows the whole text
            if term not in needs or need < needs[term]:
                needs[term] = need
            if term not in places:
                place = _line_around(number, text, first_end)
                if text.find(term, place[1], place[2]) >= 0:
                    places[term] = place
    names = tuple(sorted(needs, key=needs.__getitem__))
    lengths = tuple(len(text) for text in texts)
    checksum = 0
    if 0 < sum(lengths) <= MOST_REPEATED_CHARS:
        checksum = crc32("\n".join(texts).encode(errors="replace"))
    used = frozenset(map(intern, arguments.used))
    return Terms(names, tuple(needs[name] for name in names), used, lengths, checksum, places)


def _line_around(number: int, text: str, end: int) -> Place:
    """Return the line in which a word ends; of a long line, a piece of about `MOST_LINE_CHARS` with whole words."""
    start = text.rfind("\n", 0, end) + 1
    stop = text.find("\n", end)
    if stop < 0:
        stop = len(text)
    if stop - start <= MOST_LINE_CHARS:
        return number, start, stop
    pieces_before = (end - 1 - start) // MOST_LINE_CHARS
    first = start + pieces_before * MOST_LINE_CHARS
    last = min(stop, first + MOST_LINE_CHARS)
    if first > start:
        space = text.find(" ", first, end)
        if space >= 0:
            first = space + 1
    if last < stop:
        space = text.rfind(" ", end, last)
        if space >= 0:
            last = space
    return number, first, last


def argument_terms(message: Message) -> ArgumentTerms:
    """Return the terms in the arguments of a message's calls."""
    names = set[str]()
    used = set[str]()
    for call in given_calls(message).values():
        for text in strings_in(call_arguments_of(call)):
            found = set[str]()
            for word in _WORD.findall(text):
                found.update(terms_of_word(word))
            names |= found
            if len(text) <= MOST_USED_CHARS:
                used |= found
    return ArgumentTerms(frozenset(names), frozenset(used))


def _reach(cut: Cut) -> int:
    """Return the largest `keep_chars` with which `cut_for` keeps at each end at most as much as this cut."""
    if cut.head_chars > cut.tail_chars:
        return 2 * cut.tail_chars + 1  # `cut_for` gives an odd character to the beginning
    return 2 * cut.head_chars
