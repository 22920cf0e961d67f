"""History and compaction for the Microsoft Agent Framework: its own provider beside ours, views, kills."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_framework", reason="agent-framework-core is not installed (the extra `kits`)")

from agent_framework import Content, InMemoryHistoryProvider, Message, UsageDetails

from amplifier_module_context_persistent.adapters.agent_framework import PersistentHistory
from tests.support.agent_framework_agent import made_up_agent
from tests.support.commands import run
from tests.support.kit_kills import assert_the_next_process_asks_the_same, kill_again_and_again
from tests.support.kit_requests import StrictService, words
from tests.support.sweeps import proof, whole

LONG = "A text that is longer than a reference to it. " * 10
IMAGES = [Content.from_data(b"PNG" * 30, "image/png"), Content.from_uri("https://a/b", media_type="image/png")]
CALL, TEXT_CALL = ({"x": LONG}, json.dumps({"y": LONG}))
CALLS = [Content.from_function_call("c2", "f", arguments=TEXT_CALL), Content.from_function_call("c3", "g")]
FAILED = Content.from_function_result("c3", result="no", exception="bad")
THOUGHT = [Content.from_text_reasoning(text=LONG), LONG, Content.from_function_call("c1", "f", arguments=CALL)]
MESSAGES = [
    Message("system", ["rules"]),
    Message("user", ["hello", *IMAGES]),
    Message("assistant", THOUGHT),
    Message("tool", [Content.from_function_result("c1", result={"deep": [1, LONG]})], message_id="given"),
    Message("assistant", CALLS),
    Message("tool", [Content.from_function_result("c2", result=LONG), FAILED]),
    Message("assistant", [], additional_properties={"own": {"$": [1]}}),
    Message("alien", ["x"], author_name="who"),
    Message("user", []),
]


def plain(messages: Any) -> list[Any]:
    """What messages say, without the mark of those that were loaded."""
    found = [message.to_dict() for message in messages]
    for message in found:
        message.get("additional_properties", {}).pop("_context_persistent_session", None)
    return found


async def test_messages_come_back_as_they_were_saved(place: str) -> None:
    """As from the framework's own provider, in this process and another one, by session."""
    kit, theirs, states = PersistentHistory(place), InMemoryHistoryProvider(), {"a": {}, "..": {}}
    for session_id, messages in (("a", MESSAGES[:4]), ("..", MESSAGES[4:]), ("a", MESSAGES[4:])):
        await kit.provider.save_messages(session_id, messages)
        await theirs.save_messages(session_id, messages, state=states[session_id])
    await kit.close()
    again = PersistentHistory(place)
    for session_id in states:
        ours = await again.provider.get_messages(session_id)
        assert plain(ours) == plain(await theirs.get_messages(session_id, state=states[session_id]))
        await again.provider.save_messages(session_id, ours)  # what was loaded is not stored again
        assert len(await again.provider.get_messages(session_id)) == len(ours)
    assert await again.provider.get_messages("other") == []
    assert await again.provider.get_messages(None) == []
    await again.close()


@proof
@pytest.mark.parametrize(("turns", "calls"), [(300 if whole() else 30, 1), (2, 100)])
async def test_long_sessions_fit_a_small_window(tmp_path: Path, turns: int, calls: int) -> None:
    """Many turns, or runs of many calls, at 20,000 tokens: nothing is refused, and most of each request is cached."""
    service, rng = StrictService(20_000), random.Random(2)
    kit = PersistentHistory(tmp_path, max_tokens=20_000, durability="write")
    agent = made_up_agent(
        service,
        calls=calls,
        result_words={30: 900, 300: 400}.get(turns, 200),
        context_providers=[kit.provider],
        compaction_strategy=kit.compaction,
    )
    session = agent.create_session(session_id="s")
    for number in range(turns):
        await agent.run(f"question {number} {words(rng, 30)}", session=session)
    assert service.refused == []
    assert service.requests == turns * (calls + 1)
    assert service.cached_share >= 0.85
    assert len(await kit.provider.get_messages("s")) == turns * (2 * calls + 2)
    print(f"requests {service.requests}, largest {service.largest_tokens}, cached share {service.cached_share:.3f}")
    await kit.close()


async def test_agents_of_several_sessions_do_not_mix(tmp_path: Path) -> None:
    """One strategy serves them all at once, though it is not told whose list it gets."""
    kit = PersistentHistory(tmp_path, max_tokens=20_000, durability="write")
    services = [StrictService(20_000) for _ in range(3)]
    for _ in range(2):
        runs = []
        for number, service in enumerate(services):
            agent = made_up_agent(service, context_providers=[kit.provider], compaction_strategy=kit.compaction)
            runs.append(agent.run(f"question of {number}", session=agent.create_session(session_id=f"s{number}")))
        await asyncio.gather(*runs)
    assert [service.refused for service in services] == [[], [], []]
    for number in range(3):
        said = json.dumps(plain(await kit.provider.get_messages(f"s{number}")))
        assert all((f"question of {other}" in said) == (other == number) for other in range(3))
    await kit.close()


