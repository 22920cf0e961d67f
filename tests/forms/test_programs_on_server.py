"""Programs on Anthropic's server that call tools of the client: their result comes in a later answer."""

from __future__ import annotations

from typing import Any

from amplifier_module_context_persistent import InMemoryContextManager, to_anthropic
from tests.support.messages import Message

PROGRAM = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "ask()"}}
ENDED = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {"type": "code_execution_result", "stdout": "7", "stderr": "", "return_code": 0, "content": []},
}
ASKED: Message = {"role": "user", "content": "How many rows?"}


def call(call_id: str) -> Message:
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    return {"type": "tool_use", "id": call_id, "name": "query", "input": {}, "caller": caller}


def result(call_id: str) -> Message:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "rows"}]}


def answer(*blocks: Message) -> Message:
    return {"role": "assistant", "content": list(blocks)}


async def sent(*messages: Message) -> list[Any]:
    """The content of each message of a request, texts as blocks are."""
    memory = InMemoryContextManager()
    for message in messages:
        await memory.add_message(message)
    body = to_anthropic(await memory.get_messages_for_request(provider="anthropic"), cache=False)
    return [message["content"] for message in body["messages"]]


async def test_a_program_waits_for_the_clients_tools() -> None:
    """Its call is in the request that has the results, also when it calls a second time."""
    first = answer({"type": "text", "text": "I look."}, PROGRAM, call("toolu_1"))
    assert (await sent(ASKED, first, result("toolu_1")))[1] == first["content"]
    again = answer(call("toolu_2"))
    told = await sent(ASKED, first, result("toolu_1"), again, result("toolu_2"))
    assert told[1] == first["content"]
    assert told[3] == again["content"]


async def test_its_result_in_a_later_answer_is_kept() -> None:
    """Both halves of the pair are in later requests."""
    first, last = answer(PROGRAM, call("toolu_1")), answer(ENDED, {"type": "text", "text": "7."})
    told = await sent(ASKED, first, result("toolu_1"), last, {"role": "user", "content": "Thanks."})
    assert told[1] == first["content"]
    assert told[3] == last["content"]


async def test_a_program_that_was_broken_off_is_left_out() -> None:
    """Its calls name no program that the request lacks."""
    plain = {key: value for key, value in call("toolu_1").items() if key != "caller"}
    told = await sent(ASKED, answer(PROGRAM, call("toolu_1")), result("toolu_1"), {"role": "user", "content": "Stop."})
    assert told[1] == [plain]
    told = await sent(ASKED, answer(call("toolu_1")), result("toolu_1"))
    assert told[1] == [plain]
    told = await sent(ASKED, answer(ENDED, {"type": "text", "text": "7."}), {"role": "user", "content": "Thanks."})
    assert "srvtoolu" not in str(told)
