"""Add facts to answers from `events.jsonl` beside a host's transcript: their models, times and usage.

A line is `{ts, event, session_id, data}`; providers report each request with `llm:response` (`provider`, `model`,
`usage`). A line may contain a whole history, so only its beginning is checked before it is parsed. The file does not
say which answer a response belongs to. If there are as many responses as answers, they match in order; else their times
match them; else the last answer of a model gets the usage of all its responses.

Sources: microsoft/amplifier-foundation, `context/agents/session-storage-knowledge.md`; microsoft/amplifier-core,
`docs/contracts/PROVIDER_CONTRACT.md` (read 2026-11-26).
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ....forms.canonical import usage_of
from ....log.index import ASSISTANT
from ....log.record_line import decode, encode_message
from ....messages.message import metadata_of
from ....messages.message_times import instant_of, timestamp_of
from ....tokens.usage import read_usage
from .events import CopiedMessages, Event
from .fields import Message, iso_time, mapping, text
from .lines import MOST_LINE_BYTES, parse_json

EVENTS_NAME = "events.jsonl"
_PLACES = (EVENTS_NAME, f"context-intelligence/{EVENTS_NAME}")
_RESPONSE = b'"llm:response"'
_HEAD_BYTES = 2048
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Response(NamedTuple):
    """The facts of one answered request."""

    time: str
    provider: str
    model: str
    usage: dict[str, Any]
    session_id: str = ""


def with_events(events: Iterable[Event], transcript: Path) -> Iterator[Event]:
    """Yield a session's events, with facts added to its answers from the events file beside its transcript.

    Args:
        events: the session's events.
        transcript: the path of the transcript.
    """
    for event in events:
        if isinstance(event, CopiedMessages):
            _add_responses(event, transcript)
        yield event


def _add_responses(copies: CopiedMessages, transcript: Path) -> None:
    """Add facts to the answers among copied messages."""
    responses = _responses_beside(transcript)
    answers = [position for position, role in enumerate(copies.roles) if role == ASSISTANT]
    if not responses or not answers:
        return
    messages = [decode(copies.bodies[at] + b"}") for at in answers]
    for number, response in _matched(messages, responses):
        _add_response(copies, answers[number], messages[number], response)


def _add_response(copies: CopiedMessages, position: int, message: Message, response: Response) -> None:
    """Add the facts of its response to an answer. Facts that the answer has already are kept."""
    own_metadata = metadata_of(message)
    reported = {
        "provider": response.provider,
        "model": response.model,
        "usage": response.usage,
        "timestamp": response.time,
    }
    metadata = {**{key: value for key, value in reported.items() if value}, **own_metadata}
    body = encode_message({**message, "metadata": metadata}, message_id=copies.ids[position], timestamp=None)
    copies.bodies[position] = body
    copies.have_timestamp[position] = copies.have_timestamp[position] or bool(response.time)


def _matched(messages: Sequence[Message], responses: Sequence[Response]) -> Iterator[tuple[int, Response]]:
    """Yield the numbers of answers, from 0, each with its response."""
    if len(responses) == len(messages):
        yield from enumerate(responses)
        return
    message_times = _times(timestamp_of(message) or "" for message in messages)
    response_times = _times(response.time for response in responses)
    if message_times is not None and response_times is not None and response_times == sorted(response_times):
        yield from _matched_by_time(message_times, responses, response_times)
        return
    last_first = range(len(messages) - 1, -1, -1)
    yield from zip(last_first, reversed(_sums(responses)), strict=False)


def _times(texts: Iterable[str]) -> list[datetime] | None:
    """Return times, or None if one of them is unknown."""
    times = [instant_of(text) for text in texts]
    known = [time for time in times if time is not None]
    return known if len(known) == len(times) else None


def _matched_by_time(
    message_times: Sequence[datetime], responses: Sequence[Response], response_times: Sequence[datetime]
) -> Iterator[tuple[int, Response]]:
    """Yield the numbers of answers, each with the sum of the responses up to its time.

    Later responses count to the last answer.
    """
    done = 0
    for number, time in enumerate(message_times):
        is_last = number == len(message_times) - 1
        until = len(responses) if is_last else max(done, bisect_right(response_times, time))
        for response in _sums(responses[done:until])[:1]:
            yield number, response
        done = until


def _sums(responses: Sequence[Response]) -> list[Response]:
    """Return one response for each model, with the sum of its usage, in the order of the models' last responses."""
    found: dict[tuple[str, str], list[Response]] = {}
    for response in responses:
        key = (response.provider, response.model)
        found[key] = [*found.pop(key, []), response]
    return [several[0] if len(several) == 1 else _sum(several) for several in found.values()]


def _sum(responses: Sequence[Response]) -> Response:
    """Return the last response with the usage of all."""
    counts = dict[str, int]()
    for key in sorted({key for response in responses for key in response.usage}):
        counts[key] = sum(response.usage.get(key, 0) for response in responses)
    counts["requests"] = len(responses)
    return responses[-1]._replace(usage=counts)


def _responses_beside(transcript: Path) -> list[Response]:
    """Return the responses in the host's file of events beside a transcript; an empty list without such a file.

    Only events of the transcript's session count: its directory is named after its id. If no event names that id, the
    directory was copied; then the events count if all of them name the same session.
    """
    for name in _PLACES:
        found = [*_responses_in(transcript.parent / name)]
        session_ids = {response.session_id for response in found} - {""}
        session_id = transcript.parent.name
        if session_id not in session_ids and len(session_ids) == 1:
            (session_id,) = session_ids
        own_responses = [response for response in found if response.session_id in ("", session_id)]
        if own_responses:
            return own_responses
    return []


def _responses_in(path: Path) -> Iterator[Response]:
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        while line := file.readline(MOST_LINE_BYTES):
            if _RESPONSE in line[:_HEAD_BYTES] and (found := _response(line)) is not None:
                yield found


def _response(line: bytes) -> Response | None:
    """Return the response in a line, or None if the line has no response with usage."""
    try:
        entry = mapping(parse_json(line))
    except ValueError:
        return None
    data = mapping(entry.get("data")) or entry
    session_id = text(entry.get("session_id")) or text(data.get("session_id"))
    usage = read_usage(data.get("usage"))
    if entry.get("event") != "llm:response" or usage is None:
        return None
    counted = mapping(data.get("usage"))
    counts = usage_of(
        input_tokens=usage.uncached + usage.cached,
        output_tokens=usage.output,
        cache_read_tokens=counted.get("cache_read_tokens"),
        cache_write_tokens=counted.get("cache_write_tokens"),
    )
    time = iso_time(entry.get("ts")) or iso_time(entry.get("timestamp"))
    return Response(time, text(data.get("provider")), text(data.get("model")), counts, session_id)
