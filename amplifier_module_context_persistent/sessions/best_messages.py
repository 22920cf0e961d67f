"""The messages that answer a question best, over sessions: read from their logs, with what a page or a screen shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..catalogue.copy_id import copy_id
from ..errors import LogError
from ..log.base import ReadableLog
from ..messages.message import Message
from ..messages.metadata import RECALL_TOOL, given_id, is_ephemeral, is_written_between, timestamp_of
from ..search.question import read_question
from ..search.question_times import Period
from ..search.ranking import Ranked, Written, worth_of
from ..search.snippet import Mark, best_window, marks_of
from .find_session import SessionFile
from .ranked_search import RankedAnswer, RankedSearch, error_of_session
from .search_session import FoundLine, matching_lines, searched_text
from .transcript import LiveMessage, Transcript

_SPARE = 50
"""So many more are ranked than asked for: some may be hidden by a clear, or not what is asked for."""
_NARROWED, _MOST_RANKED = 1_000, 4_000
SNIPPET_LINES = 4
_REPR_CHARS = 80
"""Of its line that tells most, a message shows so many characters to a programmer."""


@dataclass(frozen=True, slots=True)
class BestMessage:
    """A message that answers a question.

    Attributes:
        session: the session it is in.
        placed: the message, and its number in the session.
        ranked: its score, and why.
        text: what is searched of it.
        marks: the words of the question in the text, in their order.
        window: the marks (by their numbers) that tell most of the question within a few lines.
        forks: the other sessions that have the same message, because they began with a copy of its session's history.
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
        """Its number in the session's live history, from 1."""
        return self.placed.number

    @property
    def id(self) -> str:
        """Its id; empty if it has none."""
        return given_id(self.placed.message) or ""

    @property
    def role(self) -> str:
        """Who wrote it: a role."""
        return str(self.placed.message.get("role"))

    @property
    def time(self) -> str:
        """When it was written, in ISO 8601; empty if it does not say."""
        return timestamp_of(self.placed.message)

    @property
    def worth(self) -> Mapping[str, float]:
        """The question's terms, each with its part of the score."""
        return worth_of(self.ranked)

    @property
    def score(self) -> float:
        """The score of its rank."""
        return round(self.ranked.score, 4)

    def lines(self, most: int = SNIPPET_LINES) -> list[FoundLine]:
        """The lines that tell most, with the places of the question's words; without any, the first line."""
        spans = [(self.marks[at].start, self.marks[at].end) for at in self.window]
        found = list(matching_lines(self.text, spans))
        if found:
            return found[:most]
        first = next((line for line in self.text.split("\n") if line.strip()), "")
        return [FoundLine(1, first)]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which messages of the sessions are meant. None, or no tool, means any.

    Attributes:
        role: those of a role.
        tools: calls and results of these tools.
        since_s, until_s: those written between these times, in seconds since 1970; one that tells no time is in none.
    """

    role: str | None = None
    tools: tuple[str, ...] = ()
    since_s: float | None = None
    until_s: float | None = None

    @property
    def written(self) -> Written:
        """The time of the messages, as the ranking takes it."""
        return Written(self.since_s, self.until_s)

    def takes(self, placed: LiveMessage) -> bool:
        """Whether a message is meant; what `recall` gave never is."""
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
        messages: the best ones, best first.
        common: words of the question that counted only beside rarer ones.
        periods: the times that the question names.
        notes: what a person is told of words that no message has.
        indexed, sessions: how many of how many sessions were asked.
        share: the share of the sessions' bytes that is indexed.
        unmatched: words of the question that no message of the sessions has, other than those taken for slips.
        errors: logs that could not be read, by their paths.
        advice: why a database keeps no index of its sessions; empty if it does.
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
        """Whether all sessions were asked."""
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
        search: the sessions.
        text: the question.
        most: how many messages are found at most.
        narrowing: which messages are meant.
        shown: gives the part of a message that is shown, such as a copy without secrets; None if the message is not.
            A message that has words of the question only in the other part is left out.
        now: from which `yesterday` is counted; by default this moment, in this machine's time zone.

    Raises:
        RecallError: it is too long, or holds no word.
    """
    question = read_question(text, now=now or datetime.now(UTC).astimezone())
    is_narrowed = narrowing.role is not None or bool(narrowing.tools)
    ranked = max(most + _SPARE, _NARROWED if is_narrowed else 0)
    while True:
        answer = search.ask(question, most=ranked, written=narrowing.written)
        with _OpenTranscripts(answer) as transcripts:
            found = _said_once(transcripts, transcripts.messages(narrowing, shown), most)
        if len(found) == most or len(answer.found) < ranked or ranked >= _MOST_RANKED:
            break
        ranked *= 4  # so many were copies, hidden, or not meant
    return BestMessages(
        messages=found,
        common=answer.common,
        periods=question.periods,
        notes=_notes(answer, found),
        indexed=answer.indexed,
        sessions=answer.sessions,
        errors=answer.errors | transcripts.errors,
        advice=answer.advice,
        share=answer.share,
        unmatched=answer.unmatched,
    )


