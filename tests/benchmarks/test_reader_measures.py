"""What a view owes its reader, on sessions small enough to be judged by eye."""

from collections.abc import Sequence

import pytest

from amplifier_module_context_persistent.toolbox.replay.evidence import said
from benchmarks.reader_measures import Looked, ViewReader
from tests.support.messages import Message, user

OLD, NEW, OTHER = (f"the {word} line of the file, long enough to be told" for word in ("old", "new", "other"))


def numbered(messages: Sequence[Message]) -> list[Message]:
    return [{**message, "metadata": {"message_id": f"m{number}"}} for number, message in enumerate(messages)]


def say(text: str) -> Message:
    return {"role": "assistant", "content": text}


def call(call_id: str, tool: str, **arguments: str) -> Message:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "tool": tool, "arguments": arguments}]}


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def put_in(text: str) -> Message:
    return {**user(text), "metadata": {"source": "context-compaction"}}


def look(session: Sequence[Message], *shown: int | Message) -> Looked:
    """Look at a view of some messages of a session, by position or as they are, and some that were inserted."""
    messages = numbered(session)
    view = [messages[one] if isinstance(one, int) else one for one in shown]
    originals = {message["metadata"]["message_id"]: message for message in messages}
    parts = [said(message, originals.get(message["metadata"].get("message_id"))) for message in view]
    return ViewReader(messages).look(len(messages), view, parts)


EDITING = [
    user("Change the line."),
    call("c1", "read", path="a.py"),
    result("c1", f"    1\t{OLD}\n    2\t{OTHER}"),
    call("c2", "edit", path="a.py", old_string=OLD, new_string=NEW),
    result("c2", "The file was edited."),
    user("And now?"),
]


@pytest.mark.parametrize(
    ("shown", "stale"),
    [
        ([0, 1, 2, 3, 4, 5], False),
        ([0, 1, 2, 5], True),
        ([0, 5], False),
        ([0, 3, 4, 5], False),
    ],
)
def test_a_replaced_line_is_stale_where_the_edit_is_left_out(shown: list[int], stale: bool) -> None:
    """The whole view is not, nor one without the old result."""
    assert look(EDITING, *shown).stale == stale


def test_an_old_line_is_not_stale_where_its_successor_is_shown_elsewhere() -> None:
    """The session's own text says how it is now; what was inserted does not count."""
    session = [*EDITING, call("c3", "read", path="a.py"), result("c3", NEW)]
    assert not look(session, 0, 1, 2, 5, 6, 7).stale
    assert look(session, 0, 1, 2, 5, put_in(NEW)).stale


def test_what_did_not_happen_or_was_undone_makes_nothing_stale() -> None:
    """An edit that failed, one of another file, and one after which another put the line back."""
    failed = [*EDITING[:4], result("c2", "Error: no such text"), EDITING[5]]
    assert not look(failed, 0, 1, 2, 5).stale
    elsewhere = [*EDITING[:3], call("c2", "edit", path="b.py", old_string=OLD, new_string=NEW), *EDITING[4:]]
    assert not look(elsewhere, 0, 1, 2, 5).stale
    back = [call("c3", "edit", path="a.py", old_string=NEW, new_string=OLD), result("c3", "The file was edited.")]
    assert not look([*EDITING, *back], 0, 1, 2, 5).stale


TALK = [
    user("First question"),
    call("c1", "bash", command="ls"),
    result("c1", "a.py"),
    say("First answer. " + "It has many words. " * 20),
    user("Second question"),
    say("Second answer"),
    user("Third question"),
    say("Third"),
]


def test_last_words_are_kept_if_their_beginning_is_shown() -> None:
    """Of finished turns alone; a message that begins otherwise has lost them."""
    assert (look(TALK, *range(8)).turns, look(TALK, *range(8)).answered) == (2, 2)
    assert look(TALK, 0, 4, 5, 6).answered == 1
    messages = numbered(TALK)
    for chars, answered in ((220, 1), (150, 0)):
        cut = {**messages[3], "content": messages[3]["content"][:chars] + "\n[… more]"}
        assert look(TALK, 0, cut, 4, 6).answered == answered


def test_people_stand_alone_where_all_that_was_said_between_is_left_out() -> None:
    """A view with an answer between them, or of one person's message, has a run of one."""
    assert look(TALK, *range(8)).alone == 1
    assert look(TALK, 0, 4, 5, 6).alone == 2
    assert look(TALK, 0, put_in("[3 messages left out]"), 4, 6).alone == 3
    assert look([user("One"), user("Two"), user("Three")], 0, 1, 2).alone == 1  # nobody spoke
    assert look(TALK, 7).alone == 1


@pytest.mark.parametrize(
    ("text", "unmarked"),
    [("[3 messages left out]", 0), ("[13 messages left out]", 1), ("[messages left out]", 1), ("3", 0)],
)
def test_a_gap_is_marked_by_how_many_messages_it_has(text: str, unmarked: int) -> None:
    """By a message that was inserted there, or at the end of the message before."""
    found = look(TALK, 0, put_in(text), 4, 5, 6)
    assert (found.gaps, found.unmarked) == (1, unmarked)
    cut = {**numbered(TALK)[0], "content": f"First question\n{text}"}
    assert look(TALK, cut, 4, 5, 6).unmarked == unmarked
    assert look(TALK, 0, 4, put_in(text), 5, 6).unmarked == 1  # it is not there


def test_another_order_is_no_gap() -> None:
    """Results that came in another order than their calls are shown in call order: nothing is missing."""
    both = [
        {"id": "c1", "tool": "bash", "arguments": {}},
        {"id": "c2", "tool": "bash", "arguments": {}},
    ]
    session = [
        user("go"),
        {"role": "assistant", "content": "", "tool_calls": both},
        result("c2", "b"),
        result("c1", "a"),
    ]
    assert look(session, 0, 1, 3, 2).gaps == 0
    assert look(session, 0, 2).gaps == 1


@pytest.mark.parametrize(
    ("views", "stale"),
    [
        ([(3, [0, 1, 2]), (7, [0, 1, 2, 6]), (8, [0, 1, 2, 6, 7])], [False, True, True]),
        ([(3, [0, 1, 2]), (6, [0, 1, 2, 4, 5]), (8, [0, 1, 2, 4, 5, 6, 7])], [False, False, False]),
        ([(6, [0, 1, 2, 4, 5]), (10, [0, 1, 2, 4, 5, 6])], [False, True]),
    ],
)
def test_what_was_not_stale_is_so_when_an_edit_is_left_out(
    views: list[tuple[int, list[int]]], stale: list[bool]
) -> None:
    """And it stays so, while the views go on; an edit that is shown changes nothing."""
    again = [call("c3", "edit", path="a.py", old_string=OTHER, new_string="x"), result("c3", "The file was edited.")]
    messages = numbered([*EDITING[:3], user("go on"), *EDITING[3:], user("one more"), *again])
    reader, found = ViewReader(messages), []
    for before, shown in views:
        view = [messages[at] for at in shown]
        found.append(reader.look(before, view, [said(message, message) for message in view]).stale)
    assert found == stale
