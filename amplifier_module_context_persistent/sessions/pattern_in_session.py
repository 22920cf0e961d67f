"""Search a transcript for a pattern: find the messages that match, and their matching lines.

The searched text of a message is its content, its thinking, and its calls with their arguments as text. A line of the
log that cannot match is not parsed.

A clear, a reset, a rewind or a compaction erases nothing. To find a text that must not be in the log, such as a leaked
key, the rest of the log has to be searched too: hidden messages, control records (such as plans and resets), metadata,
and bytes that cannot be read as records.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import cast

from ..log.filesystem import open_regular, unreadable
from ..log.open_reader import file_reader
from ..log.reader import LogReader
from ..log.record_line import name_of
from ..log.save_torn_tail import saved_tails
from ..messages.message import Message, result_id_of
from ..messages.message_times import is_written_between, timestamp_of
from ..messages.metadata import is_ephemeral
from ..messages.text import arguments_text, parts_of
from ..search.pattern import Pattern, SlowPatternError
from ..search.word_search import AllWords
from .raw_records import StoredLog, pieces_of, strings_of
from .shared_checkpoint import shared_checkpoints, texts_of
from .transcript import LiveMessage, Transcript, session_id_in

_SEARCHED = frozenset({"role", "content", "tool_calls", "thinking_block"})
"""The keys of a message that contain its searched text."""

_CALLS = re.compile(rb'"tool_(?:calls|call|use)"')
_WORD = re.compile(rb"[A-Za-z0-9_]+")
_WRITTEN_ANEW = re.compile(rb"[0-9e]+", re.IGNORECASE)  # JSON may write the same number in several ways
ESCAPED = rb"\\u00"
"""The beginning of an escaped letter in arguments, which are JSON within a JSON text."""
_ESCAPED_LETTER = re.compile(rb"\\\\u00[0-7]")  # in arguments, which are JSON within a JSON text

MOST_SPANS = 1_000
"""The largest number of matches returned for one line, because a line may have millions of characters."""
MESSAGE_S = 2.0
"""The longest time in seconds to search one message. A part of a message has a limit too (`search/pattern.WINDOW_S`).
"""


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of a message's text, its number from 1, and the places of the matches in it.

    A context line has no matches.
    """

    number: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class HiddenText:
    """A text of the session's files that a normal search does not see.

    Examples are a message that a clear or a rewind took out of the history, the metadata of any message, a control
    record, and a torn tail. The text begins at a line (from 1) and a byte offset (from 0) of its file.
    """

    what: str
    """The kind of the text, such as `hidden user message`, `plan record`, `unreadable bytes`."""
    line: int
    offset: int
    text: str
    message: Message
    """The record that contains the text; {} if the text is not in a record."""
    is_outside: bool = False
    """Whether the text is in another file than the log."""


@dataclass(frozen=True, slots=True)
class MessageMatch:
    """A message or a hidden text, with its matching lines."""

    placed: LiveMessage | HiddenText
    lines: list[FoundLine]
    is_whole: bool
    """Whether the whole text was searched. If not, the pattern took too long, and more lines may match."""


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
    """Yield the live messages that match, in order, and also messages that were not searched to the end.

    Args:
        transcript: the session.
        pattern: the pattern to find, from `search.pattern` or `search.word_search`.
        role: only messages of this role.
        tools: only calls and results of these tools, ignoring case; other parts of messages are not searched.
        since_s: only messages from this time on, in seconds since 1970. Messages without a time are left out.
        until_s: only messages before this time. Messages without a time are left out.
        context: the number of lines to return before and after a matching line.
        among: the positions of the messages to search, from 0; by default all.
        hidden: whether to search the rest of the log afterwards (`hidden_texts`). With `role`, only texts of messages
            with this role are searched. With `since_s` or `until_s`, texts without a time are searched too.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read, or a torn tail that was saved beside the log
            cannot be read.
    """
    may_match = line_test(pattern) if pattern.needle else None
    folded = frozenset(tool.casefold() for tool in tools)
    for placed in transcript.placed(role=role, may_match=may_match, among=among):
        message = placed.message
        if is_ephemeral(message) or not is_written_between(message, since_s, until_s):
            continue
        if folded and folded.isdisjoint(tool.casefold() for tool in placed.tools):
            continue
        match = _match_in(searched_text(message, folded), placed, pattern, context)
        if match is not None:
            yield match
    if not hidden:
        return
    for text in hidden_texts(transcript):
        if timestamp_of(text.message) and not is_written_between(text.message, since_s, until_s):
            continue
        if role is not None and text.message.get("role") != role:
            continue
        match = _match_in(text.text, text, pattern, context)
        if match is not None:
            yield match


def line_test(pattern: Pattern | AllWords) -> Callable[[bytes], bool]:
    """Return a function that tells whether the message in a line may match. It does not parse the line."""
    words = _words_of(pattern)

    def may_match(line: bytes) -> bool:
        if pattern.may_match(line):
            return True
        if _CALLS.search(line) is None:
            return False
        line = line.lower()  # calls are searched as text, not as JSON, so the characters between words may differ
        return all(word in line for word in words) or _ESCAPED_LETTER.search(line) is not None

    return may_match


def _match_in(
    text: str, placed: LiveMessage | HiddenText, pattern: Pattern | AllWords, context: int
) -> MessageMatch | None:
    """Search the text of a message, or a hidden text.

    Return None if the whole text was searched and nothing was found.
    """
    spans, is_whole = _spans(text, pattern)
    if not spans and is_whole:
        return None
    return MessageMatch(placed, list(matching_lines(text, spans, context=context)), is_whole)


