"""The strategy `native`: what the provider compacts is shown where it is valid, and our own engine plans elsewhere."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.kept_figures import figures_of
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.report.message_body import Bodies
from amplifier_module_context_persistent.toolbox.report.requests import RequestReader
from amplifier_module_context_persistent.toolbox.transfer.rewind_session import rewind_session
from amplifier_module_context_persistent.view.stored_plan import kept_ordinals
from tests.support.logs import append_bodies
from tests.support.messages import fill, set_prompt
from tests.support.native_providers import ClaudeModule, Message, NativeModule, OpenAIModule
from tests.support.native_sessions import Events, play
from tests.support.purges import purged, redact
from tests.support.recorded_sessions import assert_proved
from tests.support.sweeps import proof

BUDGET = 6_000
MODULES = pytest.mark.parametrize("module", [ClaudeModule, OpenAIModule])


def opened(path: Path, host: Events | None = None, **options: Any) -> PersistentContextManager:
    given = {"max_tokens": BUDGET, "tokenizer": "estimate", "compaction_strategy": "native", "native_max_tokens": 300}
    return PersistentContextManager(path, coordinator=host, session_id="s", **{**given, **options})


async def turn(manager: PersistentContextManager, provider: NativeModule, text: str = "question ") -> list[Message]:
    """One turn: a person's words, the request, its answer; the view."""
    await manager.add_message({"role": "user", "content": text * 90})
    view = await manager.get_messages_for_request(provider=provider)
    await manager.add_message(provider.send(view))
    await settled()
    return view


async def settled() -> None:
    """A compaction that runs beside it arrives, if it waits for nothing."""
    if beside := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(beside, timeout=0.01)


@pytest.fixture
def provider() -> Iterator[ClaudeModule]:
    """Anthropic's module; in the end it has refused nothing."""
    module = ClaudeModule()
    yield module
    assert not module.refusals


@pytest.fixture
def host() -> Events:
    return Events()


def plans_of(path: str) -> list[dict[str, Any]]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.startswith('{"_record":"plan"')]


def item_of(view: list[Message]) -> Message | None:
    return next((m for m in view if "Native compacted" in str(m["content"])), None)


async def until_item(manager: PersistentContextManager, provider: NativeModule, most: int = 120) -> list[Message]:
    for _ in range(most):
        view = await turn(manager, provider)
        if item_of(view) is not None:
            return view
    raise AssertionError("no item was shown")


@proof(quick=1)
@MODULES
async def test_an_item_takes_the_place_of_the_beginning(tmp_path: Path, module: type[NativeModule]) -> None:
    """It comes first and unchanged, what follows is whole, and no request is refused."""
    provider, host = module(), Events()
    async with opened(tmp_path / "s.jsonl", host) as manager:
        before = await until_item(manager, provider)
        assert before[0] == item_of(before)
        history = await manager.get_messages()
        tail = [m["content"] for m in before[1:] if m["role"] == "user"]
        assert tail == [m["content"] for m in history if m["role"] == "user"][-len(tail) :]
        for _ in range(20):
            await turn(manager, provider)
        assert not provider.refusals
        assert not host.reasons
        told = host.of("context:native_compaction")
        assert len(told) == len(provider.compacted) > 1
        assert told[0]["covered_messages"] > 2
        assert told[0]["input_tokens"] > 0
        made = [payload for payload in host.of("context:compaction") if payload["strategy"] == "native"]
        assert len(made) >= len(told) - 1
        assert all(p["after_tokens"] < p["before_tokens"] for p in made)
        asked = [end for end in host.of("context:compaction_finished") if end["usage"]]
        assert len(asked) == len(told)
        assert all((end["method"], end["outcome"]) == ("native", "completed") for end in asked)
        assert asked[0]["usage"]["input_tokens"] == told[0]["input_tokens"]
    assert len(host.of("context:compaction_started")) == len(host.of("context:compaction_finished"))
    assert_proved(tmp_path / "s.jsonl", provider.requests)


@proof
async def test_the_thinking_of_kept_turns_stays(tmp_path: Path, provider: ClaudeModule) -> None:
    """Where the documentation says that it stays valid, it is sent, through several items."""
    async with opened(tmp_path / "s.jsonl") as manager:
        for _ in range(3):
            view = await until_item(manager, provider)
            answers = [m for m in view if m["role"] == "assistant"]
            assert answers
            assert all(m["content"][0]["type"] == "thinking" for m in answers)
            for _ in range(8):
                await turn(manager, provider)
    assert len(provider.compacted) >= 2


