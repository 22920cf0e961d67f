"""The session of the OpenAI Agents SDK: the SDK's own session beside ours, views, kills, two processes."""

from __future__ import annotations

import asyncio
import copy
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed (the extra `kits`)")

from agents import Runner, SessionSettings, SQLiteSession

from amplifier_module_context_persistent.adapters.openai_agents import PersistentSession
from amplifier_module_context_persistent.errors import ConfigError
from tests.support.kit_kills import assert_the_next_process_asks_the_same, kill_again_and_again
from tests.support.kit_requests import StrictService, words
from tests.support.openai_agent import MadeUpModel
from tests.support.places import ROOT
from tests.support.sweeps import proof, whole

LONG = "A text that is longer than a reference to it. " * 10
BATCHES: list[list[dict[str, Any]]] = [
    [{"content": "one", "role": "user"}],
    [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": LONG}],
            "id": "u",
            "status": "completed",
        }
    ],
    [
        {
            "id": "rs1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "type": "reasoning",
            "encrypted_content": LONG,
        },
        {
            "arguments": json.dumps({"x": 1, "text": LONG}),
            "call_id": "c1",
            "name": "f",
            "type": "function_call",
            "id": "f1",
        },
        {"arguments": "{}", "call_id": "c2", "name": "g", "type": "function_call", "id": "f2", "status": "completed"},
        {"call_id": "c1", "output": LONG, "type": "function_call_output"},
        {"call_id": "c2", "output": [{"type": "input_text", "text": "two"}], "type": "function_call_output"},
    ],
    [
        {
            "id": "m3",
            "content": [{"annotations": [], "text": "done", "type": "output_text", "logprobs": []}],
            "role": "assistant",
            "status": "completed",
            "type": "message",
        }
    ],
    [
        {"role": "assistant", "content": "easy"},
        {"role": "developer", "content": "rule"},
        {"role": "system", "content": ""},
    ],
    [{"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": LONG}}],
    [
        {
            "type": "computer_call_output",
            "call_id": "cc",
            "output": {"type": "computer_screenshot", "image_url": "data:,x"},
        }
    ],
    [
        {"type": "item_of_next_year", "stuff": {"$": [1], "text": LONG}},
        {"type": "compaction", "encrypted_content": LONG},
    ],
    [{"role": "user", "content": "x", "_crc": "reserved", "metadata": {"pinned": True, "message_id": "mine"}}],
    [{"role": "alien", "content": 5}, {"role": "user", "content": None}, {"type": "function_call"}, {}],
]


def as_text(items: Any) -> str:
    return json.dumps(items, sort_keys=True)


async def test_items_come_back_as_they_were_added(place: str) -> None:
    """Whatever they are, in this process and another one; the caller's are not altered."""
    session, given = PersistentSession("s", place), [item for batch in BATCHES for item in batch]
    before = copy.deepcopy(BATCHES)
    for batch in BATCHES:
        await session.add_items(batch)
    assert before == BATCHES
    assert as_text(await session.get_items()) == as_text(given)
    await session.close()
    again = PersistentSession("s", place)
    for limit in (0, 1, 3, 7, 100):
        assert as_text(await again.get_items(limit)) == as_text(given[-limit:] if limit else [])
    for item in reversed(given):
        assert as_text(await again.pop_item()) == as_text(item)
    assert await again.pop_item() is None
    await again.close()


@pytest.mark.parametrize("seed", range(10))
async def test_it_answers_as_the_sdks_own_session_does(tmp_path: Path, seed: int) -> None:
    """The same calls in any order, two ids among them, give the same."""
    rng = random.Random(seed)
    ours = [PersistentSession(name, tmp_path, durability="write") for name in ("a", "b")]
    theirs = [SQLiteSession(name, tmp_path / "db") for name in ("a", "b")]
    for _ in range(60):
        which, limit = rng.randrange(2), rng.choice((None, 0, 1, 2, 5, 50))
        settings = SessionSettings(limit=rng.choice((None, None, 3)))
        batch = copy.deepcopy(rng.choice([*BATCHES, []]))
        kind, answers = (
            rng.choice(("add", "add", "get", "pop", "clear") if rng.random() < 0.3 else ("add", "get", "pop")),
            [],
        )
        for session in (ours[which], theirs[which]):
            session.session_settings = settings
            if kind == "add":
                answers.append(await session.add_items(batch))
            elif kind == "get":
                answers.append(await session.get_items(limit))
            else:
                answers.append(await (session.pop_item() if kind == "pop" else session.clear_session()))
        assert as_text(answers[0]) == as_text(answers[1])
    for one, other in zip(ours, theirs, strict=True):
        assert as_text(await one.get_items(1_000)) == as_text(await other.get_items(1_000))
        await one.close()
        other.close()


