"""For any conversation: read and written it is the same, and every form says the same of it as every other one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.forms.recognise import FORMS
from amplifier_module_context_persistent.messages.message import call_arguments_of, call_name_of, given_calls
from tests.support.foreign_messages import PNG, PNG_URL, Message
from tests.support.sweeps import proof, some

NAMES = [form for form in FORMS if form != "mcp"]
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12)
ARGUMENTS = st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers(-9, 9) | TEXTS, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Turns in no form: what a person says, what the model says and calls, and the results."""
    turns = []
    for turn in range(draw(st.integers(1, 4))):
        asked = draw(st.lists(st.tuples(st.sampled_from(["ls", "cat"]), ARGUMENTS), max_size=3))
        calls = [
            {"id": f"call_{turn}_{number}", "name": name, "arguments": arguments, "result": draw(TEXTS)}
            for number, (name, arguments) in enumerate(asked)
        ]
        turns.append(
            {
                "said": draw(st.lists(TEXTS, min_size=1, max_size=2)),
                "image": draw(st.booleans()),
                "answer": draw(TEXTS),
                "calls": calls,
                "failed": draw(st.booleans()),
            }
        )
    return turns


def in_anthropic(turn: Message) -> list[Message]:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    said = [{"type": "text", "text": text} for text in turn["said"]] + [image] * turn["image"]
    calls = [
        {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
        for call in turn["calls"]
    ]
    failed = {"is_error": True} if turn["failed"] else {}
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": call["result"], **failed}
        for call in turn["calls"]
    ]
    answer = [{"type": "text", "text": turn["answer"]}, *calls]
    answers = [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]
    return [*answers, *([{"role": "user", "content": results}] if results else [])]


def in_openai_chat(turn: Message) -> list[Message]:
    image = {"type": "image_url", "image_url": {"url": PNG_URL}}
    said = [{"type": "text", "text": text} for text in turn["said"]] + [image] * turn["image"]
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for call in turn["calls"]
    ]
    answer = {"role": "assistant", "content": turn["answer"], **({"tool_calls": calls} if calls else {})}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": call["result"]} for call in turn["calls"]]
    return [{"role": "user", "content": said}, answer, *results]


def in_openai_responses(turn: Message) -> list[Message]:
    image = {"type": "input_image", "image_url": PNG_URL}
    said = [{"type": "input_text", "text": text} for text in turn["said"]] + [image] * turn["image"]
    text = {"type": "output_text", "text": turn["answer"], "annotations": []}
    answer = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}
    calls = [
        {
            "type": "function_call",
            "call_id": call["id"],
            "name": call["name"],
            "arguments": json.dumps(call["arguments"]),
            "id": f"fc_{call['id']}",
        }
        for call in turn["calls"]
    ]
    results = [
        {"type": "function_call_output", "call_id": call["id"], "output": call["result"]} for call in turn["calls"]
    ]
    return [{"type": "message", "role": "user", "content": said}, answer, *calls, *results]


def in_gemini(turn: Message) -> list[Message]:
    image = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    said = [{"text": text} for text in turn["said"]] + [image] * turn["image"]
    calls = [
        {"functionCall": {"id": call["id"], "name": call["name"], "args": call["arguments"]}} for call in turn["calls"]
    ]
    key = "error" if turn["failed"] else "output"
    results = [
        {"functionResponse": {"id": call["id"], "name": call["name"], "response": {key: call["result"]}}}
        for call in turn["calls"]
    ]
    contents = [{"role": "user", "parts": said}, {"role": "model", "parts": [{"text": turn["answer"]}, *calls]}]
    return [*contents, *([{"role": "user", "parts": results}] if results else [])]


def in_bedrock(turn: Message) -> list[Message]:
    image = {"image": {"format": "png", "source": {"bytes": PNG}}}
    said = [{"text": text} for text in turn["said"]] + [image] * turn["image"]
    calls = [
        {"toolUse": {"toolUseId": call["id"], "name": call["name"], "input": call["arguments"]}}
        for call in turn["calls"]
    ]
    failed = {"status": "error"} if turn["failed"] else {}
    results = [
        {"toolResult": {"toolUseId": call["id"], "content": [{"text": call["result"]}], **failed}}
        for call in turn["calls"]
    ]
    messages = [
        {"role": "user", "content": said},
        {"role": "assistant", "content": [{"text": turn["answer"]}, *calls]},
    ]
    return [*messages, *([{"role": "user", "content": results}] if results else [])]


WRITERS = {
    "anthropic": in_anthropic,
    "openai_chat": in_openai_chat,
    "openai_responses": in_openai_responses,
    "gemini": in_gemini,
    "bedrock": in_bedrock,
}


def plain(value: Any) -> Any:
    """A value with bytes as base64."""
    import base64

    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def meaning(messages: list[Message]) -> list[Any]:
    """What canonical messages say: by message its role, texts, images, calls and the call that it answers."""
    said: list[Any] = []
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        texts = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        images = [block["source"]["data"] for block in blocks if block["type"] == "image"]
        calls = [(key, call_name_of(call), call_arguments_of(call)) for key, call in given_calls(message).items()]
        said.append([message["role"], texts, images, calls, message.get("tool_call_id")])
    return _joined(said)


def _joined(said: list[Any]) -> list[Any]:
    """The same with messages of one role as one: some forms keep them apart, others do not."""
    joined: list[Any] = []
    for role, texts, images, calls, answers in said:
        if joined and joined[-1][0] == role and role != "tool":
            both = "\n".join(filter(None, [joined[-1][1], texts]))
            joined[-1] = [role, both, joined[-1][2] + images, joined[-1][3] + calls, answers]
        else:
            joined.append([role, texts, images, calls, answers])
    return joined


@proof
@pytest.mark.parametrize("form", NAMES)
@settings(deadline=None, max_examples=60)
@given(conversations())
def test_a_conversation_is_written_as_it_was_read(form: str, turns: list[Message]) -> None:
    """Key for key."""
    messages = [message for turn in turns for message in WRITERS[form](turn)]
    assert plain(FORMS[form].write(FORMS[form].read(messages), exact=True)) == messages


@proof(quick=1)
@pytest.mark.parametrize("form", NAMES)
@settings(deadline=None, max_examples=some(60))
@given(conversations())
def test_every_form_says_the_same_of_a_conversation(form: str, turns: list[Message]) -> None:
    """Texts, images, calls, arguments and results, in order: read from one form, written in another, and read again."""
    read = FORMS[form].read([message for turn in turns for message in WRITERS[form](turn)])
    wanted = meaning(read)
    assert wanted == meaning(FORMS["anthropic"].read([m for turn in turns for m in in_anthropic(turn)]))
    for other in NAMES:
        written = plain(FORMS[other].write(read))
        assert meaning(FORMS[other].read(written)) == wanted, other
