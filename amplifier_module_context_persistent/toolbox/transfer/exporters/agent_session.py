"""Common parts of the exporters that write sessions of other agents: ids, times, order, usage.

An agent can continue a session only if its provider accepts the history: calls with their results, in order. So
messages are ordered as in requests to a provider, and a missing result gets a stand-in.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from ....forms.openai_in_files import with_items_as_text
from ....forms.request_bodies import in_order
from ....messages.message import Message, is_block, metadata_of, result_id_of, text_of
from ....messages.message_times import instant_of, timestamp_of
from ....messages.metadata import given_id
from ....messages.normalize import NO_OUTPUT
from ....tokens.usage import CACHE_WRITES, read_usage, reports_cached, token_count
from ....view.entry import INSTRUCTING
from ..export_mark import write_mark
from .session_view import SessionView, first_time, session_name

UNKNOWN_MODEL = "unknown"
"""The name of a model or a provider for an agent's format that requires a name, if the name is unknown."""
_TEXT = frozenset({"text"})


def uuid_of(session_id: str, name: str) -> str:
    """Return a UUID for an id: the id itself if it is a UUID, else a UUID derived from the id and the session."""
    try:
        return str(UUID(name))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"{session_id}:{name}"))


@dataclass(frozen=True, slots=True)
class AgentSession:
    """The facts about an exported session that the agent's format needs."""

    id: str
    working_dir: str
    began: datetime
    origin: str = ""
    """The id of the exported session, for the marks on records; empty for a copy."""
    log_id: str = ""
    """The id of the exported log, for the marks; empty if its header has none."""
    is_copy: bool = False
    """Whether the session is handed over as a new session: its answers were already paid for in the original
    session."""

    @classmethod
    def of(cls, view: SessionView) -> AgentSession:
        """Make the session of an export.

        The id is `view.new_id`, or the session's own id as a UUID. The directory is `view.working_dir`, else the
        directory that the source names, else the current directory.
        """
        source_dir = view.source.get("cwd")
        if isinstance(source_dir, str) and os.path.isabs(source_dir):
            known_dir = source_dir
        else:
            known_dir = os.getcwd()
        working_dir = str(view.redacted(view.working_dir or known_dir))
        session_id = view.new_id or uuid_of("", session_name(view))
        origin = "" if view.new_id else session_name(view)
        return cls(session_id, working_dir, first_time(view), origin, view.log_id, is_copy=bool(view.new_id))

    def mark(self, message: Message) -> dict[str, Any]:
        """Return the key and the value that mark the records of a message: its origin, or for a copy the log alone."""
        return write_mark(self.log_id, self.origin, given_id(message) if self.origin else None)

    def messages(self, view: SessionView, family: str) -> Iterator[tuple[Message, str]]:
        """Yield the messages in the order that a provider accepts, without instructions, each with its time."""
        messages = [message for _, message in view.messages() if message["role"] not in INSTRUCTING]
        silent = {result_id_of(message) for message in messages if _is_silent(message)}
        if family != "openai":
            messages = [with_items_as_text(message) for message in messages]
        ordered = [_as_silent(message, silent) for message in in_order(messages, family)]
        while ordered and ordered[-1]["role"] == "user" and given_id(ordered[-1]) is None:
            ordered.pop()  # a stand-in that only requests need at their end; here a person's message follows
        time = iso(self.began)
        for message in ordered:
            own_time = timestamp_of(message)
            if own_time and instant_of(own_time) is not None:
                time = own_time  # a message without a time gets that of the message before
            yield message, time


def _is_silent(message: Message) -> bool:
    content = message.get("content")
    return not content.strip() if isinstance(content, str) else not content


def _as_silent(message: Message, silent: Collection[str | None]) -> Message:
    """Make a result empty again that was empty in the log.

    Requests contain `NO_OUTPUT` in its place, which some providers need.
    """
    if message["role"] != "tool" or result_id_of(message) not in silent or text_of(message) != NO_OUTPUT:
        return message
    return {**message, "content": ""}


def texts_of_result(message: Message) -> list[str]:
    """Return the texts of a result that has several text blocks and nothing else, or an empty list otherwise."""
    content = message.get("content")
    if message["role"] != "tool" or not isinstance(content, list) or len(content) < 2:
        return []
    texts = [block.get("text") for block in content if is_block(block, _TEXT)]
    is_only_text = len(texts) == len(content) and all(isinstance(text, str) for text in texts)
    return texts if is_only_text else []


def iso(instant: datetime) -> str:
    """Return a time in the form that agents write: ISO 8601 in UTC with milliseconds."""
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(time: str) -> int:
    """Return a time in milliseconds since 1970, or 0 if the text is not a time."""
    instant = instant_of(time)
    return int(instant.timestamp() * 1000) if instant is not None else 0


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """The tokens and the cost of an answer's request. What is not known is not 0."""

    is_known: bool = False
    """Whether the tokens of the input and of the output are known; else all counts are 0 without a meaning."""
    uncached: int = 0
    cached: int | None = None
    """The tokens that were read from the cache; None if that is not known."""
    output: int = 0
    reasoning: int | None = None
    """The tokens of reasoning, which are part of the output; None if that is not known."""
    writes: dict[str, int] = field(default_factory=dict)
    """The tokens that were written to the cache, by the names in `CACHE_WRITES`."""
    cost: float = 0.0
    """The cost in dollars that the source reports; 0 if it reports none."""

    @property
    def input_tokens(self) -> int:
        """The number of input tokens, read from the cache or not, without those that were written to the cache."""
        return self.uncached + (self.cached or 0)


def answer_usage(message: Message) -> AnswerUsage:
    """Return the usage in an answer's metadata."""
    reported = metadata_of(message).get("usage")
    plain: dict[str, Any] = reported if isinstance(reported, dict) else {}
    usage = read_usage(plain)
    if usage is None or usage.output is None or not usage.has_input:
        return AnswerUsage()
    counts = {key: token_count(plain.get(key)) for key in CACHE_WRITES}
    cost = plain.get("cost_usd")
    return AnswerUsage(
        is_known=True,
        uncached=usage.uncached,
        cached=usage.cached if reports_cached(plain) else None,
        output=usage.output,
        reasoning=token_count(plain.get("reasoning_tokens")),
        writes={key: count for key, count in counts.items() if count is not None},
        cost=float(cost) if isinstance(cost, int | float) else 0.0,
    )
