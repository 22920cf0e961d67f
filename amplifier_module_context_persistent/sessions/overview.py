"""Make the overview of a session for `list`: its size, its state and its first line. Logs are only read.

A catalogue is a database file beside the logs of a project. It keeps glances: the facts that `list` shows of a log. If
the catalogue has the glance of a log in its current state, the log is not read. Else the log is scanned once, and a few
messages are read; only the index is held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalogue.glance import Glance
from ..catalogue.session_list_cache import Glances
from ..errors import LogError, reason_of
from ..log.database_location import parse_location, split_location
from ..log.file_handle import is_archived
from ..log.filesystem import FileSystem
from ..messages.message_times import instant_of, seconds_between
from .session_files import SessionFile
from .session_is_open import Identity, held_for_writing, is_open
from .session_name import SessionName, name_from_glance

if TYPE_CHECKING:
    from ..tokens.counter import TokenCounter


_REPR_CHARS = 80
ESTIMATE = "estimate"
"""The name of the token counter that `list` uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview(Glance):
    """The facts that `list` shows of a session.

    If the log cannot be read, `error` contains the reason, and all counts are 0.
    """

    session: SessionFile
    is_open: bool | None = None
    """Whether a process has the log open for writing; None if nobody can tell."""
    tokenizer: str = ""
    """The name of the counter that counted `tokens`."""
    error: str = ""
    archived: bool = False
    """Whether the log is compressed (`archive`)."""
    named: SessionName = field(default_factory=SessionName)
    """The session's name, description and tags."""

    def __repr__(self) -> str:
        return (
            f"Overview(session={self.session.id!r}, project={self.session.project!r}, name={self.named.name!r},"
            f" date={self.date!r}, messages={self.messages}, state={self.state!r}, model={self.model!r},"
            f" first_line={self.first_line[:_REPR_CHARS]!r})"
        )

    @property
    def has_time(self) -> bool:
        """Whether the time of the session is known; False if its last message has no time, as in some imports."""
        return not self.messages or instant_of(self.last_message) is not None

    @property
    def date(self) -> str:
        """The date and time of the last message, in this machine's time zone; `unknown` if the message has no time.

        For a session without messages this is the time of the log file.
        """
        return datetime.fromtimestamp(self.last_s).strftime("%Y-%m-%d %H:%M") if self.has_time else "unknown"

    @property
    def last_s(self) -> float:
        """When the last message was written, in seconds since 1970; if unknown, when the log was last written.

        A last message with a time before that of the first one was written under a clock that was reset. Then the first
        one's time counts, so that the session does not seem old, unless that time is later than the log was written.
        """
        last = instant_of(self.last_message)
        if last is None:
            return self.session.modified_s
        first = instant_of(self.first_message)
        is_ahead = first is not None and first.timestamp() > self.session.modified_s
        if first is None or is_ahead:
            return last.timestamp()
        return max(last, first).timestamp()

    @property
    def known_s(self) -> float:
        """The value of `last_s` for sorting; 0 if `has_time` is False, so that such sessions are the oldest."""
        return self.last_s if self.has_time else 0.0

    @property
    def duration_s(self) -> float | None:
        """The seconds from the first message to the last; None if the first or the last message has no time."""
        return seconds_between(instant_of(self.first_message), instant_of(self.last_message))

    @property
    def state(self) -> str:
        """One of `open`, `interrupted`, `archived`, `sound`, `damaged`, `open, damaged` and `unreadable`."""
        if self.error:
            return "unreadable"
        if self.damage:
            return "open, damaged" if self.is_open else "damaged"
        if self.is_open:
            return "open"
        if self.open_calls or self.torn_bytes:
            return "interrupted"
        return "archived" if self.archived else "sound"

    def to_json(self) -> dict[str, Any]:
        """Return the overview as plain JSON types."""
        return {
            "session": self.session.id,
            "name": self.named.name,
            "tags": list(self.named.tags),
            "description": self.named.description,
            "project": self.session.project,
            "path": str(self.session.path),
            "modified_s": self.session.modified_s,
            "messages": self.messages,
            "hidden": self.hidden,
            "tokens": self.tokens,
            "tokenizer": self.tokenizer,
            "bytes": self.size_bytes,
            "state": self.state,
            "open": self.is_open,
            "archived": self.archived,
            "open_calls": self.open_calls,
            "torn_bytes": self.torn_bytes,
            "damage": self.damage,
            "first_line": self.first_line,
            "first_message": self.first_message,
            "last_message": self.last_message,
            "duration_s": self.duration_s,
            "model": self.model,
            "error": self.error,
        }


_WORDS_OF_SECRETS = (
    "pass", "pwd", "secret", "token", "key", "psk", "cred", "auth", "bearer", "cook", "seed", "login", "identified",
    "clave", "combination", " -p ",
)  # fmt: skip
_MAY_HOLD_SECRET = re.compile(
    r"\b[pP][iIıİ][nN]\b|[/:]\S*@"  # noqa: RUF001 - Turkish letters are told from "i" by no rule
    r"|(?<!\S)(?=\S{8})(?=\S*[^\W\d_])\S*\d"  # letters with a digit: a password, a key, also an id
    r"|(?=[\w+/=.-]{16})\S*\d|[\w+-]{30}"
    r"|(?:[cC][oO][dD][eE]|[кК][оО][дД]|[пП][иИ][нН]).*\d{3}|\d{6}|\d{3} \d{3}|\d{4} \d{4}"  # noqa: RUF001 - Russian words
    r"|(?:\b(?:\d+\. )?[a-zA-Z]{3,8}\s+){11}"  # the words of a seed phrase
)


