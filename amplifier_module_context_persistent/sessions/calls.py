"""Which call a result answers, how the call ended, and which calls have no result.

Looked up for one message at a time, in the messages near it: a result mostly follows its call at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..log.base import ReadableLog
from ..log.index import ROLE_CODES
from ..messages.message import Message, calls_of, parsed, result_id_of
from ..messages.metadata import instant_of, is_repair, seconds_between, timestamp_of
from ..messages.outcome import ANSWERED, asking_calls, outcome_of
from ..messages.text import parts_of
from ..search.tool_names import NEAR, caller_of

_RESULTS = (ROLE_CODES["tool"], ROLE_CODES["function"])
_SUBJECTS = ("file_path", "path", "filename", "file", "command", "cmd", "pattern", "query", "url", "name", "id")
_SUBJECT_CHARS = 60
_CUT = "..."


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call in its place: the number of the message that makes it, from 1, the tool, and what it is about."""

    number: int
    name: str
    subject: str
    """The argument that says most, such as a path or a command; one line."""
    instant: datetime | None
    asks: bool = False
    """Whether exit code 1 is an answer to it."""
    arguments: str = ""
    """All its arguments, as the message has them: mostly a JSON object."""

    @property
    def is_shortened(self) -> bool:
        """Whether the subject is only the beginning of an argument."""
        return self.subject.endswith(_CUT)

    def plain_arguments(self) -> Any:
        """The arguments as plain JSON types; a text if they are no JSON."""
        try:
            return parsed(self.arguments)
        except ValueError:
            return self.arguments


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call, from its result."""

    call: MadeCall | None
    """None if no message near it makes the call."""
    outcome: str
    """`answered`, `failed` or `rejected`."""
    duration_s: float | None
    """From the call's message to the result's; None if one of them has no time."""

    @property
    def is_error(self) -> bool:
        """Whether the call did not do what it was asked for."""
        return self.outcome != ANSWERED


class CallLookup:
    """Finds calls and results in a log.

    Args:
        log: the log.
    """

    def __init__(self, log: ReadableLog) -> None:
        self._log = log

    def ending(self, live: Sequence[int], position: int, message: Message) -> CallOutcome | None:
        """Say how a call ended whose result a message is; None for a message that is no result.

        Args:
            live: the live history's ordinals.
            position: the message's index in it.
            message: the message.
        """
        call_id = result_id_of(message)
        if call_id is None:
            return None
        caller = caller_of(self._log, live, position, call_id)
        call = _made_call(caller[1], caller[0] + 1, call_id) if caller is not None else None
        outcome = outcome_of(message, asks=call is not None and call.asks)
        return CallOutcome(call, outcome, seconds_between(call.instant if call else None, instant_of_message(message)))

    def open_calls(self, live: Sequence[int], position: int, message: Message) -> frozenset[str]:
        """Give the ids of a message's calls that no message near it answers."""
        calls = {call.id for call in calls_of(message)}
        roles = self._log.index.columns.roles
        for at in range(position + 1, min(len(live), position + 1 + NEAR)):
            if not calls:
                break
            if roles[live[at]] in _RESULTS:
                calls.discard(next((result_id_of(result) or "" for result in self._log.read([live[at]])), ""))
        return frozenset(calls)


def _made_call(message: Message, number: int, call_id: str) -> MadeCall | None:
    """A call of a message by its id; `number` is the message's, from 1."""
    asks, instant = call_id in asking_calls(message), instant_of_message(message)
    for part in parts_of(message):
        if part.kind == "call" and part.call_id == call_id:
            return MadeCall(number, part.name, subject_of(part.text), instant, asks, part.text)
    return None


def subject_of(arguments: str) -> str:
    """The argument of a call that says what it is about, on one line; empty if none is a text."""
    try:
        given = parsed(arguments)
    except ValueError:
        return ""
    if not isinstance(given, dict):
        return ""
    texts = {key: value for key, value in given.items() if isinstance(value, str) and value.strip()}
    value = next((texts[key] for key in _SUBJECTS if key in texts), next(iter(texts.values()), ""))
    first, *others = value.strip().splitlines() or [""]
    return f"{first[:_SUBJECT_CHARS]}{_CUT}" if others or len(first) > _SUBJECT_CHARS else first


def instant_of_message(message: Mapping[str, Any]) -> datetime | None:
    """When a message was written; None if it does not say, or a host's repair wrote it afterwards."""
    return None if is_repair(message) else instant_of(timestamp_of(message))
