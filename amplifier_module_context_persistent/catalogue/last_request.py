"""The last request of a session, as far as a live message or a usage record tells what it read.

What the next request costs follows from it: its input is that of the last one, and what came since.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..log.base import ReadableLog
from ..log.index import ASSISTANT
from ..messages.answer_usage import usage_of_message
from ..messages.message import Message
from ..messages.metadata import metadata_of, timestamp_of
from ..tokens.usage import ReportedUsage, usage_of_record
from .glance import NO_REQUEST, LastRequest

_ANSWERS = 20  # so many of the last answers are looked at: some are an agent's own, without a request


def last_request_of(log: ReadableLog) -> LastRequest:
    """Find the last request that a live message answered; `NO_REQUEST` if nobody tells of it."""
    for message in islice(_answers(log), _ANSWERS):
        usage = usage_of_message(message) or _reported(log, message)
        if usage is not None and usage.has_input and usage.requests == 1 and usage.input_tokens:
            return LastRequest(
                usage.provider,
                usage.model,
                usage.input_tokens,
                usage.cached + usage.written,
                usage.written_1h > 0,
                timestamp_of(message),
            )
    return NO_REQUEST


def _answers(log: ReadableLog) -> Iterator[Message]:
    """The live messages of the assistant, the last one first."""
    index = log.index
    for position in reversed(range(len(index.live))):
        if index.columns.roles[index.live[position]] == ASSISTANT:
            yield from log.read([index.live[position]])


def _reported(log: ReadableLog, message: Message) -> ReportedUsage | None:
    """What the log's last usage record of the message's model says; None if several models may be meant."""
    records = log.index.session.usage
    model = metadata_of(message).get("model") or message.get("model")
    of_model = [record for (_, name), record in records.items() if name == model] or list(records.values())
    return usage_of_record(of_model[0]) if len(of_model) == 1 else None
