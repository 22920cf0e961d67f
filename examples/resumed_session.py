"""A session that is killed in the middle of a tool call and resumed, with a child session.

    python examples/resumed_session.py

It is a real `AmplifierSession`. It mounts what `bundle.md` says, with a scripted provider, a loop and two tools in
place of real ones; no network is used. The first process is killed with SIGKILL while the tool `publish` runs. The
second one resumes the session and its child, each as Amplifier's command line does. Everything is in a temporary
directory.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import yaml
from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, TextBlock, ToolCall
from amplifier_core.models import ProviderInfo, ToolResult

BUNDLE = Path(__file__).resolve().parents[1] / "bundle.md"
PARENT, CHILD = "release", "release_explorer"
CHILD_PROMPT = "You explore, and you change nothing."


def mount_plan() -> dict[str, Any]:
    """The mount plan: the context manager as the bundle has it, and the modules of this example."""
    front_matter = BUNDLE.read_text(encoding="utf-8").split("---")[1]
    context = yaml.safe_load(front_matter)["session"]["context"]
    return {
        "session": {"orchestrator": "loop-example", "context": context},
        "providers": [{"module": "provider-example"}],
        "tools": [{"module": "tools-example"}],
    }


class Provider:
    """Answers what the last message asks for."""

    name = "example"

    def get_info(self) -> Any:
        """Say who this is."""
        return ProviderInfo(id=self.name, display_name="Example")

    async def complete(self, request: Any) -> Any:
        """Call a tool for a person's words, and end the turn after a result."""
        last = request.messages[-1]
        for word, tool in (("Explore", "explore"), ("Publish", "publish")):
            if last.role == "user" and word in str(last.content):
                call = ToolCall(id=f"call-{len(request.messages)}", name=tool, arguments={"task": "the changelog"})
                return ChatResponse(content=[TextBlock(text=f"I {tool}.")], tool_calls=[call])
        text = f"Done after {len(request.messages)} messages: {str(last.content)[:60]}"
        return ChatResponse(content=[TextBlock(text=text)])


class Explore:
    """A tool that lets a child session do the work."""

    name, description = "explore", "Let a sub-agent look at something."
    input_schema: dict[str, Any] = {"type": "object", "properties": {"task": {"type": "string"}}}

    async def execute(self, arguments: dict[str, Any]) -> Any:
        """Run a child session for one turn."""
        child = await start(CHILD, parent_id=PARENT)

        async def prompt() -> str:
            return CHILD_PROMPT

        await child.coordinator.get("context").set_system_prompt_factory(prompt)
        answer = await child.execute(f"Look at {arguments['task']}.")
        await child.cleanup()
        return ToolResult(output=f"The explorer says: {answer}")


class Publish:
    """A tool in the middle of which the process is killed."""

    name, description = "publish", "Publish the release."
    input_schema: dict[str, Any] = {"type": "object", "properties": {"task": {"type": "string"}}}

    async def execute(self, _: dict[str, Any]) -> Any:
        """Kill this process, as a power cut or an operator would."""
        print("the process is killed while `publish` runs", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


class Loop:
    """The smallest orchestrator that calls tools."""

    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, **_: Any) -> str:
        """Run one turn."""
        await context.add_message({"role": "user", "content": prompt})
        (provider,) = providers.values()
        while True:
            view = await context.get_messages_for_request(provider=provider)
            response = await provider.complete(ChatRequest(messages=[Message(**message) for message in view]))
            calls = [{"id": c.id, "tool": c.name, "arguments": c.arguments} for c in response.tool_calls or ()]
            answer = {"role": "assistant", "content": response.content[0].text}
            await context.add_message({**answer, "tool_calls": calls} if calls else answer)
            if not calls:
                return str(answer["content"])
            for call in calls:
                result = await tools[call["tool"]].execute(call["arguments"])
                await context.add_message({"role": "tool", "tool_call_id": call["id"], "content": str(result.output)})


class Loader(ModuleLoader):
    """Loads the modules of this example; the context manager comes through its entry point."""

    async def load(self, module_id: str, *args: Any, **options: Any) -> Callable[[Any], Awaitable[Any]]:
        """Give the mount function of a module."""
        own = {"loop-example": mount_loop, "provider-example": mount_provider, "tools-example": mount_tools}
        return own[module_id] if module_id in own else await super().load(module_id, *args, **options)


async def mount_loop(coordinator: Any) -> None:
    """Mount the loop."""
    await coordinator.mount("orchestrator", Loop())


async def mount_provider(coordinator: Any) -> None:
    """Mount the provider."""
    await coordinator.mount("providers", Provider(), name=Provider.name)


async def mount_tools(coordinator: Any) -> None:
    """Mount the tools."""
    for tool in (Explore(), Publish()):
        await coordinator.mount("tools", tool, name=tool.name)


async def start(session_id: str, *, parent_id: str | None = None, is_resumed: bool = False) -> Any:
    """Start a session, as a host does: the working directory is known before the modules are mounted."""
    session = AmplifierSession(mount_plan(), session_id=session_id, parent_id=parent_id, is_resumed=is_resumed)
    session.coordinator.register_capability("session.working_dir", os.getcwd())
    session.coordinator.loader = Loader(coordinator=session.coordinator)
    await session.initialize()
    return session


async def first() -> None:
    """A turn with a child session, and a turn that does not end."""
    session = await start(PARENT)
    print("log:", session.coordinator.get("context").log_path)
    print("turn 1:", await session.execute("Explore the repository."))
    await session.execute("Publish the release.")


async def resumed() -> None:
    """Resume the session and its child."""
    session = await start(PARENT, is_resumed=True)
    context = session.coordinator.get("context")
    history = await context.get_messages()
    print(f"resumed: {len(history)} messages, the last one is {history[-1]['role']}'s call of `publish`")
    print("turn 3:", await session.execute("What happened?"))
    view = await context.get_messages_for_request()
    print("the open call is answered in the view:", next(m["content"] for m in reversed(view) if m["role"] == "tool"))
    await session.cleanup()

    child = await start(CHILD, parent_id=PARENT, is_resumed=True)
    context = child.coordinator.get("context")
    stored = await context.get_messages()
    for message in stored:  # the host replays its transcript
        await context.add_message(message)
    print(f"the child's history after the replay: {len(await context.get_messages())} of {len(stored)} messages")
    print("the child's view begins with:", (await context.get_messages_for_request())[0]["content"])
    await child.cleanup()


def main() -> None:
    """Run both processes in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="context-persistent-example-") as directory:
        for part in ("first", "resumed"):
            print(f"== {part} process")
            command = [sys.executable, str(Path(__file__).resolve()), part]
            done = subprocess.run(command, cwd=directory, env={**os.environ, "HOME": directory}, check=False)
            expected = -signal.SIGKILL if part == "first" else 0
            if done.returncode != expected:
                raise SystemExit(f"the {part} process ended with {done.returncode} instead of {expected}")


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run({"first": first, "resumed": resumed}[sys.argv[1]]())
        sys.stdout.flush()
        os._exit(0)  # amplifier-core's own threads may still run: see `toolbox/demo/session.py`
    main()
