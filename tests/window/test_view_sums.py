"""What a view adds up to: the same as from its beginning, for what is new alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.media_blocks import Medium
from amplifier_module_context_persistent.view.arrangement import Item
from amplifier_module_context_persistent.view.entry import Entry
from amplifier_module_context_persistent.window import request
from amplifier_module_context_persistent.window.request import RunningSums, ViewSums
from tests.support.messages import user

ITEMS = [
    *(Item(entry=Entry(number, f"m{number}", "user", 10, size_bytes=100 + number)) for number in range(3)),
    Item(entry=Entry(-1, "", "user", 10, size_bytes=50)),
    Item(entry=Entry(4, "m4", "assistant", 10, size_bytes=60)),
    Item(entry=Entry(5, "m5", "user", 10, size_bytes=70, media=(Medium("image", "image/png", 9, (1, 1)),))),
    Item(inserted=user("left out")),
]


@given(st.lists(st.lists(st.sampled_from(ITEMS), max_size=6), max_size=6))
def test_sums_do_not_depend_on_the_views_before(views: list[list[Item]]) -> None:
    """Whatever views follow each other, longer, shorter or other ones."""
    running = RunningSums()
    for items in views:
        assert running.of(items) == RunningSums().of(items)


def test_each_thing_is_summed_up() -> None:
    """Bytes and messages in no log are counted; of media it is said whether there are any."""
    assert RunningSums().of([]) == ViewSums()
    assert RunningSums().of(ITEMS[:3]) == ViewSums(size_bytes=303)
    assert RunningSums().of(ITEMS[:4]) == ViewSums(353, 1)
    assert RunningSums().of(ITEMS[4:5]) == ViewSums(60)
    assert RunningSums().of(ITEMS[5:6]) == ViewSums(70, has_media=True)
    both = RunningSums().of(ITEMS)
    assert (both.extras, both.has_media) == (1, True)


def test_a_view_that_goes_on_costs_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was summed up before is not gone through again."""
    seen: list[int] = []
    real = request.view_bytes

    def counting(items: list[Item]) -> int:
        seen.append(len(items))
        return real(items)

    monkeypatch.setattr(request, "view_bytes", counting)
    running = RunningSums()
    for count in (4, 5, 5, 7):
        running.of(ITEMS[:count])
    assert seen == [4, 1, 2]
