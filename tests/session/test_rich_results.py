"""What newer hosts hand over: results of text and image blocks, and several injections in one hook's result."""

from pathlib import Path
from typing import Any

from amplifier_core import HookResult
from amplifier_core.message_models import ImageBlock, TextBlock
from amplifier_core.message_models import Message as ChatMessage
from amplifier_core.models import ToolResult

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.agent_loop import AgentLoop, start
from tests.support.checker import assert_valid
from tests.support.counters import count
from tests.support.enforcing_provider import Answer, EnforcingProvider, Service
from tests.support.histories import IMAGE_DATA
from tests.support.messages import Message, calls, fill, user
from tests.support.real_sessions import texts
from tests.support.sweeps import proof

IMAGE = {"type": "base64", "media_type": "image/png", "data": IMAGE_DATA}
LONG = "a line of the page\n" * 200


def rich_result(call_id: str, text: str) -> Message:
    """The message that a loop stores of a result with blocks, as core checks and writes them."""
    blocks = [{"type": "text", "text": text}, {"type": "image", "source": IMAGE}, {"type": "text", "text": "the end"}]
    content = ToolResult(output="for hosts that know no blocks", content=blocks).model_dump()["content"]
    return {"role": "tool", "tool_call_id": call_id, "name": "look", "content": content}


async def test_a_result_of_text_and_image_blocks_comes_back_as_it_was_given(tmp_path: Path) -> None:
    """From the log after a restart, in views, and as core reads a message."""
    result = rich_result("c1", "a page")
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await fill(manager, [user("look"), calls("c1"), result])
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        history, view = await manager.get_messages(), await manager.get_messages_for_request()
    assert history[2]["content"] == view[2]["content"] == result["content"]
    assert [type(block) for block in ChatMessage(**view[2]).content] == [TextBlock, ImageBlock, TextBlock]


@proof
async def test_views_shorten_the_texts_of_blocks_and_leave_images_out(tmp_path: Path) -> None:
    """At plans, and by the limit of images; history has all of them, and no view breaks a rule of providers."""
    async with PersistentContextManager(
        tmp_path / "log.jsonl", max_tokens=8_000, max_images=1, tokenizer="estimate"
    ) as manager:
        for number in range(30):
            await fill(
                manager,
                [user(f"look at {number}"), calls(f"c{number}"), rich_result(f"c{number}", f"page {number}\n{LONG}")],
            )
            view = await manager.get_messages_for_request()
            assert_valid(view, history=await manager.get_messages(), budget_tokens=8_000, count=count)
            assert str(view).count(IMAGE_DATA) == 1
        history = await manager.get_messages()
    assert str(history).count(IMAGE_DATA) == 30
    shown = [message for message in view if message["role"] == "tool"]
    assert shown[-1]["content"][0]["text"].startswith(f"page 29\n{LONG[:100]}")
    assert any(message["content"][0]["text"].count("a line") < 200 for message in shown), "a plan shortened some"


async def test_each_injection_of_one_result_is_a_message_of_its_hook(tmp_path: Path) -> None:
    """Two hooks inject at one event: core hands over both in one result, and each has its role and its hook's name."""
    seen: list[Any] = []
    loop = AgentLoop()
    service = Service(lambda *_: Answer("done"))
    session = await start(tmp_path / "log.jsonl", loop, tokenizer="estimate")
    loop.provider = EnforcingProvider(service, session.coordinator, "claude-opus-5-5")
    await session.coordinator.mount("providers", loop.provider, name="anthropic")

    def injecting(text: str, role: str) -> Any:
        async def heard(*_: Any) -> Any:
            return HookResult(action="inject_context", context_injection=text, context_injection_role=role)

        return heard

    session.coordinator.hooks.register("prompt:submit", injecting("the date", "system"), name="dates", priority=1)
    session.coordinator.hooks.register("prompt:submit", injecting("the branch", "user"), name="branches", priority=2)
    told = await session.coordinator.hooks.emit("prompt:submit", {"prompt": "go"})
    seen = [(one.hook_name, one.content) for one in told.context_injections]
    await session.execute("go")
    context = session.coordinator.get("context")
    history, view = await context.get_messages(), await context.get_messages_for_request()
    await session.cleanup()
    assert seen == [("dates", "the date"), ("branches", "the branch")]
    stored = {m["metadata"]["hook_name"]: (m["role"], m["content"]) for m in history if m["metadata"].get("hook_name")}
    assert stored == {"dates": ("system", "the date"), "branches": ("user", "the branch")}
    assert texts(view).count("the branch") == 1
    assert str(view).count("the date") == 1
