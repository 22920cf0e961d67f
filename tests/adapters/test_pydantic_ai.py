"""The conversation store of Pydantic AI beside its own in memory; views; kills; two processes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed (the extra `kits`)")

from pydantic import TypeAdapter
from pydantic_ai import conversation_store as kit
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.conversation import Conversation
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import UsageLimits

from amplifier_module_context_persistent.adapters.pydantic_ai import (
    PersistentConversationStore,
    ViewOfHistory,
)
from amplifier_module_context_persistent.errors import ConfigError
from amplifier_module_context_persistent.toolbox.demo.command import read_messages
from tests.support.kit_kills import assert_the_next_process_asks_the_same, kill_again_and_again
from tests.support.kit_requests import StrictService, words
from tests.support.pydantic_ai_agent import made_up_agent
from tests.support.sweeps import proof, whole

LONG = "A text that is longer than a reference to it. " * 10
MESSAGES: list[Any] = [
    ModelRequest(parts=[SystemPromptPart("rules"), UserPromptPart("hello")], instructions="Be brief."),
    ModelResponse(parts=[ThinkingPart(LONG, signature="c2ln"), TextPart(LONG), ToolCallPart("f", {"x": LONG}, "c1")]),
    ModelRequest(parts=[ToolReturnPart("f", {"deep": [1, 2.0, None, LONG]}, "c1"), UserPromptPart("and?")]),
    ModelResponse(parts=[ToolCallPart("f", json.dumps({"y": LONG}), "c2"), ToolCallPart("g", None, "c3")]),
    ModelRequest(parts=[ToolReturnPart("f", "bad", "c2", outcome="retried"), ToolReturnPart("g", LONG, "c3")]),
    ModelResponse(parts=[]),
    ModelRequest(
        parts=[
            UserPromptPart([LONG, ImageUrl("https://a/b.png"), BinaryContent(data=b"PNG" * 20, media_type="image/png")])
        ]
    ),
    ModelResponse(parts=[TextPart("done")], model_name="m", provider_name="anthropic"),
]


def as_json(value: Any) -> Any:
    if isinstance(value, Conversation):
        return [as_json(value.messages), value.conversation_id, value.revision, str(value.usage)]
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, kit.ConversationEntry):
        return [value.id, value.parent_id, as_json(value.message)]
    if isinstance(value, kit.ConversationRecord):
        return {**vars(value), "usage": str(value.usage), "updated_at": 0}
    if isinstance(value, ModelRequest | ModelResponse):
        return TypeAdapter(ModelMessage).dump_python(value, mode="json")
    return value


async def told(call: Callable[[], Any]) -> Any:
    """What a call gives or raises."""
    try:
        return as_json(await call())
    except UserError as error:
        return type(error).__name__, str(error)


class Twins:
    """Two stores that get the same calls, with the same ids made up in each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *stores: Any) -> None:
        self.stores, self._patch, self._round = stores, monkeypatch, 0

    async def ask(self, call: Callable[[Any], Any]) -> Any:
        self._round += 1
        answers = []
        for store in self.stores:
            count = itertools.count()
            self._patch.setattr(kit, "uuid7", lambda count=count: f"id-{self._round}-{next(count)}")
            answers.append(await told(lambda store=store: call(store)))
        assert answers[0] == answers[1]
        return answers[0]


