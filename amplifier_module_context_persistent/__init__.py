"""Durable memory for long-running Amplifier agent sessions: an append-only log and a compaction engine.

Mount it as `context: context-persistent`; or use the managers by themselves:

    manager = PersistentContextManager("session.jsonl")
    await manager.add_message({"role": "user", "content": "hello"})
    view = await manager.get_messages_for_request(token_budget=100_000)
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, which would be half of what this module imports
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from .config import Config
    from .errors import (
        AppendError,
        ConfigError,
        ContextPersistentError,
        DependencyError,
        LockTimeoutError,
        LogCreateError,
        LogError,
        LogFailedError,
        LogUnreadableError,
        LogVersionError,
        MemoryFilesError,
        PinError,
        PlaceError,
        RecallError,
        RecordError,
    )
    from .forms.request_bodies import (
        from_anthropic,
        from_bedrock,
        from_gemini,
        from_openai,
        to_anthropic,
        to_bedrock,
        to_gemini,
        to_openai,
        to_openai_responses,
    )
    from .log.file_log import FileLog
    from .log.memory import MemoryLog
    from .search.recall_page import RecallPage
    from .session.in_memory_manager import InMemoryContextManager
    from .session.manager import PersistentContextManager
    from .session.open_session import open_session
    from .sessions.find_session import SessionNameError
    from .sessions.follow_session import follow_session
    from .sessions.new_messages import SessionChange

__version__ = "0.1.0"
__amplifier_module_type__ = "context"

__all__ = [
    "AppendError",
    "Config",
    "ConfigError",
    "ContextPersistentError",
    "DependencyError",
    "FileLog",
    "InMemoryContextManager",
    "LockTimeoutError",
    "LogCreateError",
    "LogError",
    "LogFailedError",
    "LogUnreadableError",
    "LogVersionError",
    "MemoryFilesError",
    "MemoryLog",
    "PersistentContextManager",
    "PinError",
    "PlaceError",
    "RecallError",
    "RecallPage",
    "RecordError",
    "SessionChange",
    "SessionNameError",
    "follow_session",
    "from_anthropic",
    "from_bedrock",
    "from_gemini",
    "from_openai",
    "mount",
    "open_session",
    "to_anthropic",
    "to_bedrock",
    "to_gemini",
    "to_openai",
    "to_openai_responses",
]


_NOT_ERRORS = {
    "Config": "config",
    "FileLog": "log.file_log",
    "InMemoryContextManager": "session.in_memory_manager",
    "MemoryLog": "log.memory",
    "PersistentContextManager": "session.manager",
    "RecallPage": "search.recall_page",
    "SessionChange": "sessions.new_messages",
    "SessionNameError": "sessions.find_session",
    "follow_session": "sessions.follow_session",
    "from_anthropic": "forms.request_bodies",
    "from_bedrock": "forms.request_bodies",
    "from_gemini": "forms.request_bodies",
    "from_openai": "forms.request_bodies",
    "open_session": "session.open_session",
    "to_anthropic": "forms.request_bodies",
    "to_bedrock": "forms.request_bodies",
    "to_gemini": "forms.request_bodies",
    "to_openai": "forms.request_bodies",
    "to_openai_responses": "forms.request_bodies",
}
"""The modules of public names; names that are not here are in `errors`."""


def __getattr__(name: str) -> Any:
    """Import a public name at its first use. A command needs few of these names, and none of the host's packages.

    Raises:
        AttributeError: the package has no such name.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_NOT_ERRORS.get(name, 'errors')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


async def on_session_ready(coordinator: Any) -> None:
    """Start to load the exact tokenizer in the background once all modules are mounted, so that no message waits.

    Args:
        coordinator: the session's coordinator.
    """
    from .tokens.vocabularies import load_early

    config = getattr(coordinator.get("context"), "config", None)
    load_early(str(getattr(config, "tokenizer", "estimate")))


async def mount(coordinator: Any, config: Mapping[str, Any] | None = None) -> Callable[[], Awaitable[None]]:
    """Mount the persistent context manager. It creates, locks and writes nothing before its first use.

    Args:
        coordinator: the session's coordinator.
        config: the configuration's keys; `docs/configuration.md` lists them.

    Returns:
        The cleanup, which may be called more than once.

    Raises:
        ConfigError: a wrong value; names key, value and what is allowed.
        DependencyError: a package that a session needs is not installed; names the command that mends it.
    """
    from .installation import needed_packages

    reads_files = bool((config or {}).get("memory_files"))
    with needed_packages(*["aiofiles"] * reads_files):
        from .session import view_errors  # noqa: F401 - a mount, not a later error, tells what is missing
        from .session.event_names import EVENTS
        from .session.manager import PersistentContextManager
        from .session.model_tools import mount_tools

    manager = PersistentContextManager(
        coordinator=coordinator,
        session_id=coordinator.session_id,
        parent_id=coordinator.parent_id,
        **dict(config or {}),
    )
    await coordinator.mount("context", manager)
    await mount_tools(coordinator, manager)
    coordinator.register_contributor("observability.events", "context-persistent", lambda: list(EVENTS))
    coordinator.register_capability("context.foreground_usage", manager.claim_usage)
    coordinator.register_capability("context.request_retention", manager.get_messages_for_request_retaining)
    coordinator.register_capability("context.history", manager.get_messages)
    coordinator.register_capability("context.final_request_record", manager.record_final_request)
    coordinator.register_capability("context.signed_replay", manager.bind_signed_response)
    coordinator.register_capability("context.compacting", lambda: manager.is_compacting)
    stop_listening = manager.listen()

    async def cleanup() -> None:
        stop_listening()
        await manager.close()

    return cleanup
