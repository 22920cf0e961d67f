"""The request that a host sent at last: what it added to the view is recorded and shown."""

import copy
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core.message_models import ChatRequest
from amplifier_core.message_models import Message as CoreMessage
from amplifier_core.testing import MockCoordinator

from amplifier_module_context_persistent import mount
from amplifier_module_context_persistent.session.final_request import additions
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from tests.support.commands import run
from tests.support.messages import Message, user
from tests.support.recorded_sessions import controls, made

CLAUDE = SimpleNamespace(name="anthropic", default_model="claude-opus-5-5")
REMINDER = {"role": "user", "content": "<system-reminders>It is late.</system-reminders>"}


def thinks(number: int) -> Message:
    block = {"type": "thinking", "thinking": f"thought {number}", "signature": f"signed-{number}"}
    return {"role": "assistant", "content": [block, {"type": "text", "text": f"So {number}."}]}


def calls(call_id: str) -> Message:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": call_id, "tool": "look", "arguments": {"path": None}}],
    }


def result(call_id: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": "found"}


class Loop:
    """What loop-streaming does: adds to a view, builds the request, records it, and gives the ticket back."""

    def __init__(self, path: Path) -> None:
        self.path, self.coordinator = path, MockCoordinator()

    async def start(self) -> None:
        options = {"transcript_path": str(self.path), "max_tokens": 100_000, "tokenizer": "estimate", "recall": False}
        self.close = await mount(self.coordinator, options)
        self.context = self.coordinator.get("context")

    async def turn(self, answer: Message, change: Any = None, *, as_dicts: bool = False, admits: bool = True) -> Any:
        view = await self.context.get_messages_for_request(provider=CLAUDE)
        seen = copy.deepcopy(view)
        messages = list(view)
        if change is not None:
            change(messages)
        request: Any = {"messages": messages}
        if not as_dicts:
            request = ChatRequest(messages=[CoreMessage(**message) for message in messages])
        ticket = self.coordinator.get_capability("context.final_request_record")(request)
        await self.context.add_message(answer)
        if admits:
            self.coordinator.get_capability("context.signed_replay")(ticket)
        return seen


@pytest.fixture
async def loop(tmp_path: Path) -> Loop:
    one = Loop(tmp_path / "log.jsonl")
    await one.start()
    await one.context.add_message(user("go"))
    return one


@pytest.mark.parametrize("as_dicts", [False, True], ids=["ChatRequest", "mapping"])
async def test_a_request_that_is_the_view_has_a_hash_and_no_addition(loop: Loop, as_dicts: bool) -> None:
    """However the host builds it; thinking, calls and results are compared as they are sent."""
    await loop.turn(thinks(0), as_dicts=as_dicts)
    await loop.context.add_message(user("on"))
    await loop.turn(calls("c1"), as_dicts=as_dicts)
    await loop.context.add_message(result("c1"))
    await loop.turn(thinks(1), as_dicts=as_dicts)
    await loop.close()
    records = controls(loop.path, "sent")
    assert [one["messages"] for one in records] == [1, 3, 5]
    assert all("added" not in one and len(one["hash"]) == 32 for one in records)
    assert [one["view"] for one in records] == [one["id"] for one in controls(loop.path, "view")]
    assert "sent it as it is" in run("view", loop.path).output


async def test_what_was_added_is_recorded_and_shown(loop: Loop) -> None:
    """A message, text behind the last result, and system text; the same text is written once."""
    await loop.turn(calls("c1"), lambda messages: messages.append(REMINDER))
    await loop.context.add_message(result("c1"))

    def change(messages: list[Message]) -> None:
        messages[-1] = {**messages[-1], "content": messages[-1]["content"] + "\n\nRemember the tests."}
        messages.insert(0, {"role": "system", "content": "Be kind."})
        messages.append(REMINDER)

    view = await loop.turn(thinks(0), change)
    await loop.close()
    first, second = controls(loop.path, "sent")
    assert [(one["how"], one["at"]) for one in first["added"]] == [("message", 1)]
    assert [(one["how"], one["at"]) for one in second["added"]] == [("message", 0), ("text", 3), ("message", 4)]
    assert [one.get("message", {}).get("content") for one in second["added"]] == [
        "Be kind.",
        "\n\nRemember the tests.",
        None,
    ]
    assert second["tokens"] > first["tokens"] > 0
    assert made(loop.path)[1].messages == view
    shown = run("view", loop.path).output
    for text in ("Be kind.", "Remember the tests.", "It is late.", second["hash"]):
        assert text in shown
    sent = json.loads(run("view", loop.path, "--json").output)["sent"]
    assert [one["message"]["content"] for one in sent["added"]][2] == REMINDER["content"]


async def test_reasoning_after_an_addition_is_not_shown(loop: Loop) -> None:
    """The next request lacks what was added, so its provider would refuse the reasoning."""
    await loop.turn(thinks(0))
    await loop.context.add_message(user("two"))
    await loop.turn(thinks(1), lambda messages: messages.append(REMINDER))
    await loop.context.add_message(user("three"))
    view = json.dumps(await loop.turn(thinks(2)))
    assert ("signed-0" in view, "signed-1" in view) == (True, False)
    await loop.close()


async def test_a_request_without_an_answer_leaves_no_record(loop: Loop) -> None:
    """The host gives back tickets of admitted answers alone; others, and strange ones, are nobody's."""
    await loop.turn(thinks(0), admits=False)
    for ticket in (None, 7, "x", SimpleNamespace(number=1)):
        loop.context.bind_signed_response(ticket)
    assert loop.context.record_final_request(SimpleNamespace(messages=None)) is not None
    assert loop.context.record_final_request({"messages": [object()]}) is not None
    await loop.close()
    assert controls(loop.path, "sent") == []


async def test_what_the_provider_counted_is_told_for_each_request(loop: Loop) -> None:
    """Where the host tells nothing of its request."""
    for number in range(3):
        view = await loop.context.get_messages_for_request(provider=CLAUDE)
        counted = sum(count_message(message, EstimateCounter()) for message in view)
        usage = {"input_tokens": counted + 500, "output_tokens": 5}
        await loop.context.on_llm_response({"provider": "anthropic", "model": "claude-opus-5-5", "usage": usage})
        await loop.context.add_message(thinks(number))
        await loop.context.add_message(user("word " * 50))
    await loop.close()
    for number in (1, 2, 3):
        found = json.loads(run("view", loop.path, "--request", number, "--json").output)
        assert found["sent"] is None
        assert 450 < found["tokens_beyond_view"] < 550
    assert "tokens more than this view" in run("view", loop.path).output


A, B, C = ({"role": "user", "content": text} for text in "abc")


@pytest.mark.parametrize(
    ("view", "sent", "found"),
    [
        ([A, B], [A, B], []),
        ([A, B], [A, C, B], [(1, "message", "c")]),
        ([A, B], [{**A, "content": "a!"}, B], [(0, "text", "!")]),
        ([A, B], [C, B], [(0, "changed", "c")]),
        ([A, B], [B], []),
        ([], [A], [(0, "message", "a")]),
        (
            [{**A, "content": [{"type": "text", "text": "a"}]}],
            [{**A, "content": [{"type": "text", "text": "a"}, 1]}],
            [(0, "text", [1])],
        ),
    ],
)
def test_additions(view: list[Message], sent: list[Message], found: list[Any]) -> None:
    """Whole messages, text at the end of one, and messages that are others."""
    assert [(one.at, one.how, one.message["content"]) for one in additions(view, sent)] == found


async def test_after_a_purge_an_addition_is_written_again(loop: Loop) -> None:
    """The records before it went with the receipts."""
    await loop.turn(thinks(0), lambda messages: messages.append(REMINDER))
    await loop.context.add_message(user("the key"))
    run("purge", loop.path, "--redact", "key", "--yes")
    await loop.turn(thinks(1), lambda messages: messages.append(REMINDER))
    await loop.context.add_message(user("three"))
    await loop.turn(thinks(2), lambda messages: messages.append(REMINDER))
    await loop.close()
    assert REMINDER["content"] in loop.path.read_text()
    assert "It is late." in run("view", loop.path).output
