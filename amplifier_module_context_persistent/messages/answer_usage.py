"""The tokens that a provider reported of the request that a message answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tokens.usage import ReportedUsage, read_usage

NO_MODEL = "<synthetic>"
"""The model that Claude Code names in answers that it wrote itself, such as those that tell of an error."""


def usage_of_message(message: Mapping[str, Any]) -> ReportedUsage | None:
    """Read what a provider reported of the request that a message answered.

    The figures are those of the report. Claude Code's newer transcripts have the output of the beginning of a stream
    for many answers, so the output of such a session is a lower bound.

    Returns:
        None if the message does not say, or if no model was asked.
    """
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    provider, model = (_named(metadata, message, key) for key in ("provider", "model"))
    usage = read_usage(metadata.get("usage") or message.get("usage"), provider=provider, model=model)
    return None if model == NO_MODEL else usage


def _named(metadata: Mapping[str, Any], message: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key) or message.get(key)
    return value if isinstance(value, str) else ""
