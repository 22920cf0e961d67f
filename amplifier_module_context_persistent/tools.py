"""The tools that this module gives the model: `recall`.

They are mounted with the context or not at all: a definition that comes later breaks the provider's cached prefix. What
a tool says of itself depends on nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from amplifier_core.models import ToolResult

from .entry import RECALL_TOOL
from .errors import LogError, RecallError
from .manager import PersistentContextManager

logger = logging.getLogger(__name__)

LEAST_BUDGET_TOKENS = 10_000
"""The definition of `recall` is about a twentieth of this."""

_DESCRIPTION = """\
Read back what compaction shortened or left out of this conversation: nothing is lost, all is in the session's log. Use
it when a text says "characters elided; recall ID", or when something that was said, read or run earlier is not shown
any more and you need its exact words. It is cheaper than running a tool again, but a file may have changed since.
Either by `reference`: the text of one message, from character `offset` on. Or by `query`: messages that hold a text or
match a regular expression, newest first, each with its id, the place of the match and an excerpt. An answer has at most
4,000 tokens and says how to get the next page; ask with `offset` and `limit` for no more than you need."""

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reference": {"type": "string", "description": "The id of one message, as an elision or a hit names it."},
        "query": {"type": "string", "description": "What to search for instead; the case of letters does not matter."},
        "regex": {
            "type": "boolean",
            "description": "Whether query is a regular expression (Python's; case matters; matched within lines; no "
            "repeats within repeats).",
        },
        "offset": {"type": "integer", "minimum": 0, "description": "The first character; of a search, hits to skip."},
        "limit": {"type": "integer", "minimum": 1, "description": "The most characters; of a search, hits (10)."},
        "role": {"type": "string", "enum": ["user", "assistant", "tool", "system", "developer", "function"]},
        "tool": {"type": "string", "description": "Search only the calls and results of this tool."},
        "since": {"type": "string", "description": "Search from this time on (ISO 8601)."},
        "until": {"type": "string", "description": "Search up to this time (ISO 8601)."},
    },
    "additionalProperties": False,
}


class RecallTool:
    """Amplifier's tool `recall` over a context manager."""

    name = RECALL_TOOL
    description = _DESCRIPTION
    input_schema = _SCHEMA

    def __init__(self, manager: PersistentContextManager) -> None:
        self._manager = manager

    async def execute(self, input: dict[str, Any]) -> ToolResult:  # noqa: A002 - the protocol's name
        """Give a page of the log; what is wrong with the question is an answer too."""
        try:
            if not isinstance(input, Mapping):
                raise RecallError(f"the input must be an object, not {type(input).__name__}")
            if unknown := sorted(map(str, input.keys() - _SCHEMA["properties"].keys())):
                raise RecallError(
                    f"{unknown[0]}: there is no such parameter; allowed: {', '.join(_SCHEMA['properties'])}"
                )
            page = await self._manager.recall(**input)
        except (RecallError, LogError) as error:
            return ToolResult(success=False, output=f"recall failed: {error}", error={"message": str(error)})
        return ToolResult(output=_well_formed(page.output))


async def mount_recall(coordinator: Any, manager: PersistentContextManager) -> None:
    """Mount `recall` beside a manager; a tool of that name that is there already is left alone.

    Where `max_tokens` is configured below `LEAST_BUDGET_TOKENS` it is not mounted: its definition travels with every
    request, and would take more of such a budget than what it gives back is worth.
    """
    config = manager.config
    if not config.recall or ("max_tokens" in config.configured and config.max_tokens < LEAST_BUDGET_TOKENS):
        return
    mounted = coordinator.get("tools")
    if isinstance(mounted, Mapping) and RECALL_TOOL in mounted:
        logger.warning(
            "a tool named %r is mounted already; it is left alone, and the log's is not mounted", RECALL_TOOL
        )
        return
    await coordinator.mount("tools", RecallTool(manager), name=RECALL_TOOL)


def _well_formed(text: str) -> str:
    """A text without halves of surrogate pairs, which no request can carry."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
