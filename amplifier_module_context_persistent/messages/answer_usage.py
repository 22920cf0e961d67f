"""The tokens that a provider reported of the request that a message answered.

Claude Code writes down each part of an answer as it is streamed, with the usage that stood at the beginning of the
stream: its input is right, its output is a token or a few. If no later part reports more, the output is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..tokens.usage import ReportedUsage, read_usage
from .message import call_arguments_of, given_calls
from .text import to_json

NO_MODEL = "<synthetic>"
"""The model that Claude Code names in answers that it wrote itself, such as those that tell of an error."""
_MOST_LETTERS = 5
"""Letters and digits per token, at most, over a whole answer. English prose has about 4."""
_SPARE_TOKENS = 8
"""A difference of so many tokens is not worth an estimate."""
_SYMBOLS = re.compile(r"[\W_]+")


def usage_of_message(message: Mapping[str, Any]) -> ReportedUsage | None:
    """Read what a provider reported of the request that a message answered.

    Returns:
        None if the message does not say, or if no model was asked. `output` is None if the message
        is too long for the reported number of tokens.
    """
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    provider, model = (_named(metadata, message, key) for key in ("provider", "model"))
    usage = read_usage(metadata.get("usage") or message.get("usage"), provider=provider, model=model)
    if usage is None or model == NO_MODEL:
        return None
    return replace(usage, output=None) if usage.output is not None and _says_more(message, usage.output) else usage


def _named(metadata: Mapping[str, Any], message: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key) or message.get(key)
    return value if isinstance(value, str) else ""


def _says_more(message: Mapping[str, Any], output_tokens: int) -> bool:
    """Whether what the model said is too long for so many tokens."""
    most = _MOST_LETTERS * (output_tokens + _SPARE_TOKENS)
    said = list(_said(message))
    if sum(map(len, said)) <= most:
        return False
    return sum(len(_SYMBOLS.sub("", text)) for text in said) > most  # lines of dashes and indents are a token each


def _said(message: Mapping[str, Any]) -> Iterator[str]:
    """The texts that the model itself wrote: what it said and thought, and the arguments of its calls."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            yield from (text for key in ("text", "thinking") if isinstance(text := block.get(key), str))
    for call in given_calls(message).values():
        yield to_json(call_arguments_of(call))
