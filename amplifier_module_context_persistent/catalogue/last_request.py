"""The last request of a session whose input size is known from a live message or a usage record.

From it follows what the next request costs: its input is the input of the last one and the messages added since.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..log.contract import ReadableLog
from ..log.index import ASSISTANT
from ..messages.answer_usage import usage_of_message
from ..messages.message import Message, metadata_of
from ..messages.message_times import timestamp_of
from ..tokens.usage import ReportedUsage, usage_of_record
from .glance import NO_REQUEST, LastRequest

_ANSWERS = 20  # the number of last answers to check: some are an agent's own, without a request


def last_request_of(log: ReadableLog) -> LastRequest:
    """Return the last request that a live message answered, or `NO_REQUEST` if its input is unknown."""
    for message in islice(_answers(log), _ANSWERS):
        usage = usage_of_message(message) or _reported(log, message)
        if usage is not None and usage.has_input and usage.requests == 1 and usage.input_tokens:
            return LastRequest(
                provider=usage.provider,
                model=usage.model,
                tokens=usage.input_tokens,
                cacheable=usage.cached + usage.written,
                is_kept_for_an_hour=usage.written_1h > 0,
                time=timestamp_of(message),
            )
    return NO_REQUEST


def _answers(log: ReadableLog) -> Iterator[Message]:
    """Yield the live answers of a log, the last one first."""
    index = log.index
    for position in reversed(range(len(index.live))):
        if index.columns.roles[index.live[position]] == ASSISTANT:
            yield from log.read([index.live[position]])


def _reported(log: ReadableLog, message: Message) -> ReportedUsage | None:
    """Return the usage that was last reported for a message's model.

    The log's index has the last usage record of each provider and model. Return None unless exactly one is of this
    model; if none is, unless there is exactly one.
    """
    records = log.index.session.usage
    model = metadata_of(message).get("model") or message.get("model")
    candidates = [record for (_, name), record in records.items() if name == model]
    if not candidates:
        candidates = list(records.values())
    if len(candidates) != 1:
        return None
    return usage_of_record(candidates[0])
