"""Words that Bedrock wraps: answers with citations, and what a guardrail checks."""

from __future__ import annotations

from amplifier_module_context_persistent import InMemoryContextManager, to_anthropic, to_bedrock, to_openai
from tests.support.messages import Message

ASKED: Message = {
    "role": "user",
    "content": [
        {"guardContent": {"text": {"text": "What is the rate?", "qualifiers": ["query"]}}},
        {"cachePoint": {"type": "default"}},
    ],
}
CITED: Message = {
    "citationsContent": {
        "content": [{"text": "It is 4 %."}],
        "citations": [{"title": "t", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 9}}}],
    }
}
ANSWER: Message = {"output": {"message": {"role": "assistant", "content": [CITED]}}, "stopReason": "end_turn"}
NEXT: Message = {"role": "user", "content": [{"text": "Thanks."}]}


async def test_words_are_text_to_every_reader() -> None:
    """The history has them as text, and other providers get them without a line about the wrapping."""
    memory = InMemoryContextManager()
    for message in (ASKED, ANSWER, NEXT):
        await memory.add_message(message)
    history = await memory.get_messages()
    assert [message["content"][0]["text"] for message in history] == ["What is the rate?", "It is 4 %.", "Thanks."]
    view = await memory.get_messages_for_request()
    assert [message["content"] for message in to_openai(view)["messages"]] == [
        "What is the rate?",
        "It is 4 %.",
        "Thanks.",
    ]
    said = [[block["text"] for block in m["content"]] for m in to_anthropic(view)["messages"]]
    assert said == [["What is the rate?"], ["It is 4 %."], ["Thanks."]]


async def test_bedrock_gets_the_wrapping_again() -> None:
    """Key for key."""
    memory = InMemoryContextManager()
    for message in (ASKED, ANSWER, NEXT):
        await memory.add_message(message)
    body = to_bedrock(await memory.get_messages_for_request())
    assert body["messages"] == [ASKED, {"role": "assistant", "content": [CITED]}, NEXT]
    assert await memory.messages_as("bedrock") == body["messages"]


async def test_several_pieces_are_one_text() -> None:
    """Bedrock gets the pieces again, and a picture for a guardrail as it came."""
    pieces = {"citationsContent": {"content": [{"text": "a"}, {"text": "b"}], "citations": []}}
    picture = {"guardContent": {"image": {"format": "png", "source": {"bytes": b"x"}}}}
    memory = InMemoryContextManager()
    await memory.add_message({"role": "user", "content": [picture, {"text": "see"}]}, form="bedrock")
    await memory.add_message({"role": "assistant", "content": [pieces]}, form="bedrock")
    written = await memory.messages_as("bedrock")
    assert written[0]["content"][0].keys() == {"guardContent"}
    assert written[1]["content"] == [pieces]
    assert (await memory.get_messages())[1]["content"][0]["text"] == "ab"