async def test_no_reasoning_stays_where_no_documentation_says_so(tmp_path: Path) -> None:
    """OpenAI's window is used as it is; reasoning from before it is left out, later reasoning is shown."""
    provider = OpenAIModule()
    async with opened(tmp_path / "s.jsonl") as manager:
        view = await until_item(manager, provider)
        assert not any("openai:reasoning_items" in m["metadata"] for m in view[1:] if m["role"] == "assistant")
        view = await turn(manager, provider)
        assert "openai:reasoning_items" in [m for m in view if m["role"] == "assistant"][-1]["metadata"]
    assert not provider.refusals


@MODULES
async def test_a_long_turn_is_compacted_within(tmp_path: Path, module: type[NativeModule]) -> None:
    """What its person asked stays whole, right after the item; no request is refused."""
    provider, asked = module(), {"role": "user", "content": "Find the leak in the pool. " * 20}
    async with opened(tmp_path / "log.jsonl") as manager:
        await manager.add_message(asked)
        for number in range(60):
            view = await manager.get_messages_for_request(provider=provider)
            call = {"id": f"c{number}", "tool": "read", "arguments": {"path": f"{number}.py"}}
            await fill(
                manager,
                [
                    {**provider.send(view), "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": call["id"], "content": "line " * 120},
                ],
            )
            await settled()
            if item_of(view) is not None:
                break
        else:
            raise AssertionError("no item was shown")
        assert [m["content"] for m in view[:2]] == ["Native compacted conversation.", asked["content"]]


@proof(quick=1)
@MODULES
async def test_an_item_is_the_same_after_a_restart(tmp_path: Path, module: type[NativeModule]) -> None:
    """Byte for byte, and the views that show it are proved by their receipts."""
    provider = module()
    async with opened(tmp_path / "s.jsonl") as manager:
        item = copy.deepcopy(item_of(await until_item(manager, provider)))
    async with opened(tmp_path / "s.jsonl") as manager:
        again = item_of(await turn(manager, provider))
        assert json.dumps(again) == json.dumps(item)
        again["metadata"].clear()
        assert json.dumps(item_of(await turn(manager, provider))) == json.dumps(item)
    assert not provider.refusals
    assert_proved(tmp_path / "s.jsonl", provider.requests)


def _other_model(provider: NativeModule) -> NativeModule:
    return type(provider)(model=f"{provider.default_model}-mini")


def _does_not_validate(provider: NativeModule) -> NativeModule:
    provider.accepts = False
    return provider


def _cannot_validate(provider: NativeModule) -> NativeModule:
    provider.validate_compacted_context = None  # type: ignore[assignment, method-assign]
    return provider


@proof(quick=1)
@MODULES
@pytest.mark.parametrize("change", [_other_model, _does_not_validate, _cannot_validate])
async def test_our_own_engine_plans_at_once_where_an_item_is_not_taken(
    tmp_path: Path, module: type[NativeModule], change: Any
) -> None:
    """Over the whole log, with one event that says why; nothing that was said is lost."""
    provider, host = module(), Events()
    async with opened(tmp_path / "s.jsonl", host) as manager:
        await until_item(manager, provider)
        provider = change(provider)
        view = await turn(manager, provider)
        assert item_of(view) is None
        assert len(host.reasons) == 1
        assert any("left out" in str(m["content"]) or "compact" in str(m["content"]) for m in view)
        for _ in range(3):
            await turn(manager, provider)
        assert len(host.reasons) == 1
        assert not provider.refusals


@proof(quick=2)
@MODULES
@pytest.mark.parametrize(
    "fails", [RuntimeError("no"), asyncio.CancelledError(), NotImplementedError(), ValueError("pending calls")]
)
async def test_a_call_that_fails_leaves_it_to_our_own_engine(
    tmp_path: Path, module: type[NativeModule], fails: BaseException
) -> None:
    """It is told once, asked again after the next plan, and no request waits or fails."""
    provider, host = module(), Events()
    provider.fails = fails
    async with opened(tmp_path / "s.jsonl", host) as manager:
        while not provider.compacted:
            await turn(manager, provider)
        assert len(host.reasons) == 1
        while not host.of("context:compaction"):
            await turn(manager, provider)
        assert len(provider.compacted) == len(host.reasons) == 1
        provider.fails = None
        await until_item(manager, provider)
        assert len(host.reasons) == 1
        assert not provider.refusals


