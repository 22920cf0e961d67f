"""Find which tool call a result answers, the outcome of the call, and the calls without a result.

This is looked up for one message at a time, in the messages near it, because a result usually follows its call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..log.contract import ReadableLog
from ..log.index import ROLE_CODES
from ..messages.message import Message, calls_of, parsed, result_id_of
from ..messages.message_times import instant_of, seconds_between, timestamp_of
from ..messages.metadata import is_repair
from ..messages.outcome import ANSWERED, asking_calls, outcome_of
from ..messages.text import parts_of
from ..search.tool_names import NEAR, caller_of

_RESULTS = (ROLE_CODES["tool"], ROLE_CODES["function"])
_SUBJECTS = ("file_path", "path", "filename", "file", "command", "cmd", "pattern", "query", "url", "name", "id")
_SUBJECT_CHARS = 60
_CUT = "..."


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A tool call: the number of its message in the live history (from 1), the tool's name, and its subject."""

    number: int
    name: str
    subject: str
    """The most telling argument of the call, such as a path or a command, as one line."""
    instant: datetime | None
    asks: bool = False
    """Whether exit code 1 of the call's command is an answer, not a failure."""
    arguments: str = ""
    """All arguments of the call, as in its message: usually a JSON object."""

    @property
    def is_shortened(self) -> bool:
        """Whether the subject is only the beginning of an argument."""
        return self.subject.endswith(_CUT)

    def plain_arguments(self) -> Any:
        """Return the arguments as plain JSON types; as a text if the arguments are not JSON."""
        try:
            return parsed(self.arguments)
        except ValueError:
            return self.arguments


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call, according to its result."""

    call: MadeCall | None
    """The call; None if no message near the result contains it."""
    outcome: str
    """`answered`, `failed` or `rejected`."""
    duration_s: float | None
    """The seconds from the call's message to the result; None if one of the two messages has no time."""

    @property
    def is_error(self) -> bool:
        """Whether the call failed or was rejected."""
        return self.outcome != ANSWERED


class CallLookup:
    """A lookup of tool calls and their results in a log.

    Args:
        log: an open log, read to its end.
    """

    def __init__(self, log: ReadableLog) -> None:
        self._log = log

    def outcome_of_result(self, live: Sequence[int], position: int, message: Message) -> CallOutcome | None:
        """Return the outcome of the call that a message answers; None if the message is not a result.

        Args:
            live: the ordinals of the live history.
            position: the position of the message in the live history, from 0.
            message: the message in the form of the log.
        """
        call_id = result_id_of(message)
        if call_id is None:
            return None
        call = None
        called_at = None
        caller = caller_of(self._log, live, position, call_id)
        if caller is not None:
            caller_position, caller_message = caller
            call = _made_call(caller_message, caller_position + 1, call_id)
        if call is not None:
            called_at = call.instant
        outcome = outcome_of(message, asks=call is not None and call.asks)
        return CallOutcome(call, outcome, seconds_between(called_at, instant_of_message(message)))

    def open_calls(self, live: Sequence[int], position: int, message: Message) -> frozenset[str]:
        """Return the ids of a message's calls for which no message near it has a result.

        The arguments are those of `outcome_of_result`.
        """
        open_ids = {call.id for call in calls_of(message)}
        roles = self._log.index.columns.roles
        near = live[position + 1 : position + 1 + NEAR]
        for ordinal in near:
            if not open_ids:
                break
            if roles[ordinal] in _RESULTS:
                for result in self._log.read([ordinal]):
                    open_ids.discard(result_id_of(result) or "")
        return frozenset(open_ids)


def _made_call(message: Message, number: int, call_id: str) -> MadeCall | None:
    """Return a call of a message; None if the message has no call with this id.

    Args:
        message: the message in the form of the log.
        number: the number of the message in the live history, from 1.
        call_id: the id of the call.
    """
    asks = call_id in asking_calls(message)
    instant = instant_of_message(message)
    for part in parts_of(message):
        if part.kind == "call" and part.call_id == call_id:
            return MadeCall(
                number, part.name, subject=subject_of(part.text), instant=instant, asks=asks, arguments=part.text
            )
    return None


def subject_of(arguments: str) -> str:
    """Return the most telling argument of a call, shortened to one line; "" if no argument is a text."""
    try:
        values = parsed(arguments)
    except ValueError:
        return ""
    if not isinstance(values, dict):
        return ""
    texts = {key: value for key, value in values.items() if isinstance(value, str) and value.strip()}
    if not texts:
        return ""
    telling = [key for key in _SUBJECTS if key in texts] or list(texts)
    first_line, *other_lines = texts[telling[0]].strip().splitlines()
    if other_lines or len(first_line) > _SUBJECT_CHARS:
        return first_line[:_SUBJECT_CHARS] + _CUT
    return first_line


def instant_of_message(message: Mapping[str, Any]) -> datetime | None:
    """Return when a message was written; None if the message has no time, or if a host added it later as a repair."""
    return None if is_repair(message) else instant_of(timestamp_of(message))
