"""The strategy `summarize`, from the request that needs a plan to the view that holds the summary."""

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock, Usage
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager
from amplifier_module_context_persistent.config import STRATEGIES
from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.session.view_service import ViewService
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.window.window import Window
from tests.support import histories
from tests.support.checker import assert_valid
from tests.support.messages import fill
from tests.support.purges import purged, redact
from tests.support.real_sessions import Host
from tests.support.sweeps import proof, some

BUDGET = 4_000
CONFIG = {"max_tokens": BUDGET, "compaction_strategy": "summarize", "summary_max_tokens": 200, "tokenizer": "estimate"}


class Provider:
    """Answers with a numbered summary, and keeps what it was asked."""

    name = "fake"

    def __init__(self, said: str = "summary {}", *, fails: BaseException | None = None) -> None:
        self.said, self.fails, self.asked = said, fails, list[ChatRequest]()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.asked.append(request)
        if self.fails:
            raise self.fails
        return ChatResponse(content=[TextBlock(text=self.said.format(len(self.asked)))])


class Grep:
    name, description, input_schema = "grep", "Search.", {"type": "object"}


async def work(manager: PersistentContextManager, number: int, *, words: int = 120) -> None:
    """Add one human message, one call and its result."""
    call = {"id": f"c{number}", "tool": "grep", "arguments": {"pattern": f"needle{number}"}}
    await fill(
        manager,
        [{"role": "user", "content": f"question {number}"}, {"role": "assistant", "content": "", "tool_calls": [call]}],
    )
    result = f"result{number} " * words
    await manager.add_message({"role": "tool", "tool_call_id": f"c{number}", "name": "grep", "content": result})


async def until_summarized(manager: PersistentContextManager, provider: Provider, *, times: int = 1) -> list[Any]:
    """Work on until so many summaries were asked for; the view that came of the last."""
    for number in range(100):
        await work(manager, number)
        view = await manager.get_messages_for_request(provider=provider)
        assert_valid(view)
        if len(provider.asked) == times:
            return view
    raise AssertionError("no summary was asked for")


def counted() -> Callable[[], str]:
    """Ids in order, so that two sessions have the same."""
    return map("m{}".format, itertools.count()).__next__


def summaries(view: list[Any]) -> list[str]:
    return [m["content"] for m in view if m["role"] == "user" and m["content"].startswith("<summary>")]


async def test_it_says_while_it_asks_for_a_summary() -> None:
    """Hosts do not show a person what the provider answers meanwhile."""

    class Asked(Provider):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            told.append(manager.is_compacting)
            return await super().complete(request)

    told: list[bool] = []
    manager = InMemoryContextManager(**CONFIG)
    await until_summarized(manager, Asked())
    assert told
    assert all(told)
    assert not manager.is_compacting


async def test_a_summary_stands_in_the_place_of_what_was_dropped() -> None:
    """Older calls and results go, people's words and the newest messages stay, and the view is far smaller.

    Where markers of gaps would take too much of a small view, neighbouring gaps are merged with what stands between.
    """
    manager, provider = InMemoryContextManager(**CONFIG), Provider()
    view = await until_summarized(manager, provider)
    (said,) = summaries(view)
    assert said.startswith("<summary>\nsummary 1\n</summary>")
    shown = str(view)
    stored = await manager.get_messages()
    humans = [message["content"] for message in stored if message["role"] == "user"]
    assert sum(f"'{question}'" in shown for question in humans) == len(humans)
    assert "result0" not in shown
    assert stored[-1]["content"] == view[-1]["content"]
    assert "result0" in str(stored)
    assert sum(len(str(message["content"])) for message in view) < 3 * BUDGET


async def test_the_request_is_the_view_with_the_instruction_and_the_tools() -> None:
    """So the provider's cache holds all of it but the instruction."""
    host, config = Host(tools={"grep": Grep()}), {**CONFIG, "max_tokens": 3 * BUDGET}
    manager, provider = InMemoryContextManager(coordinator=host, **config), Provider()
    before: list[Any] = []
    for number in range(100):
        await work(manager, number)
        view = await manager.get_messages_for_request(provider=provider)
        if provider.asked:
            break
        before = view
    (request,) = provider.asked
    asked = [message.content for message in request.messages]
    assert asked[: len(before)] == [message["content"] for message in before]
    assert "summary" in str(asked[-1])
    assert [tool.name for tool in request.tools or []] == ["grep"]
    assert request.max_output_tokens == 200
    (told,) = host.of("context:summary")
    assert 0 < told["summary_tokens"] < 20
    assert told["request_tokens"] < 3 * BUDGET
    assert host.of("context:compaction")[0]["strategy"] == "summarize"


