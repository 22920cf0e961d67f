"""The demo's child process: a real `AmplifierSession`, with a provider, tools and a loop that follow a script.

It is mounted by a mount plan, the context manager through its entry point. What happens is told on standard output, a
JSON object a line; an acknowledgement is told when `add_message` has returned. The part of the host is played here as
the command line plays it: it saves a transcript of its own after every tool call, and hands it back at a resume.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from amplifier_core import AmplifierSession, HookResult, ModuleLoader
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, TextBlock, ToolCall, ToolSpec
from amplifier_core.models import ProviderInfo, ToolResult

from ...log.database_location import STORAGE_VARIABLE

SESSION_ID = "demo"
INTERRUPTED_TOOL = "run_tests"
SYSTEM_PROMPT = "You prepare releases. Look before you answer."
FIRST_PROMPTS = (
    "The next release is called Heron. Which files are there?",
    "Is Heron ready? Read the changelog and run the tests.",
)
RESUMED_PROMPT = "You were interrupted. Go on, please."
ENDLESS_S = 30.0  # the parent kills this process long before; without a parent it ends by itself

Tell = Callable[..., None]
Stored = dict[str, Any]


class ScriptedProvider:
    """A provider without a model: a script decides each answer by the messages of the request. It uses no network."""

    name = "scripted"

    def get_info(self) -> Any:
        """Return the provider's id and name."""
        return ProviderInfo(id=self.name, display_name="Scripted")

    async def list_models(self) -> list[Any]:
        """List no models."""
        return []

    async def complete(self, request: Any, **_: Any) -> Any:
        """Return the next answer of the script, which depends on the turn's question and the results after it."""
        last_question = max(place for place, message in enumerate(request.messages) if message.role == "user")
        question = str(request.messages[last_question].content)
        has_results = last_question < len(request.messages) - 1
        calls: list[Any] = []
        if question == FIRST_PROMPTS[0] and not has_results:
            text = "I will look."
            calls = [ToolCall(id="call_1", name="list_files", arguments={})]
        elif question == FIRST_PROMPTS[0]:
            text = "There are CHANGELOG.md and tests/."
        elif question == FIRST_PROMPTS[1]:
            text = "Both at once."
            calls = [
                ToolCall(id="call_2", name="read_file", arguments={"path": "CHANGELOG.md"}),
                ToolCall(id="call_3", name=INTERRUPTED_TOOL, arguments={"path": "tests"}),
            ]
        elif not has_results:
            text = "The tests have no result; I run them again."
            calls = [ToolCall(id="call_4", name=INTERRUPTED_TOOL, arguments={"path": "tests"})]
        else:
            text = _verdict([str(message.content) for message in request.messages])
        return ChatResponse(content=[TextBlock(text=text)], tool_calls=calls or None)

    def parse_tool_calls(self, response: Any) -> list[Any]:
        """Return the calls of a response."""
        return list(response.tool_calls or ())


def _verdict(texts: list[str]) -> str:
    """Return the last answer. It can be right only if the view contains what was said and read before the kill."""
    has_named_release = any("is called Heron" in text for text in texts)
    read = any("1.4.0 (Heron)" in text for text in texts)
    if has_named_release and read:
        return "Heron is ready: it is 1.4.0, and 12 tests pass."
    return "What is Heron?"


class ScriptedTool:
    """A tool with one fixed answer, which can also never answer."""

    def __init__(self, name: str, answer: str, *, endless: bool = False) -> None:
        self.name = name
        self.description = f"Scripted: {name}"
        self._answer = answer
        self._endless = endless
        self.input_schema: dict[str, Any] = {"type": "object", "properties": {}}

    async def execute(self, _: dict[str, Any]) -> Any:
        """Return the fixed answer. An endless tool sleeps first, so that the process is killed during the call."""
        if self._endless:
            await asyncio.sleep(ENDLESS_S)
        return ToolResult(output=self._answer)


class ScriptedLoop:
    """An orchestrator that asks the provider, runs all called tools at the same time, and stores the messages."""

    name = "scripted"

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    async def execute(
        self, prompt: str, context: Any, providers: Mapping[str, Any], tools: Mapping[str, Any], hooks: Any, **_: Any
    ) -> str:
        """Run one turn: store the prompt, ask the provider, and run tools until an answer has no calls."""
        await hooks.emit("prompt:submit", {"prompt": prompt})
        await self._add(context, {"role": "user", "content": prompt})
        provider = next(iter(providers.values()))
        specs = [ToolSpec(name=tool.name, parameters=tool.input_schema) for tool in tools.values()]
        while True:
            view = await context.get_messages_for_request(provider=provider)
            self._tell("view", messages=view)
            request = ChatRequest(messages=[Message(**message) for message in view], tools=specs)
            response = await provider.complete(request)
            text = "".join(block.text for block in response.content)
            calls = provider.parse_tool_calls(response)
            if not calls:
                await self._add(context, {"role": "assistant", "content": text})
                await hooks.emit("orchestrator:complete", {"orchestrator": "loop-scripted"})
                return text
            called = [{"id": call.id, "tool": call.name, "arguments": call.arguments} for call in calls]
            await self._add(context, {"role": "assistant", "content": text, "tool_calls": called})
            await asyncio.gather(*(self._run(call, context, tools, hooks) for call in calls))

    async def _run(self, call: Any, context: Any, tools: Mapping[str, Any], hooks: Any) -> None:
        self._tell("running", tool=call.name)
        await hooks.emit("tool:pre", {"tool_name": call.name})
        result = await tools[call.name].execute(call.arguments)
        await hooks.emit("tool:post", {"tool_name": call.name})
        answer = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": str(result.output)}
        await self._add(context, answer)

    async def _add(self, context: Any, message: Stored) -> None:
        await context.add_message(message)
        self._tell("acknowledged", message=message)