@pytest.mark.parametrize("seed", range(12 if whole() else 1))
async def test_it_answers_as_the_kits_own_store_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Loads, saves, branches, forks, conflicts, scopes, deletions in any order."""
    rng = random.Random(seed)
    store = PersistentConversationStore(tmp_path, durability="write")
    twins = Twins(monkeypatch, store, kit.InMemoryConversationStore())
    names, copies = ["a", "../b", "c"], dict[str, Any]()
    for _ in range(50):
        name, scope = rng.choice(names), rng.choice((None, None, "mine", "yours"))
        limit, at, kind = rng.choice((None, None, 0, 1, 3, -1)), rng.randrange(6), rng.random()
        more = rng.sample(MESSAGES, rng.randrange(4))
        stale = rng.random() < 0.2

        async def save(one: Any, name: str = name, more: Any = more, stale: bool = stale, scope: Any = scope) -> Any:
            own = copies.setdefault(f"{id(one)} {name}", Conversation(conversation_id=name))
            fresh = None if stale else await one.load(name)
            conversation = fresh or own
            copies[f"{id(one)} {name}"] = conversation
            conversation.messages.extend(more)
            return await one.save(conversation, scope=scope)

        async def rewrite(one: Any, name: str = name, more: Any = more, at: int = at) -> Any:
            loaded = await one.load(name)
            if loaded is None:
                return None
            loaded.messages[at:] = more
            loaded.new_message_index = None
            return await one.save(loaded)

        async def branch(one: Any, name: str = name, at: int = at, kind: float = kind) -> Any:
            record = await one.read_record(name)
            revision = record.revision if record else None
            if record is not None and record.branches and kind < 0.55:
                return await one.branch(
                    name, from_entry=record.branches[at % len(record.branches)], expected_revision=revision
                )
            return await one.branch(name, at=at, expected_revision=revision)

        async def fork(one: Any, name: str = name, at: Any = None if limit else at, new: int = len(names)) -> Any:
            return await one.fork(name, at=at, new_conversation_id=f"fork {new}", scope="mine")

        if kind < 0.35:
            await twins.ask(save)
        elif kind < 0.45:
            await twins.ask(rewrite)
        elif kind < 0.6:
            await twins.ask(branch)
        elif kind < 0.7:
            made = await twins.ask(fork)
            names += [f"fork {len(names)}"] if isinstance(made, list) else []
        elif kind < 0.75:
            await twins.ask(lambda one, name=name, scope=scope: one.delete(name, scope=scope))
        elif kind < 0.85:
            listed = await twins.ask(lambda one, scope=scope: one.list_conversations(scope=scope))
            assert len(listed) <= len(names)
        else:
            await twins.ask(lambda one, name=name, limit=limit: one.load_entries(name, limit=limit))
            await twins.ask(lambda one, name=name, limit=limit, scope=scope: one.load(name, limit=limit, scope=scope))
    again = PersistentConversationStore(tmp_path)
    for name in names:
        theirs = await twins.stores[1].load_entries(name)
        assert as_json(await again.load_entries(name)) == as_json(theirs)
        for tip in (
            await twins.stores[1].read_record(name) or kit.ConversationRecord(conversation_id="", head_id=None)
        ).branches:
            assert as_json(await again.read_entry(tip)) == as_json(await twins.stores[1].read_entry(tip))
    await store.close()
    await again.close()


async def test_messages_come_back_as_they_were(place: str) -> None:
    """In PostgreSQL, too; entries that nobody holds are a `LookupError`."""
    store = PersistentConversationStore(place)
    conversation = Conversation(conversation_id="x" * 300, messages=list(MESSAGES))
    await store.save(conversation, scope="me")
    await store.close()
    again = PersistentConversationStore(place)
    loaded = await again.load("x" * 300)
    assert as_json(loaded.messages) == as_json(MESSAGES)
    assert [record.conversation_id for record in await again.list_conversations(scope="me")] == ["x" * 300]
    with pytest.raises(LookupError):
        await again.read_entry("nowhere")
    await again.delete("x" * 300)
    assert await again.load("x" * 300) is None
    await again.close()


async def test_of_two_that_save_at_once_one_is_told(place: str) -> None:
    """Compare-and-set under the log's lock: nothing is lost, nothing is doubled."""
    stores = [PersistentConversationStore(place, durability="write") for _ in range(3)]
    saved, conflicts = 0, 0
    for number in range(6):
        loaded = [await store.load("c") or Conversation(conversation_id="c") for store in stores]
        for who, conversation in enumerate(loaded):
            conversation.messages.append(ModelRequest(parts=[UserPromptPart(f"{who} {number}")]))
        saves = (store.save(one) for store, one in zip(stores, loaded, strict=True))
        for outcome in await asyncio.gather(*saves, return_exceptions=True):
            assert isinstance(outcome, list | kit.ConversationConflict), outcome
            saved, conflicts = (
                saved + isinstance(outcome, list),
                conflicts + isinstance(outcome, kit.ConversationConflict),
            )
    assert (saved, conflicts) == (6, 12)
    assert len((await stores[0].load("c")).messages) == 6
    for store in stores:
        await store.close()


