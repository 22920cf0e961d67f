"""Find the messages of many sessions that answer a question best, and read them from their logs.

Each found message comes with its number, its score and the places of the question's words (marks), for a page or a
screen. A message is live if nothing, such as a clear or a rewind, has removed it from its session's history. A session
that began with a copy of another session's history is a fork of that session.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..catalogue.copy_id import copy_id
from ..clock import LOCAL_ZONE
from ..errors import LogError
from ..log.contract import ReadableLog
from ..messages.message import Message
from ..messages.message_times import is_written_between, timestamp_of
from ..messages.metadata import RECALL_TOOL, given_id, is_ephemeral
from ..search.question import read_question
from ..search.question_times import Period
from ..search.ranking import Ranked, Written, worth_of
from ..search.snippet import Mark, best_window, marks_of
from .all_sessions_index import RankedAnswer, RankedSearch
from .indexed_log import error_of_session
from .pattern_in_session import FoundLine, matching_lines, searched_text
from .session_files import SessionFile
from .transcript import LiveMessage, Transcript

_SPARE = 50
"""The number of messages ranked beyond the number that was asked for: a clear may hide some, or a filter may exclude
them."""
_NARROWED, _MOST_RANKED = 1_000, 4_000
SNIPPET_LINES = 4
_REPR_CHARS = 80
"""The number of characters of the best line that `repr` of a message shows."""


@dataclass(frozen=True, slots=True)
class BestMessage:
    """A message that answers a question.

    Attributes:
        session: the session that contains the message.
        placed: the message and its number in the session.
        ranked: the score of the message and the reasons for it.
        text: the searched text of the message.
        marks: the places of the question's words in the text, in order.
        window: the indexes of the marks that match most of the question within a few lines.
        forks: other sessions with a copy of the message, because they began with a copy of this session's history.
    """

    session: SessionFile
    placed: LiveMessage
    ranked: Ranked
    text: str
    marks: Sequence[Mark]
    window: range
    forks: tuple[SessionFile, ...] = ()

    def __repr__(self) -> str:
        line = self.lines(1)[0].text.strip()
        return (
            f"BestMessage(session={self.session.id!r}, number={self.number}, role={self.role!r}, time={self.time!r},"
            f" score={self.score}, line={line[:_REPR_CHARS]!r})"
        )

    @property
    def number(self) -> int:
        """The number of the message in the session's live history, from 1."""
        return self.placed.number

    @property
    def id(self) -> str:
        """The id of the message; "" if the message has none."""
        return given_id(self.placed.message) or ""

    @property
    def role(self) -> str:
        """The role of the message, such as `user` or `assistant`."""
        return str(self.placed.message.get("role"))

    @property
    def time(self) -> str:
        """The time when the message was written, in ISO 8601; "" if the time is unknown."""
        return timestamp_of(self.placed.message)

    @property
    def worth(self) -> Mapping[str, float]:
        """The part of the score that each term of the question contributes, by term."""
        return worth_of(self.ranked)

    @property
    def score(self) -> float:
        """The score of the message, rounded to 4 digits; a better answer has a higher score."""
        return round(self.ranked.score, 4)

    def lines(self, most: int = SNIPPET_LINES) -> list[FoundLine]:
        """Return the lines that match most of the question, each with the places of the question's words.

        If the text contains none of the words, return its first line that is not blank.

        Args:
            most: the largest number of lines.
        """
        spans = [(self.marks[at].start, self.marks[at].end) for at in self.window]
        matching = list(matching_lines(self.text, spans))
        if matching:
            return matching[:most]
        first = next((line for line in self.text.split("\n") if line.strip()), "")
        return [FoundLine(1, first)]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A filter for the messages of sessions. None, or an empty `tools`, accepts any message.

    Attributes:
        role: accept only messages of this role.
        tools: accept only calls and results of these tools.
        since_s, until_s: accept only messages written between these times, in seconds since 1970. A message without a
            time is not accepted then.
    """

    role: str | None = None
    tools: tuple[str, ...] = ()
    since_s: float | None = None
    until_s: float | None = None

    @property
    def time_limits(self) -> Written:
        """The time limits of this filter as a `Written`, which `RankedSearch.ask` takes."""
        return Written(self.since_s, self.until_s)

    def accepts(self, placed: LiveMessage) -> bool:
        """Return whether the filter accepts a message.

        Ephemeral messages and results of the `recall` tool are never accepted.
        """
        if is_ephemeral(placed.message) or (self.role and placed.message.get("role") != self.role):
            return False
        if placed.message.get("role") in ("tool", "function") and RECALL_TOOL in placed.tools:
            return False
        if not is_written_between(placed.message, self.since_s, self.until_s):
            return False
        if not self.tools:
            return True
        called = {tool.casefold() for tool in placed.tools}
        return any(tool.casefold() in called for tool in self.tools)


EVERYTHING = Narrowing()


@dataclass(frozen=True, slots=True)
class BestMessages:
    """The answer to a question over sessions.

    Attributes:
        messages: the best messages, best first.
        common: frequent words of the question, which counted only in messages with a rarer word.
        periods: the times that the question names.
        notes: remarks for the user about the question, such as about words that no message contains.
        indexed, sessions: the number of completely searched sessions, and the number of all sessions.
        share: the indexed share of the sessions' bytes, from 0 to 1.
        unmatched: words of the question that no message contains, without words in which a typing error is assumed.
        errors: the errors of logs that could not be read, by path.
        advice: why a database keeps no index of its sessions; "" if it keeps one.
    """

    messages: list[BestMessage]
    common: tuple[str, ...]
    periods: tuple[Period, ...]
    notes: tuple[str, ...]
    indexed: int
    sessions: int
    errors: dict[str, LogError]
    advice: str = ""
    share: float = 1.0
    unmatched: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every session was searched completely or is in `errors`."""
        return self.indexed + len(self.errors) >= self.sessions


