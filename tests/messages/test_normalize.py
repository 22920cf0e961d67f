"""One message in the form that every provider accepts, case by case."""

import copy

import pytest

from amplifier_module_context_persistent.messages.message import blocks_of
from amplifier_module_context_persistent.messages.normalize import NO_OUTPUT, normalise
from tests.support.message_shapes import IMAGE, Message, block, call, result, says, text, user

THOUGHT: Message = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


ACCEPTED: list[Message] = [
    user("hello"),
    user(" leading blank"),
    user([text("hello")]),
    user([IMAGE]),
    user("hello", name="ann", metadata={"a": 1}),
    user("hello", metadata=None, name=None),
    user([{**text("hello"), "visibility": None, "cache_control": {"type": "ephemeral"}}]),
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": [text("Be brief.")]},
    says("done"),
    says([THOUGHT, text("done")]),
    says([THOUGHT], tool_calls=[call()]),
    says("", tool_calls=[call()]),
    says([THOUGHT, block()], tool_calls=[call()]),
    says([block()]),
    says([block(provider_key=[1])]),
    says("", tool_calls=[{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]),
    says([{"type": "redacted_thinking", "data": "Em"}, text("x")]),
    says([{"type": "reasoning", "content": [], "summary": []}, text("x")]),
    result("README.md"),
    result([{"type": "tool_result", "tool_call_id": "c1", "output": {"a": 1}}]),
]


@pytest.mark.parametrize("message", ACCEPTED)
def test_an_accepted_message_is_handed_on_as_it_is(message: Message) -> None:
    """What needs no change is the very object that was given."""
    assert normalise(message) is message


BLANK: list[Message] = [
    {},
    {"role": "narrator", "content": "x"},
    user(""),
    user(None),
    user(" \n\u3000"),
    user([]),
    user([text("")]),
    user([text(None), {"type": "text"}, "  "]),
    {"role": "system", "content": " "},
    says(None),
    says([]),
    says([THOUGHT]),
    says([{"type": "redacted_thinking", "data": "Em"}, text(" ")]),
    says("", tool_calls=[]),
    says("", tool_calls=[{"tool": "bash"}, "junk", {"id": ""}]),
]


@pytest.mark.parametrize("message", BLANK)
def test_a_message_that_says_nothing_is_left_out(message: Message) -> None:
    """Nothing that a provider accepts is left of it."""
    assert normalise(message) is None


CHANGED: list[tuple[Message, Message]] = [
    # blank blocks go, the others stay
    (user([text(""), text("a"), text("\n")]), user([text("a")])),
    (user(["a", " "]), user([text("a")])),
    (user({"type": "text", "text": "a"}), user([text("a")])),
    (user([{**text("a"), "visibility": "secret"}]), user([text("a")])),
    (user([{**text("a"), "visibility": ["user"]}]), user([text("a")])),
    (user([{"type": ["text"], "text": "a"}]), user([text("a")])),
    (says([{"type": {}}, text("a")]), says([text("[block: 11 characters]"), text("a")])),
    (user([text(7)]), user([text("7")])),
    (user([7]), user([text("7")])),
    # what a request cannot carry is told as text
    (user({"a": [1, "é"]}), user('{"a":[1,"é"]}')),
    (user(12), user("12")),
    (
        user([{"type": "audio", "data": "QQ"}]),
        user([{**text("[audio: 1 bytes]"), "original": {"type": "audio", "data": "QQ"}}]),
    ),
    (user([block()]), user([text("[tool call: bash, 69 characters]")])),
    (
        user([{"type": "image_url", "image_url": {"url": "https://a/b.png"}}]),
        user([{"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}]),
    ),
    # thinking that no provider could read goes
    (says([{"type": "thinking", "thinking": None}, text("a")]), says([text("a")])),
    (says([{"type": "redacted_thinking"}, {"type": "reasoning"}, text("a")]), says([text("a")])),
    # beside calls nothing may stand in the place of content, elsewhere not
    (says(None, tool_calls=[call()]), says("", tool_calls=[call()])),
    (says(" ", tool_calls=[call()]), says("", tool_calls=[call()])),
    (says([text(" ")], tool_calls=[call()]), says("", tool_calls=[call()])),
    (result(""), result(NO_OUTPUT)),
    (result(None), result(NO_OUTPUT)),
    (result([]), result(NO_OUTPUT)),
    (result([text(" ")]), result(NO_OUTPUT)),
    # keys of the wrong type
    (user("a", name=7), user("a", name="7")),
    (result("a", tool_call_id=7), result("a", tool_call_id="7")),
    (user("a", metadata=[1]), user("a", metadata=None)),
    # calls: what is none goes, an id is a string, each stands once
    (says("a", tool_calls=[]), says("a")),
    (says("a", tool_calls=None), says("a")),
    (says("a", tool_calls="junk"), says("a")),
    (user("a", tool_calls=[call()]), user("a")),
    (says("", tool_calls=[call(7), "junk", {"tool": "x"}]), says("", tool_calls=[call("7")])),
    (says("", tool_calls=[call(), call(arguments={})]), says("", tool_calls=[call()])),
    (says([block(), block(input={})]), says([block()])),
    (says([block(), block(input={})], tool_calls=[call()]), says([block()], tool_calls=[call()])),
    (says([{**block(), "type": "tool_use"}]), says([block()])),
    (
        says([{"type": "tool_call", "tool_call_id": "c1", "tool": "bash", "arguments": '{"command":"ls"}'}]),
        says([{**block(), "tool_call_id": "c1", "tool": "bash", "arguments": '{"command":"ls"}'}]),
    ),
    (says([{"type": "tool_call", "name": "no id"}, text("a")]), says([text("a")])),
]


@pytest.mark.parametrize(("given", "accepted"), CHANGED)
def test_what_is_not_accepted_is_brought_into_shape(given: Message, accepted: Message) -> None:
    """The result is as expected, is stable, and the message that was given is as before."""
    before = copy.deepcopy(given)
    found = normalise(given)
    assert found == accepted
    assert given == before
    assert normalise(found) is found


def test_calls_without_a_copy_get_one() -> None:
    """A call that `tool_calls` has alone is added after the blocks; one that `content` has alone, after the calls."""
    one = says([text("a"), block("c1")], tool_calls=[call("c1"), call("c2")])
    assert normalise(one) == says([text("a"), block("c1"), block("c2")], tool_calls=[call("c1"), call("c2")])
    other = says([text("a"), block("c1"), block("c2")], tool_calls=[call("c1")])
    assert normalise(other) == says([text("a"), block("c1"), block("c2")], tool_calls=[call("c1"), call("c2")])


def test_tool_calls_decide_what_their_copies_say() -> None:
    """Name and arguments of a copy that differ are those of `tool_calls`."""
    given = says([block(name="python", input={}, key=1)], tool_calls=[call()])
    assert normalise(given) == says([block(key=1)], tool_calls=[call()])


def test_copies_of_calls_share_no_object_with_them() -> None:
    """What a caller does to the arguments in one place does not reach the other."""
    for given in (
        says([text("a"), block("c1")], tool_calls=[call("c1"), call("c2")]),
        says([text("a"), block("c1"), block("c2")], tool_calls=[call("c1")]),
        says([block(input={})], tool_calls=[call()]),
    ):
        found = normalise(given)
        for one in found["tool_calls"]:
            one["arguments"]["command"] = "spoilt"
        assert all(b["input"] == {"command": "ls"} for b in blocks_of(found, frozenset({"tool_call"})))


def test_a_long_block_of_an_unknown_kind_is_named_only() -> None:
    """It may be base64."""
    found = normalise(user([{"type": "hologram", "data": "A" * 5_000}]))
    assert found == user([text("[hologram: 5,029 characters]")])
