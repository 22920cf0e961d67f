"""Writing a view's messages: stored ones as they are, and what a view changes of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.messages.metadata import is_human
from amplifier_module_context_persistent.view.arrangement import Presentation, arrange
from amplifier_module_context_persistent.view.entry import Entry, classify
from amplifier_module_context_persistent.view.inserted_messages import inserted_message
from amplifier_module_context_persistent.view.plan import NO_PLAN
from amplifier_module_context_persistent.view.render import render, shorten
from tests.support.messages import Message


def count(message: Message) -> int:
    return len(str(message))


def rendered(messages: list[Message], *, head: Sequence[Message] = (), **how: Any) -> list[Message]:
    entries = [classify(at, message, count) for at, message in enumerate(messages)]

    def fetch(wanted: Sequence[Entry]) -> Iterator[Message]:
        return (dict(messages[entry.ordinal]) for entry in wanted)

    return render(arrange(entries, count, Presentation(replace(NO_PLAN, **how))), fetch, head=head)


def called(call_id: str) -> list[Message]:
    call = {"id": call_id, "tool": "bash", "arguments": {}}
    result = {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": "done"}
    return [{"role": "assistant", "content": "", "tool_calls": [call]}, result]


def test_a_view_of_sound_messages_is_the_messages_under_the_head() -> None:
    """Equal, and no object of the caller's: what is done to a view stays there."""
    messages = [{"role": "user", "content": "a"}, *called("c1"), {"role": "assistant", "content": "b"}]
    head = [{"role": "system", "content": [{"type": "text", "text": "h"}]}]
    view = rendered(messages, head=head)
    assert view == head + messages
    view[0]["content"][0]["text"] = "changed"
    assert head[0]["content"][0]["text"] == "h"


def test_calls_that_share_an_id_are_told_apart() -> None:
    """The later call and its result get another id, the same one; their names stay."""
    view = rendered([{"role": "user", "content": "a"}, *called("c1"), *called("c1")])
    first, second = view[1]["tool_calls"][0]["id"], view[3]["tool_calls"][0]["id"]
    assert first != second
    assert [message["tool_call_id"] for message in view if message["role"] == "tool"] == [first, second]


def test_a_call_without_a_result_gets_a_stand_in() -> None:
    """Since providers refuse a call that nobody answered."""
    view = rendered([{"role": "user", "content": "a"}, called("c1")[0]])
    assert (view[2]["role"], view[2]["tool_call_id"]) == ("tool", "c1")
    assert "no result" in view[2]["content"]


def test_thinking_is_left_out_where_the_plan_says_so() -> None:
    """What was said with it stays."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    said = {"role": "assistant", "content": [thinking, {"type": "text", "text": "so"}], "metadata": {"message_id": "m"}}
    view = rendered([{"role": "user", "content": "a"}, said], silent={"m"})
    assert view[1]["content"] == [{"type": "text", "text": "so"}]
    assert rendered([{"role": "user", "content": "a"}, said])[1]["content"][0] == thinking


def test_a_message_is_shortened_with_a_reference() -> None:
    """By the id under which it can be recalled."""
    message = {"role": "tool", "tool_call_id": "c1", "content": "line\n" * 100, "metadata": {"message_id": "m7"}}
    short = shorten(classify(0, message, count), message, Cut(10, 10))
    assert len(short["content"]) < 200
    assert "m7" in short["content"]
    assert len(message["content"]) == 500


def test_an_offloaded_result_ends_at_lines_whatever_is_configured() -> None:
    """Its bytes depend on nothing but its record; a plan's own cut of it ends as configured."""
    marks = {"message_id": "m7", "offload": [33, 33]}
    message = {"role": "tool", "tool_call_id": "c1", "content": "a line of text\n" * 100, "metadata": marks}
    entry = classify(0, message, count)
    cuts = (None, entry.form.offload, Cut(18, 18))
    alike = [shorten(entry, message, cut, "char") == shorten(entry, message, cut, "line") for cut in cuts]
    assert alike == [True, True, False]


@pytest.mark.parametrize(
    ("call_id", "word", "cuts", "shown"),
    [
        ("c2", "word ", {}, {"wire_content": []}),
        ("c1", "word ", {}, {}),
        ("c2", "word ", {"m": Cut(10, 10)}, {}),
        ("c2", "\ud800", {}, {}),
    ],
    ids=["as given", "another call id", "cut", "half a surrogate pair"],
)
def test_an_answer_that_is_shown_otherwise_is_not_repeated_beside_it(
    call_id: str, word: str, cuts: Any, shown: Any
) -> None:
    """A provider's module would send what its metadata repeats in place of what the view shows."""
    call, result = called(call_id)
    said = {"content": word * 100, "metadata": {"message_id": "m", "anthropic": {"wire_content": []}}}
    view = rendered([{"role": "user", "content": "a"}, *called("c1"), call | said, result], cuts=cuts)
    assert view[3]["metadata"]["anthropic"] == shown


def test_late_system_text_is_a_reminder_of_the_users_role() -> None:
    """Where the configuration says so."""
    message = {"role": "system", "content": "Rule."}
    assert shorten(classify(0, message, count, late=True, reminds=True), message, None) == {
        "role": "user",
        "content": "<system-reminder>\nRule.\n</system-reminder>",
    }


def test_what_is_inserted_says_so() -> None:
    """No person wrote it, whatever its role, and each one is an object of its own."""
    message = inserted_message("user", "left out")
    assert (message["role"], message["content"]) == ("user", "left out")
    assert not is_human(message)
    assert message["metadata"] is not inserted_message("user", "left out")["metadata"]
