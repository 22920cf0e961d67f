"""Amplifier's loop around enforcing providers: a real `AmplifierSession`, an orchestrator, tools and a host's hooks.

The orchestrator does what `loop-basic` and `loop-streaming` do with a context: it asks for a view, adds what hooks
inject for this request alone, sends it, stores the answer and then the results. These two are on no package index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from amplifier_core import AmplifierSession, HookResult, ModuleLoader
from amplifier_core.message_models import ChatRequest, ToolSpec
from amplifier_core.message_models import Message as ChatMessage
from amplifier_core.models import ToolResult

from tests.support.enforcing_provider import EnforcingProvider
from tests.support.messages import Message


class InterruptedTool(Exception):
    """A tool that a person interrupted; the turn ends with it."""


class AgentLoop:
    """An orchestrator.

    Args:
        stores_each: whether a result is stored when its tool ends, instead of all of them at the end.
        everything: whether it puts all reasoning back into each view, as if nobody had left any out.
        bare: whether it takes all reasoning out of each view.
    """

    def __init__(self, *, stores_each: bool = False, everything: bool = False, bare: bool = False) -> None:
        self._stores_each, self._everything, self._bare = stores_each, everything, bare
        self.provider: EnforcingProvider | None = None
        """Who is asked."""
        self.retain: list[str] = []
        """Texts that each view of the next turn must hold in full."""
        self.most_steps = 20
        self.loses_answer = False
        """Whether the turn fails between an answer and its storing."""
        self.cuts_answer = False
        """Whether the next answer is cut off while it comes in: of its thinking the signature is missing."""

    async def execute(
        self,
        prompt: str,
        context: Any,
        providers: Mapping[str, Any],
        tools: Mapping[str, Any],
        hooks: Any,
        coordinator: Any = None,
        **_: Any,
    ) -> str:
        """Run one turn."""
        told = await hooks.emit("prompt:submit", {"prompt": prompt})
        await coordinator.process_hook_result(told, "prompt:submit", "orchestrator")
        await context.add_message({"role": "user", "content": prompt})
        provider = self.provider or next(iter(providers.values()))
        for step in range(self.most_steps):
            told = await hooks.emit("provider:request", {"provider": provider.name, "iteration": step})
            told = await coordinator.process_hook_result(told, "provider:request", "orchestrator")
            view = injected(await self._view(context, provider), told)
            request = chat_request(view, tools)
            try:
                response = await provider.complete(request, for_loop=True)
            except Exception as error:
                about = {"type": type(error).__name__, "msg": str(error)}
                await hooks.emit("provider:error", {"provider": provider.name, "error": about})
                raise
            if self.loses_answer:
                raise ConnectionError("the host failed")
            if self.cuts_answer:
                await context.add_message(cut_off(response))
                return ""
            await context.add_message(stored(response))
            if not response.tool_calls:
                await hooks.emit("orchestrator:complete", {"orchestrator": "agent-loop", "turn_count": step})
                return str(response.content[-1])
            await self._run_tools(response.tool_calls, context, tools, hooks, coordinator)
        return ""

    async def _view(self, context: Any, provider: Any) -> list[Message]:
        view: list[Message]
        if self.retain:
            view = await context.get_messages_for_request_retaining(retain_contents=self.retain, provider=provider)
        else:
            view = await context.get_messages_for_request(provider=provider)
        if self._everything:
            return with_all_reasoning(view, await context.get_messages())
        return [without_reasoning(message) for message in view] if self._bare else view

    async def _run_tools(
        self, calls: list[Any], context: Any, tools: Mapping[str, Any], hooks: Any, coordinator: Any
    ) -> None:
        async def run(call: Any) -> Message:
            await hooks.emit("tool:pre", {"tool_name": call.name})
            tool = tools.get(call.name)
            said = (await tool.execute(call.arguments)).output if tool else f"Error: Tool '{call.name}' not found"
            told = await hooks.emit("tool:post", {"tool_name": call.name})
            await coordinator.process_hook_result(told, "tool:post", call.name)
            answer = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": str(said)}
            if self._stores_each:
                await context.add_message(answer)
            return answer

        results = await asyncio.gather(*(run(call) for call in calls), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        if not self._stores_each:
            for result in results:
                await context.add_message(result)


def injected(view: list[Message], told: Any) -> list[Message]:
    """The messages of a request with what hooks inject for this request alone."""
    if told.action != "inject_context" or not told.ephemeral or not told.context_injection:
        return view
    last = view[-1] if view else {}
    if told.append_to_last_tool_result and last.get("role") == "tool":
        return [*view[:-1], {**last, "content": f"{last['content']}\n\n{told.context_injection}"}]
    return [*view, {"role": told.context_injection_role, "content": told.context_injection}]


def cut_off(response: Any) -> Message:
    """What a streaming loop stores of an answer that a person interrupted."""
    blocks = [{"type": "thinking", "thinking": "I was about to"}, {"type": "text", "text": "I will"}]
    return {"role": "assistant", "content": blocks[: 2 if response.tool_calls else 1] + blocks[1:]}


def with_all_reasoning(view: list[Message], history: list[Message]) -> list[Message]:
    """A view in which each answer has the content and the metadata that history has of it."""
    answers = {m["metadata"]["message_id"]: m for m in history if m["role"] == "assistant"}
    return [answers.get((message.get("metadata") or {}).get("message_id"), message) for message in view]


def without_reasoning(message: Message) -> Message:
    """A message without reasoning and what providers keep in its metadata."""
    content = message["content"]
    if isinstance(content, list):
        kept = [block for block in content if block["type"] not in ("thinking", "redacted_thinking")]
        content = [{key: block[key] for key in block if key != "thought_signature"} for block in kept] or ""
    return {**{key: message[key] for key in message if key not in ("metadata", "thinking_block")}, "content": content}


def chat_request(view: list[Message], tools: Mapping[str, Any]) -> Any:
    """What a provider module is given."""
    specs = [ToolSpec(name=t.name, description=t.description, parameters=t.input_schema) for t in tools.values()]
    return ChatRequest(messages=[ChatMessage(**message) for message in view], tools=specs or None)


def stored(response: Any) -> Message:
    """The assistant's message that a loop stores."""
    message: Message = {"role": "assistant", "content": [block.model_dump() for block in response.content]}
    if response.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "tool": call.name, "arguments": call.arguments} for call in response.tool_calls
        ]
    if response.metadata:
        message["metadata"] = response.metadata
    return message


