"""The tokens that a provider reported for the request that a message answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tokens.usage import ReportedUsage, read_usage

NO_MODEL = "<synthetic>"
"""The model name in answers that Claude Code wrote itself, for example in error messages."""


def usage_of_message(message: Mapping[str, Any]) -> ReportedUsage | None:
    """Return the tokens that the provider reported for the request that a message answered.

    The figures are not corrected. In newer transcripts of Claude Code, many answers have the output count from the
    beginning of the stream, so the output of such a session is a lower bound.

    Returns:
        The usage; None if the message reports no usage, or if no model wrote the message.
    """
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping):
        metadata = {}
    provider = _named(metadata, message, "provider")
    model = _named(metadata, message, "model")
    if model == NO_MODEL:
        return None
    return read_usage(metadata.get("usage") or message.get("usage"), provider=provider, model=model)


def _named(metadata: Mapping[str, Any], message: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key) or message.get(key)
    return value if isinstance(value, str) else ""