def best_messages(
    search: RankedSearch,
    text: str,
    *,
    most: int,
    narrowing: Narrowing = EVERYTHING,
    shown: Callable[[Message], Message | None] = lambda message: message,
    now: datetime | None = None,
) -> BestMessages:
    """Find the messages that answer a question best.

    Args:
        search: the sessions to search.
        text: the question.
        most: the largest number of messages to return.
        narrowing: a filter for the messages.
        shown: returns the part of a message to show, such as a copy without secrets, or None to leave the message out.
            A message is also left out if only the part that is not shown contains words of the question.
        now: the time from which words like `yesterday` are counted; by default the current time in this machine's
            time zone.

    Raises:
        RecallError: the question is too long or contains no word.
    """
    question = read_question(text, now=now or datetime.now(UTC).astimezone(LOCAL_ZONE))
    is_narrowed = narrowing.role is not None or bool(narrowing.tools)
    most_ranked = most + _SPARE
    if is_narrowed:
        most_ranked = max(most_ranked, _NARROWED)
    while True:
        answer = search.ask(question, most=most_ranked, written=narrowing.time_limits)
        with _OpenTranscripts(answer) as transcripts:
            best = _merge_copies(transcripts, transcripts.messages(narrowing, shown), most)
        are_all_ranked = len(answer.found) < most_ranked
        if len(best) == most or are_all_ranked or most_ranked >= _MOST_RANKED:
            break
        most_ranked *= 4  # too many were copies, hidden, or excluded by the filter
    return BestMessages(
        messages=best,
        common=answer.common,
        periods=question.periods,
        notes=_notes(answer, best),
        indexed=answer.indexed,
        sessions=answer.sessions,
        errors=answer.errors | transcripts.errors,
        advice=answer.advice,
        share=answer.share,
        unmatched=answer.unmatched,
    )


def _notes(answer: RankedAnswer, best: Sequence[BestMessage]) -> tuple[str, ...]:
    """Return the notes of an answer.

    A note about a typing error names the corrected word as the best message has it, because the term in the index may
    be only a stem.
    """
    slips = {slip.sentence: slip for slip in answer.slips}
    notes = list[str]()
    for note in answer.notes:
        slip = slips.get(note)
        if slip is not None:
            word = _word_in(best, slip.meant.name)
            if word:
                note = slip.sentence_with(word)
        notes.append(note)
    return tuple(notes)


def _word_in(messages: Sequence[BestMessage], term: str) -> str:
    """Return the first word in the messages that matches a term; "" if there is none."""
    for message in messages:
        for mark in message.marks:
            if term in mark.terms:
                return message.text[mark.start : mark.end]
    return ""


def _merge_copies(transcripts: _OpenTranscripts, ranked: Iterable[BestMessage], most: int) -> list[BestMessage]:
    """Return the best messages, at most `most`, with the copies of a message merged into one.

    Copies of a message in forks have the same score, so they are adjacent in the ranking.
    """
    groups: dict[str, list[BestMessage]] = {}
    for number, message in enumerate(ranked):
        copy = transcripts.copy_id(message) or f"{number}"
        if copy not in groups and len(groups) == most:
            break
        groups.setdefault(copy, []).append(message)
    return [transcripts.origin(copies) for copies in groups.values()]


