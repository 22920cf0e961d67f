"""The id under which an answer is billed: the same in all sessions that hold a copy of the answer.

Agents copy answers into the session that a resume, a fork or a sub-agent begins. The provider was paid once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..messages.metadata import given_id, metadata_of, timestamp_of
from ..tokens.usage import ReportedUsage

__all__ = ["BILL_KEY", "bill_id"]

BILL_KEY = "bill_id"
"""The key in a message's metadata by which an importer names the answer, where no id of the source does."""


def bill_id(message: Mapping[str, Any], usage: ReportedUsage, number: int) -> str:
    """The id under which a request is billed.

    The ids of response and request name it. A response's id alone does not: gateways give one id to all answers. So
    time and usage are added, which a copy keeps.

    Args:
        message: the answer.
        usage: what the request took.
        number: of the request among those of the answer.

    Returns:
        Empty if nothing tells the answer from others.
    """
    metadata = metadata_of(message)
    imported = metadata.get("imported")
    told = imported if isinstance(imported, Mapping) else {}
    named = metadata.get(BILL_KEY)
    response, request = told.get("response_id"), told.get("request_id")
    counts = (usage.uncached, usage.cached, usage.written, usage.output, usage.requests)
    if named:
        key = repr((named, number))
    elif response and request:
        key = repr((response, request, number))
    elif (one := response or given_id(message)) and (time := timestamp_of(message)):
        key = repr((one, time, counts, number))
    else:
        return ""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:24]