async def test_runs_of_one_session_at_once_do_not_mix(tmp_path: Path) -> None:
    """Each run goes on with what it was given, and all that is saved is there once."""
    kit, services = PersistentHistory(tmp_path, max_tokens=8_000, durability="write"), []

    async def run(number: int) -> None:
        services.append(service := StrictService(8_000))
        agent = made_up_agent(service, calls=5, context_providers=[kit.provider], compaction_strategy=kit.compaction)
        await agent.run(f"question {number}", session=agent.create_session(session_id="s"))

    for begin in range(0, 9, 3):
        await asyncio.gather(*map(run, range(begin, begin + 3)))
    assert [service.refused for service in services] == [[]] * 9
    messages = await kit.provider.get_messages("s")
    assert len(messages) == 9 * 12
    asked = [message.text for message in messages if str(message.role) == "user"]
    assert sorted(asked) == [f"question {number}" for number in range(9)]
    await kit.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=proof) for seed in range(1, 6))])
async def test_runs_that_save_each_call_do_not_mix(tmp_path: Path, seed: int) -> None:
    """What two processes save between a call and its result is sent before both, so a request ends with the result."""
    rng, refused = random.Random(seed), list[str]()
    kits = [PersistentHistory(tmp_path, max_tokens=3_000, durability="write") for _ in range(2)]

    async def run(kit: PersistentHistory, who: int) -> None:
        for number in range(6):
            service = StrictService(3_000)
            agent = made_up_agent(
                service,
                calls=rng.randint(1, 4),
                context_providers=[kit.provider],
                compaction_strategy=kit.compaction,
                require_per_service_call_history_persistence=True,
            )
            await agent.run(f"question {who} {number} {words(rng, 30)}", session=agent.create_session(session_id="s"))
            refused.extend(service.refused)
            await asyncio.sleep(rng.random() * 0.01)

    await asyncio.gather(run(kits[0], 0), run(kits[1], 1))
    assert refused == []
    said = [json.dumps(message) for message in plain(await kits[0].provider.get_messages("s"))]
    assert len(said) == len(set(said))
    assert sum("question" in one for one in said) == 12
    for kit in kits:
        await kit.close()


async def test_two_providers_save_to_one_session_at_once(place: str) -> None:
    """Each batch stays together, and nothing is lost or doubled."""
    kits = [PersistentHistory(place, durability="write") for _ in range(2)]

    async def save(who: int) -> None:
        for n in range(10):
            await kits[who].provider.save_messages("s", [Message("user", [f"{who} {n} {k}"]) for k in range(3)])

    await asyncio.gather(save(0), save(1))
    said = [message.text.split() for message in await kits[0].provider.get_messages("s")]
    assert len(said) == 60
    assert all(said[at][:2] == said[at + 2][:2] for at in range(0, 60, 3))
    for kit in kits:
        await kit.close()


@proof
@pytest.mark.parametrize("kit", ["agent_framework", "agent_framework_per_call"])
def test_runs_that_are_killed_lose_and_double_nothing(tmp_path: Path, kit: str) -> None:
    """Every message that was saved is there once, whenever the process was killed."""
    told = kill_again_and_again(kit, tmp_path, kills=35 if whole() else 12, seed=3)
    print(told)
    assert told.lost == told.doubled == told.refused == 0
    assert told.acknowledged > 0


@proof
def test_the_next_process_asks_as_the_killed_one_would_have(tmp_path: Path) -> None:
    """Its first request is the same, part by part, whatever was planned before."""
    assert_the_next_process_asks_the_same("agent_framework", tmp_path / "s", kills=25 if whole() else 6)


@pytest.mark.parametrize("call_by_call", [False, True], ids=["a run at once", "call by call"])
async def test_the_usage_of_a_run_counts(tmp_path: Path, *, call_by_call: bool) -> None:
    """`stats` has the tokens that the responses of the framework report, and their model."""
    kit = PersistentHistory(tmp_path)
    reported = UsageDetails(input_token_count=1_000, output_token_count=10, cache_read_input_token_count=400)
    more = {"require_per_service_call_history_persistence": True} if call_by_call else {}
    agent = made_up_agent(StrictService(100_000), calls=2, usage=reported, context_providers=[kit.provider], **more)
    session = agent.create_session(session_id="s")
    for _ in range(2):
        await agent.run("Look it up.", session=session)
    await kit.close()
    told = json.loads(await asyncio.to_thread(lambda: run("stats", "--in", tmp_path, "--json").stdout))
    total = told["total"]
    counts = ("requests", "input_tokens", "cached_tokens", "output_tokens", "unpriced_requests")
    assert [total[name] for name in counts] == [6, 6_000, 2_400, 60, 0]
    assert [one["model"] for one in told["by_model"]] == ["gpt-5"]
