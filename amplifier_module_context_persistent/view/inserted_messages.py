"""Messages that views insert and the log does not contain: results for unanswered calls, and lines between messages."""

from __future__ import annotations

from ..messages.message import Message
from ..messages.metadata import COMPACTION_SOURCE

INTERRUPTED = "[interrupted: this call has no result]"
CONTINUED = "[continued]"


def inserted_message(role: str, text: str, **keys: str) -> Message:
    """Make a message that exists only in views. Its metadata says so."""
    return {"role": role, **keys, "content": text, "metadata": {"source": COMPACTION_SOURCE}}


def stand_in(call_id: str, name: str) -> Message:
    """Make the result to show for a call that has no result."""
    return inserted_message("tool", INTERRUPTED, tool_call_id=call_id, name=name)
