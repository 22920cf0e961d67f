"""Messages that are in no log: their places in a view, and their end."""

from typing import Any

import pytest

from amplifier_module_context_persistent.log.index import LIVE, Index
from amplifier_module_context_persistent.view.entry import Entry
from amplifier_module_context_persistent.window.ephemerals import UnloggedMessages
from tests.support.logs import row
from tests.support.messages import Message


def index(records: int) -> Index:
    found = Index()
    for place in range(records):
        found.add(row(offset=place, flags=LIVE, id_hash=place))
    return found


def count(message: Message) -> int:
    return 1


def stored(*keys: int) -> list[Entry]:
    return [Entry(key, f"m{key}", "user", 1) for key in keys]


def note(text: str) -> Message:
    return {"role": "user", "content": text, "metadata": {"ephemeral": True}}


def merged(unlogged: UnloggedMessages, records: int, *keys: int, without: frozenset[int] = frozenset()) -> list[Any]:
    """The merged messages: keys of the stored ones, contents of the others."""
    entries = unlogged.merge(index(records), stored(*keys), without)
    return [entry.ordinal if entry.ordinal >= 0 else unlogged.message(entry.ordinal)["content"] for entry in entries]


@pytest.fixture
def unlogged() -> UnloggedMessages:
    """Notes `a` after the first record, `b` and `c` after the third."""
    found = UnloggedMessages()
    found.add_ephemeral(index(1), note("a"), count)
    found.add_ephemeral(index(3), note("b"), count)
    found.add_ephemeral(index(3), note("c"), count)
    return found


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ((0, 1, 2), [0, "a", 1, 2, "b", "c"]),
        ((0, 1, 2, 3, 4), [0, "a", 1, 2, "b", "c", 3, 4]),
        ((), ["a", "b", "c"]),
        ((4,), ["a", "b", "c", 4]),  # the records that they stood after were left out
        ((1, 4), ["a", 1, "b", "c", 4]),
        ((2, 0, 3), ["a", 2, 0, "b", "c", 3]),  # a reset changed the order before they were added
    ],
)
def test_an_ephemeral_message_stands_where_it_was_added(
    unlogged: UnloggedMessages, keys: tuple[int, ...], expected: Any
) -> None:
    """Behind what was there, before what came later, whatever was left out since."""
    assert merged(unlogged, 5, *keys) == expected


def test_what_a_plan_left_out_stays_away(unlogged: UnloggedMessages) -> None:
    """Its key says which."""
    first = min(unlogged.ordinals(), key=abs)
    assert merged(unlogged, 3, 0, 1, 2, without=frozenset({first})) == [0, 1, 2, "b", "c"]


def test_all_of_them_can_be_forgotten(unlogged: UnloggedMessages) -> None:
    """As a reset does."""
    unlogged.clear()
    assert merged(unlogged, 3, 0) == [0]


def test_unsaved_messages_stand_in_front_until_they_are_saved() -> None:
    """An ephemeral message stays after them, also when they are records."""
    unlogged = UnloggedMessages()
    files = [{"role": "system", "content": "A"}, {"role": "system", "content": "B"}]
    unlogged.set_unsaved(files, count)
    unlogged.add_ephemeral(index(0), note("a"), count)
    assert merged(unlogged, 0) == ["A", "B", "a"]
    assert unlogged.unsaved_copies(index(0)) == files
    assert merged(unlogged, 3, 0, 1, 2) == [0, 1, "a", 2]
    assert unlogged.unsaved_copies(index(3)) == []


def test_messages_are_handed_out_as_copies(unlogged: UnloggedMessages) -> None:
    """What a caller does to one stays with the caller."""
    key = min(unlogged.ordinals())
    unlogged.message(key)["metadata"]["spoilt"] = True
    assert unlogged.message(key) == note("c")
    files = [{"role": "system", "content": "A", "metadata": {}}]
    unlogged.set_unsaved(files, count)
    unlogged.unsaved_copies(index(0))[0]["metadata"]["spoilt"] = True
    assert unlogged.unsaved_copies(index(0)) == [{"role": "system", "content": "A", "metadata": {}}]