def _may_hold_secret(line: str) -> bool:
    """Return False if a line certainly contains no secret. The rules for secrets are slow to load.

    One pattern with all words takes four times as long, and every list asks this about each of its lines.
    """
    folded = line.casefold()
    return any(word in folded for word in _WORDS_OF_SECRETS) or _MAY_HOLD_SECRET.search(line) is not None


def without_secrets(line: str) -> str:
    """Return a line with everything that looks like a secret replaced, as exports do."""
    if not _may_hold_secret(line):
        return line
    from ..messages.secrets.redact import redact_text

    return redact_text(line)


def overview_of(
    session: SessionFile,
    held: Collection[Identity | str] | None,
    *,
    glances: Glances | None = None,
    files: FileSystem | None = None,
    counter: TokenCounter | None = None,
) -> Overview:
    """Make the overview of a session. If its catalogue has all facts, the log is not read.

    Args:
        session: the session to describe.
        held: the result of `held_logs`; None to check only the marks beside log files.
        glances: the glances that catalogues keep; new glances are added. By default none are used or kept.
        files: the system calls, which report the progress of reading.
        counter: the token counter; by default the estimate. Glances with another counter are not kept.
    """
    try:
        tokenizer = counter.name if counter is not None else ESTIMATE
        glance = None
        if glances is not None and tokenizer == ESTIMATE:
            glance = glances.of(str(session.path), files)
        if glance is None:
            glance = _read(session.path, glances, files, counter)
        facts = {field.name: getattr(glance, field.name) for field in fields(glance)}
        facts["first_line"] = without_secrets(glance.first_line)
        return Overview(
            **facts,
            session=session,
            is_open=_is_open(session.path, held),
            archived=_is_archived(session.path, glances),
            tokenizer=tokenizer,
            named=name_from_glance(session.path, glance),
        )
    except (OSError, ValueError, LogError) as error:
        return Overview(session=session, error=reason_of(error), named=name_from_glance(session.path, Glance()))


def _read(path: Path | str, glances: Glances | None, files: FileSystem | None, counter: TokenCounter | None) -> Glance:
    """Read the glance of a log from the log itself.

    The imports are local: these modules are half of all that `list` would import, and most lists read no log.
    """
    from ..catalogue.take_glance import take_glance
    from .transcript import Transcript

    with Transcript(path, files=files) as transcript:
        if counter is not None:
            return take_glance(transcript.reader, counter)[0]
        return (glances or Glances()).look_at(transcript.reader, path if isinstance(path, str) else "")


def overviews_of(sessions: Sequence[SessionFile], held: Collection[Identity | str] | None = None) -> list[Overview]:
    """Make the overviews of sessions, in the given order, and store new glances in the catalogues.

    Args:
        sessions: the sessions to describe.
        held: the result of `held_logs`, or None, as for `overview_of`.
    """
    glances = Glances()
    glances.expect(session.path for session in sessions if isinstance(session.path, str))
    seen = [overview_of(session, held, glances=glances) for session in sessions]
    glances.keep()
    return seen


def _is_archived(path: Path | str, glances: Glances | None) -> bool:
    if isinstance(path, Path):
        return is_archived(path)
    known = glances or Glances()
    return known.is_archived(path)


def _is_open(path: Path | str, open_logs: Collection[Identity | str] | None) -> bool | None:
    """Return whether a process has a log open for writing; None if this is unknown.

    Args:
        path: the log's file, or its location in a database.
        open_logs: the result of `held_logs`; None if it was not asked.
    """
    if not isinstance(path, str):
        return is_open(path, open_logs or frozenset())
    storage, _ = split_location(path)
    if open_logs is None or storage not in open_logs:
        return None
    return path in open_logs


def held_logs(sessions: Sequence[SessionFile]) -> frozenset[Identity | str]:
    """Return the logs that are open for writing: files by identity, logs in databases by location.

    The set also contains the location of each database that reported which of its logs are open.
    """
    files = held_for_writing({session.path.name for session in sessions if isinstance(session.path, Path)})
    open_logs: set[Identity | str] = {*(files or ())}
    locations = [session.path for session in sessions if isinstance(session.path, str)]
    storages = {split_location(location)[0] for location in locations}
    for storage in storages:
        from ..log.postgres.list_logs import open_marks_in  # its driver is an extra
        from ..log.postgres.open_marks import mark_key

        with suppress(LogError, ValueError):
            keys = open_marks_in(storage)
            if keys is not None:
                open_logs.add(storage)
                open_logs |= {location for location in locations if mark_key(parse_location(location)) in keys}
    return frozenset(open_logs)
