"""Agents with the real clients: every body fits the client's own types, and what was sent stays as it was."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.commands import run
from tests.support.kit_agents import AGENTS, Agent, without_marks
from tests.support.play_kit import play

TURNS = 20
KILLS = ((6, "answered"), (13, "resulted"), (17, "said"))
"""Before results, before the answer to them, and before any answer."""


class Session(NamedTuple):
    """A session of an agent with a real client."""

    form: str
    agent: Agent
    log: Path
    bodies: list[Any]


@pytest.fixture(scope="module", params=AGENTS)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session whose process is killed now and then; skipped if the client is not installed."""
    form = str(request.param)
    package, kind = AGENTS[form]
    pytest.importorskip(package, reason=f"the package {package} is not installed (the extra `kits`)")
    path = tmp_path_factory.mktemp(form)
    log = path / "log.jsonl"
    return Session(form, kind(), log, play(form, log, path / "bodies.jsonl", TURNS, KILLS))


def test_every_body_fits_the_clients_own_types(session: Session) -> None:
    """And goes on from the one before it, through kills, images, PDFs, searches and refusals."""
    agent, bodies = session.agent, session.bodies
    assert len(bodies) > TURNS
    assert agent.wrong(bodies[-1]) == []
    for body in bodies:
        assert agent.wrong({**body, agent.messages: body[agent.messages][-3:]}) == []
    for before, after in pairwise(bodies):
        assert _beginning(agent, after, before) == json.dumps(agent.prefix(before))


def _beginning(agent: Agent, body: Any, before: Any) -> str:
    """As many messages of a body as the one before it had."""
    return json.dumps(agent.prefix(body)[: len(agent.prefix(before))])


def test_what_a_server_and_a_person_gave_is_sent_again(session: Session) -> None:
    """Images, PDFs, thinking and what the server ran, as they came."""
    last = json.dumps(without_marks(session.bodies[-1]))
    wanted = {
        "anthropic": ("c2ln", "sig1", "srvtoolu_", "encrypted_index", '"type": "document"'),
        "openai_chat": ('"image_url"', '"file_data"', '{\\"n\\": 1}', '"refusal"'),
        "openai_responses": ("rs_1", "RW5j", "ws_", "fc_1a", '"input_file"', '"refusal"'),
        "gemini": ("thoughtSignature", "executableCode", '"application/pdf"'),
    }[session.form]
    assert [text for text in wanted[session.form == "anthropic" :] if text not in last] == []


async def test_results_are_results_to_every_reader(session: Session, tmp_path: Path) -> None:
    """In the history, in `stats`, `search`, `show` and the report; none is missing and none is there twice."""
    async with PersistentContextManager(session.log) as memory:
        history = await memory.get_messages()
    roles = [message["role"] for message in history]
    calls = 2 * sum(bool(message.get("tool_calls")) for message in history)
    assert roles.count("user") == TURNS
    assert roles.count("tool") == calls > 20
    path = session.log
    told = json.loads(run("stats", "--json", path).output)
    assert told["tools"]["ls"]["calls"] == told["tools"]["ls"]["results"] == calls
    assert len(told["turns"]) == TURNS
    assert "without a result" not in run("stats", path).output
    assert len(run("search", "file", path, "--role", "tool", "--json").output.splitlines()) >= calls
    assert "interrupted" not in run("show", path).output
    run("report", path, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "tool_use_id" not in page
    assert "functionResponse" not in page


def test_stats_know_what_the_agent_cost(session: Session) -> None:
    """Usage and model come from the answers."""
    told = json.loads(run("stats", "--json", session.log).output)
    (model,) = told["cost"]["models"].values()
    assert model["requests"] == len(session.bodies)
    assert model["cached_tokens"] == 100 * len(session.bodies)
