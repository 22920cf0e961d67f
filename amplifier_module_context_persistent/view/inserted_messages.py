"""Messages that views insert and no log has: stand-ins for missing results, and lines that keep roles alternating."""

from __future__ import annotations

from ..messages.message import Message
from ..messages.metadata import COMPACTION_SOURCE

INTERRUPTED = "[interrupted: this call has no result]"
CONTINUED = "[continued]"


def inserted_message(role: str, text: str, **keys: str) -> Message:
    """A message that exists only in views; its metadata says so."""
    return {"role": role, **keys, "content": text, "metadata": {"source": COMPACTION_SOURCE}}


def stand_in(call_id: str, name: str) -> Message:
    """The result of a call that has none."""
    return inserted_message("tool", INTERRUPTED, tool_call_id=call_id, name=name)
