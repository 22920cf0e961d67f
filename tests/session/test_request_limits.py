"""Requests with many images: views within the limits, their images recalled, their plans stored and proved."""

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.models import ToolResult

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.session.model_tools import RecallTool
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from tests.support.checker import assert_valid
from tests.support.messages import Message, fill, user
from tests.support.pictures import block, images_in, png, screenshot, shot
from tests.support.real_sessions import Host
from tests.support.recorded_sessions import Recorded, controls
from tests.support.sweeps import proof

CALL = {"id": "c", "tool": "look", "arguments": {}}
LIMIT = 100_000
"""A two-hundredth of the default; images are as much smaller."""


def size_of(view: list[Message]) -> int:
    return len(json.dumps(view).encode())


async def play(session: Recorded, count: int = 30, **image: int) -> list[list[Message]]:
    """One turn of many screenshots; the views of its requests."""
    await session.add(user("Look at all pages."))
    for number in range(count):
        view = await session.view()
        assert_valid(view)
        await session.add(*shot(number, **{"size_bytes": 9_000, **image}))
    return session.views


def breaks(views: list[list[Message]]) -> int:
    """How many views are not the one before with what was appended."""
    return sum(after[: len(before)] != before for before, after in pairwise(views))


@proof
async def test_a_turn_of_screenshots_keeps_the_limit_of_bytes(tmp_path: Path) -> None:
    """The oldest go, rarely and many at once; the views of the next process are the same, and all are proved."""
    async with Recorded(tmp_path / "log.jsonl", max_request_bytes=LIMIT, max_tokens=200_000) as session:
        views = await play(session)
        assert max(map(size_of, views)) <= LIMIT
        assert 1 <= breaks(views) <= 10
        last = images_in(views[-1])
        assert 2 <= len(last) < 30
        assert last[-1] == screenshot(28, size_bytes=9_000)["source"]["data"]
        before = await session.view()
        await session.restart()
        assert await session.view() == before
    assert [plan["dropped"] for plan in controls(session.path, "plan")] == [0] * len(controls(session.path, "plan"))


@proof
async def test_what_was_left_out_is_recalled_byte_for_byte(tmp_path: Path) -> None:
    """By the reference that the view shows, as a block of the page, and as an image of the tool's result."""
    async with Recorded(tmp_path / "log.jsonl", max_request_bytes=LIMIT, max_tokens=200_000) as session:
        view = (await play(session))[-1]
        shown = images_in(view)
        tool, recalled = RecallTool(session.manager), 0
        for number in range(29):
            image = screenshot(number, size_bytes=9_000)
            if image["source"]["data"] in shown:
                continue
            (message,) = [m for m in view if m.get("tool_call_id") == f"c{number}"]
            line = message["content"][1]["text"]
            assert line.startswith("[image left out: image/png, 1280 x 720 px, 9,000 bytes; recall m")
            reference = line.removesuffix("]").rpartition(" ")[2]
            page = await session.manager.recall(reference)
            assert page.media == (image,)
            answer: ToolResult = await tool.execute({"reference": reference})
            assert answer.content[1].model_dump(exclude_none=True) == image
            recalled += 1
        assert recalled == 29 - len(shown)


@proof
async def test_the_number_of_images_is_kept_too(tmp_path: Path) -> None:
    """Down to half of it at once."""
    async with Recorded(tmp_path / "log.jsonl", max_images=10, max_tokens=200_000) as session:
        views = await play(session, 24)
        counts = [len(images_in(view)) for view in views]
        assert max(counts) == 10
        assert counts[11] == 5
        assert breaks(views) == 3


async def test_images_of_finished_turns_go_before_those_of_the_turn_in_progress(tmp_path: Path) -> None:
    """What was just shown stays."""
    async with Recorded(tmp_path / "log.jsonl", max_images=10, max_tokens=200_000) as session:
        await session.add(
            user("First."),
            *[m for n in range(8) for m in shot(n)],
            user("Second."),
            *[m for n in range(8, 14) for m in shot(n)],
        )
        wanted = [screenshot(n)["source"]["data"] for n in range(8, 14)]
        assert images_in(await session.view()) == wanted