@proof
@pytest.mark.parametrize(("turns", "calls"), [(300 if whole() else 30, 2), (2, 100)])
async def test_long_conversations_fit_a_small_window(tmp_path: Path, turns: int, calls: int) -> None:
    """Many turns, or runs of many calls, at 20,000 tokens: nothing is refused, and most of each request is cached."""
    service, rng = StrictService(20_000), random.Random(2)
    store = PersistentConversationStore(tmp_path, durability="write")
    view = ViewOfHistory(store, max_tokens=20_000)
    agent = made_up_agent(service, view, calls=calls, result_words=600 if turns == 30 else 200)
    for number in range(turns):
        conversation = await store.load("c") or Conversation(conversation_id="c")
        question = f"question {number} {words(rng, 30)}"
        await store.save(
            await agent.run(question, conversation=conversation, usage_limits=UsageLimits(request_limit=None))
        )
    assert service.refused == []
    assert service.requests == turns * (calls + 1)
    assert service.cached_share >= 0.85
    loaded = await store.load("c")
    assert len(loaded.messages) == turns * (2 * calls + 2)  # the stored conversation only ever grows
    print(f"requests {service.requests}, largest {service.largest_tokens}, cached share {service.cached_share:.3f}")
    await store.close()


async def test_a_fork_goes_on_with_the_plan_of_its_origin(tmp_path: Path) -> None:
    """Its first request is the one that its origin would send, so the prompt cache still has the beginning."""
    store, requests = PersistentConversationStore(tmp_path, durability="write"), list[list[str]]()
    agent = made_up_agent(StrictService(8_000, requests.append), ViewOfHistory(store, max_tokens=8_000), calls=5)
    unlimited = UsageLimits(request_limit=None)
    for number in range(7):
        conversation = await store.load("c") or Conversation(conversation_id="c")
        await store.save(await agent.run(f"question {number}", conversation=conversation, usage_limits=unlimited))
    fork = await store.fork("c", new_conversation_id="fork")
    for conversation in (await store.load("c"), fork):
        await agent.run("another way", conversation=conversation, usage_limits=unlimited)
    of_origin, of_fork = requests[-12], requests[-6]
    assert len(of_origin) < 7 * 12  # a plan is in force
    assert of_fork == of_origin
    await store.close()


async def test_a_fork_from_an_earlier_place_is_sent_as_its_origin_was_there(tmp_path: Path) -> None:
    """It goes on with the plan that was in force there, though the origin has made others since."""
    store, requests = PersistentConversationStore(tmp_path, durability="write"), list[list[str]]()
    agent = made_up_agent(StrictService(4_000, requests.append), ViewOfHistory(store, max_tokens=4_000), calls=2)
    turns, in_turn, unlimited = 12, 3, UsageLimits(request_limit=None)
    for number in range(turns):
        conversation = await store.load("c") or Conversation(conversation_id="c")
        await store.save(await agent.run(f"question {number}", conversation=conversation, usage_limits=unlimited))
    plans = sum(len(after) < len(before) for before, after in itertools.pairwise(requests))
    assert plans > 1
    compared = 0
    for turn in range(1, turns, 2):
        fork = await store.fork("c", at=2 * in_turn * turn, new_conversation_id=f"fork {turn}")
        begin = len(requests)
        await agent.run("another way", conversation=fork, usage_limits=unlimited)
        before, there = requests[in_turn * turn - 1], requests[in_turn * turn]
        if there[: len(before)] == before:  # else a plan was due there, and the fork makes its own
            assert requests[begin][: len(there) - 1] == there[:-1]
            compared += 1
    assert compared >= 3
    await store.close()


