"""The sessions that a server may show, and their texts without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...catalogue.session_list_cache import Glances
from ...errors import ContextPersistentError
from ...messages.kept_from_models import is_kept_from_models
from ...messages.message import Message, result_id_of, without_thinking
from ...messages.secrets.redact import redact_text, redact_value
from ...messages.text import arguments_text, parts_of
from ...sessions.filters import SessionFilter, candidates, matching
from ...sessions.overview import Overview, overview_of
from ...sessions.session_files import SessionFile
from ...sessions.transcript import LiveMessage


class UnknownError(ContextPersistentError, ValueError):
    """Raised if a call cannot be answered: the scope has no such session, or an argument is wrong."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The sessions that a server may show: those of one directory's project, or of all projects.

    Attributes:
        directory: the project's; None for all projects.
        storage: a PostgreSQL database to look in instead of the disk.
    """

    directory: Path | None
    storage: str | None = None

    def sessions(self, wanted: SessionFilter | None = None) -> list[SessionFile]:
        """Return the present sessions in scope that match a filter.

        Raises:
            LogUnreadableError: the database cannot be asked.
        """
        project = str(self.directory) if self.directory is not None else None
        in_scope = candidates(SessionFilter(project=project), everywhere=project is None, storage=self.storage)
        if wanted is None:
            return in_scope
        return matching(in_scope, wanted)

    def session(self, name: str) -> SessionFile:
        """Return the session with an id, or the only session whose id begins with `name`.

        Raises:
            UnknownError: no session or more than one session has such an id.
        """
        sessions = self.sessions()
        matches = [session for session in sessions if session.id == name]
        if name and not matches:
            matches = [session for session in sessions if session.id.startswith(name)]
        if not matches:
            raise UnknownError("session: there is no such session; list_sessions gives the ids")
        if len(matches) > 1:
            raise UnknownError(
                f"session: {len(matches):,} sessions have this id, or ids that begin so; give more of it"
            )
        return matches[0]


@dataclass(frozen=True, slots=True)
class _Uncounted:
    """A token counter that returns 0 for every text.

    Counting is slow, and no answer of this server contains the tokens of a session.
    """

    name: str = "estimate"
    """The name of the usual counter, so that the stored list entries are used."""

    def count_text(self, text: str) -> int:
        return 0 * len(text)


def seen_of(sessions: Sequence[SessionFile]) -> list[Overview]:
    """Return the list entries of sessions, in their order, without their numbers of tokens."""
    glances = Glances()
    glances.expect(session.path for session in sessions if isinstance(session.path, str))
    return [overview_of(session, None, glances=glances, counter=_Uncounted()) for session in sessions]


def without_secrets(text: str) -> str:
    """Return a text with secrets replaced and unprintable characters escaped, as exports have it."""
    return _UNPRINTABLE.sub(_escaped, redact_text(text))


_UNPRINTABLE = re.compile(r"[^\n\t -~]")
"""Characters that may not be printable."""


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def shown(message: Message) -> Message:
    """Return a message without its thinking and without secrets, as exports show it."""
    cleaned: Message = redact_value(without_thinking(message))
    return cleaned


def text_of(message: Message) -> str:
    """Return the text of a message without its thinking: texts, calls with their arguments, results."""
    texts = []
    for part in parts_of(message):
        if part.kind == "call":
            texts.append(f"{part.name}\n{arguments_text(part.text)}")
        elif part.kind != "thinking":
            texts.append(part.text)
    return without_secrets("\n".join(text for text in texts if text))


def speaker_of(placed: LiveMessage) -> str:
    """Return the speaker of a message: its role, with the name of the person or of the tool if it has one."""
    message = placed.message
    role = str(message.get("role"))
    name = message.get("name")
    if result_id_of(message) is not None and placed.tools:
        name = placed.tools[0]
    return without_secrets(f"{role} {name}") if name else role


def may_be_shown(message: Message) -> bool:
    """Return whether a model may see a message."""
    return message.get("role") not in ("system", "developer") and not is_kept_from_models(message)
