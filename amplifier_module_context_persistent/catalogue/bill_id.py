"""The id under which an answer is billed. It is the same in all sessions that have a copy of the answer.

Agents copy answers into the session of a resume, a fork or a sub-agent, but the provider was paid only once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..messages.message import metadata_of
from ..messages.message_times import timestamp_of
from ..messages.metadata import given_id
from ..tokens.usage import ReportedUsage
from .copy_id import said_in

__all__ = ["BILL_KEY", "bill_id"]

BILL_KEY = "bill_id"
"""The key in a message's metadata with an id that an importer made for an answer without an id in its source."""


def bill_id(message: Mapping[str, Any], usage: ReportedUsage, number: int) -> str:
    """Return the id under which a request is billed.

    The ids of response and request identify a request. A response's id alone is not enough, because some gateways give
    one id to all answers, and an importer may have numbered the answers of a session. Then the time, the usage and the
    content of the answer are added, which a copy keeps.

    Args:
        message: the answer.
        usage: the usage of the request.
        number: the number of the request among the requests of the answer.

    Returns:
        The id; "" if nothing identifies the answer.
    """
    metadata = metadata_of(message)
    imported = metadata.get("imported")
    ids = imported if isinstance(imported, Mapping) else {}
    given_key = metadata.get(BILL_KEY)
    response, request = ids.get("response_id"), ids.get("request_id")
    answer = response or given_id(message)
    time = timestamp_of(message)
    if given_key:
        key = repr((given_key, number))
    elif response and request:
        key = repr((response, request, number))
    elif answer and time:
        counts = (usage.uncached, usage.cached, usage.written, usage.output, usage.requests)
        key = repr((answer, time, counts, said_in(message), number))
    else:
        return ""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:24]
