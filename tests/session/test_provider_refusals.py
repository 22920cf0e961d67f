"""What refusals taught is in the log, and applies from the first request of the next process."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core.testing import EventRecorder, MockCoordinator

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.messages import Message, fill, user
from tests.support.recorded_sessions import Recorded, assert_proved, controls
from tests.support.sweeps import proof

LINE = "[continued]"
PREFILL_ERRORS = [
    "This model does not support assistant message prefill. The conversation must end with a user message.",
    "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    "Cannot set `add_generation_prompt` to True when the last message is from the assistant.",
    "Assistant response prefill is incompatible with enable_thinking.",
    "The model that you are using requires the last turn in the conversation to be a user message.",
    "When using tools, pre-filling the `assistant` response is not supported.",
    "Prefilling assistant messages is not supported for this model.",
    "The gateway does not support requests with a prefill.",
]


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def thinks(number: int, **metadata: Any) -> Message:
    block = {"type": "thinking", "thinking": f"thought {number}", "signature": f"signed-{number}"}
    return {"role": "assistant", "content": [block, {"type": "text", "text": "So."}], "metadata": metadata}


def reader(name: str, model: str = "m1") -> Any:
    return SimpleNamespace(name=name, default_model=model)


def refused(said: str, name: str = "acme", **more: Any) -> Message:
    return {"provider": name, "error": {"type": "InvalidRequestError", "msg": said}, **more}


def ends_with_line(view: list[Message]) -> bool:
    return bool(view[-1]["content"] == LINE)


def thoughts_in(view: list[Message]) -> int:
    return sum("signed-" in str(message["content"]) for message in view)


@proof(quick=2)
@pytest.mark.parametrize("said", PREFILL_ERRORS)
async def test_a_refusal_for_prefill_is_remembered(tmp_path: Path, said: str) -> None:
    """The line follows from then on, for this provider and model, in this process, the next one and forks."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        await session.add(user("go"), says("One."))
        assert not ends_with_line(await session.view(None, reader("acme")))
        await session.manager.on_provider_error(refused(said))
        await session.manager.on_provider_error(refused(said))
        for _ in range(2):
            assert ends_with_line(await session.view(None, reader("acme")))
            assert not ends_with_line(await session.view(None, reader("other")))
            assert not ends_with_line(await session.view(None, reader("acme", "m2")))
            assert not ends_with_line(await session.view())
            await session.restart()
    records = [{key: one[key] for key in ("what", "provider", "model")} for one in controls(session.path, "learned")]
    assert records == [{"what": "prefill", "provider": "acme", "model": "m1"}]
    forked = fork_session(session.path, path=tmp_path / "fork.jsonl")
    async with Recorded(Path(forked.path), max_tokens=100_000) as fork:
        assert ends_with_line(await fork.view(None, reader("acme")))


async def test_an_answer_after_a_learned_line_keeps_it(tmp_path: Path) -> None:
    """As for a model that is known to refuse; the views are proved."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        await session.add(user("go"), says("One."))
        await session.view(None, reader("acme"))
        await session.manager.on_llm_response({"provider": "acme", "status": "error", "error": PREFILL_ERRORS[0]})
        before = await session.view(None, reader("acme"))
        await session.add(says("Two."), user("on"))
        after = await session.view(None, reader("acme"))
        assert after[: len(before)] == before
        assert [message["content"] for message in after] == ["go", "One.", LINE, "Two.", "on"]


async def test_other_errors_teach_nothing(tmp_path: Path) -> None:
    """Nor do those of another session."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path, session_id="s") as manager:
        await fill(manager, [user("go"), says("One.")])
        await manager.get_messages_for_request(provider=reader("acme"))
        await manager.on_provider_error(refused("prompt is too long: prefill"))
        await manager.on_provider_error(refused(PREFILL_ERRORS[0], session_id="another"))
        assert not ends_with_line(await manager.get_messages_for_request(provider=reader("acme")))
    assert controls(path, "learned") == []


BINDING = "messages.1.content.0: Invalid `signature` in `thinking` block. It is bound to a different conversation."