class ScriptedLoader(ModuleLoader):  # type: ignore[misc]  # amplifier-core has no types
    """Loads the demo's own modules. Other modules, such as the context manager, are loaded by their entry points."""

    def __init__(self, coordinator: Any, tell: Tell, *, endless: bool) -> None:
        super().__init__(coordinator=coordinator)
        self._tell = tell
        self._endless = endless

    async def load(self, module_id: str, *args: Any, **options: Any) -> Callable[[Any], Awaitable[Any]]:
        """Give the mount function of a module."""
        tools = [
            ScriptedTool("list_files", "CHANGELOG.md\ntests/"),
            ScriptedTool("read_file", "## 1.4.0 (Heron)\n- [fix] totals are rounded once"),
            ScriptedTool(INTERRUPTED_TOOL, "[12 passed] in 0.21 s", endless=self._endless),
        ]
        own: dict[str, tuple[str, list[Any]]] = {
            "loop-scripted": ("orchestrator", [ScriptedLoop(self._tell)]),
            "provider-scripted": ("providers", [ScriptedProvider()]),
            "tools-scripted": ("tools", tools),
        }
        if module_id not in own:
            return await super().load(module_id, *args, **options)  # type: ignore[no-any-return]  # the base class has no types
        point, modules = own[module_id]

        async def mount(coordinator: Any) -> None:
            for module in modules:
                await coordinator.mount(point, module, name=module.name)

        return mount


def mount_plan(storage: str | None) -> dict[str, Any]:
    """Return the mount plan of the session; with `storage` the log is in that database."""
    config = {"max_tokens": 50_000, "storage": storage}
    return {
        "session": {
            "orchestrator": "loop-scripted",
            "context": {"module": "context-persistent", "config": config},
        },
        "providers": [{"module": "provider-scripted"}],
        "tools": [{"module": "tools-scripted"}],
    }


async def run(directory: Path, tell: Tell, *, resumed: bool, storage: str | None = None) -> None:
    """Start the session, or resume it as the host's command line does, and run the turns of this part of the script."""
    session = AmplifierSession(mount_plan(storage), session_id=SESSION_ID, is_resumed=resumed)
    coordinator = session.coordinator
    coordinator.register_capability("session.working_dir", os.fspath(directory))
    coordinator.loader = ScriptedLoader(coordinator, tell, endless=not resumed)
    await session.initialize()
    context = coordinator.get("context")
    tell("mounted", manager=type(context).__name__, log_path=context.log_path)
    place_of_log = directory / "log" if storage else Path(context.log_path)
    transcript = place_of_log.with_name("transcript.jsonl")

    async def system_prompt() -> str:
        return SYSTEM_PROMPT

    async def save_transcript(*_: Any) -> Any:
        _write_transcript(transcript, await context.get_messages())
        return HookResult(action="continue")

    async def tell_ignored(_: str, counts: Mapping[str, Any]) -> Any:
        tell("ignored", handed=counts["ignored_messages"], stored=counts["stored_messages"])
        return HookResult(action="continue")

    await context.set_system_prompt_factory(system_prompt)
    coordinator.hooks.register("tool:post", save_transcript, name="demo-transcript")
    coordinator.hooks.register("context:set_messages_ignored", tell_ignored, name="demo-ignored")
    prompts: Sequence[str] = FIRST_PROMPTS
    if resumed:
        prompts = (RESUMED_PROMPT,)
        tell("recovered", messages=await context.get_messages())
        await context.set_messages(_read_transcript(transcript))
        tell("resumed", messages=await context.get_messages())
    for prompt in prompts:
        tell("finished", text=await session.execute(prompt))
    await session.cleanup()


def _write_transcript(path: Path, messages: list[Stored]) -> None:
    """Save a transcript as the command line does: without system texts, thinking and values that are None."""
    lines = []
    for message in messages:
        if message["role"] not in ("system", "developer"):
            saved = {key: value for key, value in message.items() if value is not None and key != "thinking_block"}
            lines.append(json.dumps(saved) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def _read_transcript(path: Path) -> list[Stored]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _telling(channel: TextIO) -> Tell:
    def tell(event: str, **what: Any) -> None:
        channel.write(json.dumps({"event": event, **what}) + "\n")
        channel.flush()

    return tell


def main(arguments: list[str]) -> None:
    """Play the part `first` or `resumed` in a directory.

    If the log is in a database, an environment variable names the database, because others on the machine could see the
    password in an argument of the process.
    """
    part, directory = arguments
    storage = os.environ.get(STORAGE_VARIABLE) or None
    # What others print must not come between: standard output is the parent's, and only this function's.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as channel:
        os.dup2(2, 1)
        asyncio.run(run(Path(directory), _telling(channel), resumed=part == "resumed", storage=storage))
    # Without the interpreter's finalisation: amplifier-core's own threads may still release the GIL then, and a busy
    # machine sees "Fatal Python error: PyGILState_Release" now and then (2.0.2). The session was cleaned up above.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
