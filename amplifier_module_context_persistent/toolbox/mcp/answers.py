"""The answers of the server's tools, as plain JSON types. Each has at most the tokens of `answer_size`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import RecallError
from ...messages.message import Message
from ...messages.message_times import timestamp_of
from ...messages.tool_kinds import CHANGE, READ, ToolKinds, ToolUse, same_file
from ...sessions.all_sessions_index import RankedSearch
from ...sessions.best_messages import BestMessage, BestMessages, Narrowing, best_messages
from ...sessions.filters import SessionFilter
from ...sessions.given_times import check_range, moment_s
from ...sessions.overview import Overview
from ...sessions.session_files import SessionFile
from ...sessions.session_name import name_from_glance
from ...sessions.transcript import LiveMessage, Transcript
from .answer_size import fits, in_limit
from .excerpt_of_answer import MOST_CHARS, best_excerpt
from .index_ahead import IndexAhead
from .scope import (
    Scope,
    UnknownError,
    may_be_shown,
    seen_of,
    shown,
    speaker_of,
    text_of,
    without_secrets,
)

logger = logging.getLogger(__name__)

ANSWER_S = 1.0
"""The longest time that a question waits for the index. The answers are then read in less than a second more."""
_LAST_BATCH_S = 0.2
"""The longest time that a question waits for the end of the index fill, which finishes a batch first."""
_MOST_FILES_S = 1.5
_ANSWERS, _SESSIONS, _MESSAGES = 8, 20, 12
"""The numbers of answers, sessions and messages that a call gets by default."""
_EXCERPT_CHARS = (MOST_CHARS, 1_000, 400, 160)
"""The lengths of excerpts that are tried, until all answers fit."""
_MOST_UNREADABLE = 20
"""The largest number of unreadable sessions that an answer names."""
_BEFORE = 3
_MOST_TITLE = 200
_OUTLINE_CHARS = 200

Arguments = Mapping[str, Any]
Answer = dict[str, Any]


@dataclass(slots=True)
class Answers:
    """Answers questions about the sessions of a scope.

    Attributes:
        scope: the sessions.
        ahead: the index of the messages that the catalogues have not indexed.
    """

    scope: Scope
    ahead: IndexAhead = field(default_factory=IndexAhead)
    _seen: dict[str, tuple[float, Overview]] = field(default_factory=dict)
    """The list entries of sessions that were read, each with the time of the log's last change, by the log's path."""

    def search_sessions(self, arguments: Arguments) -> Answer:
        """Find the messages that answer a question best.

        Raises:
            UnknownError: an argument is wrong, or there is no such session.
        """
        wanted = _filter(arguments)
        sessions = self.scope.sessions(wanted)
        search = self._search(sessions)
        tools = (arguments["tool"],) if arguments.get("tool") else ()
        narrowing = Narrowing(arguments.get("role"), tools, wanted.since_s, wanted.until_s)
        first = arguments.get("offset", 0)
        most = first + arguments.get("limit", _ANSWERS)
        try:
            best_answers = best_messages(search, arguments["question"], most=most, narrowing=narrowing, shown=_shown)
        except RecallError as error:  # it names the argument of `recall`
            raise UnknownError(f"question: {str(error).removeprefix('query: ')}") from error
        answer: Answer = {"indexed_sessions": best_answers.indexed, "sessions": best_answers.sessions}
        notes = [*best_answers.notes]
        if not best_answers.is_whole:
            self._go_on(sessions)
            notes.append(_what_is_indexed(best_answers))
        if best_answers.periods and not best_answers.messages:
            notes.append("nothing was found of the time that the question names")
        if notes:
            answer["note"] = "; ".join(notes)
        if best_answers.errors:
            unreadable = sorted(session.id for session in sessions if str(session.path) in best_answers.errors)
            answer["unreadable"] = unreadable[:_MOST_UNREADABLE]
        if best_answers.unmatched:
            answer["unmatched_words"] = list(best_answers.unmatched)
        if best_answers.periods:
            answer["read_as_times"] = [period.said for period in best_answers.periods]
        best = best_answers.messages[first:]
        sessions_by_path = {str(message.session.path): message.session for message in best}
        self._overviews(list(sessions_by_path.values()))  # all with one query
        answers: list[Answer] = []
        for chars in _EXCERPT_CHARS:  # shorter excerpts each time, until all answers fit
            answers = [self._answer_of(message, chars) for message in best]
            if fits(answer | {"answers": answers}):
                break
        return answer | _page("answers", answers, first, lambda some: fits(answer | {"answers": some}))

    def _search(self, sessions: Sequence[SessionFile]) -> RankedSearch:
        """Return a search over the sessions.

        Logs in files are indexed before the search, for `ANSWER_S` at most. The database itself indexes its logs.
        """
        if self.scope.storage is not None:
            deadline = time.monotonic() + ANSWER_S
            return RankedSearch(
                sessions,
                may_go_on=lambda: time.monotonic() < deadline and self.ahead.has_room(),
                fills=self.ahead.fills,
                failed=self.ahead.failed,
            )
        self.ahead.go_on(sessions)
        self.ahead.wait(ANSWER_S)
        self.ahead.stop(_LAST_BATCH_S)
        return RankedSearch(sessions, may_go_on=lambda: False, fills=self.ahead.fills, failed=self.ahead.failed)

    def _go_on(self, sessions: Sequence[SessionFile]) -> None:
        """Continue to index after the question: its sessions first, then all others."""
        if self.scope.storage is None:
            self.ahead.go_on(sessions, self.scope.sessions())

    def _answer_of(self, found: BestMessage, chars: int) -> Answer:
        """Return an answer, with an excerpt of at most `chars` characters."""
        text = text_of(found.placed.message)
        excerpt = best_excerpt(text, found.worth, chars=chars)
        answer = self._where(found.session) | _of_message(found.placed)
        answer["score"] = found.score
        answer["text"] = excerpt.text
        answer["offset"] = excerpt.offset
        answer["characters"] = len(text)
        if found.forks:
            answer["forks"] = len(found.forks)
        return answer

    def read_session(self, arguments: Arguments) -> Answer:
        """Read the messages around a message, the messages of a turn, or an outline; as many as fit.

        In the answer, `next_number` and `next_offset` say where to continue.

        Raises:
            UnknownError: there is no such session, turn or message, or both a turn and a message are given.
        """
        session = self.scope.session(arguments["session"])
        with Transcript(session.path) as transcript:
            answer = self._where(session) | {"messages_in_session": len(transcript)}
            if arguments.get("outline"):
                return answer | _outline(transcript, answer)
            start, stop = _range(transcript, arguments)
            messages = list[Answer]()
            next_number = None
            for placed in transcript.placed(start, stop):
                if not may_be_shown(placed.message):
                    continue
                offset = 0
                is_asked_for = arguments.get("number", placed.number) == placed.number
                if is_asked_for and not messages:  # only the first message can be continued
                    offset = arguments.get("offset", 0)
                entry = _part_of_message(placed, offset)
                if not fits(answer | {"messages": [*messages, entry]}):
                    next_number = placed.number
                    break
                messages.append(entry)
            if next_number is None and stop < len(transcript):
                next_number = stop + 1
            answer |= {"messages": messages}
            if next_number is not None:
                answer["next_number"] = next_number
            return answer

    def list_sessions(self, arguments: Arguments) -> Answer:
        """Return the sessions of the scope, those with the newest messages first, and those without times last."""
        overviews = self._overviews(self.scope.sessions(_filter(arguments)))
        overviews.sort(key=lambda overview: (-overview.known_s, overview.session.id))
        first = arguments.get("offset", 0)
        stop = first + arguments.get("limit", _SESSIONS)
        listed = []
        for overview in overviews[first:stop]:
            entry = self._where(overview.session)
            entry["first_message"] = overview.first_message
            entry["last_message"] = overview.last_message
            entry["messages"] = overview.messages
            entry["model"] = without_secrets(overview.model)
            listed.append(entry)
        answer: Answer = {"in_scope": len(overviews)}
        return answer | _page("sessions", listed, first, lambda some: fits(answer | {"sessions": some}))

    def files_touched(self, arguments: Arguments) -> Answer:
        """Return the files that a session read and changed, or the sessions that used a file.

        Raises:
            UnknownError: an argument is wrong, or there is no such session.
        """
        if arguments.get("session"):
            session = self.scope.session(arguments["session"])
            answer: Answer = self._where(session)
            files = _files_of(session, arguments.get("path", ""))
            return answer | {"files": in_limit(files, lambda some: fits(answer | {"files": some}))}
        if not arguments.get("path"):
            raise UnknownError("give session or path")
        found = list[Answer]()
        unreadable = list[str]()
        looked_at = 0
        deadline = time.monotonic() + _MOST_FILES_S
        sessions = self.scope.sessions(_filter(arguments))
        for session in sorted(sessions, key=lambda session: -session.modified_s):
            if time.monotonic() > deadline:
                break
            looked_at += 1
            try:
                where = self._where(session)
                found += [where | file for file in _files_of(session, arguments["path"])]
            except Exception as error:
                logger.debug("%s: its files cannot be told", session.path, exc_info=error)
                unreadable.append(session.id)
        answer = {"sessions_looked_at": looked_at, "sessions": len(sessions)}
        if unreadable:
            answer["unreadable"] = unreadable[:_MOST_UNREADABLE]
        return answer | {"files": in_limit(found, lambda some: fits(answer | {"files": some}))}

    def _where(self, session: SessionFile) -> Answer:
        return {"session": session.id, "title": self._title_of(session), "project": session.project}

    def _title_of(self, session: SessionFile) -> str:
        """Return the name of a session; for a session without a name, the first line that a person wrote."""
        [overview] = self._overviews([session])
        title = name_from_glance(session.path, overview).name or overview.first_line
        return without_secrets(title)[:_MOST_TITLE]

    def _overviews(self, sessions: Sequence[SessionFile]) -> list[Overview]:
        """Return the list entries of sessions. Sessions that are unchanged since the last call are not read."""
        changed = [session for session in sessions if not self._is_known(session)]
        for session, overview in zip(changed, seen_of(changed), strict=True):
            self._seen[str(session.path)] = session.modified_s, overview
        overviews = []
        for session in sessions:
            _, overview = self._seen[str(session.path)]
            overviews.append(overview)
        return overviews

    def _is_known(self, session: SessionFile) -> bool:
        """Return whether the session was read before and is unchanged since."""
        path = str(session.path)
        if path not in self._seen:
            return False
        modified_s, overview = self._seen[path]
        return modified_s == session.modified_s and not overview.error


def _what_is_indexed(best: BestMessages) -> str:
    """Return a note for an answer that is not from all sessions, because some are not indexed yet."""
    share = min(best.share, 0.999)
    return (
        f"{best.indexed:,} of {best.sessions:,} sessions are indexed, {share:.1%} of their bytes; ask again for the"
        " others (`context-persistent search --best` keeps the index, so that no server makes it again)"
    )


def _page(name: str, items: list[Answer], first: int, fits: Callable[[list[Answer]], bool]) -> Answer:
    """Return a page of an answer.

    Args:
        name: the key of the items in the answer.
        items: the items from `first` on, each a JSON object.
        first: the offset of the first item among all items.
        fits: returns whether the given items fit into the answer.

    Returns:
        The items that fit. If others are left out, also their number and the offset to get them.
    """
    fitting = in_limit(items, fits)
    page: Answer = {name: fitting}
    if len(fitting) < len(items):
        page["left_out"] = len(items) - len(fitting)
        page["next_offset"] = first + len(fitting)
    return page


def _filter(arguments: Arguments) -> SessionFilter:
    """Return the filter of sessions for the arguments of a call, without the limits of the client's scope.

    Raises:
        FilterError: a time cannot be read, or the range of times is empty.
    """
    since = arguments.get("since")
    until = arguments.get("until")
    since_s = moment_s(since, name="since") if since else None
    until_s = moment_s(until, name="until") if until else None
    check_range(since_s, until_s)
    return SessionFilter(since_s=since_s, until_s=until_s, name=arguments.get("name") or None)


def _shown(message: Message) -> Message | None:
    """Return a message as models may see it; None if the message is kept from models."""
    return shown(message) if may_be_shown(message) else None


def _of_message(placed: LiveMessage) -> Answer:
    return {
        "number": placed.number,
        "id": str((placed.message.get("metadata") or {}).get("message_id", "")),
        "speaker": speaker_of(placed),
        "time": timestamp_of(placed.message),
    }


def _part_of_message(placed: LiveMessage, offset: int) -> Answer:
    """Return a message with at most `MOST_CHARS` of its text, from `offset` on, and the offset of the rest."""
    text = text_of(shown(placed.message))
    part = text[offset : offset + MOST_CHARS]
    entry = _of_message(placed) | {"text": part}
    stop = offset + len(part)
    if len(text) > stop:
        entry |= {"characters": len(text), "next_offset": stop}
    return entry


def _range(transcript: Transcript, arguments: Arguments) -> tuple[int, int]:
    """Return the positions of the first wanted message and after the last wanted message.

    Raises:
        UnknownError: there is no such turn or message, or both are asked for.
    """
    if "turn" in arguments and "number" in arguments:
        raise UnknownError("turn, number: give one of them")
    number_of_turn = arguments.get("turn")
    if number_of_turn:
        turns = transcript.turns()
        if not 1 <= number_of_turn <= len(turns):
            raise UnknownError(f"turn: the session has {len(turns):,}")
        turn = turns[number_of_turn - 1]
        return turn.start, turn.stop
    number = arguments.get("number", 1)
    if not 1 <= number <= max(1, len(transcript)):
        raise UnknownError(f"number: the session has {len(transcript):,} messages")
    start = number - 1
    is_page = "count" in arguments or "offset" in arguments
    if not is_page:  # the message in its context
        start = max(0, start - _BEFORE)
    return start, min(len(transcript), start + arguments.get("count", _MESSAGES))


def _outline(transcript: Transcript, answer: Answer) -> Answer:
    """Return the first lines of a session's turns, as many as fit into the answer."""
    turns = []
    for turn in transcript.turns():
        placed = next(transcript.placed(turn.start, turn.start + 1))
        line = ""
        if may_be_shown(placed.message):
            line, _, _ = text_of(shown(placed.message)).strip().partition("\n")
        turns.append(
            {
                "turn": turn.number,
                "number": turn.start + 1,
                "messages": len(turn),
                "text": line[:_OUTLINE_CHARS],
                "speaker": speaker_of(placed),
                "time": timestamp_of(placed.message),
            }
        )
    return {"turns": in_limit(turns, lambda some: fits(answer | {"turns": some})), "turns_in_session": len(turns)}


