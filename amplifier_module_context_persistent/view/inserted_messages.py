"""Messages that views insert and the log does not contain: lines between messages. Stand-ins: `missing_results`."""

from __future__ import annotations

from ..messages.message import Message
from ..messages.metadata import COMPACTION_SOURCE

CONTINUED = "[continued]"


def inserted_message(role: str, text: str, **keys: str) -> Message:
    """Make a message that exists only in views. Its metadata says so."""
    return {"role": role, **keys, "content": text, "metadata": {"source": COMPACTION_SOURCE}}
