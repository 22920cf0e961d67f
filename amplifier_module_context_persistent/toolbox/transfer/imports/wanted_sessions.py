"""Choose the sessions of a source that an import takes: apply the filters of all commands before there are logs.

A session is chosen together with its branches and its sub-agents: all of them, or none. Its project is that of the
directory that the source names; if the source names none, the project that the session would be placed in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from ....errors import ContextPersistentError
from ....log.reader import LogReader
from ....log.record_line import decode
from ....messages.message import Message, calls_of, metadata_of, result_id_of
from ....messages.message_times import instant_of, timestamp_of
from ....messages.outcome import ANSWERED, asking_calls, outcome_of
from ....paths import LOG_NAME, project_slug, session_id_of
from ....sessions.filters import ALL_SESSIONS, SessionFilter, has_tags, is_of_project
from ....sessions.session_name import SessionName, key_of, read_name
from ....sessions.transcript import header_session_id
from ..importers.fields import session_name
from .drafts import SessionDraft
from .source_facts import directory_of, title_of


class NotMeantError(ContextPersistentError, ValueError):
    """No session of the file matches the filters; nothing was written."""


@dataclass(frozen=True, slots=True)
class WantedSessions:
    """The choice of sessions from a file.

    Attributes:
        filter: the filter; its `most` limits the number of sessions from one file.
        places: the numbers of the sessions to choose from, in the order of the file, from 0; None for all sessions.
    """

    filter: SessionFilter = ALL_SESSIONS
    places: frozenset[int] | None = None

    @property
    def is_all(self) -> bool:
        """Whether every session is chosen."""
        return self.filter == ALL_SESSIONS and self.places is None

    def among(self, drafts: Sequence[SessionDraft], working_dir: str | None, modified_s: float) -> list[SessionDraft]:
        """Return the drafts of the chosen sessions.

        Args:
            drafts: the drafts of a file, each session before its branches and sub-agents.
            working_dir: the directory for sessions that name none; None for the current one.
            modified_s: the file's modification time, for sessions without times.

        Raises:
            NotMeantError: no session is chosen.
        """
        if self.is_all:
            return list(drafts)
        families = _families(drafts)
        found = self.meant([_facts_of(family, self.filter, working_dir, modified_s) for family in families])
        if not found:
            raise NotMeantError("the filters mean no session of it")
        return [draft for place, _ in found for draft in families[place]]

    def meant(self, sessions: Sequence[SessionFacts]) -> list[tuple[int, float]]:
        """Return the chosen sessions: for each its number in `sessions`, and the time of its last message.

        Sorted by number.
        """
        found = list[tuple[int, float]]()
        for place, facts in enumerate(sessions):
            is_possible = self.places is None or place in self.places
            if is_possible and facts.are_meant(self.filter):
                found.append((place, facts.last_s))
        newest_first = sorted(found, key=lambda one: -one[1])
        return sorted(newest_first[: self.filter.most])

    def check_log(self, path: str, plain_path: str, working_dir: str | None, modified_s: float) -> None:
        """Check that the filters choose a log of this package.

        Raises:
            NotMeantError: the log is not chosen.
        """
        if not self.is_all and not self.meant([facts_of_log(path, plain_path, self.filter, working_dir, modified_s)]):
            raise NotMeantError("the filters mean no session of it")


EVERY_SESSION = WantedSessions()
"""All sessions of a file."""


@dataclass(slots=True)
class SessionFacts:
    """The facts about a session that filters need."""

    id: str
    named: SessionName
    project: str
    first_s: float
    last_s: float
    models: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)
    failed: bool = False

    def take(self, messages: Iterable[Message]) -> None:
        """Add the models, tools and failures that messages of the session report."""
        asking = set[str]()
        for message in messages:
            if message["role"] == "assistant":
                asking |= asking_calls(message)
                self.models.add(str(metadata_of(message).get("model") or "").casefold())
                self.tools.update(str(call.name).casefold() for call in calls_of(message))
            elif (call_id := result_id_of(message)) is not None:
                self.failed |= outcome_of(message, asks=call_id in asking) != ANSWERED

    def are_meant(self, wanted: SessionFilter) -> bool:
        """Return whether the session matches a filter."""
        if wanted.project is not None and not is_of_project(self.project, wanted.project):
            return False
        if wanted.since_s is not None and self.last_s < wanted.since_s:
            return False
        if wanted.until_s is not None and self.first_s >= wanted.until_s:
            return False
        if not has_tags(self.named, wanted):
            return False
        if any(self._is_called(name) for name in wanted.excepted):
            return False
        if wanted.name and not self.id.startswith(wanted.name) and key_of(wanted.name) not in self.named.key:
            return False
        if wanted.model and not any(wanted.model.casefold() in model for model in self.models):
            return False
        if wanted.failed and not self.failed:
            return False
        return {tool.casefold() for tool in wanted.tools} <= self.tools

    def _is_called(self, name: str) -> bool:
        """Return whether a text is the session's name or the beginning of its id."""
        if not name:
            return False
        return self.id.startswith(name) or key_of(name) == self.named.key


