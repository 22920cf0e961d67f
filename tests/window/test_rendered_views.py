"""Rendered views: what comes of a view that goes on is what rendering all of it anew gives, from the log as it is."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log import verified_blocks
from amplifier_module_context_persistent.log.base import Log
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.record import encode_message
from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.view.arrangement import Arrangement, arrange
from amplifier_module_context_persistent.view.plan import Gap
from amplifier_module_context_persistent.view.render import render
from amplifier_module_context_persistent.window import rendered_views
from amplifier_module_context_persistent.window.ephemeral import Extras
from amplifier_module_context_persistent.window.message_source import MessageSource
from amplifier_module_context_persistent.window.rendered_views import RenderedViews
from amplifier_module_context_persistent.window.request import ViewRequest
from tests.support.counted_reads import CountedReads
from tests.support.logs import append_bodies
from tests.support.messages import CALLS, result, user
from tests.support.windows import STAMP, Desk

HEAD = [{"role": "system", "content": "You help."}]
TEXT = "One line of many.\n" * 40
KINDS: list[dict[str, Any]] = [
    user(TEXT),
    {"role": "assistant", "content": [{"type": "text", "text": TEXT}], "metadata": {"none": None, "few": [1.5, -0.0]}},
    {"role": "assistant", "content": "large", "metadata": {"number": 2**70}},
    {"role": "assistant", "content": "no number", "metadata": {"number": float("nan"), "most": float("inf")}},
    {"role": "user", "content": "half of a pair: \ud800"},
]


class Views:
    """The views of a log: each as it is rendered after those before it, which must be what rendering it anew gives."""

    def __init__(self, log: Log) -> None:
        self.log, self.extras = log, Extras()
        self.source = MessageSource(Config.load({}), EstimateCounter(), self.extras)
        self.rendered = RenderedViews(self.source, "line")
        self.read: list[int] = []
        """How many messages were read for each view."""

    def add(self, message: dict[str, Any]) -> None:
        number = len(self.log.index)
        append_bodies(self.log, encode_message(message, message_id=f"m{number}", timestamp=STAMP))

    def arranged(self, shown: Sequence[int] | None = None, **how: Any) -> Arrangement:
        self.log.follow()
        ordinals = range(len(self.log.index)) if shown is None else shown
        entries = self.source.describe(self.log, [at for at in ordinals if at < len(self.log.index)])
        return arrange(self.extras.merge(self.log.index, entries, set()), self.source.count, **how)

    def look(self, shown: Sequence[int] | None = None, **how: Any) -> list[Any]:
        """Render a view, which is its caller's own; what its messages say."""
        arranged = self.arranged(shown, **how)
        anew = [*HEAD, *render(arranged, lambda wanted: self.source.fetch(self.log, wanted))]
        with counted_reads(self.source) as read:
            view = self.rendered.render(self.log, arranged, HEAD)
        self.read.append(sum(read))
        assert len(view) == len(anew)
        for start in (0, view.start, len(arranged.items)):
            assert repr(list(view.after_head(start))) == repr(anew[len(HEAD) + start :])
        messages = view.messages()
        assert repr(messages) == repr(anew)
        contents = [message["content"] for message in messages]
        spoil(messages)
        return contents[len(HEAD) :]


@contextmanager
def counted_reads(source: MessageSource) -> Iterator[list[int]]:
    """How many messages each call of a source's `fetch` reads."""
    read, fetch = list[int](), source.fetch

    def counting(log: Log, entries: Sequence[Any]) -> Iterator[dict[str, Any]]:
        read.append(len(entries))
        return fetch(log, entries)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "fetch", counting)
        yield read


def spoil(value: Any) -> None:
    """Change whatever can be changed in what was handed out."""
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value["spoiled"] = True
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("spoiled")


@pytest.fixture
def views(tmp_path: Path) -> Iterator[Views]:
    log = FileLog(tmp_path / "log.jsonl", durability="write")
    yield Views(log)
    log.close()


STEP = st.sampled_from(["look", "look", "add", "ephemeral", "forget", "cut", "gap", "drop", "large", "all"])


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(STEP, st.integers(0, 9)), max_size=25), limit=st.sampled_from(["", "MOST", "CHUNK"]))
def test_any_views_one_after_the_other_are_what_rendering_each_of_them_anew_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], limit: str
) -> None:
    """Whatever is appended, cut, dropped and marked between them, and whatever callers do to what they got."""
    log = FileLog(tmp_path_factory.mktemp("views") / "log.jsonl", durability="write")
    views, how, shown = Views(log), dict[str, Any](), None
    views.add(user("Begin."))
    with pytest.MonkeyPatch.context() as patch:
        if limit:
            patch.setattr(rendered_views, f"{limit}_BYTES", 1_500)
        for step, number in steps:
            if step == "add":
                for message in ([CALLS, result("c1", TEXT)], [result("c2", TEXT)], *([one] for one in KINDS))[
                    number % 7
                ]:
                    views.add(message)
            elif step == "ephemeral":
                note = {"role": "user", "content": [f"note {number}"], "metadata": {"ephemeral": True}}
                views.extras.add_ephemeral(log.index, note, views.source.count)
            elif step == "forget":
                views.extras.clear()
            elif step == "cut":
                how = {"cuts": {f"m{number}": Cut(100, 100)}}
            elif step == "gap":
                how = {"gaps": [Gap(before=f"m{number}", text="[3 messages left out]")]}
            elif step == "drop":
                shown = [at for at in range(99) if at != number]
            elif step == "large":
                patch.setattr(rendered_views, "LATE_BYTES", 300 * number)
            elif step == "all":
                how, shown = {}, None
            views.look(shown, **how)
    log.close()


