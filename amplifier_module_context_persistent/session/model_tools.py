"""The tools that this module gives the model: `recall` and `pin`.

They are mounted together with the context or not at all, because a definition that is added later breaks the
provider's cached prefix. For the same reason the description of a tool never changes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from amplifier_core.models import ToolResult

from ..errors import LogError, PinError, RecallError
from ..messages.metadata import RECALL_TOOL
from ..messages.text import well_formed
from .manager import PersistentContextManager

logger = logging.getLogger(__name__)

PIN_TOOL = "pin"
MODELS_SHARE = 0.5
"""The largest share of the target that pins may have when the model adds a pin."""
MOST_REASON_CHARS = 500

_RECALL_DESCRIPTION = """\
Read back what compaction shortened or left out of this conversation: nothing is lost, all is in the session's log. Use
it when a text says "recall ID", or when something that was said, read or run earlier is not shown any more and you need
its exact words. It is cheaper than running a tool again, but a file may have changed since. Either by `reference`: the
text of one message, from character `offset` on, and its images. Or by `query`: ask in words, as you would ask a
colleague ("why did the index break last week"), or give an exact name or text. Messages that hold the text as it is
come first, then those that answer best, each with its id, the place and an excerpt. An answer has at most 4,000 tokens
and says how to get the next page; ask with `offset` and `limit` for no more than you need."""

_RECALL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reference": {"type": "string", "description": "The id of one message, as an elision or a hit names it."},
        "query": {
            "type": "string",
            "description": "A question in words (other forms of them count, and who spoke and when, if it says so), or "
            "a text; its case matters only if it has a capital letter and is found just so.",
        },
        "regex": {
            "type": "boolean",
            "description": "Whether query is a regular expression (Python's; case matters; matched within lines; at "
            "most 200 characters).",
        },
        "offset": {"type": "integer", "minimum": 0, "description": "The first character; of a search, hits to skip."},
        "limit": {"type": "integer", "minimum": 1, "description": "The most characters; of a search, hits (10)."},
        "role": {"type": "string", "enum": ["user", "assistant", "tool", "system", "developer", "function"]},
        "tool": {"type": "string", "description": "Search only the calls and results of this tool."},
        "image": {"type": "integer", "minimum": 1, "description": "Of several images in the message, this one."},
        "since": {"type": "string", "description": "Search from this time on (ISO 8601)."},
        "until": {"type": "string", "description": "Search up to this time (ISO 8601)."},
    },
    "additionalProperties": False,
}


class RecallTool:
    """Amplifier's tool `recall` over a context manager."""

    name = RECALL_TOOL
    description = _RECALL_DESCRIPTION
    input_schema = _RECALL_SCHEMA

    def __init__(self, manager: PersistentContextManager) -> None:
        self._manager = manager

    async def execute(self, input: dict[str, Any]) -> ToolResult:  # noqa: A002 - the protocol's name
        """Return a page of the log; for wrong arguments, return an explanation."""
        try:
            _check_input(input, _RECALL_SCHEMA, RecallError)
            page = await self._manager.recall(**input)
        except (RecallError, LogError) as error:
            return _failed(RECALL_TOOL, error)
        output = well_formed(page.output)
        if not page.media:
            return ToolResult(output=output)
        try:
            return ToolResult(output=output, content=[{"type": "text", "text": output}, *page.media])
        except ValueError:
            explanation = "[it cannot be given here: a tool's result carries base64 images only]"
            return ToolResult(output=f"{output}\n{explanation}")


_PIN_DESCRIPTION = """\
Keep a message of this conversation from being shortened or left out when the conversation gets long: it stays whole,
and if it was shortened before, it is whole again from the next compaction on. Pin what you will need word by word until
the end (a decision, a specification, a rule), and little of it: pins take the room of everything else. Let go with
pinned=false what is no longer needed."""

_PIN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reference": {"type": "string", "description": "The id of the message, as an elision or `recall` names it."},
        "pinned": {"type": "boolean", "description": "false lets go of it (true)."},
        "reason": {"type": "string", "maxLength": MOST_REASON_CHARS, "description": "Why; kept in the log."},
    },
    "required": ["reference"],
    "additionalProperties": False,
}


class PinTool:
    """Amplifier's tool `pin` over a context manager."""

    name = PIN_TOOL
    description = _PIN_DESCRIPTION
    input_schema = _PIN_SCHEMA

    def __init__(self, manager: PersistentContextManager) -> None:
        self._manager = manager

    async def execute(self, input: dict[str, Any]) -> ToolResult:  # noqa: A002 - the protocol's name
        """Pin or unpin a message. If the input is wrong or the log fails, the result explains this to the model."""
        try:
            _check_input(input, _PIN_SCHEMA, PinError)
            reference = input.get("reference")
            pinned = input.get("pinned")
            reason = input.get("reason")
            if not isinstance(reference, str) or not reference:
                raise PinError("reference: must be the id of a message")
            if not isinstance(pinned, bool | None):
                raise PinError(f"pinned: must be true or false, not {type(pinned).__name__}")
            if not isinstance(reason, str | None) or len(reason or "") > MOST_REASON_CHARS:
                raise PinError(f"reason: must be a text of at most {MOST_REASON_CHARS} characters")
            await self._manager.pin(
                reference, pinned=pinned is not False, reason=well_formed(reason or ""), within=MODELS_SHARE
            )
        except (PinError, LogError) as error:
            return _failed(PIN_TOOL, error)
        if pinned is False:
            return ToolResult(output=f"{reference} is pinned no longer.")
        return ToolResult(output=f"{reference} is pinned: from the next compaction on it stays whole.")


async def mount_tools(coordinator: Any, manager: PersistentContextManager) -> None:
    """Mount the configured tools for a manager, each unless a tool of that name is mounted already.

    If `max_tokens` is configured below `RECALL_LEAST_TOKENS`, `recall` is not mounted: its definition is part of every
    request and would cost more of such a budget than it is worth.
    """
    if manager.config.offers_recall:
        await _mount(coordinator, RecallTool(manager))
    if manager.config.pin:
        await _mount(coordinator, PinTool(manager))


async def _mount(coordinator: Any, tool: RecallTool | PinTool) -> None:
    mounted = coordinator.get("tools")
    if isinstance(mounted, Mapping) and tool.name in mounted:
        logger.warning("a tool named %r is mounted already; it is left alone, and the log's is not mounted", tool.name)
        return
    await coordinator.mount("tools", tool, name=tool.name)


def _check_input(arguments: Any, schema: Mapping[str, Any], error: type[RecallError | PinError]) -> None:
    if not isinstance(arguments, Mapping):
        raise error(f"the input must be an object, not {type(arguments).__name__}")
    if unknown := sorted(map(str, arguments.keys() - schema["properties"].keys())):
        raise error(f"{unknown[0]}: there is no such parameter; allowed: {', '.join(schema['properties'])}")


def _failed(tool: str, error: Exception) -> ToolResult:
    return ToolResult(success=False, output=f"{tool} failed: {error}", error={"message": str(error)})
