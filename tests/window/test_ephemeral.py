"""Messages that are in no log: their places in a view, and their end."""

from typing import Any

import pytest

from amplifier_module_context_persistent.log.index import LIVE, Index
from amplifier_module_context_persistent.view.entry import Entry
from amplifier_module_context_persistent.window.ephemerals import Extras
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


def merged(extras: Extras, records: int, *keys: int, without: frozenset[int] = frozenset()) -> list[Any]:
    """The merged messages: keys of the stored ones, contents of the others."""
    entries = extras.merge(index(records), stored(*keys), without)
    return [entry.ordinal if entry.ordinal >= 0 else extras.message(entry.ordinal)["content"] for entry in entries]


@pytest.fixture
def extras() -> Extras:
    """Notes `a` after the first record, `b` and `c` after the third."""
    found = Extras()
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
def test_an_ephemeral_message_stands_where_it_was_added(extras: Extras, keys: tuple[int, ...], expected: Any) -> None:
    """Behind what was there, before what came later, whatever was left out since."""
    assert merged(extras, 5, *keys) == expected


def test_what_a_plan_left_out_stays_away(extras: Extras) -> None:
    """Its key says which."""
    first = min(extras.ordinals(), key=abs)
    assert merged(extras, 3, 0, 1, 2, without=frozenset({first})) == [0, 1, 2, "b", "c"]


def test_all_of_them_can_be_forgotten(extras: Extras) -> None:
    """As a reset does."""
    extras.clear()
    assert merged(extras, 3, 0) == [0]


def test_unsaved_messages_stand_in_front_until_they_are_saved() -> None:
    """An ephemeral message stays after them, also when they are records."""
    extras = Extras()
    files = [{"role": "system", "content": "A"}, {"role": "system", "content": "B"}]
    extras.set_unsaved(files, count)
    extras.add_ephemeral(index(0), note("a"), count)
    assert merged(extras, 0) == ["A", "B", "a"]
    assert extras.unsaved_copies(index(0)) == files
    assert merged(extras, 3, 0, 1, 2) == [0, 1, "a", 2]
    assert extras.unsaved_copies(index(3)) == []


def test_messages_are_handed_out_as_copies(extras: Extras) -> None:
    """What a caller does to one stays with the caller."""
    key = min(extras.ordinals())
    extras.message(key)["metadata"]["spoilt"] = True
    assert extras.message(key) == note("c")
    files = [{"role": "system", "content": "A", "metadata": {}}]
    extras.set_unsaved(files, count)
    extras.unsaved_copies(index(0))[0]["metadata"]["spoilt"] = True
    assert extras.unsaved_copies(index(0)) == [{"role": "system", "content": "A", "metadata": {}}]