async def test_a_refusal_of_reasoning_is_remembered_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In one sentence that says what happened and what a person can do, and names no file of this project."""
    session = Recorded(tmp_path / "log.jsonl", max_tokens=100_000)
    claude = reader("anthropic", "claude-opus-5-5")
    for number in range(3):
        await session.add(user(f"question {number}"))
        assert thoughts_in(await session.view(None, claude)) == number
        await session.add(thinks(number))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            await session.manager.on_provider_error(refused(BINDING, "anthropic"))
    (warning,) = (record.getMessage() for record in caplog.records)
    assert warning.count(".") == 1
    assert "begin a new session" in warning
    assert "docs/" not in warning
    for _ in range(2):
        await session.add(user("on"))
        assert thoughts_in(await session.view(None, claude)) == 0
        assert thoughts_in(await session.view()) == 0
        await session.add(thinks(9))
        await session.restart()
    await session.manager.close()
    assert_proved(session.path, session.views)
    assert len(controls(session.path, "learned")) == 1


DROPPED = {"type": "thinking_dropped", "path": "messages.1.content.0"}
DROPS = [
    ({"input_transformations": [{**DROPPED, "reason": "prefix_binding_mismatch"}]}, "reasoning"),
    ({"response": {"input_transformations": [DROPPED]}}, "reasoning"),
    ({"input_transformations": [{**DROPPED, "reason": "model_binding_mismatch"}]}, "others"),
    ({"input_transformations": [{**DROPPED, "reason": "end_user_binding_mismatch"}]}, "others"),
    ({"input_transformations": [{**DROPPED, "type": "thinking_mismatch_allowed", "reason": "x"}]}, None),
    ({"input_transformations": []}, None),
    ({"input_transformations": "strange"}, None),
]


@proof(quick=8)
@pytest.mark.parametrize(("said", "what"), DROPS)
@pytest.mark.parametrize("in_answer", [False, True], ids=["response", "answer"])
async def test_a_provider_that_names_what_it_dropped_is_believed_at_once(
    tmp_path: Path, said: Message, what: str | None, in_answer: bool
) -> None:
    """In its response, or in the metadata of its answer: the next view shows none of it."""
    claude = reader("anthropic", "claude-opus-5-5")
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        await session.add(user("one"))
        await session.view(None, claude)
        await session.add(thinks(0), user("two"))
        assert thoughts_in(await session.view(None, claude)) == 1
        if not in_answer:
            await session.manager.on_llm_response({"provider": "anthropic", "usage": {}, **said})
        await session.add(thinks(1, **(said if in_answer else {})), user("three"))
        assert (thoughts_in(await session.view(None, claude)) == 0) == (what is not None)
    assert [one["what"] for one in controls(session.path, "learned")] == ([what] if what else [])


async def test_each_change_before_reasoning_is_told_once(tmp_path: Path) -> None:
    """However many requests follow it, and whatever other answers lack their reasoning."""
    recorder, coordinator = EventRecorder(), MockCoordinator()
    coordinator.hooks.register("context:reasoning_left_out", recorder.record, name="test")
    claude, prompt = reader("anthropic", "claude-opus-5-5"), "Be brief."

    async def text() -> str:
        return prompt

    manager = PersistentContextManager(tmp_path / "log.jsonl", coordinator=coordinator, max_tokens=100_000)
    await manager.set_system_prompt_factory(text)
    for number in range(12):
        await manager.add_message(user(f"question {number}"))
        await manager.get_messages_for_request(provider=claude)
        if number >= 6:  # the answer belongs to one of two requests, nobody knows to which
            await manager.get_messages_for_request(9_000, claude)
            await manager.add_message(user("by the way"))
            await manager.get_messages_for_request(provider=claude)
        prompt = "Be bold." if number >= 3 else prompt
        await manager.add_message(thinks(number))
    await manager.close()
    assert [data["changed"] for _, data in recorder.events] == [["system"]]


async def test_a_model_is_known_by_the_end_of_a_long_name(tmp_path: Path) -> None:
    """The ARN of an inference profile ends with its model, whose rules hold; another model's ARN is another reader."""
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.{}-v1:0"
    opus, sonnet = (reader("bedrock", arn.format(name)) for name in ("claude-opus-5-5", "claude-sonnet-5-5"))
    async with PersistentContextManager(tmp_path / "s.jsonl") as manager:
        await fill(manager, [user("Hi."), says("Hello.")])
        assert ends_with_line(await manager.get_messages_for_request(provider=opus))
        await manager.add_message(user("Think."))
        await manager.get_messages_for_request(provider=opus)
        await manager.add_message(thinks(1, provider="bedrock", model=opus.default_model))
        await manager.add_message(user("And?"))
        assert thoughts_in(await manager.get_messages_for_request(provider=opus)) == 1
        assert thoughts_in(await manager.get_messages_for_request(provider=sonnet)) == 0
