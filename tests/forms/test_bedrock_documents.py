"""Documents in requests of Bedrock's: names that the service takes, a text beside them, keys that it knows."""

from __future__ import annotations

import re

import pytest

from amplifier_module_context_persistent import to_bedrock
from tests.support.messages import Message

PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}


def document(title: str | None) -> Message:
    return {"type": "document", "source": PDF, **({} if title is None else {"title": title})}


def user(content: str | list[Message]) -> Message:
    return {"role": "user", "content": content}


def names(body: Message) -> list[str]:
    return [block["document"]["name"] for m in body["messages"] for block in m["content"] if "document" in block]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("report.pdf", "report"),
        ("John's  résumé #2.pdf", "John s r sum 2"),
        ("file:///tmp/a.b.csv", "file tmp a b csv"),
        ("分期报告.pdf", "document"),
        (None, "document"),
        ("kept (as) [it]_is-2", "kept (as) [it]_is-2"),
        ("x" * 300 + ".pdf", "x" * 200),
    ],
    ids=["ending", "signs", "address", "nothing left", "no name", "fine", "too long"],
)
def test_a_name_is_one_that_the_service_takes(title: str | None, name: str) -> None:
    """Whatever the file is called where it came from."""
    assert names(to_bedrock([user([{"type": "text", "text": "read"}, document(title)])])) == [name]


def test_each_name_occurs_once() -> None:
    """Also in later messages and in results, and the earlier ones keep theirs."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "read", "arguments": {}}]}
    history = [
        user([document("a.pdf"), document("A.pdf"), document(None)]),
        {"role": "assistant", "content": "ok"},
        user("and"),
        call,
    ]
    body = to_bedrock([*history, {"role": "tool", "tool_call_id": "c", "content": [document("a.pdf")]}])
    assert names(body) == ["a", "A-2", "document"]
    (result,) = body["messages"][-1]["content"]
    assert result["toolResult"]["content"][0]["document"]["name"] == "a-3"
    assert names(to_bedrock(history[:1])) == ["a", "A-2", "document"]


def test_a_document_alone_gets_a_text() -> None:
    """The service refuses a message that has a document and no text."""
    assert to_bedrock([user([document("a.pdf")])])["messages"][0]["content"][1:] == [{"text": "[document: a]"}]


def test_keys_of_other_providers_stay_out() -> None:
    """The client refuses a key that it does not know."""
    foreign = {**document("a"), "resource": {"uri": "f://a"}, "context": "c", "citations": {"enabled": True}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}, "part": "x"}
    blocks = to_bedrock([user([{"type": "text", "text": "read"}, foreign, picture])])["messages"][0]["content"]
    assert blocks[1]["document"].keys() == {"format", "name", "source", "context", "citations"}
    assert blocks[2]["image"].keys() == {"format", "source"}


def test_audio_in_a_result_is_told_of() -> None:
    """Results have texts, JSON, images, documents and videos."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "hear", "arguments": {}}]}
    sound = {"type": "audio", "source": {"type": "base64", "media_type": "audio/wav", "data": "UklGRg=="}}
    body = to_bedrock([user("go"), call, {"role": "tool", "tool_call_id": "c", "content": [sound]}, user([sound])])
    result, said = body["messages"][2]["content"]
    assert re.fullmatch(r"\[audio.*\]", result["toolResult"]["content"][0]["text"])
    assert "audio" in said
