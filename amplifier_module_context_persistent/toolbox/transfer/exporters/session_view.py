"""The input of an exporter: the session's facts and messages; and functions that several formats need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ....messages.message import Message, metadata_of
from ....messages.message_times import instant_of, timestamp_of
from ....messages.text import to_json, well_formed
from ....sessions.transcript import Transcript, log_id_in, session_id_in


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session that is being exported.

    `messages` yields pairs of a position in the live history and a redacted message. `redacted` redacts any other value
    that is exported. The properties and functions of this file return redacted values; an exporter must pass values
    from `transcript` itself through `redacted`.
    """

    transcript: Transcript
    messages: Callable[[], Iterator[tuple[int, Message]]]
    redacted: Callable[[Any], Any]
    new_id: str = ""
    """The id that the session gets in another agent; empty to keep its own id."""
    working_dir: str = ""
    """The working directory of the exported session; "" to keep the directory of its source."""

    @property
    def source(self) -> dict[str, Any]:
        """The `source` field in the header of an imported log, redacted; empty for a log that was not imported."""
        source_fields = self.transcript.header.get("source")
        clean: dict[str, Any] = self.redacted(source_fields if isinstance(source_fields, dict) else {})
        return clean

    @property
    def session_id(self) -> str:
        """The session's id, redacted; empty if its log names none."""
        return str(self.redacted(str(self.transcript.header.get("session_id") or "")))

    @property
    def log_id(self) -> str:
        """The id of the session's log, which tells nothing about the session; empty if its header has none."""
        return log_id_in(self.transcript.reader.index.headers)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tool definitions in the form of the source, redacted."""
        source_tools = self.source.get("tools")
        return [tool for tool in source_tools if isinstance(tool, dict)] if isinstance(source_tools, list) else []


Exporter = Callable[[SessionView], Iterator[str]]
"""A function that yields an export in one format, piece by piece."""


def json_lines(values: Iterable[Any]) -> Iterator[str]:
    """Yield values as the items of a JSON list, one on each line, piece by piece. The brackets are not included."""
    between = ""
    for value in values:
        yield between
        yield to_json(value)
        between = ",\n"
    yield "\n"


def session_name(view: SessionView) -> str:
    """Return a name for the session, redacted: its id, else its directory's id, else its file's name; never a path."""
    path = view.transcript.path
    given_name = session_id_in(view.transcript) or Path(path).stem
    name = well_formed(given_name.replace("\\", "/").rstrip("/").rpartition("/")[2]) or "session"
    return str(view.redacted(name))


def first_time(view: SessionView) -> datetime:
    """Return when the session began: the time of its first message with a time, of its header or file, or now."""
    times = (timestamp_of(message) for _, message in view.messages())
    for text in (next(filter(None, times), ""), str(view.transcript.header.get("created") or "")):
        instant = instant_of(text)
        if instant is not None:
            return instant
    path = Path(view.transcript.path)
    return datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.is_file() else datetime.now(UTC)


def model_of(view: SessionView) -> str:
    """Return the model of the session: the source's model, else that of the first answer with a model, else ""."""
    source_model = view.source.get("model")
    if isinstance(source_model, str):
        return source_model
    for _, message in view.messages():
        if isinstance(model := metadata_of(message).get("model"), str):
            return model
    return ""
