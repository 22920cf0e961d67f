"""The messages that answer a question best, over sessions: read from their logs, with what a page or a screen shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from ..errors import LogError
from ..log.base import ReadableLog
from ..messages.message import Message
from ..messages.metadata import RECALL_TOOL, given_id, is_ephemeral, timestamp_of
from ..search.question import read_question
from ..search.ranking import Ranked
from ..search.snippet import Mark, best_window, marks_of
from .find_session import SessionFile
from .ranked_search import RankedAnswer, RankedSearch
from .search_session import FoundLine, matching_lines, searched_text
from .transcript import LiveMessage, Transcript

_SPARE = 50
"""So many more are ranked than asked for: some may be hidden by a clear, or not what is asked for."""
_NARROWED = 1_000
SNIPPET_LINES = 4


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
    """

    session: SessionFile
    placed: LiveMessage
    ranked: Ranked
    text: str
    marks: Sequence[Mark]
    window: range

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
        return _worth_of(self.ranked)

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
    """Which messages of the sessions are meant: of a role, and calls and results of tools; nothing means any."""

    role: str | None = None
    tools: tuple[str, ...] = ()

    def takes(self, placed: LiveMessage) -> bool:
        """Whether a message is meant; what `recall` gave never is."""
        if is_ephemeral(placed.message) or (self.role and placed.message.get("role") != self.role):
            return False
        if placed.message.get("role") in ("tool", "function") and RECALL_TOOL in placed.tools:
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
        indexed, sessions: how many of how many sessions were asked.
        errors: logs that could not be read, by their paths.
        advice: why a database keeps no index of its sessions; empty if it does.
    """

    messages: list[BestMessage]
    common: tuple[str, ...]
    indexed: int
    sessions: int
    errors: dict[str, LogError]
    advice: str = ""

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
    ranked = most + _SPARE if narrowing == EVERYTHING else max(most + _SPARE, _NARROWED)
    answer = search.ask(question, most=ranked)
    with _OpenTranscripts(answer) as transcripts:
        found: list[BestMessage] = []
        for one in transcripts.messages(narrowing, shown):
            found.append(one)
            if len(found) == most:
                break
    return BestMessages(
        found, answer.common, answer.indexed, answer.sessions, answer.errors | transcripts.errors, answer.advice
    )


class _OpenTranscripts:
    """The transcripts of an answer's messages, each opened once."""

    def __init__(self, answer: RankedAnswer) -> None:
        self._answer, self._open = answer, ExitStack()
        self._transcripts: dict[str, Transcript] = {}
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
            except LogError as error:
                self.errors[path] = error
                continue
            if placed is None or not narrowing.takes(placed) or (message := shown(placed.message)) is None:
                continue
            best = _best_message(one.session, _looked_up(placed, message), one.ranked)
            if best.marks or message is placed.message or not _has_words(placed.message, best.worth):
                yield best


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
    text, worth = searched_text(placed.message), _worth_of(ranked)
    marks = marks_of(text, worth)
    return BestMessage(session, placed, ranked, text, marks, best_window(marks, worth))


def _worth_of(ranked: Ranked) -> dict[str, float]:
    return {reason.term: reason.points for reason in ranked.reasons}


def _has_words(message: Message, worth: Mapping[str, float]) -> bool:
    """Whether a message has words of the question."""
    return bool(marks_of(searched_text(message), worth))
