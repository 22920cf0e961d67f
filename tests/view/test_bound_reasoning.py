"""What a request is sent as one hash, and the reasoning that stands as it was made."""

import json
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.view.arrangement import Arrangement, Presentation, arrange
from amplifier_module_context_persistent.view.bound_reasoning import BoundViews, sent_hash, tools_hash
from amplifier_module_context_persistent.view.entry import classify
from amplifier_module_context_persistent.view.recipients import Recipient
from amplifier_module_context_persistent.view.render import render
from tests.support.counters import count
from tests.support.messages import Message, user
from tests.support.reasoning_rules import bound_of

SYSTEM = {"role": "system", "content": "Be brief."}
NOBODY = Recipient()
THOUGHTS = (
    {"type": "thinking", "thinking": "one", "signature": "s1"},
    {"type": "thinking", "thinking": "two", "signature": "s2"},
    {"type": "text", "text": " \n"},
)
"""Two pieces of reasoning, and blank text."""


def thought(number: int, bound: str = "", **more: Any) -> Message:
    """An answer with reasoning."""
    content = [
        {"type": "thinking", "thinking": f"thought {number} " * 20, "signature": f"s{number}"},
        {"type": "text", "text": f"said {number}"},
    ]
    return {"role": "assistant", "content": content, "metadata": {"bound": bound} if bound else {}, **more}


def bind(views: BoundViews, messages: list[Message], reader: Recipient = NOBODY, **more: Any) -> list[Message]:
    """The view of a history; all that it is made of comes from the same log."""
    entries = [classify(at, message, count, asked=("", "")) for at, message in enumerate(messages)]

    def fetch(some: Any) -> list[Message]:
        return [json.loads(json.dumps(messages[entry.ordinal])) for entry in some]

    arranged = arrange(entries, count, Presentation(reader=reader))

    def rendered(start: int) -> list[Message]:
        return render(Arrangement(arranged.items[start:]), fetch)

    bound = views.bind(arranged, rendered, log_state=None, reader=reader, **{"tools": "", "head": (), **more})
    assert bound.tokens == sum(item.tokens for item in bound.items)
    view = render(bound, fetch)
    assert views.bound == bound_of([*more.get("head", ()), *view], more.get("tools", ""))
    again = BoundViews().bind(arranged, rendered, log_state=None, reader=reader, **{"tools": "", "head": (), **more})
    assert again == bound
    return view


def thinks(view: list[Message]) -> list[int]:
    """The positions of messages with reasoning."""
    return [at for at, message in enumerate(view) if "thinking" in json.dumps(message["content"])]


def talk(views: BoundViews, turns: int, **more: Any) -> list[Message]:
    """A conversation, each answer bound to the view that it was asked with."""
    messages: list[Message] = []
    for number in range(turns):
        messages.append(user(f"question {number}"))
        bind(views, messages, **more)
        messages.append(thought(number, views.bound))
    return messages


def test_the_hash_is_what_the_documentation_says() -> None:
    """A chain of BLAKE2b: tools, system text, messages, each by its hash (`docs/format.md`)."""
    tools = tools_hash('[{"name":"look","parameters":{}}]')
    assert tools == blake2b(b'[{"name":"look","parameters":{}}]', digest_size=8).hexdigest()
    running = blake2b(bytes(16) + tools.encode(), digest_size=16).digest()
    brief = b'{"content":"Be brief.","role":"system"}'
    for sent in (brief, b'{"content":"a","role":"user"}', brief):
        running = blake2b(running + blake2b(sent, digest_size=16).digest(), digest_size=16).digest()
    assert bound_of([{**user("a"), "metadata": {"source": "x"}}, SYSTEM], tools) == running.hex()


def test_what_is_not_sent_is_not_hashed() -> None:
    """Metadata but for what is bound, and marks of what to cache; ids of responses are no content."""
    plain = sent_hash(user("a"))
    assert sent_hash({**user("a"), "metadata": {"message_id": "m1", "openai:response_id": "r"}}) == plain
    assert sent_hash({**user("a"), "metadata": {"openai:reasoning_items": ["r"]}}) != plain
    marked = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    bare = {"type": "text", "text": "a"}
    assert sent_hash({"role": "user", "content": [marked]}) == sent_hash({"role": "user", "content": [bare]})


def test_the_order_of_tools_counts_and_that_of_keys_does_not() -> None:
    """As they are sent."""
    one, other = '[{"a":1,"b":2},{"c":3}]', '[{"c":3},{"a":1,"b":2}]'
    assert tools_hash(one) == tools_hash('[{"b":2,"a":1},{"c":3}]') != tools_hash(other)
    assert tools_hash("") == ""


