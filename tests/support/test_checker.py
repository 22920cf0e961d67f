"""Every rule of the checker, shown on a valid view and a change of it that the rule must catch."""

import copy
from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.support.checker import assert_valid, calls_of, check_view, common_prefix, is_human, prefix_breaks, same
from tests.support.messages import Message

View = list[Message]
Change = Callable[[View], object]


def system(text: str = "You write code.", **more: Any) -> Message:
    return {"role": "system", "content": text, **more}


def user(text: Any = "Fix the build.", **more: Any) -> Message:
    return {"role": "user", "content": text, **more}


def says(content: Any = "Done.", **more: Any) -> Message:
    return {"role": "assistant", "content": content, **more}


def calls(*ids: str, content: Any = "", **more: Any) -> Message:
    return says(
        content, tool_calls=[{"id": i, "tool": "bash", "arguments": {"command": f"ls {i}"}} for i in ids], **more
    )


def function_calls(*ids: str) -> Message:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    return says("", tool_calls=[{"id": i, "type": "function", "function": dict(function)} for i in ids])


def block(call_id: str, **more: Any) -> Message:
    return {"type": "tool_call", "id": call_id, "name": "bash", "input": {"command": f"ls {call_id}"}, **more}


def result(call_id: str, text: Any = "README.md", **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": text, **more}


def text(words: str = "Let me look.") -> Message:
    return {"type": "text", "text": words}


def thought(words: str = "Where is it?", signature: str = "sig") -> Message:
    return {"type": "thinking", "thinking": words, "signature": signature}


def numbered(history: View) -> View:
    """Give every message the id the log would give it."""
    return [
        {**m, "metadata": {**(m.get("metadata") or {}), "message_id": f"m{i}", "timestamp": "2026-01-01T00:00:00.000Z"}}
        for i, m in enumerate(history)
    ]


VALID: dict[str, View] = {
    "empty": [],
    "only system": [system()],
    "system and developer": [system(), {"role": "developer", "content": "Be brief."}, user(), says()],
    "one call": [system(), user(), calls("a"), result("a"), says()],
    "function shape": [user(), function_calls("a", "b"), result("a"), result("b"), says()],
    "parallel calls": [user(), calls("a", "b"), result("a"), result("b"), calls("c"), result("c")],
    "call blocks only": [user(), says([text(), block("a")]), result("a")],
    "both forms": [user(), calls("a", "b", content=[text(), block("a"), block("b")]), result("a"), result("b")],
    "thinking": [user(), calls("a", content=[thought(), block("a")], thinking_block=thought()), result("a")],
    "thinking beside calls": [user(), calls("a", content=[thought()]), result("a")],
    "reminder before a call": [
        user(),
        system("Hook."),
        calls("a"),
        result("a"),
        system("Hook."),
        calls("b"),
        result("b"),
    ],
    "assistant twice": [user(), says(), says()],
    "image": [user([{"type": "image", "source": {"type": "base64", "data": "aGk="}}]), says()],
    "broken argument text": [
        user(),
        says("", tool_calls=[{"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"com'}}]),
        result("a"),
    ],
    "no calls": [user(), says(tool_calls=[]), user(), says(tool_calls=None)],
}


@pytest.mark.parametrize("name", VALID)
def test_valid_view(name: str) -> None:
    """A view that keeps the rules has no violation, also as its own history."""
    assert check_view(VALID[name]) == []
    history = numbered(VALID[name])
    assert check_view(history, history=history, late_system="system") == []
    assert check_view(VALID[name], history=VALID[name]) == []


def at(i: int, **changes: Any) -> Change:
    """Change keys of message i."""
    return lambda view: view[i].update(changes)


def drop(i: int) -> Change:
    return lambda view: view.pop(i)


def insert(i: int, message: Message) -> Change:
    return lambda view: view.insert(i, message)


def swap(i: int, k: int) -> Change:
    def change(view: View) -> None:
        view[i], view[k] = view[k], view[i]

    return change


def call_field(i: int, **changes: Any) -> Change:
    return lambda view: view[i]["tool_calls"][0].update(changes)


def block_field(i: int, k: int, **changes: Any) -> Change:
    return lambda view: view[i]["content"][k].update(changes)


def without(i: int, key: str) -> Change:
    return lambda view: view[i].pop(key)


BROKEN: list[tuple[str, str, Change]] = [
    ("builds", "one call", at(1, content=None)),
    ("builds", "one call", at(1, role="person")),
    ("builds", "one call", without(1, "content")),
    ("builds", "one call", at(1, metadata="x")),
    ("builds", "call blocks only", block_field(1, 1, type="tool_use")),
    ("builds", "one call", lambda view: view[1].update(cast("Message", {3: "x"}))),
    ("builds", "one call", lambda view: view.insert(1, "Fix it.")),  # type: ignore[arg-type]
    ("content", "one call", at(1, content="")),
    ("content", "one call", at(1, content=" \n\t")),
    ("content", "one call", at(4, content="")),
    ("content", "one call", at(3, content="")),
    ("content", "one call", at(0, content="\u3000")),
    ("content", "one call", at(2, content=" ")),
    ("content", "one call", at(1, content=[])),
    ("content", "one call", at(2, content=[])),
    ("content", "both forms", block_field(1, 0, text="")),
    ("content", "both forms", block_field(1, 0, text="\n\n")),
    ("content", "one call", at(1, content=[text(), text(" ")])),
    ("first-user", "one call", drop(1)),
    ("first-user", "one call", lambda view: view.__delitem__(slice(1, 4))),
    ("first-user", "system and developer", drop(2)),
    ("first-user", "assistant twice", drop(0)),
    ("calls", "one call", insert(2, says())),
    ("calls", "reminder before a call", lambda view: view.__setitem__(slice(1, 1), [says(), system()])),
    ("calls", "one call", insert(2, {"role": "function", "name": "f", "content": "1"})),
    ("calls", "one call", at(2, role="user", content="I call")),
    ("results", "one call", drop(3)),
    ("results", "one call", drop(2)),
    ("results", "one call", insert(3, user())),
    ("results", "one call", insert(3, system())),
    ("results", "one call", insert(4, result("a"))),
    ("results", "one call", insert(5, result("a"))),
    ("results", "one call", insert(4, result("z"))),
    ("results", "one call", at(3, tool_call_id="z")),
    ("results", "one call", without(3, "tool_call_id")),
    ("results", "one call", without(3, "name")),
    ("results", "one call", at(3, name="")),
    ("results", "one call", at(3, name=None)),
    ("results", "one call", insert(1, result("a"))),
    ("results", "one call", at(3, content=[{"type": "tool_result", "tool_call_id": "z", "output": "x"}])),
    ("results", "one call", at(4, content=[{"type": "tool_result", "tool_call_id": "a", "output": "x"}])),
    ("results", "function shape", drop(3)),
    ("results", "function shape", swap(2, 3)),
    ("results", "parallel calls", swap(2, 3)),
    ("results", "parallel calls", drop(2)),
    ("results", "call blocks only", drop(2)),
    ("results", "both forms", swap(2, 3)),
    ("ids", "parallel calls", lambda view: (call_field(4, id="a")(view), at(5, tool_call_id="a")(view))),
    ("ids", "parallel calls", call_field(1, id="b")),
    ("ids", "one call", lambda view: (call_field(2, id="")(view), at(3, tool_call_id="")(view))),
    ("ids", "one call", call_field(2, tool="")),
    ("ids", "one call", lambda view: [m.update(metadata={"message_id": "m"}) for m in view]),
    ("twins", "both forms", lambda view: view[1]["tool_calls"].pop()),
    ("twins", "both forms", lambda view: view[1]["content"].pop()),
    ("twins", "both forms", call_field(1, arguments={"command": "rm"})),
    ("twins", "both forms", call_field(1, tool="sh")),
    ("twins", "both forms", block_field(1, 2, input={})),
    ("twins", "both forms", block_field(1, 2, name="sh")),
    ("twins", "both forms", block_field(1, 2, id="z")),
    ("thinking", "thinking", block_field(1, 0, thinking="Cut.")),
    ("thinking", "thinking", block_field(1, 0, signature="other")),
    ("thinking", "thinking", at(1, thinking_block=thought("Cut."))),
    ("thinking", "thinking", at(1, thinking_block=thought(signature="other"))),
    ("thinking", "assistant twice", at(1, content=[thought()])),
    ("thinking", "assistant twice", at(1, content=[thought(), {"type": "redacted_thinking", "data": "x"}])),
    ("thinking", "assistant twice", at(1, content=[{"type": "reasoning", "content": [], "summary": []}])),
    ("reserved", "one call", at(2, _crc="00000000")),
    ("reserved", "one call", at(0, _record="system")),
    ("reserved", "one call", at(1, _json=1)),
]


@pytest.mark.parametrize(("rule", "name", "change"), BROKEN)
def test_broken_view(rule: str, name: str, change: Change) -> None:
    """A view that breaks a rule is reported under that rule."""
    view = copy.deepcopy(VALID[name])
    change(view)
    assert rule in {violation.split(":")[0] for violation in check_view(view)}


HISTORY = numbered(
    [
        system("Hook text.", metadata={"source": "hook"}),
        user("Fix the build."),
        calls("a", "b", content=[thought(), text(), block("a"), block("b")], thinking_block=thought()),
        result("a"),
        user("The linter says no.", metadata={"source": "hook", "persisted": True}),
        result("b"),
        says(),
        user([text("Now the tests."), text(" ")]),
        calls("call_0"),
        result("call_0", "1 failed"),
        calls("call_0"),
        result("call_0", "1 passed"),
        calls("c"),
    ]
)
RENAMED = {"id": "call_0-2", "tool": "bash", "arguments": {"command": "ls call_0"}}
STAND_IN = result("c", "[interrupted]", metadata={"source": "context-compaction"})


def good_view() -> View:
    """The view of HISTORY with all its repairs: a late result, a blank block, a name used twice, a missing result."""
    h = copy.deepcopy(HISTORY)
    h[7]["content"].pop()
    h[10]["tool_calls"] = [dict(RENAMED)]
    h[11]["tool_call_id"] = "call_0-2"
    notice = user("[Compacted.]", metadata={"source": "context-compaction"})
    return [
        system("The head."), *h[:2], notice, h[2], h[3], h[5], h[4], *h[6:], copy.deepcopy(STAND_IN)
    ]  # fmt: skip


def test_valid_against_history() -> None:
    """What repairs and compaction may do to a history is no violation."""
    assert check_view(good_view(), history=HISTORY, budget_tokens=20, count=lambda _: 1) == []


def test_elided_contents() -> None:
    """User, assistant and tool messages may be shortened, thinking with its copy and calls with theirs."""
    view = good_view()
    view[2]["content"] = "Fix […]"
    view[5]["content"] = "[elided m3]"
    view[8]["content"] = "D."
    del view[4]["thinking_block"], view[4]["content"][0]
    assert_valid(view, history=HISTORY)


def test_dropped_groups() -> None:
    """Whole groups and older human messages may be left out."""
    view = good_view()
    del view[10:14]
    del view[1:3]
    assert_valid(view, history=HISTORY)


def both(*changes: Change) -> Change:
    return lambda view: [change(view) for change in changes]


AGAINST_HISTORY: list[tuple[str, Change]] = [
    ("order", lambda view: view.insert(2, view.pop(9))),
    ("order", lambda view: view.insert(9, view.pop(2))),
    ("order", swap(1, 2)),
    ("order", swap(11, 13)),
    ("order", both(lambda view: view[11].update(tool_call_id="a"), lambda view: view.__setitem__(5, view.pop(11)))),
    ("ids", lambda view: view.append(copy.deepcopy(view[2]))),
    ("unchanged", at(1, content="Hook")),
    ("unchanged", at(1, metadata={"message_id": "m0"})),
    ("unchanged", at(8, role="user")),
    ("arguments", call_field(4, arguments={"command": "ls"})),
    ("arguments", both(call_field(4, tool="sh"), block_field(4, 2, name="sh"))),
    ("arguments", call_field(12, arguments={"command": "ls"})),
    ("arguments", call_field(12, tool="sh")),
    ("arguments", call_field(10, arguments="{}")),
    ("arguments", call_field(14, arguments={"command": "ls c", "x": None})),
    ("thinking", without(4, "thinking_block")),
    ("thinking", lambda view: view[4]["content"].pop(0)),
    ("twins", without(4, "tool_calls")),
    ("twins", lambda view: view[4]["content"].__delitem__(slice(2, 4))),
    ("last-human", drop(9)),
    ("last-human", at(9, content="Now the tests.")),
    ("last-human", block_field(9, 0, text="Now")),
    ("last-human", lambda view: view[9]["metadata"].pop("timestamp")),
    ("last-human", lambda view: view[9]["metadata"].update(message_id="m99", source="context-compaction")),
    ("inserted", insert(3, user("Hello?"))),
    ("inserted", insert(3, user("Hello?", metadata={"source": "hook"}))),
    ("inserted", insert(9, says("I did things."))),
    ("inserted", insert(9, system("Late.", metadata={"source": "context-compaction"}))),
    ("inserted", insert(0, {"role": "developer", "content": "Be brief."})),
    ("inserted", at(5, metadata={})),
    ("inserted", at(2, metadata={})),
]


@pytest.mark.parametrize(("rule", "change"), AGAINST_HISTORY)
def test_broken_against_history(rule: str, change: Change) -> None:
    """A view that does not keep to its history is reported under that rule."""
    view = good_view()
    change(view)
    assert rule in {violation.split(":")[0] for violation in check_view(view, history=HISTORY)}


def test_broken_argument_text() -> None:
    """Arguments whose text is no JSON must stay that text."""
    history = numbered(VALID["broken argument text"])
    view = copy.deepcopy(history)
    view[1]["tool_calls"][0]["function"]["arguments"] = "{}"
    assert [v.split(":")[0] for v in check_view(view, history=history)] == ["arguments"]


def test_history_without_ids() -> None:
    """A message that the log gave no id is recognised by equality, and only so."""
    history = [user(), user("Go on.")]
    assert check_view(history, history=history) == []
    assert {v.split(":")[0] for v in check_view([user(), user("Go.")], history=history)} == {"inserted", "last-human"}


def test_blank_human_message() -> None:
    """A human message with nothing to show is not expected; the one before it is."""
    history = numbered([user("Go on."), user(" "), user(None), user([text("")])])
    assert check_view(history[:1], history=history) == []
    assert [v.split(":")[0] for v in check_view([], history=history)] == ["last-human"]


def test_what_the_log_stamps_a_message_with_is_no_change_of_it() -> None:
    """A session may be played from messages without a time; the view has one."""
    given = {"role": "user", "content": "Go.", "metadata": {"message_id": "m1"}}
    stamped = {**given, "metadata": {"message_id": "m1", "timestamp": "2026-01-01T00:00:00.000Z"}}
    assert check_view([stamped], history=[given]) == []
    other = {**stamped, "metadata": {**stamped["metadata"], "source": "hook"}}
    assert [v.split(":")[0] for v in check_view([other], history=[given])] == ["last-human"]


@pytest.mark.parametrize(
    "message", [user(), user([text()]), user([text(), text("<system-reminder>")]), user(metadata={})]
)
def test_human(message: Message) -> None:
    """What a person wrote is human."""
    assert is_human(message)


@pytest.mark.parametrize(
    "message",
    [
        says(),
        system(),
        user(metadata={"source": "hook"}),
        user(metadata={"ephemeral": True}),
        user("<system-reminder>\nBe brief."),
        user([text("<system-reminder>"), text()]),
    ],
)
def test_not_human(message: Message) -> None:
    """What hooks, orchestrators and compaction put in the user's mouth is not human."""
    assert not is_human(message)


def test_persisted_ephemeral_message_is_human() -> None:
    """An ephemeral message that is persisted and names no source counts as human."""
    assert is_human(user(metadata={"ephemeral": True, "persisted": True}))


def test_budget() -> None:
    """A view over its budget is reported, one that meets it exactly is not."""
    view = VALID["one call"]
    assert check_view(view, budget_tokens=5, count=lambda _: 1) == []
    assert check_view(view, budget_tokens=4, count=lambda _: 1) == ["budget: messages 0 to 4 count 5 tokens of 4"]
    assert check_view(view, budget_tokens=4) == []


def test_assert_valid_names_every_violation() -> None:
    """The assertion's message holds every violation with its position."""
    with pytest.raises(AssertionError, match=r"(?s)content: message 0 .*content: message 1 "):
        assert_valid([user(""), says("")])


@pytest.mark.parametrize(
    "message",
    [
        says([block("a")]),
        says([block("a", type="tool_use")]),
        says(
            "",
            tool_calls=[
                {"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls a"}'}}
            ],
        ),
    ],
    ids=["block", "tool_use", "function"],
)
def test_calls_of_every_form(message: Message) -> None:
    """All the forms a call is written in are read alike; nonsense is a call without an id."""
    assert calls_of(message) == calls_of(calls("a"))
    assert calls_of(says("", tool_calls=["nonsense"]))[0].id == ""


def test_same_compares_json_values() -> None:
    """Types count, NaN equals NaN, order of keys and kind of sequence do not."""
    assert same({"a": float("nan"), "b": (1,)}, {"b": [1], "a": float("nan")})
    assert not same(1, True)
    assert not same(1, 1.0)
    assert not same("\ud83d\ude00", "😀")


VIEW = VALID["one call"]


@pytest.mark.parametrize(
    ("other", "common"),
    [(VIEW[:], 5), (VIEW[:3], 3), ([*VIEW[:2], says()], 2), ([], 0)],
    ids=["the same", "shorter", "another message", "empty"],
)
def test_common_prefix(other: View, common: int) -> None:
    """The common prefix ends at the first message that differs, or with the shorter view."""
    assert common_prefix(VIEW, copy.deepcopy(other)) == common_prefix(other, VIEW) == common


HEADED = [system("Another head."), *VIEW[1:]]


@pytest.mark.parametrize(
    ("views", "breaks"),
    [
        ([], 0),
        ([VIEW[:3], VIEW, HEADED, [*HEADED, user()]], 0),
        ([VIEW, VIEW[:4], VIEW, [*VIEW[:3], user()]], 2),
        ([VIEW, VIEW[1:], VIEW], 2),
    ],
    ids=["none", "appended", "cut and changed", "a lost head"],
)
def test_prefix_breaks(views: list[View], breaks: int) -> None:
    """Appending and a new head text break no prefix; a change, a cut and a lost head do."""
    assert prefix_breaks(views) == breaks