async def test_the_log_says_where_a_conversation_was_rewound_to(tmp_path: Path) -> None:
    """Its log has the branch that was left, too: `show` says which message the next one follows."""
    store = PersistentConversationStore(tmp_path)
    said = [ModelRequest(parts=[UserPromptPart(word)]) for word in ("one", "two", "three")]
    entries = await store.save(Conversation(messages=list(said), conversation_id="c"))
    loaded = await store.load("c")
    assert loaded is not None
    await store.branch("c", at=1, expected_revision=loaded.revision)
    await store.close()
    shown = read_messages(str(tmp_path / "conversations" / "sessions" / "c" / "context-messages.jsonl"))
    assert shown[-1]["content"] == f"[the conversation goes on after {entries[0].id}]"


async def test_runs_of_one_conversation_at_once_do_not_mix(tmp_path: Path) -> None:
    """Each run is sent what it was given, and one of them is saved."""
    store = PersistentConversationStore(tmp_path, durability="write")
    view, services, saved = ViewOfHistory(store, max_tokens=8_000), [], []

    async def run(number: int) -> None:
        services.append(service := StrictService(8_000))
        conversation = await store.load("c") or Conversation(conversation_id="c")
        agent = made_up_agent(service, view, calls=5)
        result = await agent.run(f"question {number}", conversation=conversation)
        with contextlib.suppress(kit.ConversationConflict):
            await store.save(result)
            saved.append(number)

    for begin in range(0, 9, 3):
        await asyncio.gather(*map(run, range(begin, begin + 3)))
    assert [service.refused for service in services] == [[]] * 9
    asked = [message.parts[0].content for message in (await store.load("c")).messages[::12]]
    assert asked == [f"question {number}" for number in saved]
    assert len(saved) == 3
    await store.close()


@pytest.mark.parametrize("processes_history", [False, True], ids=["ViewOfHistory", "ProcessHistory"])
async def test_only_what_is_sent_is_cut(tmp_path: Path, processes_history: bool) -> None:
    """A save stores the whole run; a processor of `ProcessHistory` with the same view cuts what is stored, too."""
    store = PersistentConversationStore(tmp_path, durability="write")
    view = ViewOfHistory(max_tokens=8_000)
    capability = ProcessHistory(partial(view.view, "c")) if processes_history else view
    agent = made_up_agent(StrictService(8_000), capability, calls=40)
    await store.save(await agent.run("question", conversation=Conversation(conversation_id="c")))
    stored = len((await store.load("c")).messages)
    print(f"{stored} of 82 messages stored")
    assert (stored == 82) != processes_history
    await store.close()


async def test_a_view_follows_a_history_that_goes_another_way() -> None:
    """After a branch or an edit it shows the list that it is given, and nothing of the other one."""
    view = ViewOfHistory(max_tokens=20_000)
    lists = [MESSAGES[:3], [*MESSAGES[:3], MESSAGES[7]], MESSAGES[:1], [*MESSAGES[:2], MESSAGES[2], MESSAGES[7]]]
    for messages in [*lists, *reversed(lists)]:
        assert as_json(await view.view("c", messages)) == as_json(messages)


@proof
def test_runs_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    """Every entry that a save returned is there once, and a run that was not saved is not there in part."""
    told_of = kill_again_and_again("pydantic_ai", tmp_path, kills=65 if whole() else 12, seed=2)
    print(told_of)
    assert told_of.lost == told_of.doubled == told_of.refused == 0
    assert told_of.acknowledged > 0


@proof
def test_two_processes_of_one_session_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    """What either of them was told is saved is there once, and a run that goes on is not refused."""
    told = kill_again_and_again("pydantic_ai", tmp_path, "--at-once", "2", "--window", "6000", kills=20, seed=3)
    print(told)
    assert told.lost == told.doubled == told.refused == 0
    assert told.acknowledged > 0


@proof
def test_the_next_process_asks_as_the_killed_one_would_have(tmp_path: Path) -> None:
    """Its first request is the same, part by part, whatever was planned before."""
    assert_the_next_process_asks_the_same("pydantic_ai", tmp_path / "s", kills=25 if whole() else 6)


@pytest.mark.parametrize("options", [{"max_tokns": 5}, {"max_tokens": -1}])
def test_a_wrong_option_of_views_is_refused_when_the_capability_is_made(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        ViewOfHistory(**options)
