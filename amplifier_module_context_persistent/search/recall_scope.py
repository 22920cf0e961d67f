"""Which messages a search by `recall` includes."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message, result_id_of
from ..messages.metadata import RECALL_TOOL, is_ephemeral
from .recall_page import RecallQuery
from .tool_names import Records, tools_of


def searched_tool(
    records: Records, live: Sequence[int], position: int, message: Message, wanted: RecallQuery
) -> str | None:
    """Return the tool whose result a message is, "" for other messages, or None if the message is not searched.

    Results of `recall` are never searched.

    Args:
        records: reads the log.
        live: the live history's ordinals.
        position: the message's position in `live`.
        message: the message at this position.
        wanted: the search.
    """
    if is_ephemeral(message) or is_kept_from_models(message) or not wanted.matches_time(message):
        return None
    tools = tools_of(records, live, position, message)
    tool = ""
    if tools and result_id_of(message) is not None:
        tool = tools[0]
    if tool == RECALL_TOOL:
        return None
    if wanted.tool and wanted.tool not in tools:
        return None
    return tool
