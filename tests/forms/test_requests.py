"""Views and histories as bodies of requests: what Anthropic and OpenAI take, whatever was stored."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import amplifier_module_context_persistent as package
from amplifier_module_context_persistent import InMemoryContextManager, to_anthropic, to_openai
from tests.support.checker import anthropic_violations, openai_violations
from tests.support.histories import messages as any_histories
from tests.support.messages import Message, fill, user

PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
DOCUMENTS: dict[str, Message] = {
    "Anthropic's": {"type": "document", "source": PDF, "title": "a.pdf"},
    "OpenAI's": {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"},
    },
    "Responses'": {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"},
}
SEARCH: list[Message] = [
    {"type": "text", "text": "I look."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://a", "title": "A", "encrypted_content": "zzz"}],
    },
    {"type": "text", "text": "Found."},
]


def both(messages: list[Message]) -> tuple[Any, Any]:
    before = copy.deepcopy(messages)
    bodies = to_anthropic(messages, cache=False), to_openai(messages)
    assert messages == before
    assert anthropic_violations(bodies[0]) == []
    assert openai_violations(bodies[1]) == []
    return bodies


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_pdf_is_a_pdf(document: Message) -> None:
    """Whatever form it was given in."""
    anthropic, openai = both([user([{"type": "text", "text": "read"}, document])])
    assert anthropic["messages"][0]["content"][1] == DOCUMENTS["Anthropic's"]
    assert openai["messages"][0]["content"][1] == DOCUMENTS["OpenAI's"]


def test_a_pdf_in_a_result() -> None:
    """Anthropic takes it there, Chat Completions takes texts alone and is told of it."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "read", "arguments": {}}]}
    inner = {"type": "tool_result", "tool_call_id": "c", "output": [DOCUMENTS["Anthropic's"]]}
    for content in ([DOCUMENTS["Anthropic's"]], [inner]):
        anthropic, openai = both([user("go"), call, {"role": "tool", "tool_call_id": "c", "content": content}])
        (result,) = anthropic["messages"][2]["content"]
        assert result["content"] == [DOCUMENTS["Anthropic's"]]
        assert openai["messages"][2]["content"] == "[PDF: a.pdf, application/pdf, 9 bytes]"