class _OpenTranscripts:
    """The open transcripts of the sessions in an answer; each is opened only once."""

    def __init__(self, answer: RankedAnswer) -> None:
        self._answer = answer
        self._open = ExitStack()
        self._transcripts: dict[str, Transcript] = {}
        self._copy_ids: dict[tuple[str, int], str] = {}
        self.errors: dict[str, LogError] = {}

    def __enter__(self) -> _OpenTranscripts:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def messages(self, narrowing: Narrowing, shown: Callable[[Message], Message | None]) -> Iterator[BestMessage]:
        """Yield the live messages that the filter accepts, best first.

        The messages of a log that cannot be read are skipped; its error is in `errors`.
        """
        for found in self._answer.found:
            path = str(found.session.path)
            if path in self.errors:
                continue
            try:
                if path not in self._transcripts:
                    self._transcripts[path] = self._open.enter_context(Transcript(found.session.path))
                live = _placed(self._transcripts[path], found.offset)
            except Exception as error:  # noqa: BLE001 - whatever it is: the others can be shown
                self.errors[path] = error_of_session(error)
                continue
            if live is None or not narrowing.accepts(live):
                continue
            message = shown(live.message)
            if message is None:
                continue
            self._copy_ids[path, live.number] = copy_id(live.message)
            best = _best_message(found.session, _detached_copy(live, message), found.ranked)
            if best.marks or message is live.message or not _has_words(live.message, best.worth):
                yield best

    def copy_id(self, message: BestMessage) -> str:
        """Return the id that a message shares with its copies in other sessions; "" if nothing identifies it."""
        return self._copy_ids[str(message.session.path), message.number]

    def origin(self, copies: Sequence[BestMessage]) -> BestMessage:
        """Return the message in the session where it was probably written.

        The result's `forks` are the other sessions, which have copies of the message.

        Args:
            copies: the message in each session that has it.
        """
        if len(copies) == 1:
            return copies[0]
        ids = {copy.session.id for copy in copies}

        def by_origin(copy: BestMessage) -> tuple[bool, bool, int]:
            transcript = self._transcripts[str(copy.session.path)]
            header = transcript.header
            return header.get("parent_id") in ids, "forked_from" in header, len(transcript)

        original, *others = sorted(copies, key=by_origin)
        forks = {copy.session.id: copy.session for copy in others if copy.session != original.session}
        return replace(original, ranked=copies[0].ranked, forks=tuple(forks.values()))


def _placed(transcript: Transcript, offset: int) -> LiveMessage | None:
    """Return the live message whose record begins at an offset of the log; None if no live message begins there."""
    position = _position(transcript.reader, offset)
    if position is None:
        return None
    return next(transcript.placed(among=[position]))


def _position(log: ReadableLog, offset: int) -> int | None:
    """Return the position in the live history of the record at an offset; None if no live record begins there."""
    index = log.index
    offsets = index.columns.offsets
    ordinal = bisect_left(offsets, offset)
    if ordinal == len(offsets) or offsets[ordinal] != offset or not index.is_live(ordinal):
        return None
    position = bisect_left(index.live, ordinal)  # correct unless a reset changed the order
    if position < len(index.live) and index.live[position] == ordinal:
        return position
    return index.live.index(ordinal)


def _detached_copy(live: LiveMessage, message: Message) -> LiveMessage:
    """Return a found message that no longer needs the log: its tools and outcome are read now.

    Args:
        live: the message as found.
        message: the message to show instead of the stored one.
    """
    tools = live.tools
    outcome = live.call_outcome
    open_calls = live.open_calls
    return LiveMessage(live.number, message, lambda: tools, lambda: outcome, lambda: open_calls)


def _best_message(session: SessionFile, placed: LiveMessage, ranked: Ranked) -> BestMessage:
    text = searched_text(placed.message)
    worth = worth_of(ranked)
    marks = marks_of(text, worth)
    return BestMessage(session, placed, ranked=ranked, text=text, marks=marks, window=best_window(marks, worth))


def _has_words(message: Message, worth: Mapping[str, float]) -> bool:
    """Return whether the text of a message contains words of the question."""
    return bool(marks_of(searched_text(message), worth))