async def run_turns(session: PersistentSession, model: MadeUpModel, turns: int, **more: Any) -> None:
    rng, agent = random.Random(2), model.agent()
    for number in range(turns):
        question = f"question {number} {words(rng, 30)}"
        await Runner.run(agent, question, session=session, run_config=session.run_config(), max_turns=300, **more)


@proof
@pytest.mark.parametrize(("turns", "calls", "reasons"), [(300 if whole() else 40, 2, False), (2, 100, True)])
async def test_long_sessions_fit_a_small_window(tmp_path: Path, turns: int, calls: int, reasons: bool) -> None:
    """Many turns, or runs of many calls, at 20,000 tokens: nothing is refused, and most of each request is cached."""
    service = StrictService(20_000)
    session = PersistentSession("s", tmp_path, max_tokens=20_000, durability="write")
    model = MadeUpModel(service, calls=calls, reasons=reasons, result_words=400 if turns == 40 else 150)
    await run_turns(session, model, turns)
    assert service.refused == []
    assert service.requests == turns * (calls + 1)
    assert service.cached_share >= 0.85
    items = await session.get_items()
    assert sum(len(json.dumps(item)) for item in items) > 2 * 4 * 20_000  # there was something to compact
    print(f"requests {service.requests}, largest {service.largest_tokens}, cached share {service.cached_share:.3f}")
    await session.close()


async def test_what_the_session_does_not_hold_is_sent_behind_the_view(tmp_path: Path) -> None:
    """Items of a run that the SDK has not saved yet; and a run with a handful of its history."""
    session = PersistentSession("s", tmp_path)
    await session.add_items([{"role": "user", "content": "saved"}, {"role": "assistant", "content": "yes"}])
    data: Any = type("Data", (), {})()
    data.model_data = type("Model", (), {})()
    data.model_data.instructions = "Be brief."
    for unsaved in (
        [],
        [{"role": "user", "content": "new"}],
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    ):
        data.model_data.input = [*(await session.get_items()), *unsaved]
        sent = await session.filter_model_input(data)
        assert [item["content"] for item in sent.input] == ["saved", "yes", *(item["content"] for item in unsaved)]
        assert sent.instructions == "Be brief."
    empty = PersistentSession("other", tmp_path)
    assert (await empty.filter_model_input(data)).input == data.model_data.input
    assert await session.combine_input(await session.get_items(), [{"role": "user", "content": "c"}]) == [
        *(await session.get_items()),
        {"role": "user", "content": "c"},
    ]
    await session.close()
    await empty.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=proof) for seed in range(1, 6))])
async def test_runs_of_one_session_at_once_are_asked_about_their_own_items(tmp_path: Path, seed: int) -> None:
    """What another run saved behind them is sent with the next request, so none ends with an answer."""
    rng, wrong = random.Random(seed), list[str]()

    async def run(who: int) -> None:
        def check(texts: list[str]) -> None:
            last = json.loads(texts[-1])
            if last.get("type") != "function_call_output" and f"question {who}" not in texts[-1]:
                wrong.append(texts[-1])

        session = PersistentSession("s", tmp_path, max_tokens=3_000, durability="write")
        for number in range(10):
            service = StrictService(3_000, check)
            model = MadeUpModel(service, calls=rng.randint(0, 4), reasons=True)
            question = f"question {who} {number} {words(rng, 30)}"
            await Runner.run(model.agent(), question, session=session, run_config=session.run_config())
            wrong.extend(service.refused)
            await asyncio.sleep(rng.random() * 0.01)
        await session.close()

    await asyncio.gather(run(0), run(1))
    assert wrong == []


