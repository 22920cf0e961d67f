"""Searching a transcript: which messages match, and the lines that do. No output.

What is searched is a message's text: what it says, its thinking, its calls with their arguments as text. A line of the
log that cannot match is not parsed.

A clear, a reset, a rewind or a compaction erases nothing. Whoever looks for a text that must not be there, such as a
leaked key, has to search the rest too: hidden messages, control records, metadata, and what cannot be read.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import cast

from ..log.filesystem import unreadable
from ..log.open_reader import file_reader
from ..log.reader import LogReader
from ..log.record_line import name_of
from ..log.torn_tail import saved_tails
from ..messages.message import Message, result_id_of
from ..messages.metadata import is_ephemeral, is_written_between, timestamp_of
from ..messages.text import arguments_text, parts_of
from ..search.pattern import Pattern, SlowPatternError
from ..search.word_search import AllWords
from .raw_records import StoredLog, pieces_of, strings_of
from .shared_checkpoint import shared_checkpoints, texts_of
from .transcript import LiveMessage, Transcript, session_id_in

_SEARCHED = frozenset({"role", "content", "tool_calls", "thinking_block"})
"""Keys of a message that its searched text is made of."""

_CALLS = re.compile(rb'"tool_(?:calls|call|use)"')
_WORD = re.compile(rb"[A-Za-z0-9_]+")
_WRITTEN_ANEW = re.compile(rb"[0-9e]+", re.IGNORECASE)  # a number in an argument may be written in another way
ESCAPED = rb"\\u00"
"""The beginning of an escaped letter within arguments that are JSON in a text."""
_ESCAPED_LETTER = re.compile(rb"\\\\u00[0-7]")  # within arguments that are JSON in a text

MOST_SPANS = 1_000
"""Of more matches in one line, these are told: a line may have millions of characters."""
MESSAGE_S = 2.0
"""A message that takes longer is given up."""


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of a message's text, its number from 1, and the matches in it; a line of context has none."""

    number: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class HiddenText:
    """A text, its kind, and its beginning: its line, from 1, and its byte, from 0."""

    what: str
    """Such as `hidden user message`, `plan record`, `unreadable bytes`."""
    line: int
    offset: int
    text: str
    message: Message
    """The record; empty for what is none."""
    is_outside: bool = False
    """Whether another file than the log holds it."""


@dataclass(frozen=True, slots=True)
class MessageMatch:
    """A message, or another text of the log, and the lines of it that match."""

    placed: LiveMessage | HiddenText
    lines: list[FoundLine]
    is_whole: bool
    """Whether all of it was searched; else the expression took too long, and more lines may match."""


def search(
    transcript: Transcript,
    pattern: Pattern | AllWords,
    *,
    role: str | None = None,
    tools: Collection[str] = (),
    since_s: float | None = None,
    until_s: float | None = None,
    context: int = 0,
    among: Sequence[int] | None = None,
    hidden: bool = False,
) -> Iterator[MessageMatch]:
    """Search the live messages in order, and yield each that matches or was not searched to its end.

    Args:
        transcript: the session.
        pattern: the pattern.
        role: only messages of this role.
        tools: only calls and results of these tools, ignoring upper and lower case; no other parts of messages.
        since_s: only messages from this time on, in seconds since 1970; one that tells no time is left out.
        until_s: only messages before this time.
        context: the number of lines before and after a matching one.
        among: the positions of the messages that may match, from 0; by default all.
        hidden: then search the rest of the log too; with a role, only its messages of this role; with a time, also
            what tells no time.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read, or a saved torn tail cannot be read.
    """
    words = _words_of(pattern)

    def may_match(line: bytes) -> bool:
        if pattern.may_match(line):
            return True
        if _CALLS.search(line) is None:
            return False
        line = line.lower()  # calls are searched as text, not as JSON: what is between their words may differ
        return all(word in line for word in words) or _ESCAPED_LETTER.search(line) is not None

    asked = may_match if pattern.needle else None
    folded = frozenset(tool.casefold() for tool in tools)
    for placed in transcript.placed(role=role, may_match=asked, among=among):
        if is_ephemeral(placed.message) or (folded and folded.isdisjoint(map(str.casefold, placed.tools))):
            continue
        if not is_written_between(placed.message, since_s, until_s):
            continue
        text = searched_text(placed.message, folded)
        spans, is_whole = _spans(text, pattern)
        if spans or not is_whole:
            yield MessageMatch(placed, list(matching_lines(text, spans, context=context)), is_whole)
    for other in hidden_texts(transcript) if hidden else ():
        is_then = not timestamp_of(other.message) or is_written_between(other.message, since_s, until_s)
        if is_then and (role is None or other.message.get("role") == role):
            spans, is_whole = _spans(other.text, pattern)
            if spans or not is_whole:
                yield MessageMatch(other, list(matching_lines(other.text, spans, context=context)), is_whole)


def _words_of(pattern: Pattern | AllWords) -> list[bytes]:
    """Words in lower case that the line of a call holds if the call matches as text; none crosses a JSON boundary."""
    terms = pattern.terms if isinstance(pattern, AllWords) else (pattern,)
    found = list[bytes]()
    for term in terms:
        found += [word.lower() for word in _lasting_words(term.needle)]
    return found


