r"""Redact bytes that are not a record: damaged lines and torn tails.

Both the raw bytes and the text with decoded escapes are searched, because no parser decodes an escape such as
`\u0073ecret` in a damaged line.
"""

from __future__ import annotations

from ...messages.replace_in_message import Replace
from ...messages.secrets.readable import json_readings, read


def redact_bytes(content: bytes, replace: Replace) -> bytes | None:
    """Replace every match in bytes that are not a record.

    Returns:
        the redacted bytes, or None if a match is written with escapes, so that all the bytes must be removed.
    """
    text = replace(_decoded(content))
    if any(replace(reading) != reading for reading in _readings(text)):
        return None
    return text.encode("utf-8", "surrogateescape")


def holds_match(content: bytes, replace: Replace) -> bool:
    """Return whether the bytes contain a match, raw or with their escapes decoded."""
    return redact_bytes(content, replace) != content


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _readings(text: str) -> set[str]:
    """Return the readings of a text that differ from it: without terminal escapes, with spaces for them, or as JSON."""
    as_json = {reading.text for reading in json_readings(text, len(text))}
    as_shown = {read(text, joined=joined).text for joined in (True, False)}
    return (as_shown | as_json) - {text}
