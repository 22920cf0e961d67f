"""The services of the host: events, a display, mounted tools, a provider's window. Each service may be missing.

A fault of the host must not harm the session: an exception in a service is logged, and the session continues.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from ..compaction.provider_limits import read_told
from ..compaction.request_budget import ModelLimits, read_window
from ..tokens.tariff_steps import tariff_step
from ..view.recipients import Recipient

logger = logging.getLogger(__name__)

_warned_at_validation: set[str] = set()
"""Warnings that the validation of a configuration logged; the mount that follows does not repeat these warnings."""


class Host:
    """The host's coordinator, as far as this module uses it. Without a coordinator, every service is missing."""

    def __init__(self, coordinator: Any | None) -> None:
        self._coordinator = coordinator
        self.hooks = getattr(coordinator, "hooks", None)
        """The host's hooks, which get the events, or None without hooks."""
        self._shown: set[str] = set()

    @property
    def is_there(self) -> bool:
        """Whether there is a coordinator."""
        return self._coordinator is not None

    async def emit(self, event: str, payload: dict[str, Any]) -> None:
        """Emit an event. Payloads contain counts and ids, never content."""
        if self.hooks is None:
            return
        try:
            await self.hooks.emit(event, payload)
        except Exception:  # a subscriber's fault must not stop the session
            logger.warning("the event %s could not be emitted", event, exc_info=True)

    def listen(self, handlers: Mapping[str, Callable[[dict[str, Any]], Awaitable[None]]]) -> Callable[[], None]:
        """Register functions for events, by the events' names. Call the returned function to unregister them."""
        unregister = [self._register(event, handler) for event, handler in handlers.items()]

        def unregister_all() -> None:
            for remove in unregister:
                remove()

        return unregister_all

    def _register(self, event: str, handler: Callable[[dict[str, Any]], Awaitable[None]]) -> Callable[[], None]:
        """Register a function for an event. Call the returned function to unregister it."""
        if self.hooks is None:
            return lambda: None
        from amplifier_core.models import HookResult  # only a host has hooks

        async def call_handler(_: str, data: dict[str, Any]) -> HookResult:
            await handler(data)
            return HookResult(action="continue")

        unregister: Callable[[], None] = self.hooks.register(
            event, call_handler, priority=100, name=f"context-persistent:{event}"
        )
        return unregister

    def warn_once(self, text: str) -> None:
        """Log a warning about the configuration, unless the validation of the same mount has logged it.

        A host mounts each module twice, first on a `MockCoordinator` that it then discards.
        """
        if type(self._coordinator).__name__ == "MockCoordinator":
            _warned_at_validation.add(text)
        elif text in _warned_at_validation:
            _warned_at_validation.discard(text)
            return
        logger.warning(text)

    def show(self, text: str) -> bool:
        """Show the person one line. Return whether the host has a display that showed it."""
        display = getattr(self._coordinator, "display_system", None)
        if display is None:
            return False
        try:
            display.show_message(text, "warning", "context-persistent")
        except Exception:  # a display's fault must not stop the session
            logger.warning("the display refused a message", exc_info=True)
            return False
        return True

    def show_once(self, text: str) -> bool:
        """Log a warning and show it to the person, once in a session. Return whether the warning was new."""
        if text in self._shown:
            return False
        self._shown.add(text)
        logger.warning(text)
        self.show(text)
        return True

    @property
    def working_dir(self) -> str | None:
        """The working directory of the session, as the host declares it; None if the host declares none."""
        if self._coordinator is None:
            return None
        declared = self._coordinator.get_capability("session.working_dir")
        config = self._coordinator.config
        if not declared and isinstance(config, Mapping):
            declared = config.get("working_dir")
        return str(declared) if declared else None

    def tools_json(self) -> str:
        """Return the definitions of the mounted tools as JSON: names, descriptions and schemas; "" without tools."""
        tools = self._coordinator.get("tools") if self._coordinator is not None else None
        if not isinstance(tools, Mapping) or not tools:
            return ""
        definitions = list[dict[str, Any]]()
        for name, tool in tools.items():
            parameters = getattr(tool, "input_schema", None) or getattr(tool, "parameters", None)
            definitions.append(
                {
                    "name": getattr(tool, "name", name),
                    "description": getattr(tool, "description", ""),
                    "parameters": parameters or {},
                }
            )
        return orjson.dumps(definitions, default=str).decode()


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """A provider's name, its model, the model's window, and limits of its requests."""

    name: str = ""
    """The provider's name in events, or "" if the provider has no name."""
    window: ModelLimits | None = None
    model: str = ""
    reported_limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def step_tokens(self) -> float:
        """The number of tokens above which the model's requests cost more, or infinity if no such step is known."""
        return tariff_step(self.model) if self.model else math.inf


def error_text(event: Mapping[str, Any]) -> str:
    """Return the text of an error event, in any of its forms."""
    error = event.get("error")
    if isinstance(error, Mapping):
        return " ".join(map(str, error.values()))
    return str(error or "")


async def provider_facts(provider: Any | None, recipient: str | None = None) -> ProviderFacts:
    """Ask a provider about its model: `get_model_info()`, else `get_info().defaults`.

    Args:
        provider: the provider's module, or its name (`anthropic`, `anthropic/claude-opus-5-5`), or None.
        recipient: the configured name, used if the provider does not give its name.
    """
    name = recipient
    facts = ProviderFacts()
    if not isinstance(provider, str):
        facts = await _published_by(provider)
    elif provider.strip():
        name = provider
    if facts.name or facts.model or not name:
        return facts
    reader = Recipient.parse(name)
    return replace(facts, name=reader.provider, model=reader.model)


async def _published_by(provider: Any | None) -> ProviderFacts:
    """Ask a provider's module for its facts; facts that it does not publish are empty."""
    name = _text_of(provider, "name")
    model = _text_of(provider, "default_model") or _text_of(provider, "model")
    info = await _answer_of_method(provider, "get_model_info")
    window = read_window(info) if info is not None else None
    if info is not None and window is not None:
        published_model = getattr(info, "id", None)
        return ProviderFacts(name, window, _text_or(published_model, model), read_told(info))
    defaults = getattr(await _answer_of_method(provider, "get_info"), "defaults", None)
    window = read_window(defaults) if defaults is not None else None
    if defaults is not None and window is not None:
        return ProviderFacts(name, window, _text_or(defaults.get("model"), model), read_told(defaults))
    return ProviderFacts(name, None, model)


def _text_or(value: Any, default: str) -> str:
    return value if isinstance(value, str) else default


async def _answer_of_method(provider: Any | None, method: str) -> Any:
    """Call a method of a provider's module; None if the module has no such method or if the call fails."""
    ask = getattr(provider, method, None)
    if not callable(ask):
        return None
    try:
        answer = ask()
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # noqa: BLE001 - a provider's fault must not stop the request
        logger.warning("the provider's %s() failed (%s); its window is unknown", method, error)
        return None
    return answer


def _text_of(provider: Any, attribute: str) -> str:
    """Return an attribute's text, or "" if the attribute is missing or not a text."""
    value = getattr(provider, attribute, None)
    return value if isinstance(value, str) else ""