async def test_other_runs_items_do_not_hide_what_was_saved(tmp_path: Path) -> None:
    """However many they are, an item of this run is sent once."""
    session = PersistentSession("s", tmp_path, durability="write")
    question = {"role": "user", "content": "what?"}
    await session.add_items([question])
    await session.add_items([{"role": "user", "content": f"other {n}"} for n in range(300)])
    data: Any = type("Data", (), {})()
    data.model_data = type("Model", (), {"instructions": None, "input": [question]})()
    sent = await session.filter_model_input(data)
    assert [item["content"] for item in sent.input] == ["what?"]
    await session.close()


async def test_a_run_is_never_shown_another_session(tmp_path: Path) -> None:
    """A configuration that was made once for all sessions is refused; another object of the same session is not."""
    agent = MadeUpModel(StrictService(20_000), calls=0).agent()
    ada, bob = (PersistentSession(name, tmp_path, durability="write") for name in ("ada", "bob"))
    again = PersistentSession("ada", tmp_path, durability="write")
    await Runner.run(agent, "a secret", session=ada, run_config=ada.run_config())
    with pytest.raises(ConfigError, match=r"that of session 'ada', and this run is of session 'bob'"):
        await Runner.run(agent, "tell me", session=bob, run_config=ada.run_config())
    assert await bob.get_items() == []
    await Runner.run(agent, "hello", session=bob, run_config=bob.run_config())
    await Runner.run(agent, "and now?", session=ada, run_config=again.run_config())
    await asyncio.gather(*(Runner.run(agent, "x", session=one, run_config=one.run_config()) for one in (ada, bob) * 3))
    for session in (ada, bob, again):
        await session.close()


@proof
async def test_two_processes_share_one_session(tmp_path: Path) -> None:
    """Each batch of either is there once, together and in order."""
    code = (
        "import asyncio, sys\n"
        "from amplifier_module_context_persistent.adapters.openai_agents import PersistentSession\n"
        "async def main(place, name):\n"
        "    session = PersistentSession('s', place, durability='write')\n"
        "    for n in range(40):\n"
        "        await session.add_items([{'role': 'user', 'content': f'{name} {n} {k}'} for k in range(3)])\n"
        "    await session.close()\n"
        "asyncio.run(main(*sys.argv[1:]))\n"
    )
    writers = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(tmp_path), name, cwd=ROOT) for name in "ab"
    ]
    assert [await writer.wait() for writer in writers] == [0, 0]
    session = PersistentSession("s", tmp_path)
    said = [str(item["content"]).split() for item in await session.get_items()]
    assert len(said) == 240
    assert all(said[at][0] == said[at + 2][0] and said[at + 2][2] == "2" for at in range(0, 240, 3))
    for name in "ab":
        numbers = [(int(n), int(k)) for who, n, k in said if who == name]
        assert numbers == [(n, k) for n in range(40) for k in range(3)]
    await session.close()


@proof
def test_runs_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    """Every item that the SDK was told is saved is there once, whenever the process was killed."""
    told = kill_again_and_again("openai_agents", tmp_path, kills=70 if whole() else 15, seed=1)
    print(told)
    assert told.lost == told.doubled == 0
    assert told.refused == 0
    assert told.acknowledged > 0


@proof
def test_two_processes_of_one_session_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    """What either of them was told is saved is there once, and a run that goes on is not refused."""
    told = kill_again_and_again("openai_agents", tmp_path, "--at-once", "2", "--window", "6000", kills=20, seed=3)
    print(told)
    assert told.lost == told.doubled == told.refused == 0
    assert told.acknowledged > 0


@proof
def test_the_next_process_asks_as_the_killed_one_would_have(tmp_path: Path) -> None:
    """Its first request is the same, part by part, whatever was planned before."""
    assert_the_next_process_asks_the_same("openai_agents", tmp_path / "s", kills=25 if whole() else 6)


def test_the_module_names_what_is_missing() -> None:
    """Nothing of the kit is imported by the package itself."""
    code = "import sys, amplifier_module_context_persistent.session.manager; print('agents' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


async def test_what_cannot_be_kept_is_not_acknowledged(tmp_path: Path) -> None:
    """A mounted session would go on in memory and say so to its person; a kit takes what returns for stored."""
    (tmp_path / "file").write_text("not a directory")
    session = PersistentSession("s", tmp_path / "file" / "below")
    with pytest.raises(OSError, match="file"):
        await session.add_items([{"role": "user", "content": "hello"}])