def _words_of(pattern: Pattern | AllWords) -> list[bytes]:
    """Return words, in lower case, that the line of a call contains if the text of the call matches."""
    terms = pattern.terms if isinstance(pattern, AllWords) else (pattern,)
    texts = list[bytes]()
    for term in terms:
        texts += [word.lower() for word in _lasting_words(term.needle)]
    return texts


def _lasting_words(needle: bytes) -> list[bytes]:
    """Return the words in some bytes, without numbers and `Infinity`, which JSON may write in other ways."""
    words = set(_WORD.findall(needle))
    return [word for word in words if not _WRITTEN_ANEW.fullmatch(word) and word.lower() not in b"infinity"]


def word_of_matches(pattern: Pattern | AllWords) -> tuple[bytes, bool]:
    """Return a word that the line of every match contains, and whether its case is to be ignored.

    Lines with `ESCAPED` may match without the word. The word is b"" if there is no such word. If the case is to be
    ignored, the word is in lower case.
    """
    if isinstance(pattern, Pattern) and not pattern.ignores_case:
        return max(_lasting_words(pattern.needle), key=len, default=b""), False
    words = _words_of(pattern) if pattern.needle else ()
    return max(words, key=len, default=b""), True


def hidden_texts(transcript: Transcript) -> Iterator[HiddenText]:
    """Yield the texts that `search` does not search by default, in the order of the log.

    For a live message, this is the text of its metadata and other fields. Torn tails and the checkpoints that hosts
    share come last.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read, or another file cannot be read.
    """
    reader = cast("StoredLog", transcript.reader)  # all stored logs are of this type
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
    """Return the kind and the text of the part of a record that `search` does not search by default."""
    if "_record" in record:
        return f"{name_of(record['_record'])} record", "\n".join(strings_of(record))
    role = name_of(record.get("role"))
    other_fields = {key: value for key, value in record.items() if key not in _SEARCHED}
    others = "\n".join(strings_of(other_fields))
    if is_live:
        return f"other fields of a live {role} message", others
    return f"hidden {role} message", f"{searched_text(record)}\n{others}"


def _torn_texts(file: LogReader, next_line: int) -> Iterator[HiddenText]:
    """Yield the torn tail of a log file (an incomplete last record), and the torn tails that were saved beside it."""
    torn = file.torn
    if torn:
        tail = _text(file.file.read(torn.offset, torn.torn_bytes))
        yield HiddenText("torn tail", next_line, torn.offset, tail, {})
    for name in saved_tails(file.path):
        yield HiddenText(f"saved torn tail {Path(name).name}", 1, 0, _saved_tail(name), {}, is_outside=True)


def _saved_tail(name: str) -> str:
    try:
        with open_regular(name) as file:
            return _text(file.read())
    except OSError as error:
        raise unreadable(error, name) from error


def _checkpoints(transcript: Transcript) -> Iterator[HiddenText]:
    """Yield the checkpoints that several hosts share. They contain the session's messages, also after a purge."""
    try:
        for checkpoint in shared_checkpoints(transcript.path, session_id_in(transcript)):
            text = "\n".join(texts_of(checkpoint))
            yield HiddenText(f"the hosts' shared checkpoint {checkpoint}", 1, 0, text, {}, is_outside=True)
    except OSError as error:
        raise unreadable(error, str(error.filename)) from error


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def searched_text(message: Message, tools: Collection[str] = ()) -> str:
    """Return the searched text of a message: its content, its thinking, and its calls with their arguments as text.

    Args:
        message: the message in the form of the log.
        tools: only calls of these tools, in lower case; empty for the whole text. A result is always returned whole.
    """
    content = message.get("content")
    if isinstance(content, str) and not message.get("tool_calls") and not message.get("thinking_block"):
        return content
    whole = not tools or result_id_of(message) is not None
    texts = []
    for part in parts_of(message):
        if part.kind == "call":
            if whole or part.name.casefold() in tools:
                texts.append(f"{part.name} {part.call_id}\n{arguments_text(part.text)}")
        elif whole:
            texts.append(str(part))
    return "\n".join(text for text in texts if text)


def matching_lines(text: str, spans: Iterable[tuple[int, int]], *, context: int = 0) -> Iterator[FoundLine]:
    """Yield the lines of a text with matches and the context lines around them, in order and each once.

    Args:
        text: the text that was searched.
        spans: the start and the end of each match in the text.
        context: the number of context lines before and after a matching line.
    """
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    spans_by_line: dict[int, list[tuple[int, int]]] = {}
    for start, end in spans:
        first = bisect_right(starts, start) - 1
        last = bisect_right(starts, end - 1) - 1
        for at in range(first, last + 1):
            inside = spans_by_line.setdefault(at, [])
            if len(inside) < MOST_SPANS:
                inside.append((max(0, start - starts[at]), min(len(lines[at]), end - starts[at])))
    next_line = 0  # lines before this one were yielded, or are too far from a match
    for at, following in pairwise([*sorted(spans_by_line), len(lines)]):
        begin = max(next_line, at - context)
        next_line = min(at + context + 1, following)
        for near in range(begin, next_line):
            yield FoundLine(near + 1, lines[near], tuple(spans_by_line.get(near, ())))


def _spans(text: str, pattern: Pattern | AllWords) -> tuple[list[tuple[int, int]], bool]:
    """Return the start and the end of each match in a text, and whether the text was searched to its end."""
    spans: list[tuple[int, int]] = []
    deadline = time.monotonic() + MESSAGE_S
    try:
        spans.extend(pattern.spans(text, expired=lambda: time.monotonic() > deadline))
    except SlowPatternError:
        return spans, False
    return spans, True