def _notes(answer: RankedAnswer, found: Sequence[BestMessage]) -> tuple[str, ...]:
    """The notes of an answer; of a slip with the word as the first message has it, since its term may be a stem."""
    slips = {slip.sentence: slip for slip in answer.slips}
    notes = list[str]()
    for note in answer.notes:
        slip = slips.get(note)
        word = _word_in(found, slip.meant.name) if slip is not None else ""
        notes.append(slip.sentence_with(word) if slip is not None and word else note)
    return tuple(notes)


def _word_in(found: Sequence[BestMessage], term: str) -> str:
    """The first word of messages that has a term; "" if none has."""
    for one in found:
        for mark in one.marks:
            if term in mark.terms:
                return one.text[mark.start : mark.end]
    return ""


def _said_once(transcripts: _OpenTranscripts, ranked: Iterable[BestMessage], most: int) -> list[BestMessage]:
    """The best messages, each once: forks have copies of them, which score the same and come next."""
    groups: dict[str, list[BestMessage]] = {}
    for number, one in enumerate(ranked):
        copy = transcripts.copy_id(one) or f"{number}"
        if copy not in groups and len(groups) == most:
            break
        groups.setdefault(copy, []).append(one)
    return [transcripts.origin(copies) for copies in groups.values()]


class _OpenTranscripts:
    """The transcripts of an answer's messages, each opened once."""

    def __init__(self, answer: RankedAnswer) -> None:
        self._answer, self._open = answer, ExitStack()
        self._transcripts: dict[str, Transcript] = {}
        self._copy_ids: dict[tuple[str, int], str] = {}
        self.errors: dict[str, LogError] = {}

    def __enter__(self) -> _OpenTranscripts:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def messages(self, narrowing: Narrowing, shown: Callable[[Message], Message | None]) -> Iterator[BestMessage]:
        """Read the messages that are live and meant, best first; a log that cannot be read gives none."""
        for one in self._answer.found:
            path = str(one.session.path)
            if path in self.errors:
                continue
            try:
                if path not in self._transcripts:
                    self._transcripts[path] = self._open.enter_context(Transcript(one.session.path))
                placed = _placed(self._transcripts[path], one.offset)
            except Exception as error:  # noqa: BLE001 - whatever it is: the others can be shown
                self.errors[path] = error_of_session(error)
                continue
            if placed is None or not narrowing.takes(placed) or (message := shown(placed.message)) is None:
                continue
            self._copy_ids[path, placed.number] = copy_id(placed.message)
            best = _best_message(one.session, _looked_up(placed, message), one.ranked)
            if best.marks or message is placed.message or not _has_words(placed.message, best.worth):
                yield best

    def copy_id(self, one: BestMessage) -> str:
        """The id that a message shares with its copies in other sessions; "" if nothing identifies it."""
        return self._copy_ids[str(one.session.path), one.number]

    def origin(self, copies: Sequence[BestMessage]) -> BestMessage:
        """Of a message and its copies the one in the session in which it was said."""
        if len(copies) == 1:
            return copies[0]
        ids = {one.session.id for one in copies}

        def by_origin(one: BestMessage) -> tuple[bool, bool, int]:
            transcript = self._transcripts[str(one.session.path)]
            header = transcript.header
            return header.get("parent_id") in ids, "forked_from" in header, len(transcript)

        said, *others = sorted(copies, key=by_origin)
        forks = {one.session.id: one.session for one in others if one.session != said.session}
        return replace(said, ranked=copies[0].ranked, forks=tuple(forks.values()))


def _placed(transcript: Transcript, offset: int) -> LiveMessage | None:
    """The live message whose record begins at an offset of a log; None if there is none."""
    position = _position(transcript.reader, offset)
    return next(transcript.placed(among=[position])) if position is not None else None


def _position(log: ReadableLog, offset: int) -> int | None:
    index = log.index
    ordinal = bisect_left(index.columns.offsets, offset)
    if ordinal == len(index.columns.offsets) or index.columns.offsets[ordinal] != offset or not index.is_live(ordinal):
        return None
    at = bisect_left(index.live, ordinal)
    return at if at < len(index.live) and index.live[at] == ordinal else index.live.index(ordinal)


def _looked_up(placed: LiveMessage, message: Message) -> LiveMessage:
    """The same place with the shown form of its message, complete, so that its log may be closed."""
    tools, ending, open_calls = placed.tools, placed.ending, placed.open_calls
    return LiveMessage(placed.number, message, lambda: tools, lambda: ending, lambda: open_calls)


def _best_message(session: SessionFile, placed: LiveMessage, ranked: Ranked) -> BestMessage:
    text, worth = searched_text(placed.message), worth_of(ranked)
    marks = marks_of(text, worth)
    return BestMessage(session, placed, ranked, text, marks, best_window(marks, worth))


def _has_words(message: Message, worth: Mapping[str, float]) -> bool:
    """Whether a message has words of the question."""
    return bool(marks_of(searched_text(message), worth))
