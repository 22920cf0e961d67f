"""What tests share that start real sessions by the fixture `start_session`, and a host that is none."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager

Events = list[tuple[str, dict[str, Any]]]


StartSession = Callable[..., Awaitable[Any]]
RecordEvents = Callable[[Any], Events]


SECRET = "xyzzy-content"
CORE_KEYS = {"session_id", "parent_id", "timestamp"}


def texts(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages]


def files_below(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*"))


def named(events: Events, name: str) -> list[dict[str, Any]]:
    """The payloads of one event, without what the core adds."""
    return [{k: v for k, v in payload.items() if k not in CORE_KEYS} for event, payload in events if event == name]


def context_of(session: Any) -> PersistentContextManager:
    context = session.coordinator.get("context")
    assert isinstance(context, PersistentContextManager)
    return context


def configured(path: Path, **config: Any) -> dict[str, Any]:
    return {"module": "context-persistent", "config": {"transcript_path": str(path), **config}}


class Display:
    """A host's display that remembers what it showed."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, ...]] = []

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        self.shown.append((message, level, source))


class Host:
    """A coordinator that keeps the events that are emitted on it."""

    def __init__(self, *, display: Any = None, tools: Mapping[str, Any] | None = None) -> None:
        self.hooks, self.display_system, self.config = self, display, dict[str, Any]()
        self.tools = dict(tools or {})
        self.events: list[tuple[str, dict[str, Any]]] = []

    async def emit(self, event: str, payload: dict[str, Any]) -> None:
        self.events.append((event, payload))

    def get_capability(self, _name: str) -> None:
        return None

    def get(self, _kind: str) -> dict[str, Any]:
        return self.tools

    def of(self, *events: str) -> list[dict[str, Any]]:
        """What was told by these events, in order."""
        return [payload for name, payload in self.events if name in events]