class Tool:
    """A tool whose answer a function gives."""

    def __init__(self, name: str, answer: Callable[[Message], str], description: str = "") -> None:
        self.name, self.description, self._answer = name, description or f"Runs {name}.", answer
        self.input_schema: Message = {"type": "object", "properties": {"path": {"type": "string"}}}

    async def execute(self, arguments: Message) -> Any:
        """Answer."""
        return ToolResult(output=self._answer(arguments))


class _Loader(ModuleLoader):  # type: ignore[misc]
    """Loads the loop; everything else, the context manager above all, through its entry point."""

    def __init__(self, coordinator: Any, loop: AgentLoop) -> None:
        super().__init__(coordinator=coordinator)
        self._loop = loop

    async def load(self, module_id: str, *args: Any, **options: Any) -> Callable[[Any], Awaitable[Any]]:
        """Give the mount function of a module."""
        if module_id != "agent-loop":
            mount: Callable[[Any], Awaitable[Any]] = await super().load(module_id, *args, **options)
            return mount

        async def mount_loop(coordinator: Any) -> None:
            await coordinator.mount("orchestrator", self._loop)

        return mount_loop


async def start(
    log: Path, loop: AgentLoop, *, session_id: str = "s1", resumed: bool = False, **config: Any
) -> AmplifierSession:
    """Start a real session whose context manager keeps its log in a file."""
    context = {"module": "context-persistent", "config": {"transcript_path": str(log), **config}}
    plan = {"session": {"orchestrator": "agent-loop", "context": context}, "providers": [], "tools": []}
    session = AmplifierSession(plan, session_id=session_id, is_resumed=resumed)
    session.coordinator.register_capability("session.working_dir", str(log.parent))
    session.coordinator.loader = _Loader(session.coordinator, loop)
    await session.initialize()
    return session


def inject(session: Any, text: Callable[[], str], *, to_result: bool = False, role: str = "user") -> Callable[[], None]:
    """Have a hook inject text into each request, after the view was made; call the result to stop."""

    async def heard(*_: Any) -> Any:
        return HookResult(
            action="inject_context",
            context_injection=text(),
            context_injection_role=role,
            ephemeral=True,
            append_to_last_tool_result=to_result,
        )

    unregister: Callable[[], None] = session.coordinator.hooks.register("provider:request", heard, name="injects")
    return unregister