async def test_an_image_that_no_provider_takes_is_never_sent(tmp_path: Path) -> None:
    """One of an unknown type, or too large; what was sent before stays as it was."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=200_000) as session:
        await session.add(user("Look."), *shot(0))
        before = await session.view()
        image = block(b"II*\0" + b"\1" * 50, "image/tiff")
        large = block(png(9_000, 10, 100))
        await session.add({"role": "assistant", "content": "Seen."}, {"role": "user", "content": [image, large]})
        view = await session.view()
        assert view[: len(before)] == before
        lines = [one["text"] for one in view[-1]["content"]]
        assert lines[0].startswith("[image 1 of 2 left out: image/tiff, 54 bytes; recall m")
        assert lines[1].startswith("[image 2 of 2 left out: image/png, 9000 x 10 px, 100 bytes; recall m")
        assert lines[1].endswith(" image=2]")
        reference = lines[0].split()[-2]
        assert (await session.manager.recall(reference, image=2)).media == (large,)
        assert (await session.manager.recall(reference)).media == (image, large)
        with pytest.raises(RecallError, match="no image 3; it has 2"):
            await session.manager.recall(reference, image=3)


async def test_a_providers_own_limits_hold() -> None:
    """Those of its family, and those that it tells."""
    manager = InMemoryContextManager(tokenizer="estimate", max_tokens=200_000)
    await fill(
        manager, [user("Look."), {"role": "user", "content": [block(b"GIF89a\x10\0\x10\0" + b"\0" * 20, "image/gif")]}]
    )
    for name, count in (("anthropic", 1), ("gemini", 0), ("openai", 0)):  # what went does not come back by itself
        provider = SimpleNamespace(name=name)
        assert len(images_in(await manager.get_messages_for_request(provider=provider))) == count
    await manager.add_message({"role": "user", "content": [screenshot(1), screenshot(2)]})
    told = SimpleNamespace(id="m", context_window=100_000, max_output_tokens=1_000, defaults={"max_images": 1})
    provider = SimpleNamespace(name="other", get_model_info=lambda: told)
    assert images_in(await manager.get_messages_for_request(provider=provider)) == [screenshot(2)["source"]["data"]]


@proof
async def test_a_budget_stays_below_the_step_of_a_models_tariff() -> None:
    """Of a model whose price is known, unless somebody says how much may be sent."""
    told = SimpleNamespace(id="claude-haiku-5-5", context_window=1_000_000, max_output_tokens=8_000)
    provider, sent, counter = SimpleNamespace(name="anthropic", get_model_info=lambda: told), [], EstimateCounter()
    for config in ({}, {"max_tokens": 400_000}):
        manager = InMemoryContextManager(tokenizer="estimate", **config)
        for turn in range(130):
            await fill(manager, [user(f"Question {turn}"), {"role": "assistant", "content": "Answer. " * 800}])
        view = await manager.get_messages_for_request(provider=provider)
        sent.append(sum(count_message(message, counter) for message in view))
    assert sent[0] < 99_000 < sent[1]


@proof
async def test_the_bytes_of_text_count(tmp_path: Path) -> None:
    """A view of few tokens and very many bytes is compacted; what cannot be is refused."""
    session = Recorded(tmp_path / "log.jsonl", max_request_bytes=100_000, max_tokens=10_000_000)
    for number in range(40):
        await session.add(user(f"Question {number}"), {"role": "assistant", "content": "Answer. " * 700})
        assert size_of(await session.view()) <= 100_000
    await session.manager.close()
    manager = InMemoryContextManager(max_request_bytes=100_000, max_tokens=10_000_000, tokenizer="estimate")
    await fill(manager, [{"role": "system", "content": "Rule. " * 30_000}, user("Go.")])
    with pytest.raises(ContextLengthError):
        await manager.get_messages_for_request()


async def test_it_is_told_as_a_compaction() -> None:
    """With the number of images that are left out, and nothing else changed."""
    host = Host()
    manager = InMemoryContextManager(coordinator=host, max_images=2, tokenizer="estimate")
    await manager.add_message(user("Look."))
    for number in range(3):
        await fill(manager, shot(number))
    await manager.get_messages_for_request()
    (told,) = host.of("context:compaction")
    assert (told["left_out_media"], told["dropped_messages"], told["before_messages"]) == (2, 0, 7)
    assert told["before_tokens"] > told["after_tokens"]


async def test_images_in_ephemeral_messages_count_and_give_way(tmp_path: Path) -> None:
    """A hook that shows the screen at every request: its oldest images go, without a plan, and no reference is told."""
    session = Recorded(tmp_path / "log.jsonl", max_images=6, max_request_bytes=LIMIT, max_tokens=200_000)
    await session.add(user("Work."))
    for number in range(20):
        metadata = {"ephemeral": True, "source": "hook"}
        await session.add({"role": "user", "content": [screenshot(number, size_bytes=20_000)], "metadata": metadata})
        view = await session.view()
        assert len(images_in(view)) <= 6
        assert size_of(view) <= LIMIT
        assert images_in(view)[-1] == screenshot(number, size_bytes=20_000)["source"]["data"]
        await session.add({"role": "assistant", "content": f"Step {number}."})
    lines = [m["content"][0]["text"] for m in view if isinstance(m["content"], list) and "text" in m["content"][0]]
    assert lines[0] == "[image left out: image/png, 1280 x 720 px, 20,000 bytes]"
    assert controls(session.path, "plan") == []
    await session.manager.close()


async def test_a_newest_group_of_images_that_no_plan_can_fit_loses_them(tmp_path: Path) -> None:
    """Their tokens alone pass the budget: all but the newest go before the request is refused, but no person's."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=10_000) as session:
        content = [screenshot(number, width=2_000, height=2_000) for number in range(12)]
        await session.add(
            user("Look."),
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "name": "look", "content": content},
        )
        assert images_in(await session.view()) == [content[-1]["source"]["data"]]
        await session.restart()
        assert images_in(await session.view()) == [content[-1]["source"]["data"]]
    manager = InMemoryContextManager(max_tokens=1_200, tokenizer="estimate")
    await manager.add_message({"role": "user", "content": content[:2]})
    with pytest.raises(ContextLengthError):  # what a person said last is never compacted
        await manager.get_messages_for_request()


@proof(quick=1)
@pytest.mark.parametrize("size", [{"max_images": 3}, {"max_request_bytes": LIMIT}], ids=["images", "bytes"])
async def test_without_recall_no_line_for_an_image_names_it(tmp_path: Path, size: dict[str, int]) -> None:
    """A model without the tool is not told to use it; the next process shows the same lines."""
    async with Recorded(tmp_path / "log.jsonl", recall=False, max_tokens=200_000, **size) as session:
        view = (await play(session, 12, size_bytes=20_000))[-1]
        assert "[image left out: image/png, 1280 x 720 px, 20,000 bytes]" in str(view)
        assert "recall" not in str(view)
        before = await session.view()
        await session.restart()
        assert await session.view() == before