def test_only_what_is_new_is_read(views: Views) -> None:
    """A message is read for the view that it is new in, and once more for the next one; then no more."""
    for _ in range(12):
        views.add(user(TEXT))
        views.look()
    assert views.read == [1, 2, *[2] * 10]
    views.look()
    views.look()
    assert views.read[-2:] == [1, 0]


def test_after_another_plan_as_well(views: Views) -> None:
    """What two views in turn show alike is not read for the third, however it came to be shown."""
    for _ in range(30):
        views.add(user(TEXT))
    how = {"cuts": {"m4": Cut(100, 100)}}
    for _ in range(3):
        views.look()
    for shown in (range(3, 30), [0, 1, *range(9, 30)], [7, 8, 20, 21]):
        for _ in range(3):
            views.look(list(shown), **how)
        assert views.read[-1] == 0


def test_what_json_would_alter_is_rendered_each_time(views: Views) -> None:
    """That alone, and whatever comes after it is not."""
    for message in (*KINDS, user("last")):
        views.add(message)
    for _ in range(3):
        views.look()
    assert views.read[-1] == 3


def test_a_late_result_replaces_its_stand_in(views: Views) -> None:
    """The views before it showed an interrupted call."""
    for message in (user("Read."), CALLS, result("c1", "one"), user("Go on.")):
        views.add(message)
    for _ in range(3):
        views.look()
    views.add(result("c2", "two"))
    for _ in range(3):
        assert views.look()[2:] == ["one", "two", "Go on."]


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("ordinal", [0, 5, 9])
def test_what_changed_in_place_is_an_error_and_never_handed_out(
    views: Views, monkeypatch: pytest.MonkeyPatch, ordinal: int, *, keeps: bool
) -> None:
    """As often as it is asked for, and where no bytes are kept; with the old bytes back, the view is there again."""
    if not keeps:
        monkeypatch.setattr(verified_blocks, "KEPT_BYTES", 100)
    for _ in range(10):
        views.add(user(TEXT))
    for _ in range(3):
        views.look()
    arranged, index = views.arranged(), views.log.index
    at = index.offsets[ordinal] + index.lengths[ordinal] // 2
    with open(views.log.describe().location, "r+b") as file:
        byte = os.pread(file.fileno(), 1, at)
        os.pwrite(file.fileno(), bytes([byte[0] ^ 1]), at)
        for _ in range(3):
            with pytest.raises(LogUnreadableError, match="was changed since it was read"):
                views.rendered.render(views.log, arranged, HEAD)
        os.pwrite(file.fileno(), byte, at)
    for _ in range(3):
        views.look()
    assert views.read[-1] == (0 if keeps else 10)


def test_what_views_no_longer_show_is_not_looked_at(tmp_path: Path) -> None:
    """However many plans came after each other, a view reads the bytes of its own messages from the file."""
    files = CountedReads()
    views, costs = Views(FileLog(tmp_path / "log.jsonl", files=files, durability="write")), set()
    for _ in range(60):
        views.add(user(TEXT))
    for first in (0, 30, 0, 30, 0, 30):
        for _ in range(3):
            views.look(range(first, first + 30))
        arranged, before = views.arranged(range(first, first + 30)), files.bytes_read
        views.rendered.render(views.log, arranged, HEAD)
        costs.add((files.bytes_read - before) // 1_000)
    assert len(costs) == 1
    views.log.close()


def test_a_log_that_compares_no_bytes_is_read_each_time() -> None:
    """Such as one in memory."""
    views = Views(MemoryLog())
    for _ in range(3):
        views.add(user(TEXT))
        views.look()
    assert views.read == [1, 2, 3]


def test_a_log_that_was_read_anew_is_another_one(views: Views, tmp_path: Path) -> None:
    """What was rendered of the records of the other one is not handed out."""
    views.add(user("one"))
    for _ in range(3):
        views.look()
    other = Views(FileLog(tmp_path / "other.jsonl", durability="write"))
    other.add(user("two"))
    other.log.close()
    os.replace(tmp_path / "other.jsonl", tmp_path / "log.jsonl")
    for _ in range(3):
        assert views.look() == ["two"]
    assert views.read[-1] == 0


def test_a_window_goes_on_from_plan_to_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a session with plans, most messages of most views are not read."""
    log = FileLog(tmp_path / "log.jsonl", durability="write")
    desk, request = Desk(log), ViewRequest(budget_tokens=6_000)
    read, shown, plans, real = list[int](), 0, 0, log.read

    def counting(ordinals: Sequence[int]) -> Iterator[dict[str, Any]]:
        read.append(len(ordinals))
        return real(ordinals)

    for _ in range(60):
        desk.talk(1)
        plans += desk.window.build(log, request, may_plan=True).compaction is not None
        with monkeypatch.context() as patch:
            patch.setattr(log, "read", counting)
            for _ in range(3):
                shown += len(desk.window.build(log, request, may_plan=True).view or [])
    assert plans > 2
    assert sum(read) < shown / 3
    log.close()
