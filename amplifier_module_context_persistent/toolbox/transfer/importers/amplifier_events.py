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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ....forms.canonical import usage_of
from ....log.record_line import decode, encode_message
from ....messages.metadata import instant_of, metadata_of, timestamp_of
from ....tokens.usage import read_usage
from ..copy_log import CopiedMessage
from .events import Event
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


def with_events(events: list[Event], transcript: Path) -> list[Event]:
    """Return a session's events, with facts added to its answers from the events file beside its transcript."""
    responses = _responses_beside(transcript)
    answers = [at for at, event in enumerate(events) if isinstance(event, CopiedMessage) and event.role == "assistant"]
    if not responses or not answers:
        return events
    told = list(events)
    messages = [_decoded(told[at]) for at in answers]
    for number, response in _matched(messages, responses):
        told[answers[number]] = _with_response(told[answers[number]], messages[number], response)
    return told


def _decoded(event: Event) -> Message:
    assert isinstance(event, CopiedMessage)  # noqa: S101 - the caller chose it
    return decode(event.body + b"}")


def _with_response(event: Event, message: Message, response: Response) -> Event:
    """Return an answer with the facts of its response. Facts that the answer has already are kept."""
    assert isinstance(event, CopiedMessage)  # noqa: S101 - the caller chose it
    given = metadata_of(message)
    told = {
        "provider": response.provider,
        "model": response.model,
        "usage": response.usage,
        "timestamp": response.time,
    }
    metadata = {**{key: value for key, value in told.items() if value}, **given}
    body = encode_message({**message, "metadata": metadata}, message_id=event.message_id, timestamp=None)
    has_timestamp = event.has_timestamp or bool(response.time)
    return CopiedMessage(
        event.ordinal, event.role, event.message_id, body, has_timestamp, event.renamed_from, event.named
    )


def _matched(messages: Sequence[Message], responses: Sequence[Response]) -> Iterator[tuple[int, Response]]:
    """Yield the numbers of answers, from 0, each with its response."""
    if len(responses) == len(messages):
        yield from enumerate(responses)
        return
    times = [instant_of(one.time) for one in responses]
    own = [instant_of(timestamp_of(message) or "") for message in messages]
    known = [time for time in times if time is not None]
    if len(known) == len(responses) and all(time is not None for time in own) and known == sorted(known):
        taken: dict[int, list[Response]] = {}
        for number, time in enumerate(own):
            before = bisect_right(known, time) if time is not None else 0
            done = sum(map(len, taken.values()))
            taken[number] = list(responses[done : max(done, before)])
        taken[len(messages) - 1] += responses[sum(map(len, taken.values())) :]
        for number, several in taken.items():
            yield from ((number, one) for one in _sums(several)[:1])
        return
    places = iter(range(len(messages) - 1, -1, -1))
    yield from ((number, one) for number, one in zip(places, reversed(_sums(responses)), strict=False))


def _sums(responses: Sequence[Response]) -> list[Response]:
    """Return one response for each model, with the sum of its usage, in the order of each model's last response."""
    found: dict[tuple[str, str], list[Response]] = {}
    for response in responses:
        key = (response.provider, response.model)
        found[key] = [*found.pop(key, []), response]
    return [several[0] if len(several) == 1 else _sum(several) for several in found.values()]


def _sum(responses: Sequence[Response]) -> Response:
    keys = {key for one in responses for key in one.usage}
    counts = {key: sum(one.usage.get(key, 0) for one in responses) for key in sorted(keys)}
    return responses[-1]._replace(usage=counts | {"requests": len(responses)})


def _responses_beside(transcript: Path) -> list[Response]:
    """Return the responses in the events beside a transcript, or an empty list if there are none.

    A session's directory is named after its id. If it was copied under another name, the events are used if they all
    name the same session.
    """
    for name in _PLACES:
        found = [*_responses_in(transcript.parent / name)]
        named = {one.session_id for one in found} - {""}
        own = transcript.parent.name if transcript.parent.name in named or len(named) != 1 else named.pop()
        if kept := [one for one in found if one.session_id in ("", own)]:
            return kept
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
    named = text(entry.get("session_id")) or text(data.get("session_id"))
    usage = read_usage(data.get("usage"))
    if entry.get("event") != "llm:response" or usage is None:
        return None
    given = mapping(data.get("usage"))
    counts = usage_of(
        input_tokens=usage.uncached + usage.cached,
        output_tokens=usage.output,
        cache_read_tokens=given.get("cache_read_tokens"),
        cache_write_tokens=given.get("cache_write_tokens"),
    )
    time = iso_time(entry.get("ts")) or iso_time(entry.get("timestamp"))
    return Response(time, text(data.get("provider")), text(data.get("model")), counts, named)
