"""Results that came after the model had answered without them."""

from itertools import pairwise
from typing import Any

import pytest

from amplifier_module_context_persistent.messages.late_output_text import LateCall, told_late
from amplifier_module_context_persistent.messages.message import text_of
from amplifier_module_context_persistent.messages.metadata import is_human
from tests.support.messages import Message
from tests.support.view_properties import goes_on
from tests.support.windows import Desk


def call(name: str, *ids: str) -> Message:
    calls = [{"id": call_id, "tool": name, "arguments": {}} for call_id in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(call_id: str, text: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def say(text: str) -> Message:
    return {"role": "assistant", "content": text}


def texts(view: list[Message]) -> list[str]:
    return [text_of(message) for message in view]


TOLD = "[late output of the tool Read, call c2; it came after the answer to that call]\n```\ntwo, late\n```"


def shown(desk: Desk, budget: int = 9_000) -> list[Message]:
    view = desk.ask(budget).view
    assert view is not None
    return view


def test_a_late_result_is_told_once_behind_all_that_was_sent(desk: Desk) -> None:
    """Not in the running turn, as it would begin a new one; from the next message of a person on, in every view."""
    desk.add(user("q"), call("Read", "c1", "c2"), result("c1", "one"))
    views = [shown(desk)]
    desk.add(say("I go on without it."), call("Bash", "c3"), result("c3", "three"), result("c2", "two, late"))
    views.append(shown(desk))
    assert TOLD not in texts(views[-1])
    desk.add(say("Done."), user("next"))
    views.append(shown(desk))
    assert texts(views[-1])[-3:] == ["Done.", TOLD, "next"]
    desk.add(say("Fine."), user("and more"))
    views.append(shown(desk))
    assert texts(views[-1]).count(TOLD) == 1
    assert all(goes_on(before, after) for before, after in pairwise(views))
    (told,) = [message for message in views[-1] if text_of(message) == TOLD]
    assert told["metadata"]["source"] == "late-result"
    assert not is_human(told)


def test_the_next_plan_puts_it_in_its_place(desk: Desk) -> None:
    """As the result of its call, and nowhere else."""
    desk.add(user("q"), call("Read", "c1", "c2"), result("c1", "one"))
    shown(desk)
    desk.add(say("I go on without it."), result("c2", "two, late"), user("next"))
    assert TOLD in texts(shown(desk))
    desk.talk(90)
    view = shown(desk)
    assert desk.window.plan is not None
    assert TOLD not in texts(view)
    assert all(text_of(m).startswith("two, late") for m in view if m.get("tool_call_id") == "c2")


def test_several_are_told_in_their_order(desk: Desk) -> None:
    """Before one message of a person."""
    desk.add(user("q"), call("Read", "c0", "c1", "c2"), result("c0", "none"), say("I go on."))
    desk.add(result("c2", "second"), result("c1", "first"), user("next"))
    told = [text.split("\n")[2] for text in texts(shown(desk)) if text.startswith("[late output")]
    assert told == ["second", "first"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a\n```\nb", "````\na\n```\nb\n````"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "```\none\n```\n```\ntwo\n```"),
    ],
)
def test_a_fence_is_longer_than_any_in_the_output(content: Any, said: str) -> None:
    """So that the output does not end it."""
    told = told_late(result("c2", content), LateCall("c2", "Read"))
    assert told["content"] == f"{LateCall('c2', 'Read').heading}\n{said}"


def test_an_image_stays_a_block() -> None:
    """Beside the line that says whose it is."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    told = told_late(result("c2", [image]), LateCall("c2", "Read"))
    assert [block["type"] for block in told["content"]] == ["text", "image"]