def test_tools_that_a_server_ran() -> None:
    """Their blocks for Anthropic; for OpenAI calls with results, without what only the server can read."""
    anthropic, openai = both([user("go"), {"role": "assistant", "content": SEARCH}, user("thanks")])
    assert anthropic["messages"][1]["content"] == SEARCH
    assert [message["role"] for message in openai["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert openai["messages"][1]["tool_calls"][0]["function"] == {"name": "web_search", "arguments": '{"query":"x"}'}
    assert json.loads(openai["messages"][2]["content"])[0] == {
        "type": "web_search_result",
        "url": "https://a",
        "title": "A",
    }


def test_the_name_of_a_servers_tool_is_one_that_openai_takes() -> None:
    """As those of other tools."""
    named = [{**SEARCH[1], "name": "srv:do.it"} if block is SEARCH[1] else block for block in SEARCH]
    _, openai = both([user("go"), {"role": "assistant", "content": named}])
    assert openai["messages"][1]["tool_calls"][0]["function"]["name"] == "srv_do_it"


def test_half_of_what_a_server_ran_is_left_out() -> None:
    """A call without its result, or a result of nothing."""
    for blocks in (SEARCH[:2], [*SEARCH[:1], *SEARCH[2:]]):
        anthropic, openai = both([user("go"), {"role": "assistant", "content": blocks}])
        assert "srvtoolu" not in json.dumps([anthropic, openai])


def test_system_text_stands_where_each_wants_it() -> None:
    """Beside the messages for Anthropic, later text as a user's; as messages for OpenAI."""
    rules = [{"role": "system", "content": "One."}, {"role": "developer", "content": "Two."}]
    anthropic, openai = both([*rules, user("go"), {"role": "system", "content": "Late."}])
    assert anthropic["system"] == "One.\n\nTwo."
    assert [message["content"] for message in anthropic["messages"]] == ["go", "Late."]
    assert [message["role"] for message in openai["messages"]] == ["system", "developer", "user", "system"]
    image = {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}
    openai = to_openai([{"role": "system", "content": [{"type": "text", "text": "One."}, image]}, user("go")])
    assert openai["messages"][0]["content"] == "One.\n[image: https://a/b.png]"  # which takes texts only there


def test_thinking_that_is_signed_goes_to_anthropic() -> None:
    """Also where it stands beside the content; what is not signed, and OpenAI's share, is left out."""
    own = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    anthropic, openai = both([user("go"), {"role": "assistant", "content": "Yes.", "thinking_block": own}])
    assert anthropic["messages"][1]["content"] == [own, {"type": "text", "text": "Yes."}]
    assert openai["messages"][1] == {"role": "assistant", "content": "Yes."}
    unsigned = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]
    anthropic, _ = both([user("go"), {"role": "assistant", "content": unsigned}])
    assert anthropic["messages"][1]["content"] == "Yes."


@pytest.mark.parametrize("convert", [to_anthropic, to_openai])
def test_what_is_no_view_is_an_error(convert: Any) -> None:
    """It says which item, or what is missing."""
    with pytest.raises(ValueError, match="item 1 is no message: 'x'"):
        convert([user("go"), "x"])
    for nothing in ([], [{"role": "system", "content": "Rule."}], [user("")]):
        with pytest.raises(ValueError, match="no message can be sent"):
            convert(nothing)


def test_they_are_public_names() -> None:
    """They are imported when they are used."""
    assert {"to_anthropic", "to_openai"} <= {*package.__all__}
    assert {"to_anthropic", "to_openai"} <= {*dir(package)}


async def test_a_view_of_a_session_is_a_body() -> None:
    """What the documentation shows."""
    async with InMemoryContextManager() as manager:
        await fill(manager, [{"role": "system", "content": "Be brief."}, user("caf\udce9")])
        call = {"id": "functions.ls:0", "tool": "ls dir", "arguments": {}}
        await manager.add_message({"role": "assistant", "content": "", "tool_calls": [call]})
        view = await manager.get_messages_for_request(token_budget=100_000)
    anthropic, openai = both(view)
    assert anthropic["system"] == "Be brief."
    assert anthropic["messages"][0] == {"role": "user", "content": "caf\ufffd"}
    assert anthropic["messages"][1]["content"][0]["id"] == openai["messages"][2]["tool_calls"][0]["id"]


BLOCKS = st.sampled_from(
    [*DOCUMENTS.values(), *SEARCH, {"type": "odd"}, {"type": "image_url", "image_url": "https://a"}]
)


def without_odd(violations: list[str]) -> list[str]:
    """What is wrong with a body but for blocks of the type that nobody knows."""
    return [violation for violation in violations if not violation.startswith("kind: a odd block")]


@given(
    any_histories().map(list),
    st.integers(0, 8),
    st.lists(st.tuples(st.integers(0, 40), st.lists(BLOCKS, max_size=4)), max_size=4),
)
def test_any_messages_are_bodies(history: list[Message], start: int, put_in: list[tuple[int, list[Message]]]) -> None:
    """A part of any history, in whatever order, with blocks of all kinds.

    A block of an unknown type beside Anthropic's own is one of Anthropic's, and goes there as it is.
    """
    messages = copy.deepcopy(history[start:])
    for at, blocks in put_in:
        messages.insert(at, {"role": ("user", "assistant")[at % 2], "content": copy.deepcopy(blocks)})
    before = json.dumps(messages)
    for convert, violations in ((to_anthropic, anthropic_violations), (to_openai, openai_violations)):
        with contextlib.suppress(ValueError):  # none of them can be sent
            assert without_odd(violations(convert([*messages]))) == []
        assert without_odd(violations(convert([*messages, user("And?")]))) == []
    assert json.dumps(messages) == before


async def test_the_agent_of_the_page_on_forms_runs(tmp_path: Path) -> None:
    """With a stand-in for the client, which asks for a tool once; the second turn has the first one before it."""
    page = (Path(__file__).parents[2] / "docs" / "forms.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    asked: list[Any] = []

    async def create(**body: Any) -> Any:
        assert anthropic_violations(body) == []
        asked.append(body)
        call = {"type": "tool_use", "id": f"toolu_{len(asked)}", "name": "ls", "input": {}}
        content = [call if len(asked) == 1 else {"type": "text", "text": "Done."}]
        return Answer(role="assistant", content=[Block(**block) for block in content])

    async def run_tool(call: Any) -> str:
        return f"result of {call.id}"

    client = SimpleNamespace(messages=SimpleNamespace(create=create))
    assert await names["turn"](client, [], run_tool, tmp_path / "log.jsonl", "go") == "Done."
    assert asked[1]["messages"][-1]["content"][0]["content"] == "result of toolu_1"
    assert await names["turn"](client, [], run_tool, tmp_path / "log.jsonl", "again") == "Done."
    roles = [message["role"] for message in asked[2]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert asked[2]["messages"][0]["content"][0]["text"] == "go"


class Block(BaseModel):
    """A block as a client's object."""

    model_config = {"extra": "allow"}
    type: str


class Answer(BaseModel):
    """An answer as a client's object."""

    role: str
    content: list[Block]


async def test_content_of_mcp_in_a_result_of_anthropics() -> None:
    """Texts and resources are texts, a link is a line; the history has them as they came."""
    blocks = [
        {"type": "text", "text": "hello", "annotations": {"audience": ["user"]}},
        {"type": "resource", "resource": {"uri": "file:///y", "text": "its words", "mimeType": "text/plain"}},
        {"type": "resource_link", "uri": "file:///x.txt", "name": "x"},
    ]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": blocks}]}
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {}}]}
    memory = InMemoryContextManager()
    for message in ({"role": "user", "content": "go"}, call, result):
        await memory.add_message(message)
    body = to_anthropic(await memory.get_messages_for_request(), cache=False)
    told = body["messages"][2]["content"][0]["content"]
    assert told[:2] == [{"type": "text", "text": "hello"}, {"type": "text", "text": "its words"}]
    assert told[2]["text"].startswith("[link to x: file:///x.txt")
    assert (await memory.messages_as("anthropic"))[2] == result


