"""Reported usage in a session: from the host's events through the meter to the log, and out as an event."""

from __future__ import annotations

from ..config import Config
from ..log.record import encode_control
from ..tokens.meter import Meter, Reading
from .host import Host
from .store import Store


class Usage:
    """Usage that providers reported and the log does not have yet.

    Args:
        config: the policy.
        host: told of each reading.
        session_id: reports that name another session are ignored.
    """

    def __init__(self, config: Config, host: Host, session_id: str | None) -> None:
        self._host = host
        self._readings: list[Reading] = []
        corrects = config.token_meter == "actual"  # noqa: S105 - tokens of text
        self.meter = Meter(enabled=corrects, session_id=session_id, on_reading=self._readings.append)

    async def settle(self, store: Store) -> None:
        """Queue usage records for the next append and emit `context:usage`."""
        while self._readings:
            reading = self._readings.pop(0)
            session = await store.open()
            session.history.defer(encode_control("usage", **reading.record()))
            await self._host.emit("context:usage", reading.payload())
