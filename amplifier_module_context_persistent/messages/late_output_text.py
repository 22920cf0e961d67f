"""Late results: the output of a call that arrived after the model had answered without it.

Requests show a stand-in for this output until the next plan, so that their prefix stays the same. From the next turn
on, a separate message shows the output between fences, so that a model does not take it for a person's words.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .message import Message
from .metadata import LATE_RESULT_SOURCE

_TICKS = re.compile("`{3,}")


class LateCall(NamedTuple):
    """The call that a late result answers."""

    id: str
    name: str

    @property
    def heading(self) -> str:
        """The line that is shown before the output."""
        return f"[late output of the tool {self.name}, call {self.id}; it came after the answer to that call]"


def told_late(message: Message, call: LateCall) -> Message:
    """Return a new message of the role `user` that shows the output of a late result."""
    content = message.get("content")
    blocks: list[Any] = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    fenced = [_fenced(block) for block in blocks]
    objects = [block for block in fenced if isinstance(block, dict)]
    shown_content: Any = [{"type": "text", "text": call.heading}, *fenced]
    if all(block.get("type") == "text" for block in objects):
        texts = [block["text"] for block in objects]
        shown_content = "\n".join([call.heading, *texts])
    return {"role": "user", "content": shown_content, "metadata": {"source": LATE_RESULT_SOURCE}}


def _fenced(block: Any) -> Any:
    """Return a text block with its text between fences that are longer than any fence in it; other blocks unchanged."""
    if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
        return block
    text = block["text"]
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return {"type": "text", "text": f"{fence}\n{text}\n{fence}"}
