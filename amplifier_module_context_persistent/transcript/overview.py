"""What `list` says of a session: how much there is, in which state it is, how it began. Reads only.

One scan of the log, and a few messages; what it holds in memory is the index. Tokens are an estimate: at most `SAMPLES`
messages are counted, picked at even distances in bytes, so that a large one is picked for what it is, and their tokens
per byte stand for the whole. Where there are no more messages than that, all are counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from ..errors import LogError
from ..log.filesystem import FileSystem
from ..log.index import ASSISTANT, USER
from ..maintenance.open_files import Identity, identity_of
from ..messages.message import calls_of, result_id_of, text_of
from ..messages.metadata import instant_of, is_human, metadata_of, timestamp_of
from ..messages.outcome import ANSWERED, outcome_of
from ..sums.summary import tokens_of
from ..tokens.counter import TokenCounter
from .calls import duration_s
from .sessions import SessionFile
from .transcript import Transcript

SAMPLES = 128
_FIRST_USERS = 20  # so many messages of users are looked at for a human one
_LINE_CHARS = 200
_NEIGHBOURS = 20  # so many messages at either end are looked at for a time


@dataclass(frozen=True, slots=True)
class Overview:
    """A session at a glance; `error` says why its log cannot be read, and then all counts are 0."""

    session: SessionFile
    size_bytes: int = 0
    messages: int = 0
    """Live ones."""
    hidden: int = 0
    """Messages that a clear or a reset hid."""
    tokens: int = 0
    """Of the live messages, estimated."""
    damage: int = 0
    """Findings of a scan; `verify` tells them."""
    torn_bytes: int = 0
    open_calls: int = 0
    """Calls of the last messages that have no result."""
    is_open: bool | None = None
    """Whether a process holds the log open for writing; None where the system does not tell."""
    first_line: str = ""
    """The first line that a person wrote."""
    first_message: str = ""
    """When its first message was written, in ISO 8601; empty if no message near its beginning says."""
    last_message: str = ""
    """When its last message was written."""
    model: str = ""
    """The model that answered last, as far as a message or a report says."""
    failed_calls: int | None = None
    """Results of calls that failed or were rejected; None if they were not looked for."""
    error: str = ""

    @property
    def last_s(self) -> float:
        """When its last message was written, in seconds since 1970; if no message says, when the file was."""
        instant = instant_of(self.last_message)
        return instant.timestamp() if instant is not None else self.session.modified_s

    @property
    def duration_s(self) -> float | None:
        """From the first message to the last; None if one of them has no time."""
        return duration_s(instant_of(self.first_message), instant_of(self.last_message))

    @property
    def state(self) -> str:
        """One word or two: `open`, `interrupted`, `sound`; `damaged` beside the first or alone; or `unreadable`."""
        if self.error:
            return "unreadable"
        if self.damage:
            return "open, damaged" if self.is_open else "damaged"
        if self.is_open:
            return "open"
        return "interrupted" if self.open_calls or self.torn_bytes else "sound"

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "session": self.session.id,
            "project": self.session.project,
            "path": str(self.session.path),
            "modified_s": self.session.modified_s,
            "messages": self.messages,
            "hidden": self.hidden,
            "tokens": self.tokens,
            "bytes": self.size_bytes,
            "state": self.state,
            "open": self.is_open,
            "open_calls": self.open_calls,
            "torn_bytes": self.torn_bytes,
            "damage": self.damage,
            "first_line": self.first_line,
            "first_message": self.first_message,
            "last_message": self.last_message,
            "duration_s": self.duration_s,
            "model": self.model,
            "failed_calls": self.failed_calls,
            "error": self.error,
        }


def look_at(
    session: SessionFile,
    counter: TokenCounter,
    held: Collection[Identity] | None,
    *,
    files: FileSystem | None = None,
    count_failed: bool = False,
) -> Overview:
    """Look at a session's log.

    Args:
        session: which one.
        counter: what counts tokens.
        held: files that are held open for writing; None where nobody knows.
        files: the system calls, to be told how far reading is.
        count_failed: whether to read every result and count those that failed.
    """
    try:
        with Transcript(session.path, files=files) as transcript:
            reader, described = transcript.reader, transcript.reader.describe()
            return Overview(
                session,
                size_bytes=described.size_bytes,
                messages=len(transcript),
                hidden=len(reader.index) - len(transcript),
                tokens=_tokens(transcript, counter),
                damage=len(reader.index.damage),
                torn_bytes=described.torn_bytes,
                open_calls=_open_calls(transcript),
                is_open=_is_open(session.path, held),
                first_line=_first_line(transcript),
                first_message=_time_near(transcript, range(len(transcript))),
                last_message=_time_near(transcript, range(len(transcript) - 1, -1, -1)),
                model=_model(transcript),
                failed_calls=_failed_calls(transcript) if count_failed else None,
            )
    except (OSError, ValueError, LogError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        return Overview(session, error=str(said or error))


def _is_open(path: Path | str, held: Collection[Identity] | None) -> bool | None:
    """Whether a process of this machine holds a log open; nobody knows that of one in a database."""
    return None if held is None or isinstance(path, str) else identity_of(path) in held


def _tokens(transcript: Transcript, counter: TokenCounter) -> int:
    live, lengths = transcript.reader.index.live, transcript.reader.index.lengths
    if len(live) <= SAMPLES:
        return sum(tokens_of(message, counter) for message in transcript.messages())
    ends = list(accumulate(lengths[ordinal] for ordinal in live))
    total = ends[-1]
    share = 0.0
    for number in range(SAMPLES):
        position = bisect_right(ends, (2 * number + 1) * total // (2 * SAMPLES))
        (message,) = transcript.messages(position, position + 1)
        share += tokens_of(message, counter) / lengths[live[position]]
    return round(total * share / SAMPLES)


def _open_calls(transcript: Transcript) -> int:
    """Count the calls of the last assistant message with calls that no later message answers."""
    index = transcript.reader.index
    position = len(index.live)
    while position and index.roles[index.live[position - 1]] != ASSISTANT:
        position -= 1
    if not position:
        return 0
    messages = transcript.messages(position - 1)
    calls = {call.id for call in calls_of(next(messages))}
    for message in messages if calls else ():
        calls.discard(result_id_of(message) or "")
    return len(calls)


def _time_near(transcript: Transcript, positions: range) -> str:
    """The time of the first message that has one, of some neighbours."""
    for position in positions[:_NEIGHBOURS]:
        for message in transcript.messages(position, position + 1):
            if instant_of(said := timestamp_of(message)) is not None:
                return said
    return ""


def _model(transcript: Transcript) -> str:
    index = transcript.reader.index
    answers = (
        position for position in reversed(range(len(index.live))) if index.roles[index.live[position]] == ASSISTANT
    )
    for position in islice(answers, 1):
        for message in transcript.messages(position, position + 1):
            said = metadata_of(message).get("model") or message.get("model")
            if isinstance(said, str) and said:
                return said
    return next((model for _, model in reversed(index.usage) if model), "")


def _failed_calls(transcript: Transcript) -> int:
    results = (placed.message for role in ("tool", "function") for placed in transcript.placed(role=role))
    return sum(outcome_of(message) != ANSWERED for message in results)


def _first_line(transcript: Transcript) -> str:
    index = transcript.reader.index
    users = (position for position, ordinal in enumerate(index.live) if index.roles[ordinal] == USER)
    for position in islice(users, _FIRST_USERS):
        for message in transcript.messages(position, position + 1):
            said = text_of(message).strip() if is_human(message) else ""
            if said:
                return said[:_LINE_CHARS].split("\n")[0].strip()
    return ""
