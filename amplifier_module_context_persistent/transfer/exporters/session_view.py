"""What an exporter is given: the session's facts, and its messages with their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ...messages.message import Message
from ...transcript.transcript import Transcript


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session that is being exported.

    `messages` yields positions in the live history with messages, redacted; `redacted` does the same to anything else
    that goes out.
    """

    transcript: Transcript
    messages: Callable[[], Iterator[tuple[int, Message]]]
    redacted: Callable[[Any], Any]
    start: int
    stop: int

    @property
    def source(self) -> dict[str, Any]:
        """What the header of an imported log says of its source; empty for another one."""
        given = self.transcript.header.get("source")
        return given if isinstance(given, dict) else {}

    @property
    def session_id(self) -> str:
        """The session's id; empty where its log names none."""
        return str(self.transcript.header.get("session_id") or "")

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Tool definitions, as the source gave them."""
        given = self.source.get("tools")
        clean = self.redacted(given if isinstance(given, list) else [])
        return [tool for tool in clean if isinstance(tool, dict)]


class Exporter(Protocol):
    """One format."""

    name: str

    def pieces(self, view: SessionView) -> Iterator[str]:
        """The export, a piece at a time."""