async def test_an_item_that_is_too_large_is_asked_for_once(
    tmp_path: Path, provider: ClaudeModule, host: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try costs a whole view; after the next plan there may be more to gain."""
    monkeypatch.setattr("amplifier_module_context_persistent.session.native_calls.item_tokens", lambda *_: 2 * BUDGET)
    async with opened(tmp_path / "s.jsonl", host) as manager:
        while not host.of("context:compaction"):
            await turn(manager, provider, "go on ")
        assert len(provider.compacted) == 1
        assert host.reasons == ["the item frees too little"]


async def test_no_request_waits_for_an_item(tmp_path: Path, provider: ClaudeModule, host: Events) -> None:
    """While the view fits, it goes on as it was; where it would not, our own engine plans and the call is cancelled."""
    provider.gate = asyncio.Event()
    async with opened(tmp_path / "s.jsonl", host) as manager:
        while not host.of("context:compaction"):
            await turn(manager, provider)
        assert host.reasons == ["the view was full before the item arrived"]
        assert host.of("context:compaction")[0]["strategy"] == "truncate"
        assert host.of("context:pre_compact")[0]["tokens"] > BUDGET
        while len(provider.compacted) < 2:
            await turn(manager, provider)
    assert len(asyncio.all_tasks()) == 1


async def test_an_item_for_a_history_that_changed_meanwhile_is_not_shown(
    tmp_path: Path, provider: ClaudeModule, host: Events
) -> None:
    """It would bring back what was cleared."""
    async with opened(tmp_path / "s.jsonl", host) as manager:
        provider.gate = asyncio.Event()
        while not provider.compacted:
            await turn(manager, provider)
        await manager.clear()
        provider.gate.set()
        for _ in range(3):
            assert item_of(await turn(manager, provider, "after ")) is None
        assert host.reasons == ["the history or its plan changed before the item arrived"]


async def test_a_timeout_is_a_fallback(tmp_path: Path, provider: ClaudeModule, host: Events) -> None:
    """The event says how long was waited."""
    provider.gate = asyncio.Event()
    async with opened(tmp_path / "s.jsonl", host, native_timeout_s=0.001) as manager:
        while not host.reasons:
            await turn(manager, provider)
        assert host.reasons == ["there was no answer within 0.001 s"]


async def test_another_strategy_lets_go_of_the_item(tmp_path: Path, provider: ClaudeModule, host: Events) -> None:
    """A session that no longer wants providers to compact plans over the whole log, and says so once."""
    async with opened(tmp_path / "s.jsonl") as manager:
        await until_item(manager, provider)
    async with opened(tmp_path / "s.jsonl", host, compaction_strategy="truncate") as manager:
        for _ in range(3):
            assert item_of(await turn(manager, provider)) is None
        assert host.reasons == ["compaction_strategy is another one"]


async def test_a_hidden_turn_takes_the_item_along_that_stands_for_it(
    tmp_path: Path, provider: ClaudeModule, host: Events
) -> None:
    """No later item is made of one that knows the turn: the next plan is our own, over what is not hidden."""
    async with opened(tmp_path / "s.jsonl", host) as manager:
        await turn(manager, provider, "secret plan ")
        await until_item(manager, provider)
        asked, made = len(provider.compacted), len(host.of("context:compaction"))
        await manager.hide(1)
        while len(host.of("context:compaction")) == made:
            await turn(manager, provider)
        assert len(provider.compacted) == asked
        assert host.of("context:compaction")[-1]["strategy"] == "truncate"
        assert host.reasons == ["a turn that it stands for was hidden"]
        view = await until_item(manager, provider)
        assert "secret plan" not in json.dumps(view)
        assert "secret plan" not in str(provider.compacted[asked:])


async def test_a_stored_item_that_cannot_be_followed_is_told_once(
    tmp_path: Path, provider: ClaudeModule, host: Events
) -> None:
    """As another version or another hand may have written it; our own engine plans over the whole log."""
    path = str(tmp_path / "s.jsonl")
    async with opened(tmp_path / "s.jsonl") as manager:
        await until_item(manager, provider)
    plan = plans_of(path)[-1]
    altered = {**plan, "id": "another", "native": {**plan["native"], "message": "no message"}}
    with closing(FileLog(path)) as log:
        log.follow()
        append_bodies(log, encode_control("plan", **{key: altered[key] for key in altered if not key.startswith("_")}))
    async with opened(tmp_path / "s.jsonl", host) as manager:
        for _ in range(3):
            await turn(manager, provider)
        assert host.reasons == ["the stored plan that shows it cannot be followed"]


async def test_a_version_that_does_not_know_items_makes_a_plan_of_its_own(tmp_path: Path) -> None:
    """It finds nothing that the plan keeps: so it never shows the kept part as if nothing stood before it."""
    path = str(tmp_path / "s.jsonl")
    async with opened(tmp_path / "s.jsonl") as manager:
        await until_item(manager, ClaudeModule())
    plan = plans_of(path)[-1]
    with closing(FileLog(path)) as log:
        log.follow()
        assert kept_ordinals(log.index, plan)
        with pytest.raises(ValueError, match="no list of runs"):
            kept_ordinals(log.index, {key: value for key, value in plan.items() if key != "native"})


async def test_a_rewind_into_what_an_item_stands_for_leaves_it_to_our_own_engine(
    tmp_path: Path, provider: ClaudeModule, host: Events
) -> None:
    """What is left of the history is shown whole again; the session says that its item went."""
    async with opened(tmp_path / "s.jsonl", host) as manager:
        await until_item(manager, provider)
        rewind_session(tmp_path / "s.jsonl", 2)
        view = await turn(manager, provider)
        assert item_of(view) is None
        assert len([m for m in view if m["role"] == "user"]) == 3
        assert host.reasons == ["the history that it stands for was replaced"]


@proof
@pytest.mark.parametrize("purge", [redact("question"), redact("said before")])
async def test_a_purge_of_messages_removes_the_item(tmp_path: Path, provider: ClaudeModule, purge: Any) -> None:
    """It is an opaque text of the messages, and an altered one would be refused."""
    async with opened(tmp_path / "s.jsonl") as manager:
        await until_item(manager, provider)
    purged(str(tmp_path / "s.jsonl"), purge)
    assert b'"native":{' not in (tmp_path / "s.jsonl").read_bytes()
    async with opened(tmp_path / "s.jsonl") as manager:
        await manager.add_message({"role": "user", "content": "and now?"})
        assert item_of(await manager.get_messages_for_request(provider=provider)) is None


async def test_the_part_that_an_item_stands_for_is_recalled(tmp_path: Path) -> None:
    """By the ids of its messages, and by what it says."""
    provider = OpenAIModule()
    async with opened(tmp_path / "s.jsonl") as manager:
        await turn(manager, provider, "zebra ")
        view = await until_item(manager, provider)
        assert not any("zebra" in str(m["content"]) for m in view)
        first = (await manager.get_messages())[0]
        assert "zebra" in (await manager.recall(first["metadata"]["message_id"])).text


@proof
async def test_every_item_is_asked_for_as_the_conversation_is(tmp_path: Path, provider: ClaudeModule) -> None:
    """With the current system prompt and the earlier item, without what the running turn adds (context-managed)."""
    async with opened(tmp_path / "s.jsonl") as manager:
        await set_prompt(manager, "current system")
        await until_item(manager, provider)
        while len(provider.compacted) < 3:
            await turn(manager, provider)
        history = await manager.get_messages()
    for number, request in enumerate(provider.compacted):
        assert [m.content for m in request.messages if m.role == "system"] == ["current system"]
        talk = [m for m in request.messages if m.role != "system"]
        assert (provider.key in (talk[0].metadata or {})) == (number > 0)
    assert not any(provider.key in m["metadata"] for m in history)


@proof
def test_generated_sessions_keep_the_rules() -> None:
    """Kills, restarts, switches, refusals, failures and timeouts, from seeds."""
    counts, faults = play(range(2))
    assert not faults
    assert counts["with an item"]
    assert counts["items gone"]


@proof
async def test_what_an_item_cost_is_told(tmp_path: Path) -> None:
    """By `stats`, as a request that was paid for, and by the report, with what the item took the place of."""
    path, provider, host = tmp_path / "log.jsonl", ClaudeModule(), Events()
    async with opened(path, host) as manager:
        await until_item(manager, provider)
        await turn(manager, provider)
    (made,) = host.of("context:native_compaction")
    with Transcript(path) as transcript, figures_of(transcript.reader, EstimateCounter()) as figures:
        query = "SELECT uncached_tokens, output_tokens FROM requests WHERE session = ? AND model = ?"
        assert figures.rows(query, provider.default_model) == [(made["input_tokens"], made["output_tokens"])]
        found = RequestReader(transcript, 0, len(transcript.reader.index.live), Bodies()).read(
            "all", {}, lambda *_: None
        )
    assert [one["item"] for one in found.compactions] == [
        {
            "covers": made["covered_messages"],
            "tokens": made["item_tokens"],
            "input_tokens": made["input_tokens"],
            "output_tokens": made["output_tokens"],
        }
    ]
