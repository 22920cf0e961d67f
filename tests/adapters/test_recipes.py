"""The examples of other kits run: those of the README and the examples, and of the page of each kit."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent import open_session
from amplifier_module_context_persistent.toolbox.demo.command import read_messages
from tests.support.kit_agents import http_module
from tests.support.places import DOCS, ROOT

KITS = ("claude_agent_sdk", "openai_agents", "pydantic_ai", "agent_framework", "langchain")
PAGES = "".join((DOCS / f"{kit}.md").read_text(encoding="utf-8") for kit in KITS)
README = (ROOT / "README.md").read_text(encoding="utf-8")


def example(heading: str) -> str:
    """The code below a heading of the page of a kit."""
    section = PAGES.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return str(code)


async def run(code: str, **given: Any) -> dict[str, Any]:
    """Run code that may await; what it defines."""
    scope: dict[str, Any] = dict(given)
    body = "".join(f"    {line}\n" for line in code.splitlines())
    exec(compile(f"async def example():\n{body}    return locals()\n", "docs", "exec"), scope)
    return dict(await scope["example"]())


async def run_readmes(heading: str, **given: Any) -> dict[str, Any]:
    """Run what the README shows of one kit."""
    shown = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[-1]
    (code,) = re.findall(rf"^(# {heading}.*?)(?=^# |\Z)", shown, re.DOTALL | re.MULTILINE)
    return await run(code, **given)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are made in an empty directory, and a home of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


async def test_the_claude_agent_sdk() -> None:
    """Its options take the store."""
    sdk = pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed (the extra `kits`)")
    options = {"ClaudeAgentOptions": sdk.ClaudeAgentOptions}
    for made in (await run(example("Claude Agent SDK")), await run_readmes("Claude Agent SDK", **options)):
        assert await made["options"].session_store.list_sessions("p") == []


async def test_the_openai_agents_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with the session and its configuration."""
    agents = pytest.importorskip("agents", reason="openai-agents is not installed (the extra `kits`)")
    from tests.support.kit_requests import StrictService
    from tests.support.openai_agent import MadeUpModel

    agent = MadeUpModel(StrictService(20_000), calls=1).agent()
    monkeypatch.setattr(agents, "Agent", lambda name: agent)
    made = await run(example("OpenAI Agents SDK"))
    assert made["result"].final_output.startswith("answer")
    await made["session"].close()
    made = await run_readmes("OpenAI Agents SDK", Runner=agents.Runner, agent=agent)
    assert len(await made["session"].get_items()) == 8
    await made["session"].close()


