"""Views arranged from entries and rendered from messages."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.view.arrangement import Arrangement, Presentation, arrange
from amplifier_module_context_persistent.view.entry import Entry, classify, with_changes
from amplifier_module_context_persistent.view.inserted_messages import CONTINUED
from amplifier_module_context_persistent.view.missing_results import INTERRUPTED
from amplifier_module_context_persistent.view.plan import NO_PLAN, Notice
from amplifier_module_context_persistent.view.render import render, shorten
from tests.support import histories
from tests.support.checker import assert_valid
from tests.support.counters import count
from tests.support.messages import Message, user
from tests.support.view_properties import examples, shared_parts


def says(text: Any = "Done.", *ids: str) -> Message:
    calls = {"tool_calls": [{"id": i, "tool": "bash", "arguments": {}} for i in ids]} if ids else {}
    return {"role": "assistant", "content": text, **calls}


def result(call_id: str, text: Any = "ok", **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text, **more}


def view_of(
    messages: Sequence[Message], cut_tokens: Mapping[str, int] = MappingProxyType({}), **planned: Any
) -> tuple[list[Message], Arrangement]:
    """Arrange and render messages that get the ids `m0`, `m1`, …."""
    known = [{**m, "metadata": {**(m.get("metadata") or {}), "message_id": f"m{i}"}} for i, m in enumerate(messages)]
    entries = [classify(key, message, count) for key, message in enumerate(known)]

    def fetch(wanted: Sequence[Entry]) -> Iterator[Message]:
        return (copy.deepcopy(known[entry.ordinal]) for entry in wanted)

    arrangement = arrange(entries, count, Presentation(replace(NO_PLAN, **planned), cut_tokens))
    return render(arrangement, fetch), arrangement


def told(view: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each message is, in short."""
    return [
        f"{m['tool_call_id']}={m['content']}" if m["role"] == "tool" else f"{m['role']}:{m['content']}" for m in view
    ]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], []),
        ([user("a"), says()], ["user:a", "assistant:Done."]),
        ([says()], [f"user:{CONTINUED}", "assistant:Done."]),
        ([{"role": "system", "content": "s"}, says()], ["system:s", f"user:{CONTINUED}", "assistant:Done."]),
        (
            [user("a"), says(), says("", "x"), result("x")],
            ["user:a", "assistant:Done.", f"user:{CONTINUED}", "assistant:", "x=ok"],
        ),
        (
            [user("a"), says("", "x"), result("x"), says("", "y"), result("y")],
            ["user:a", "assistant:", "x=ok", "assistant:", "y=ok"],
        ),
        ([user("a"), says("", "x", "y"), result("y")], ["user:a", "assistant:", f"x={INTERRUPTED}", "y=ok"]),
        ([user("a"), says("", "x"), user("b"), result("x")], ["user:a", "assistant:", "x=ok", "user:b"]),
        ([user("a"), result("x"), user(" "), says()], ["user:a", "assistant:Done."]),
        (
            [user("a"), says("", "x"), result("x"), says("", "x"), result("x", "no")],
            ["user:a", "assistant:", "x=ok", "assistant:", "x_2=no"],
        ),
    ],
)
def test_views_are_repaired(messages: list[Message], expected: list[str]) -> None:
    """Results stand after their calls, missing ones are made, and a user speaks where one must."""
    view, _ = view_of(messages)
    assert told(view) == expected
    assert_valid(view)


def test_what_is_inserted_says_where_it_comes_from() -> None:
    """Its metadata names compaction."""
    view, _ = view_of([says("", "x")])
    assert [m["metadata"] for m in view if "message_id" not in m["metadata"]] == [{"source": "context-compaction"}] * 2
    assert view[2]["name"] == "bash"