def _lasting_words(needle: bytes) -> list[bytes]:
    """The words of some bytes but for what JSON may write in another way."""
    words = set(_WORD.findall(needle))
    return [word for word in words if not _WRITTEN_ANEW.fullmatch(word) and word.lower() not in b"infinity"]


def word_of_matches(pattern: Pattern | AllWords) -> tuple[bytes, bool]:
    """A word that the line of every match holds, unless it holds `ESCAPED`, or an empty one; and whether in any case.

    One in any case is given in small letters.
    """
    if isinstance(pattern, Pattern) and not pattern.ignores_case:
        return max(_lasting_words(pattern.needle), key=len, default=b""), False
    words = _words_of(pattern) if pattern.needle else ()
    return max(words, key=len, default=b""), True


def hidden_texts(transcript: Transcript) -> Iterator[HiddenText]:
    """Give what `search` does not look at, in the order of the log; torn tails and shared checkpoints come last.

    Of live messages it is what their metadata and other fields say.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read, or a file outside it cannot be read.
    """
    reader = cast("StoredLog", transcript.reader)  # as every log that is stored is
    live = {reader.index.columns.offsets[ordinal] for ordinal in reader.index.live}
    last = 0
    for line in reader.whole_lines():
        last = line.number
        for offset, content, value in pieces_of(line.offset, line.content):
            if value is None:
                yield HiddenText("unreadable bytes", line.number, offset, _text(content), {})
            else:
                what, text = _hidden_in(value, is_live=offset in live)
                yield HiddenText(what, line.number, offset, text, value)
    file = file_reader(reader)
    if file is not None:
        yield from _torn_texts(file, next_line=last + 1)
    yield from _checkpoints(transcript)


def _hidden_in(record: Message, *, is_live: bool) -> tuple[str, str]:
    """The kind and the text of what `search` does not look at in one record."""
    if "_record" in record:
        return f"{name_of(record['_record'])} record", "\n".join(strings_of(record))
    role = name_of(record.get("role"))
    other_fields = {key: value for key, value in record.items() if key not in _SEARCHED}
    others = "\n".join(strings_of(other_fields))
    if is_live:
        return f"other fields of a live {role} message", others
    return f"hidden {role} message", f"{searched_text(record)}\n{others}"


def _torn_texts(file: LogReader, next_line: int) -> Iterator[HiddenText]:
    """The torn tail of a file, and the torn tails that were saved beside it."""
    torn = file.torn
    if torn:
        tail = _text(file.file.read(torn.offset, torn.torn_bytes))
        yield HiddenText("torn tail", next_line, torn.offset, tail, {})
    for name in saved_tails(file.path):
        yield HiddenText(f"saved torn tail {Path(name).name}", 1, 0, _saved_tail(name), {}, is_outside=True)


def _saved_tail(name: str) -> str:
    try:
        return _text(Path(name).read_bytes())
    except OSError as error:
        raise unreadable(error, name) from error


def _checkpoints(transcript: Transcript) -> Iterator[HiddenText]:
    """Give the checkpoints that several hosts share: they hold the session's messages, and a purge leaves them."""
    try:
        for checkpoint in shared_checkpoints(transcript.path, session_id_in(transcript)):
            text = "\n".join(texts_of(checkpoint))
            yield HiddenText(f"the hosts' shared checkpoint {checkpoint}", 1, 0, text, {}, is_outside=True)
    except OSError as error:
        raise unreadable(error, str(error.filename)) from error


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def searched_text(message: Message, tools: Collection[str] = ()) -> str:
    """The searched texts of a message: its text, its thinking, and its calls with their arguments as text.

    Args:
        message: the message.
        tools: only calls of these tools, in lower case; a result is searched whole.
    """
    content = message.get("content")
    if isinstance(content, str) and not message.get("tool_calls") and not message.get("thinking_block"):
        return content
    whole = not tools or result_id_of(message) is not None
    said = []
    for part in parts_of(message):
        if part.kind == "call":
            if whole or part.name.casefold() in tools:
                said.append(f"{part.name} {part.call_id}\n{arguments_text(part.text)}")
        elif whole:
            said.append(str(part))
    return "\n".join(text for text in said if text)


def matching_lines(text: str, spans: Iterable[tuple[int, int]], *, context: int = 0) -> Iterator[FoundLine]:
    """Yield the lines of a text with matches, and the lines of context around each, in order and once."""
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    spans_by_line: dict[int, list[tuple[int, int]]] = {}
    for start, end in spans:
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        for at in range(first, last + 1):
            inside = spans_by_line.setdefault(at, [])
            if len(inside) < MOST_SPANS:
                inside.append((max(0, start - starts[at]), min(len(lines[at]), end - starts[at])))
    given = 0  # lines before this one were yielded, or are too far from a match
    for at, following in pairwise([*sorted(spans_by_line), len(lines)]):
        begin = max(given, at - context)
        given = min(at + context + 1, following)
        for near in range(begin, given):
            yield FoundLine(near + 1, lines[near], tuple(spans_by_line.get(near, ())))


def _spans(text: str, pattern: Pattern | AllWords) -> tuple[list[tuple[int, int]], bool]:
    """The matches in a text, and whether it was searched to its end."""
    spans: list[tuple[int, int]] = []
    deadline = time.monotonic() + MESSAGE_S
    try:
        spans.extend(pattern.spans(text, expired=lambda: time.monotonic() > deadline))
    except SlowPatternError:
        return spans, False
    return spans, True
