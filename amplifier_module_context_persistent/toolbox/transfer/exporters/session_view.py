"""What an exporter is given: the session's facts, its messages with their places, and what several formats need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ....messages.message import Message
from ....messages.metadata import instant_of, metadata_of, timestamp_of
from ....messages.text import to_json, well_formed
from ....sessions.transcript import Transcript, session_id_in


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session that is being exported.

    `messages` yields positions in the live history with messages, redacted; `redacted` does the same to anything else
    that goes out.
    """

    transcript: Transcript
    messages: Callable[[], Iterator[tuple[int, Message]]]
    redacted: Callable[[Any], Any]
    new_id: str = ""
    """The id that the session is to have in another agent; empty for its own."""
    working_dir: str = ""
    """The working directory of the exported session; empty to keep that of its source."""

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


Exporter = Callable[[SessionView], Iterator[str]]
"""One format: gives the export, a piece at a time."""


def json_lines(values: Iterable[Any]) -> Iterator[str]:
    """The values of a list as JSON, one on each line, a piece at a time."""
    between = ""
    for value in values:
        yield between
        yield to_json(value)
        between = ",\n"
    yield "\n"


def session_name(view: SessionView) -> str:
    """What the session is called: its id, else that of its directory, else the name of its file. Never a path."""
    path = view.transcript.path
    given = session_id_in(view.transcript) or Path(path).stem
    return well_formed(given.replace("\\", "/").rstrip("/").rpartition("/")[2]) or "session"


def first_time(view: SessionView) -> datetime:
    """When the session began, for what says no time: its first message that says one, its header, its file; or now."""
    times = (timestamp_of(message) for _, message in view.messages())
    for text in (next(filter(None, times), ""), str(view.transcript.header.get("created") or "")):
        if (instant := instant_of(text)) is not None:
            return instant
    path = Path(view.transcript.path)
    return datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.is_file() else datetime.now(UTC)


def model_of(view: SessionView) -> str:
    """The model of the session: the source's, else that of its first answer."""
    given = view.source.get("model")
    if isinstance(given, str):
        return given
    for _, message in view.messages():
        if isinstance(model := metadata_of(message).get("model"), str):
            return model
    return ""