def test_a_conversation_that_only_grows_keeps_all_reasoning() -> None:
    """Each answer stands as it was made."""
    views = BoundViews()
    messages = [*talk(views, 4), user("and?")]
    assert thinks(bind(views, messages)) == [1, 3, 5, 7]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (lambda m: [*m[:2], user("other"), *m[3:]], [1]),
        (lambda m: [user("before"), *m], []),
        (lambda m: m[:3] + m[4:], [1]),
        (lambda m: [*m, SYSTEM], []),  # providers put it first
        (lambda m: [*m[:4], {**m[4], "metadata": {"source": "x"}}, *m[5:]], [1, 3, 5, 7]),
        (lambda m: [*m[:3], {**m[3], "metadata": {}}, *m[4:]], [1]),  # nobody knows what it was asked with
        (lambda m: [*m[:3], thought(9, "0" * 32), *m[4:]], [1]),
    ],
)
def test_a_change_ends_the_reasoning_after_it(change: Any, kept: list[int]) -> None:
    """And nothing before it; what comes after it is left out although only reasoning differs."""
    views = BoundViews()
    messages = [*talk(views, 4), user("and?")]
    assert thinks(bind(views, change(messages))) == kept
    assert thinks(bind(views, messages)) == [1, 3, 5, 7]  # as it stood, it is valid again


def test_system_text_that_moves_is_a_change() -> None:
    """There are providers that leave it in its place."""
    first, second = user("a"), user("b")
    places = ([SYSTEM, first, second], [first, SYSTEM, second], [first, second, SYSTEM])
    assert len({bound_of(messages) for messages in places}) == 3


def test_tools_and_head_text_are_part_of_it() -> None:
    """Other ones leave all reasoning out; what is thought then stays."""
    views = BoundViews()
    messages = [*talk(views, 2, tools="t", head=[SYSTEM]), user("and?")]
    assert thinks(bind(views, messages, tools="t", head=[SYSTEM])) == [1, 3]
    assert thinks(bind(views, messages, tools="u", head=[SYSTEM])) == []
    messages += [thought(2, views.bound), user("so?")]
    assert thinks(bind(views, messages, tools="u", head=[SYSTEM])) == [5]
    assert thinks(bind(views, messages, tools="t", head=[SYSTEM])) == [1, 3]


def test_parts_of_one_response_share_their_request() -> None:
    """A later one says how many stand before it; the answer of another process to the same request does not."""
    views = BoundViews()
    messages = [user("begin")]
    bind(views, messages)
    begun = views.bound
    parts = [thought(at, f"{begun}+{at}" if at else begun) for at in range(3)]
    assert thinks(bind(views, [*messages, *parts, user("and?")])) == [1, 2, 3]
    assert thinks(bind(views, [*messages, parts[0], thought(3, begun), user("and?")])) == [1]
    assert thinks(bind(views, [*messages, *parts[::2], user("and?")])) == [1]
    assert thinks(bind(views, [*messages, thought(4, f"{begun}+9"), thought(5, f"{begun}+x"), user("and?")])) == []


def test_reasoning_within_an_answer_that_is_altered_is_left_out() -> None:
    """Blank text is shown nowhere, so what was thought after it does not stand as it was made."""
    views = BoundViews()
    messages = [user("begin")]
    bind(views, messages)
    first, second, blank = THOUGHTS
    for content, kept in (([first, second], [1]), ([first, blank, second], []), ([first, blank], [1])):
        answer = {"role": "assistant", "content": [*content, {"type": "text", "text": "so"}]}
        answer["metadata"] = {"bound": bound_of(messages)}
        assert thinks(bind(BoundViews(), [*messages, answer, user("and?")])) == kept


def test_a_model_that_checks_no_prefix_keeps_the_running_tool_loop() -> None:
    """Whatever changed before it, and only there."""
    older, newer = Recipient("anthropic", "claude-opus-4-5"), Recipient("anthropic", "claude-opus-5-5")
    messages = [user("a"), thought(0), user("b"), thought(1)]
    assert thinks(bind(BoundViews(), messages, older)) == [3]
    assert thinks(bind(BoundViews(), messages, newer)) == []
    assert thinks(bind(BoundViews(), [*messages, user("c")], older)) == []


def test_a_view_before_another_does_not_change_it() -> None:
    """The running tool loop moves on; what was exempt is looked at again."""
    views, reader = BoundViews(), Recipient("anthropic", "claude-opus-4-5")
    messages = [user("a"), thought(0)]
    assert thinks(bind(views, messages, reader)) == [1]
    assert thinks(bind(views, [*messages, user("b")], reader)) == []


def test_empty_thinking_with_a_signature_passes_as_it_is() -> None:
    """Some models give their thinking without its text."""
    views = BoundViews()
    messages = [user("a")]
    bind(views, messages)
    block = {"type": "thinking", "thinking": "", "signature": "s"}
    answer = {"role": "assistant", "content": [block, {"type": "text", "text": "b"}]}
    messages.append({**answer, "metadata": {"bound": views.bound}})
    assert bind(views, messages)[1]["content"][0] == block


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", "anthropic", "ollama"]), st.integers(0, 1)), max_size=8)
)
def test_a_view_does_not_depend_on_the_views_before(requests: list[tuple[int, str, int]]) -> None:
    """Whatever was asked for by the same window, for whom and with which tools; `bind` compares with a new one."""
    views = BoundViews()
    messages = [*talk(BoundViews(), 4), user("and?")]
    for length, name, tools in requests:
        bind(views, messages[:length], Recipient(name), tools=str(tools))
