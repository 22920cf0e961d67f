"""Tell the host about a session's log: messages that it lost, and a session that goes on in memory only."""

from __future__ import annotations

import logging
from typing import Any

from ..log.contract import ReadableLog
from .host import Host

logger = logging.getLogger(__name__)


class LogEvents:
    """The events about the log of one session.

    Args:
        host: gets the events.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._told_lost = 0
        """The number of lost messages that the host was told."""

    async def tell_lost(self, log: ReadableLog) -> None:
        """Tell of acknowledged messages that the log no longer has. It was truncated, or replaced by an older copy."""
        described = log.describe()
        if described.lost_messages <= self._told_lost:
            return
        payload: dict[str, Any] = {
            "lost_messages": described.lost_messages - self._told_lost,
            "path": described.location or None,
        }
        if described.restored_messages:
            payload["restored_messages"] = described.restored_messages
        self._told_lost = described.lost_messages
        await self._host.emit("context:log_lost_tail", payload)

    async def tell_degraded(self, reason: str) -> None:
        """Tell the person, the host's listeners and Python's log that messages are kept in memory only."""
        level = logging.INFO if self._host.show(f"This session is NOT saved: {reason}") else logging.ERROR
        logger.log(level, "this session is kept in memory only and ends with its process: %s", reason)
        await self._host.emit("context:degraded", {"reason": reason})
