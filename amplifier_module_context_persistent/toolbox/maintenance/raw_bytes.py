r"""Redacting in bytes that are no record: damaged lines and torn tails.

They are searched as they are and as a person reads them, because a text may be written with escapes in them
(`\u0073ecret`), which no parser undoes.
"""

from __future__ import annotations

from ...messages.replace_in_message import Replace
from ...messages.secrets.readable import read


def redact_bytes(content: bytes, replace: Replace) -> bytes | None:
    """Replace every match in bytes that are no record.

    Returns:
        the bytes; None if they hold a match that is written with escapes, so that they have to go whole.
    """
    text = replace(_decoded(content))
    if any(replace(reading) != reading for reading in _readings(text)):
        return None
    return text.encode("utf-8", "surrogateescape")


def holds_match(content: bytes, replace: Replace) -> bool:
    """Whether bytes that are no record hold a match, as they are or with escapes undone."""
    return redact_bytes(content, replace) != content


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _readings(text: str) -> set[str]:
    """What a text reads as, with terminal escapes left out and with spaces in their place."""
    return {read(text, joined=joined).text for joined in (True, False)} - {text}