async def test_a_view_that_leaves_no_room_is_sent_as_the_span_alone() -> None:
    """Where one message fills the window, what is to be summed up goes as one text, without tools."""
    manager, provider = InMemoryContextManager(**CONFIG), Provider()
    for number in range(5):
        await work(manager, number)
    await work(manager, 5, words=4_000)
    view = await manager.get_messages_for_request(provider=provider)
    assert_valid(view)
    (request,) = provider.asked
    (message,) = request.messages
    assert str(message.content).startswith("<conversation>")
    assert "needle0" in str(message.content)
    assert request.tools is None
    assert summaries(view)


@proof
async def test_the_next_plan_goes_on_with_the_summary() -> None:
    """A second summary replaces the first, which its request holds; between them nothing but appending happens."""
    manager, provider = InMemoryContextManager(**CONFIG), Provider()
    first = await until_summarized(manager, provider)
    await work(manager, 200, words=10)
    again = await manager.get_messages_for_request(provider=provider)
    assert again[: len(first)] == first
    second = await until_summarized(manager, provider, times=2)
    (said,) = summaries(second)
    assert "summary 2" in said
    assert "summary 1" in str(provider.asked[1].messages)
    provider.fails = RuntimeError("down")
    third = await until_summarized(manager, provider, times=3)
    assert "summary 2" in summaries(third)[0]


async def test_a_summary_survives_a_restart(tmp_path: Path) -> None:
    """The next process hands out the same bytes, asks nobody, and goes on with the summary."""
    provider = Provider()
    async with PersistentContextManager(tmp_path / "log.jsonl", **CONFIG) as manager:
        view = await until_summarized(manager, provider)
    async with PersistentContextManager(tmp_path / "log.jsonl", **CONFIG) as again:
        assert await again.get_messages_for_request(provider=provider) == view
        assert len(provider.asked) == 1
        provider.fails = RuntimeError("down")
        third = await until_summarized(again, provider, times=2)
        assert "summary 1" in summaries(third)[0]


FAILURES = [
    (Provider(fails=RuntimeError("secret")), "RuntimeError"),
    (Provider(""), "empty"),
    (Provider("word " * 2_000), "tokens"),
    (None, "no provider"),
]


@proof(quick=1)
@pytest.mark.parametrize(("provider", "why"), FAILURES, ids=["error", "empty", "long", "none"])
async def test_without_a_summary_the_ladder_is_climbed(provider: Provider | None, why: str) -> None:
    """A failure is told by one event, and the view is what `truncate` gives."""
    host = Host(tools={"grep": Grep()})
    manager = InMemoryContextManager(coordinator=host, new_id=counted(), **CONFIG)
    truncate = {**CONFIG, "compaction_strategy": "truncate"}
    plain = InMemoryContextManager(coordinator=host, new_id=counted(), **truncate)
    for number in range(20):
        for each in (manager, plain):
            await work(each, number)
        view = await manager.get_messages_for_request(provider=provider)
        other = await plain.get_messages_for_request(provider=provider)
        assert [m["content"] for m in view if not m["metadata"].get("source")] == [
            m["content"] for m in other if not m["metadata"].get("source")
        ]
    reasons = [told["reason"] for told in host.of("context:summary_failed")]
    assert reasons
    assert all(why in reason for reason in reasons)
    assert "secret" not in str(reasons)
    assert {made["strategy"] for made in host.of("context:compaction")} == {"truncate"}


@proof
async def test_an_answer_that_sums_up_nothing_is_not_taken() -> None:
    """A refusal, in any language; and one that is as long as the messages that it would replace."""
    for said, why in (
        ("I'm sorry, I can't help with that.", "refusal"),
        ("Das kann ich leider nicht zusammenfassen.", "refusal"),
        ("Mehr ist dazu nicht zu sagen.", "names and figures"),
        ("Ich weiß von src/core/needle_1.py. " + "Mehr weiß ich nicht. " * 60, ""),
    ):
        host, provider = Host(tools={"grep": Grep()}), Provider(said)
        manager = InMemoryContextManager(coordinator=host, **{**CONFIG, "summary_max_tokens": 400})
        for number in range(20):
            call = {"id": f"c{number}", "tool": "grep", "arguments": {"pattern": f"src/core/needle_{number}.py"}}
            await manager.add_message({"role": "user", "content": f"question {number}"})
            await manager.add_message({"role": "assistant", "content": "", "tool_calls": [call]})
            result = f"src/core/needle_{number}.py " * 60
            await manager.add_message({"role": "tool", "tool_call_id": f"c{number}", "name": "grep", "content": result})
            view = await manager.get_messages_for_request(provider=provider)
        reasons = [told["reason"] for told in host.of("context:summary_failed")]
        assert bool(reasons) == bool(why)
        assert all(why in reason for reason in reasons)
        assert bool(summaries(view)) != bool(why)