def test_what_a_providers_server_answered_last_is_in_a_chat_too() -> None:
    """Each call of a server has its result behind it, also where nothing was said after it."""
    answer = {"role": "assistant", "content": SEARCH[1:3]}
    written = to_openai([user("look"), answer, user("and?")])["messages"]
    assert [message["role"] for message in written] == ["user", "assistant", "tool", "user"]
    assert written[1]["tool_calls"][0]["id"] == written[2]["tool_call_id"]


TOOL = {"name": "look", "description": "Looks things up.", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("openai", {"type": "function", "function": {"name": "look", "description": "Looks."}, "defer": True}),
        ("bedrock", {"toolSpec": {"name": "look", "inputSchema": {"json": {}}, "strict": True}}),
    ],
)
def test_a_tool_in_the_form_of_the_body_stays_as_it_is(name: str, own: Message) -> None:
    """And so does one that the provider's server runs."""
    web = {"type": "web_search_20250305", "name": "web_search"}
    body = getattr(package, f"to_{name}")([user("go")], tools=[own, web])
    tools = body["toolConfig"]["tools"] if name == "bedrock" else body["tools"]
    assert tools == [own, web]


def test_a_tool_keeps_its_description_in_every_form() -> None:
    """A tool without one has none there."""
    for name in ("anthropic", "openai", "openai_responses", "gemini", "bedrock"):
        write = getattr(package, f"to_{name}")
        for tool, expected in ((TOOL, 1), ({**TOOL, "description": ""}, 0)):
            body = json.dumps(write([user("go")], tools=[tool]), default=str)
            assert body.count("Looks things up.") == expected