def _files_of(session: SessionFile, path: str) -> list[Answer]:
    """Return the files that the calls of a session name, the last touched first; with a path, only that file."""
    files = dict[str, Answer]()
    with Transcript(session.path) as transcript:
        for placed, use in _file_uses(transcript):
            for name in use.paths:
                if path and not same_file(path, name):
                    continue
                file = files.pop(name, {"path": without_secrets(name), "read": 0, "changed": 0})
                file["read" if use.kind == READ else "changed"] += 1
                file["last_number"] = placed.number
                file["last_time"] = timestamp_of(placed.message)
                files[name] = file  # at the end, as the file that was touched last
    return list(reversed(files.values()))


def _file_uses(transcript: Transcript) -> Iterator[tuple[LiveMessage, ToolUse]]:
    """Yield the calls that read or change files, each with its message."""
    kinds = ToolKinds()
    for placed in transcript.placed(role="assistant"):
        for use in kinds.uses_of(placed.message):
            if use.kind in (READ, CHANGE):
                yield placed, use


TOOLS: Mapping[str, Callable[[Answers, Arguments], Answer]] = {
    "search_sessions": Answers.search_sessions,
    "read_session": Answers.read_session,
    "list_sessions": Answers.list_sessions,
    "files_touched": Answers.files_touched,
}
