"""Agents with the real clients: every body fits the client's own types, and what was sent stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.commands import run
from tests.support.kit_agents import AGENTS, Agent, without_marks

TURNS = 20
KILLED_AFTER = (7, 13)


def agent_of(form: str) -> Agent:
    """The agent of a form; the test is skipped if its client is not installed."""
    package, kind = AGENTS[form]
    pytest.importorskip(package, reason=f"the package {package} is not installed (the extra `kits`)")
    return kind()


async def played(agent: Agent, path: Path, turns: int = TURNS) -> list[Any]:
    """A session of some turns whose process is killed now and then; its history."""
    memory = PersistentContextManager(path, max_tokens=200_000)
    for number in range(1, turns + 1):
        await agent.turn(memory, number)
        if number in KILLED_AFTER:
            memory = PersistentContextManager(path, max_tokens=200_000)  # the other one is not closed
    history = await memory.get_messages()
    await memory.close()
    return history


@pytest.fixture(params=AGENTS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_every_body_fits_the_clients_own_types(form: str, tmp_path: Path) -> None:
    """And goes on from the one before it, through kills, images, PDFs, searches and refusals."""
    agent = agent_of(form)
    await played(agent, tmp_path / "log.jsonl")
    assert len(agent.bodies) > TURNS
    assert agent.wrong(agent.bodies[-1]) == []
    for body in agent.bodies:
        assert agent.wrong({**body, agent.messages: body[agent.messages][-3:]}) == []
    for before, after in zip(agent.bodies, agent.bodies[1:], strict=False):
        assert _beginning(agent, after, before) == json.dumps(agent.prefix(before))


def _beginning(agent: Agent, body: Any, before: Any) -> str:
    """As many messages of a body as the one before it had."""
    return json.dumps(agent.prefix(body)[: len(agent.prefix(before))])


async def test_what_a_server_and_a_person_gave_is_sent_again(form: str, tmp_path: Path) -> None:
    """Images, PDFs, thinking and what the server ran, as they came."""
    agent = agent_of(form)
    await played(agent, tmp_path / "log.jsonl", 8)
    last = json.dumps(without_marks(agent.bodies[-1]))
    wanted = {
        "anthropic": ("c2ln", "sig1", "srvtoolu_", "encrypted_index", '"type": "document"'),
        "openai_chat": ('"image_url"', '"file_data"', '{\\"n\\": 1}', '"refusal"'),
        "openai_responses": ("rs_1", "RW5j", "ws_", "fc_1a", '"input_file"', '"refusal"'),
        "gemini": ("thoughtSignature", "executableCode", '"application/pdf"'),
    }[form]
    assert [text for text in wanted[form == "anthropic" :] if text not in last] == []


async def test_results_are_results_to_every_reader(form: str, tmp_path: Path) -> None:
    """In the history, in `stats`, `search`, `show` and the report."""
    agent, path = agent_of(form), tmp_path / "log.jsonl"
    history = await played(agent, path, 8)
    roles = [message["role"] for message in history]
    assert roles.count("user") == 8
    assert roles.count("tool") == 2 * sum(bool(message.get("tool_calls")) for message in history) == 10
    told = json.loads(run("stats", "--json", path).output)
    assert told["tools"]["ls"]["calls"] == told["tools"]["ls"]["results"] == 10
    assert len(told["turns"]) == 8
    assert "without a result" not in run("stats", path).output
    assert len(run("search", "file", path, "--role", "tool", "--json").output.splitlines()) >= 10
    assert "interrupted" not in run("show", path).output
    run("report", path, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "tool_use_id" not in page
    assert "functionResponse" not in page


async def test_stats_know_what_the_agent_cost(form: str, tmp_path: Path) -> None:
    """Usage and model come from the answers."""
    agent, path = agent_of(form), tmp_path / "log.jsonl"
    await played(agent, path, 8)
    told = json.loads(run("stats", "--json", path).output)
    (model,) = told["cost"]["models"].values()
    assert model["requests"] == len(agent.bodies)
    assert model["cached_tokens"] == 100 * len(agent.bodies)
