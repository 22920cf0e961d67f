"""What views are parsed from and how they are added up: known once, and never taken for what is no longer so."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.provider_limits import view_bytes
from amplifier_module_context_persistent.errors import FloorError, LogUnreadableError
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record_line import decode, encode_message, message_alone
from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.view.arrangement import Arrangement, Item, unmovable_tokens
from amplifier_module_context_persistent.view.render import render
from amplifier_module_context_persistent.window import shown_messages
from amplifier_module_context_persistent.window.shown_messages import ReadLines, ShownLines, ShownMessages
from amplifier_module_context_persistent.window.view_totals import ViewTotals
from tests.support.histories import messages as histories
from tests.support.messages import Message, spoil
from tests.support.sweeps import proof, some
from tests.support.windows import STAMP, TEXT, Desk

ODD: list[Message] = [
    {"role": "user", "content": "plain " * 40},
    {"role": "assistant", "content": "large", "metadata": {"number": 2**70}},
    {"role": "assistant", "content": "no number", "metadata": {"number": float("nan")}},
    {"role": "user", "content": "half of a pair: \ud800"},
    {"role": "user", "content": "none", "metadata": {"none": None}},
    {"role": "user", "content": "the log's own keys", "metadata": {"_crc": "1", "_json": 1, "_reset": ["a", 1]}},
]


class Shown:
    """A log of messages, and the views of one window on it."""

    def __init__(self, messages: Sequence[Message] = ODD) -> None:
        self.desk = Desk(MemoryLog())
        self.desk.add(*messages)
        self.lines = ShownLines()
        self.views, self.rendered = ShownMessages(self.lines), list[int]()

    def items(self, *ordinals: int, cut: Cut | None = None) -> list[Item]:
        return [Item(entry, cut, as_stored=cut is None) for entry in self.desk.entries(ordinals)]

    def view(self, items: Sequence[Item]) -> list[Message]:
        return self.views.view(self.desk.log, items, self._write)

    def look_at(self, items: Sequence[Item]) -> Sequence[Message]:
        return self.views.look_at(self.desk.log, items, self._write)

    def _write(self, some: Sequence[Item], read: ReadLines) -> list[Message]:
        self.rendered = [item.entry.ordinal for item in some if item.entry is not None]
        return render(Arrangement(list(some)), lambda entries: read([entry.ordinal for entry in entries]))

    def afresh(self, items: Sequence[Item]) -> list[Message]:
        log = self.desk.log
        return render(Arrangement(list(items)), lambda entries: log.read([entry.ordinal for entry in entries]))


@pytest.mark.parametrize("cut", [None, Cut(3, 3)], ids=["as stored", "cut"])
def test_a_view_is_rendered_once_and_parsed_anew_for_each_request(cut: Cut | None) -> None:
    """Whatever callers do to what they got. What JSON as it is written here would alter is rendered each time."""
    shown = Shown()
    items = shown.items(*range(len(ODD)), cut=cut)
    wanted = repr(shown.afresh(items))
    for message in (first := shown.view(items)):
        assert repr(first) == wanted
        spoil(message)
        break
    assert shown.rendered == list(range(len(ODD)))
    assert repr(shown.view(items)) == wanted
    assert shown.rendered == [1, 2, 3]
    assert repr(shown.view([*items, *shown.items(0)])) == repr(shown.afresh([*items, *shown.items(0)]))
    assert shown.rendered == [1, 2, 3, 0]


@pytest.mark.parametrize("cut", [None, Cut(3, 3)], ids=["as stored", "cut"])
def test_what_was_looked_at_is_not_rendered_again(cut: Cut | None) -> None:
    """The view has the messages of these items, each once; those of others are rendered in their places."""
    shown = Shown()
    items = shown.items(*range(len(ODD)), cut=cut)
    looked_at = shown.look_at(items[1:3]), shown.look_at(items[4:])
    assert repr([*looked_at[0], *looked_at[1]]) == repr(shown.afresh([*items[1:3], *items[4:]]))
    twice = [*items, items[4]]
    wanted = repr(shown.afresh(twice))
    view = shown.view(twice)
    assert repr(view) == wanted
    assert shown.rendered == [0, 3, 4]
    for message in view:
        spoil(message)
    assert repr(shown.view(twice)) == wanted


def test_what_was_looked_at_is_of_one_log_and_one_view() -> None:
    """A log that was read anew has other messages, and the next view gets messages of its own."""
    shown, other = Shown([{"role": "user", "content": "one"}]), Shown([{"role": "user", "content": "two"}])
    items = shown.items(0)
    shown.look_at(items)
    log, shown.desk.log = shown.desk.log, other.desk.log
    assert shown.view(items)[0]["content"] == "two"
    shown.desk.log = log
    shown.look_at(items)
    first = shown.view(items)
    assert shown.rendered == []
    assert first[0] is not shown.view(items)[0]


def test_an_item_that_is_only_equal_is_rendered_again() -> None:
    """Whether an entry is protected is no part of its equality; who knows what else will not be."""
    shown = Shown()
    items = shown.items(0, 4, cut=Cut(3, 3))
    shown.view(items)
    again = shown.items(0, 4, cut=Cut(3, 3))
    assert again == items
    shown.view(again)
    assert shown.rendered == [0, 4]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_follows_an_item_that_changed_is_rendered_again(at: int) -> None:
    """A plan cuts a message, or leaves one out."""
    shown = Shown([{"role": "user", "content": f"{number} {TEXT}"} for number in range(3)])
    items = shown.items(0, 1, 2)
    shown.view(items)
    changed = [*items[:at], *shown.items(at, cut=Cut(5, 5)), *items[at + 1 :]]
    assert shown.view(changed) == shown.afresh(changed)
    assert shown.rendered == [0, 1, 2][at:]
    fewer = [*changed[:at], *changed[at + 1 :]]
    assert shown.view(fewer) == shown.afresh(fewer)
    assert shown.view(items) == shown.afresh(items)


def test_the_same_items_of_another_log_are_read_from_it() -> None:
    """An index that was made anew, as after a purge, has other messages at the same ordinals."""
    shown, other = Shown([{"role": "user", "content": "one"}]), Shown([{"role": "user", "content": "two"}])
    items = shown.items(0)
    assert shown.view(items)[0]["content"] == "one"
    shown.desk.log = other.desk.log
    assert shown.view(items)[0]["content"] == "two"


def test_a_view_that_failed_leaves_nothing_half_known() -> None:
    """The next one is whole, whichever message could not be read."""
    shown = Shown([{"role": "user", "content": f"{number} {TEXT}"} for number in range(4)])
    items = shown.items(0, 1, 2, 3)
    shown.view(items[:2])

    def fail(some: Sequence[Item], read: ReadLines) -> list[Message]:
        next(iter(read([2])))
        raise LogUnreadableError(5, "gone", "")

    for begun in (items, [*shown.items(0), *items[1:]]):
        with pytest.raises(LogUnreadableError):
            shown.views.view(shown.desk.log, begun, fail)
        assert shown.view(items) == shown.afresh(items)


def test_no_more_is_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond is rendered for each view, and is right."""
    shown = Shown([{"role": "user", "content": f"{number} {TEXT}"} for number in range(4)])
    monkeypatch.setattr(shown_messages, "MOST_BYTES", 2 * shown.desk.log.index.columns.lengths[0])
    items = shown.items(0, 1, 2, 3)
    for _ in range(3):
        assert shown.view(items) == shown.afresh(items)
    assert shown.rendered == [2, 3]