def test_renaming_reaches_every_copy_of_a_call() -> None:
    """Calls, their blocks, and result blocks; the arguments stay."""
    block = {"type": "tool_call", "id": "x", "name": "bash", "input": {"a": 1}}
    call = {"id": "x", "tool": "bash", "arguments": {"a": 1}}
    two = [{"role": "assistant", "content": [dict(block)], "tool_calls": [dict(call)]}, result("x")]
    two[1]["content"] = [{"type": "tool_result", "tool_call_id": "x", "output": "ok"}]
    view, _ = view_of([user("a"), *two, user("b"), *two])
    assert view[4]["tool_calls"] == [{**call, "id": "x_2"}]
    assert view[4]["content"] == [{**block, "id": "x_2"}]
    assert (view[5]["tool_call_id"], view[5]["name"]) == ("x_2", "bash")
    assert view[5]["content"][0]["tool_call_id"] == "x_2"
    assert_valid(view)


@examples(45)
@given(histories.messages().map(list))
def test_an_arrangement_counts_what_is_rendered(history: list[Message]) -> None:
    """Item by item, whatever is renamed, named, inserted or brought into shape; and no two messages share a part."""
    view, arrangement = view_of(history)
    assert len(view) == len(arrangement.items)
    for message, item in zip(view, arrangement.items, strict=True):
        assert item.tokens == count(message)
    assert arrangement.tokens == sum(item.tokens for item in arrangement.items)
    assert not shared_parts(view)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("m2", ["system:s", "user:a", "user:NOTE", "assistant:Done.", "user:b"]),
        ("m3", ["system:s", "user:a", "assistant:Done.", "user:NOTE", "user:b"]),
        ("gone", ["system:s", "user:NOTE", "user:a", "assistant:Done.", "user:b"]),
        ("", ["system:s", "user:NOTE", "user:a", "assistant:Done.", "user:b"]),
    ],
)
def test_where_a_notice_stands(before: str, expected: list[str]) -> None:
    """Before the message that it names, else before the first that is no system text."""
    messages = [{"role": "system", "content": "s"}, user("a"), says(), user("b")]
    view, _ = view_of(messages, notice=Notice("NOTE", before))
    assert told(view) == expected


def test_a_notice_is_the_users_word_that_was_missing() -> None:
    """No other one is inserted beside it."""
    view, _ = view_of([says()], notice=Notice("NOTE", "m0"))
    assert told(view) == ["user:NOTE", "assistant:Done."]


def test_cut_messages_are_shortened_and_counted_so() -> None:
    """By their ids; the others stay."""
    view, arrangement = view_of(
        [user("a" * 900), user("b" * 900)], cuts={"m1": Cut(5, 5)}, cut_tokens={"m1": 7, "m0": 3}
    )
    assert view[0]["content"] == "a" * 900
    assert view[1]["content"] == "bbbbb\n[… 890 of 900 characters elided; recall m1 …]\nbbbbb"
    assert arrangement.items[1].tokens == 7
    assert arrangement.items[0].tokens == count(user("a" * 900))


def test_a_head_is_copied() -> None:
    """What a caller does to the view does not reach the next one."""
    head = ({"role": "system", "content": [{"type": "text", "text": "s"}]},)
    view = render(arrange([], count), lambda _: iter(()), head=head)
    view[0]["content"][0]["text"] = "spoilt"
    assert head[0]["content"][0]["text"] == "s"


def test_an_arrangement_can_be_rendered_again() -> None:
    """What a caller does to an inserted message does not reach the next view."""
    arrangement = arrange([], count, Presentation(replace(NO_PLAN, notice=Notice("NOTE"))))
    assert arrangement.items == []
    entries = [classify(0, says("", "x"), count)]
    arrangement = arrange(entries, count)
    first = render(arrangement, lambda _: iter([says("", "x")]))
    before = copy.deepcopy(first)
    for message in first:
        message.get("metadata", {}).clear()
        message["content"] = "spoilt"
    assert render(arrangement, lambda _: iter([says("", "x")])) == before


def test_shorten_brings_into_shape_and_cuts() -> None:
    """In this order, without touching what it was given."""
    message = {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "a" * 900}]}
    message["metadata"] = {"message_id": "m0"}
    before = copy.deepcopy(message)
    shown = shorten(classify(0, message, count), message, Cut(1, 1))
    assert shown["content"] == [{"type": "text", "text": "a\n[… 898 of 900 characters elided; recall m0 …]\na"}]
    assert message == before


