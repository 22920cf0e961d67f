"""A foreign body comes back equal, whatever was read of it, and nothing long of it is stored twice."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.forms.whole_body import bodies_in, with_body

LONG = "x" * 200
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just(LONG),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["$", "is", "json", "a"]), inner),
    max_leaves=12,
)


def parts(*contents: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content, "metadata": {"message_id": "m"}} for content in contents]


def stored(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a log gives them back."""
    return json.loads(json.dumps(messages))


@given(st.lists(VALUES, min_size=1, max_size=3), st.dictionaries(st.text(max_size=3), VALUES))
def test_any_body_comes_back(contents: list[Any], body: dict[str, Any]) -> None:
    """With the types of its numbers and the order of its keys; also one that is made of what was read."""
    for one in (body, {**body, "$": contents, "text": [json.dumps(content) for content in contents]}):
        messages = stored(with_body(parts(*contents), one, "kit"))
        ((group, found),) = bodies_in(messages, "kit")
        assert len(group) == len(contents)
        assert json.dumps(found) == json.dumps(one)


def test_what_the_messages_say_is_not_said_twice() -> None:
    """Texts, values, and values as JSON texts with and without spaces."""
    value = {"path": LONG, "lines": list(range(50))}
    content = [{"type": "text", "text": LONG}, {"type": "tool_call", "input": value}]
    body = {"t": LONG, "v": value, "compact": json.dumps(value, separators=(",", ":")), "spaced": json.dumps(value)}
    (message,) = with_body(parts(content), body, "kit")
    assert len(json.dumps(message["metadata"])) < 300


def test_a_body_without_all_its_messages_is_left_out() -> None:
    """After a purge; messages of others between them are no part of it."""
    messages = [*with_body(parts(LONG, "b" * 99), {"a": LONG, "b": "b" * 99}, "kit"), *parts("other")]
    assert [body is None for _, body in bodies_in(messages, "kit")] == [False, True]
    assert [body for _, body in bodies_in([messages[0], messages[2]], "kit")] == [None, None]
    assert [body for _, body in bodies_in(messages[1:], "kit")] == [None, None]
    twice = [messages[0], messages[1], messages[0], messages[1]]
    assert [body for _, body in bodies_in(twice, "kit")] == [{"a": LONG, "b": "b" * 99}] * 2