KEYS = st.sampled_from(["role", "content", "metadata", "_crc", "_json", "_reset", "message_id", "x"])
VALUES = st.recursive(
    st.sampled_from(["text", 'quoted "message_id":"m1"', "", "m1", 1, 1.5, None, True]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=5), st.sampled_from(["m1", "", 'm"1', "é"]), st.booleans())
def test_a_message_alone_is_what_its_line_is_read_as(value: dict[str, Any], own_id: str, ours: bool) -> None:
    """Of a line that anybody may have written, and of one as this package writes it."""
    if ours:
        plain = {key: item for key, item in value.items() if not key.startswith("_")} | {"role": "user"}
        plain["metadata"] = {"x": value.get("metadata")}
        body = encode_message(plain, message_id=own_id or "m1", timestamp=STAMP)
    else:
        body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()[:-1]
    line = seal(body, 7)[0][:-1]
    if (alone := message_alone(line, own_id or "m1")) is not None:
        message = decode(line)
        assert json.loads(alone) == message
        assert message["metadata"]["message_id"] == (own_id or "m1") if ours else True


@pytest.mark.parametrize("key", ["_json", "_crc"])
def test_a_line_with_more_keys_of_the_log_is_no_message_alone(key: str) -> None:
    """They are no part of its message, wherever they are in the line."""
    body = json.dumps({"role": "user", key: 1, "metadata": {"message_id": "m1"}}, separators=(",", ":")).encode()[:-1]
    line = seal(body, 7)[0][:-1]
    assert key not in decode(line)
    assert message_alone(line, "m1") is None


def test_most_lines_are_known_as_messages_alone() -> None:
    """Else nothing would be gained."""
    body = encode_message(ODD[0], message_id="m1", timestamp=STAMP)
    assert message_alone(seal(body, 7)[0][:-1], "m1") is not None


@pytest.fixture(scope="module")
def pieces() -> list[Item]:
    desk = Desk(MemoryLog())
    desk.talk(3)
    desk.talk(1, pinned=True)
    cuts: list[Cut | None] = [None, Cut(3, 3)]
    entries = desk.entries(range(8))
    inserted = [Item(inserted={"role": "user", "content": "gap"}, tokens=7) for _ in range(2)]
    return [Item(entry, cut, tokens=entry.tokens) for cut in cuts for entry in entries] + inserted


@given(st.lists(st.lists(st.integers(0, 17), max_size=8), max_size=5))
def test_totals_are_those_of_the_view(pieces: list[Item], views: list[list[int]]) -> None:
    """Whatever the view before was."""
    totals = ViewTotals()
    for view in views:
        items = [pieces[number] for number in view]
        with_media = [item for item in items if item.entry is not None and item.entry.form.media]
        assert totals.of(items) == (view_bytes(items), sum(map(unmovable_tokens, items)), len(with_media))


def written(desk: Desk, ask: Callable[[], Any]) -> Iterator[Any]:
    try:
        built = ask()
    except FloorError:
        return
    if built.planning.compaction is not None:
        desk.store()
    yield built


@proof
@settings(max_examples=some(40))
@given(histories(), st.sampled_from([600, 2_000, 100_000]), st.sampled_from([("anthropic", "openai"), ("gemini",)]))
def test_a_window_that_has_made_many_views_makes_those_of_a_new_one(
    history: list[Message], budget: int, readers: Sequence[str]
) -> None:
    """Nothing that it keeps shows, whatever was appended, planned, and asked by whom."""
    desk = Desk(MemoryLog())
    for number, message in enumerate(history):
        desk.add(message)
        reader = readers[number % len(readers)]
        for built in written(desk, lambda reader=reader: desk.build(budget, provider=reader)):
            anew = desk.build(budget, desk.new_window(), provider=reader)
            if anew.planning.compaction is None:
                assert repr(built.view) == repr(anew.view)