def test_thinking_is_left_out_of_silent_messages_in_all_its_copies() -> None:
    """What was thought goes with its copy, everything else stays as it was, and the tokens are those of what stays."""
    thinking = {"type": "thinking", "thinking": "hm " * 40, "signature": "s"}
    call = {"type": "tool_call", "id": "c", "name": "bash", "input": {}}
    said = {"type": "text", "text": "so", "key": 1}
    message = {
        **says("", "c"),
        "content": [thinking, said, call],
        "thinking_block": dict(thinking),
        "content_blocks": [dict(thinking), dict(said)],
    }
    before = copy.deepcopy(message)
    whole, _ = view_of([user("go"), message, result("c")])
    view, arrangement = view_of([user("go"), message, result("c")], silent={"m1"})
    assert message == before
    assert whole[1]["content"] == [thinking, said, call]
    assert view[1]["content"] == [said, call]
    assert view[1]["content_blocks"] == [said]
    assert "thinking_block" not in view[1]
    assert {key: view[1][key] for key in ("role", "tool_calls", "metadata")} == {
        key: whole[1][key] for key in ("role", "tool_calls", "metadata")
    }
    assert [view[0], view[2]] == [whole[0], whole[2]]
    assert arrangement.tokens == sum(map(count, view))
    assert_valid(view, history=whole)


def test_a_message_of_thoughts_and_calls_keeps_its_calls() -> None:
    """Where nothing but thinking stands beside the calls, the content is empty."""
    message = {**says("", "c"), "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}
    view, _ = view_of([user("go"), message, result("c")], silent={"m1"})
    assert view[1]["content"] == ""
    assert_valid(view)


@examples(45)
@given(histories.messages().map(list), st.integers(0, 30), st.integers(0, 30))
def test_an_arrangement_that_goes_on_is_the_one_made_at_once(messages: list[Message], first: int, second: int) -> None:
    """Whatever was arranged before, in whatever steps, what comes out is what all entries give afresh."""
    known_as = [{**m, "metadata": {"message_id": f"m{i}"}} for i, m in enumerate(messages)]
    entries = [classify(key, message, count) for key, message in enumerate(known_as)]
    plan = replace(NO_PLAN, notice=Notice("NOTE", "m3"), cuts={"m1": Cut(1, 1)}, silent=frozenset({"m2"}))
    noted, other = Presentation(plan), Presentation(replace(NO_PLAN, notice=Notice("other")))
    for how in (Presentation(), noted):
        known: Arrangement | None = None
        for end in (min(first, second), max(first, second), len(entries)):
            known = arrange(entries[:end], count, how, after=known)
            assert known == arrange(entries[:end], count, how)
        fewer = entries[1:]
        assert arrange(fewer, count, how, after=known) == arrange(fewer, count, how)
        assert arrange(entries, count, other, after=known) == arrange(entries, count, other)


def test_only_what_came_since_is_arranged() -> None:
    """What stands in front of the new messages is taken over, once every call in it has its result."""
    messages = [user("go"), says("", "c"), result("c"), says("so"), user("on"), says("", "d"), result("d")]
    entries = [classify(key, message, count) for key, message in enumerate(messages)]
    whole = arrange(entries[:5], count)
    more = arrange(entries, count, after=whole)
    assert all(old is new for old, new in zip(whole.items, more.items, strict=False))
    waiting = arrange(entries[:6], count, after=whole)
    late = arrange(entries, count, after=waiting)
    assert late == arrange(entries, count)
    assert [item.inserted is None for item in late.items] == [True] * 7


@pytest.mark.parametrize("closed", [False, True])
def test_a_result_answers_a_later_call_of_the_same_id(closed: bool) -> None:
    """Then what was arranged stands; if the later call is closed, it is the result that was missing."""
    messages = [user("go"), says("", "c"), user("on"), says("", "c"), result("c"), user("so")]
    entries = [classify(key, {**message, "metadata": {}}, count) for key, message in enumerate(messages)]
    if closed:
        entries[3] = with_changes(entries[3], closed=frozenset({"c"}))
    before = arrange(entries[:3], count)
    more = arrange(entries, count, after=before)
    assert more == arrange(entries, count)
    assert (more.items[1] is before.items[1]) != closed