async def test_pydantic_ai(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run from a loaded conversation, and its save."""
    kit = pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed (the extra `kits`)")
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.models.test import TestModel

    real = kit.Agent
    monkeypatch.setattr(kit, "Agent", lambda model, **more: real(TestModel(), **more))
    made = await run(example("Pydantic AI"))
    assert len((await made["store"].load("user-17")).messages) == 2
    await made["store"].close()
    names = {"Agent": kit.Agent, "Conversation": Conversation, "UsageLimits": kit.UsageLimits}
    for expected in (4, 6):
        made = await run_readmes("Pydantic AI", model=None, **names)
        conversation = await made["store"].load("user-17")
        assert len(conversation.messages) == expected
        conversation.usage.requests += 60  # the kit allows 50, of all runs of a conversation
        await made["store"].save(conversation)
        await made["store"].close()
    assert (await made["store"].load("user-17")).usage.requests > 120


async def test_the_agent_framework() -> None:
    """An agent with both halves."""
    pytest.importorskip("agent_framework", reason="agent-framework-core is not installed (the extra `kits`)")
    from agent_framework import Agent

    from tests.support.agent_framework_agent import MadeUpClient
    from tests.support.kit_requests import StrictService

    client = MadeUpClient(StrictService(20_000), 0)
    shown = await run(example("Microsoft Agent Framework"), client=client)
    for made in (shown, await run_readmes("Microsoft Agent Framework", client=client, Agent=Agent)):
        said = await made["agent"].run("Hello", session=made["agent"].create_session(session_id="s"))
        assert said.text.startswith("answer")
        await made["kit"].close()


class Echo:
    """A chat model of LangChain that calls a tool first, if it is given one, and then says how much it was sent."""

    @staticmethod
    def make(*, calls: bool) -> Any:
        from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage

        class Model(GenericFakeChatModel):
            def _generate(self, messages: Any, *args: Any, **more: Any) -> Any:
                from langchain_core.outputs import ChatGeneration, ChatResult

                asks = calls and messages[-1].type != "tool"
                call = {"name": "look", "args": {"number": 1}, "id": f"call_{len(messages)}"}
                said = AIMessage("" if asks else f"saw {len(messages)}", tool_calls=[call] if asks else [])
                return ChatResult(generations=[ChatGeneration(message=said)])

        return Model(messages=iter(()))


async def test_langchain() -> None:
    """The second turn of another process sees the first one."""
    pytest.importorskip("langchain_core", reason="langchain-core is not installed (the extra `kits`)")
    turn = (await run(example("LangChain")))["turn"]
    assert await turn(Echo.make(calls=False), "s", "one") == "saw 1"
    assert await turn(Echo.make(calls=False), "s", "two") == "saw 3"
    async with open_session("s", "sessions") as memory:
        assert [message["role"] for message in await memory.get_messages()] == ["user", "assistant"] * 2


async def test_langgraph() -> None:
    """A graph with tools goes on with what the session holds, and stores each message once."""
    pytest.importorskip("langgraph", reason="langgraph is not installed (the extra `kits`)")
    from langchain_core.tools import tool

    @tool
    def look(number: int) -> str:
        """Look something up."""
        return f"result {number}"

    build = (await run(example("LangGraph")))["graph_with_memory"]
    for number, expected in enumerate(("saw 3", "saw 7"), 1):
        async with open_session("s", "sessions", recipient="openai") as memory:
            graph = build(Echo.make(calls=True), [look], memory)
            done = await graph.ainvoke({"messages": [{"role": "user", "content": f"question {number}"}]})
            assert done["messages"][-1].content == expected
            roles = [message["role"] for message in await memory.get_messages()]
            assert roles == ["user", "assistant", "tool", "assistant"] * number


async def test_plain_clients() -> None:
    """The answer is added as the client gave it."""
    completion = pytest.importorskip("openai.types.chat", reason="openai is not installed (the extra `kits`)")
    bodies: list[Any] = []

    async def create(**body: Any) -> Any:
        bodies.append(body)
        said = {"role": "assistant", "content": f"saw {len(body['messages'])}"}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        told = {"id": "x", "created": 1, "model": body["model"], "object": "chat.completion", "choices": [choice]}
        return completion.ChatCompletion.model_validate(told)

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    turn = (await run(example("Plain clients")))["turn"]
    assert [await turn(client, "s", "one"), await turn(client, "s", "two")] == ["saw 1", "saw 3"]
    assert asyncio.iscoroutinefunction(turn)
    assert len(bodies) == 2


async def test_the_readmes_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anthropic's own client sends the view, and its answer is added as the client gave it."""
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed (the extra `kits`)")
    httpx = http_module()

    def answer(request: Any) -> Any:
        body = json.loads(request.content)
        assert [message["role"] for message in body["messages"]] == ["user"]
        content = [{"type": "text", "text": "A README and the sources."}]
        told = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content}
        usage = {"input_tokens": 20, "output_tokens": 9}
        return httpx.Response(200, json={**told, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage})

    transport = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    client = anthropic.AsyncAnthropic(api_key="none", http_client=transport)
    monkeypatch.setattr(anthropic, "AsyncAnthropic", lambda: client)
    shown = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    made = await run(shown)
    assert made["answer"].content[0].text == "A README and the sources."
    assert [message["role"] for message in read_messages("session.jsonl")] == ["user", "assistant"]