@proof
async def test_after_a_failure_no_summary_is_asked_for_at_once() -> None:
    """At most one request in ten waits for a provider that does not answer."""
    provider, requests = Provider(fails=RuntimeError("down")), 0
    manager = InMemoryContextManager(coordinator=Host(tools={"grep": Grep()}), **CONFIG)
    for number in range(150):
        await work(manager, number, words=400)
        await manager.get_messages_for_request(provider=provider)
        requests += 1
    assert 2 <= len(provider.asked) <= requests / 10
    provider.fails = None
    for number in range(150, 250):
        await work(manager, number, words=400)
        view = await manager.get_messages_for_request(provider=provider)
    assert summaries(view)


async def test_a_cancelled_request_leaves_nothing_half_done() -> None:
    """The view before stands, and the next request makes its plan as if nothing had been."""

    class Slow(Provider):
        waits = asyncio.Event()

        async def complete(self, request: ChatRequest) -> ChatResponse:
            if not self.asked:
                self.asked.append(request)
                self.waits.set()
                await asyncio.Event().wait()
            return await super().complete(request)

    manager, provider = InMemoryContextManager(**CONFIG), Slow()
    for number in range(100):
        await work(manager, number)
        task = asyncio.create_task(manager.get_messages_for_request(provider=provider))
        asked = asyncio.create_task(provider.waits.wait())
        await asyncio.wait((task, asked), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if provider.asked:
            break
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    view = await manager.get_messages_for_request(provider=provider)
    assert_valid(view)
    assert "summary 2" in summaries(view)[0]


async def test_a_history_that_changed_meanwhile_is_not_summed_up() -> None:
    """What was cleared while the provider thought does not come back in a summary."""

    class Clearing(Provider):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            await manager.clear()
            for number in range(500, 520):
                await work(manager, number)
            return await super().complete(request)

    host = Host(tools={"grep": Grep()})
    manager, provider = InMemoryContextManager(coordinator=host, **CONFIG), Clearing()
    view = await until_summarized(manager, provider)
    assert host.of("context:compaction")[0]["strategy"] == "truncate"
    assert view[0]["content"] == "question 500"
    assert not summaries(view)


async def test_a_summary_of_what_was_purged_meanwhile_is_not_taken(tmp_path: Path) -> None:
    """Its text may hold what the purge took; neither the log nor a view gets it."""

    class Purging(Provider):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            answer = await super().complete(request)
            await asyncio.to_thread(purged, str(tmp_path / "log"), redact("result1 "))
            return answer

    provider = Purging("summary {}: the person asked question 1 to 9, needle1 to needle9 gave result1 and result2")
    async with PersistentContextManager(
        tmp_path / "log", coordinator=Host(tools={"grep": Grep()}), **CONFIG
    ) as manager:
        view = await until_summarized(manager, provider)
        assert not summaries(view)
        await work(manager, 200)
        assert not summaries(await manager.get_messages_for_request())
    assert b"gave result1" not in (tmp_path / "log").read_bytes()


async def test_a_plan_made_before_a_purge_is_made_again_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold what the purge took; the view is one of the purged history."""
    path, pattern, made = tmp_path / "log", ["result1 "], list[str]()
    store_plan = ViewService._store_plan

    def purge_first(self: ViewService, log: Log, window: Window, index: Index) -> str:
        if pattern:
            purged(str(path), redact(pattern.pop()))
        made.append(window.plan.id if window.plan else "")
        return store_plan(self, log, window, index)

    monkeypatch.setattr(ViewService, "_store_plan", purge_first)
    config = {**CONFIG, "compaction_strategy": "truncate"}
    async with PersistentContextManager(path, **config) as manager:
        for number in range(100):
            await work(manager, number)
            view = await manager.get_messages_for_request()
            if not pattern:
                break
    assert not pattern
    records = map(json.loads, path.read_bytes().splitlines())
    stored = [record["id"] for record in records if record.get("_record") == "plan"]
    assert len(made) == 2
    assert stored == made[1:]
    assert "result1 " not in json.dumps(view)


async def test_the_usage_of_a_summary_is_not_learned_from() -> None:
    """What the provider reports while it sums up is of no view."""

    class Reporting(Provider):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            usage = {"input_tokens": 3_000}
            await manager.on_llm_response({"provider": "fake", "model": "m", "usage": usage})
            return await super().complete(request)

    host = Host(tools={"grep": Grep()})
    manager, provider = InMemoryContextManager(coordinator=host, **CONFIG), Reporting()
    for number in range(8):
        await work(manager, number)
    await manager.get_messages_for_request(provider=provider)
    await manager.add_message({"role": "user", "content": "word " * 2_000})  # no answer came to the view before
    assert summaries(await manager.get_messages_for_request(provider=provider))
    assert host.of("context:usage") == []


async def test_the_prompt_can_be_given() -> None:
    """`summary_prompt` is what is asked."""
    manager, provider = InMemoryContextManager(**CONFIG, summary_prompt="Put it in verse."), Provider()
    await until_summarized(manager, provider)
    assert "Put it in verse." in str(provider.asked[0].messages[-1].content)


async def test_a_smaller_budget_of_its_own_asks_for_no_summary() -> None:
    """An explicit budget below the session's own gets the ladder."""
    manager, provider = InMemoryContextManager(**CONFIG), Provider()
    for number in range(10):
        await work(manager, number)
    assert_valid(await manager.get_messages_for_request(token_budget=1_500, provider=provider))
    assert provider.asked == []


ANSWERS = st.sampled_from(["", "short", "word " * 60, "word " * 5_000, None])


@proof
@settings(max_examples=some(45))
@given(
    histories.messages(), st.sampled_from(STRATEGIES), st.integers(60, 3_000), st.lists(ANSWERS, min_size=1, max_size=5)
)
async def test_any_history_gives_valid_views_within_any_budget(
    messages: list[dict[str, Any]], strategy: str, budget: int, answers: list[str | None]
) -> None:
    """By every strategy, whatever the provider answers; or the error says what is fixed."""

    class Moody(Provider):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            answer = answers[len(self.asked) % len(answers)]
            self.fails = RuntimeError() if answer is None else None
            self.said = answer or ""
            return await super().complete(request)

    counter, provider = EstimateCounter(), Moody()
    config = {**CONFIG, "max_tokens": budget, "compaction_strategy": strategy, "keep_recent": 6}
    async with InMemoryContextManager(**config, recall=False) as manager:
        for place, message in enumerate(messages):
            await manager.add_message(message)
            if place % 4 == 3:
                try:
                    view = await manager.get_messages_for_request(provider=provider)
                except ContextLengthError:
                    continue  # `test_views` holds what it says to be true
                assert_valid(view, budget_tokens=budget, count=lambda m: count_message(m, counter))


class Caching(Provider):
    """Has a window with room for answers, and reports what it read from its cache."""

    def __init__(self, usage: dict[str, Any]) -> None:
        super().__init__()
        self.usage = usage

    def get_model_info(self) -> dict[str, int]:
        return {"context_window": 4_000, "max_output_tokens": 1_000}

    async def complete(self, request: ChatRequest) -> ChatResponse:
        answer = await super().complete(request)
        return answer.model_copy(update={"usage": Usage(total_tokens=0, output_tokens=10, **self.usage)})


@proof(quick=1)
@pytest.mark.parametrize(
    ("usage", "share"),
    [
        ({"input_tokens": 1_000, "cache_read_tokens": 950}, 0.95),
        ({"input_tokens": 10, "cache_read_tokens": 0, "cache_write_tokens": 990}, 0.0),
        ({"input_tokens": 1_000}, None),
    ],
    ids=["read", "written", "unknown"],
)
async def test_the_answer_takes_the_room_that_the_window_keeps_for_answers(
    usage: dict[str, Any], share: float | None
) -> None:
    """So the request is the view with the instruction, though little of the budget is left."""
    config = {**CONFIG, "summary_max_tokens": 900, "compact_threshold": 0.8, "target_usage": 0.4}
    del config["max_tokens"]
    host, provider = Host(tools={"grep": Grep()}), Caching(usage)
    manager = InMemoryContextManager(coordinator=host, **config)
    number = 0
    while not provider.asked:
        await work(manager, number := number + 1)
        await manager.get_messages_for_request(provider=provider)
    (request,) = provider.asked
    assert len(request.messages) > 3
    assert [tool.name for tool in request.tools or []] == ["grep"]
    (told,) = host.of("context:summary")
    assert told.get("cached_share") == share