def facts_of_log(
    path: str, plain_path: str, wanted: SessionFilter, working_dir: str | None, modified_s: float
) -> SessionFacts:
    """Return the facts of a log (of this package) that filters use.

    Args:
        path: the named file.
        plain_path: the file with its decompressed bytes.
        wanted: the filter.
        working_dir: the directory for the session; None for the current one.
        modified_s: the file's modification time.
    """
    is_in_project = os.path.basename(path) == LOG_NAME and Path(path).parents[1].name == "sessions"
    project = Path(path).parents[2].name if is_in_project else project_slug(working_dir or ".")
    with closing(LogReader(plain_path)) as reader:
        reader.follow()
        own = str(header_session_id(reader.index.headers) or session_id_of(path) or "")
        first_s, last_s = _times(reader.read(reader.index.live), modified_s)
        facts = SessionFacts(own, read_name(path), project, first_s, last_s)
        if wanted.asks_figures:
            facts.take(reader.read(reader.index.live))
    return facts


def times_of(
    drafts: Sequence[SessionDraft], wanted: WantedSessions, working_dir: str | None, modified_s: float
) -> list[tuple[int, float]]:
    """Return the sessions of a file that match the filter, without its limit `most`.

    Args:
        drafts: the drafts of the file's sessions.
        wanted: the filter.
        working_dir: the directory of sessions that name none.
        modified_s: the time of the file in seconds since 1970, for sessions without times.

    Returns:
        For each session its number in the file, from 0, and the time of its last message, in seconds since 1970.
    """
    family_filter = replace(wanted.filter, most=len(drafts))
    facts = [_facts_of(family, family_filter, working_dir, modified_s) for family in _families(drafts)]
    return wanted.meant(facts)


def _families(drafts: Sequence[SessionDraft]) -> list[list[SessionDraft]]:
    """Group drafts into sessions, each with its branches and sub-agents."""
    families = list[list[SessionDraft]]()
    for draft in drafts:
        if draft.start.kind == "session" or not families:
            families.append([])
        families[-1].append(draft)
    return families


def _facts_of(
    family: Sequence[SessionDraft], wanted: SessionFilter, working_dir: str | None, modified_s: float
) -> SessionFacts:
    main = family[0]
    source_id = main.start.source_id or main.start.parent_source_id
    project = project_slug(directory_of(main) or working_dir or ".")
    first_s, last_s = modified_s, modified_s
    if wanted.asks_times:
        first_s, last_s = _times((message for draft in family for message in _messages_of(draft)), modified_s)
    facts = SessionFacts(session_name(source_id), SessionName(title_of(main)), project, first_s, last_s)
    if wanted.asks_figures:
        for draft in family:
            facts.take(_messages_of(draft))
    return facts


def _messages_of(draft: SessionDraft) -> Iterator[Message]:
    return (decode(draft.bodies[at] + b"}") for at in draft.at)


def _times(messages: Iterable[Message], otherwise_s: float) -> tuple[float, float]:
    """Return the times of the earliest and the latest message, in seconds since 1970.

    If no message has a time, return `otherwise_s` for both.
    """
    instants = (instant_of(timestamp_of(message)) for message in messages)
    times = [instant.timestamp() for instant in instants if instant is not None]
    return (min(times), max(times)) if times else (otherwise_s, otherwise_s)
