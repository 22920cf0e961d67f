"""Who shows a term."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.term_counts import TermCounts, shown_only_by

MESSAGES = st.lists(st.frozensets(st.sampled_from("abcdefgh")), min_size=1, max_size=8)


def assert_counted(counted: TermCounts, shown: list[frozenset[str]]) -> None:
    counts = Counter(name for names in shown for name in names)
    assert {name: count for name, count in counted.counts.items() if count} == counts
    assert counted.once == {name for name, count in counts.items() if count == 1}


@given(MESSAGES, st.data())
def test_terms_are_counted_as_messages_go_and_come(messages: list[frozenset[str]], data: st.DataObject) -> None:
    """After every step the counts are those of what stays."""
    counted, left = TermCounts(messages), list(messages)
    assert_counted(counted, left)
    gone = []
    while left:
        gone.append(left.pop(data.draw(st.integers(0, len(left) - 1))))
        counted.hide(gone[-1])
        assert_counted(counted, left)
    for names in gone:
        left.append(names)
        counted.show(names)
        assert_counted(counted, left)


@given(MESSAGES, st.data())
def test_what_only_some_groups_show_is_what_goes_with_them(shown: list[frozenset[str]], data: st.DataObject) -> None:
    """What any other kept group shows is not lost with them; groups that are left out show nothing."""
    numbers = st.integers(0, len(shown) - 1)
    some = sorted(data.draw(st.sets(numbers)))
    kept = [at in some or data.draw(st.booleans()) for at in range(len(shown))]
    twice = [tuple(names) * 2 for names in shown]
    others = frozenset().union(*[shown[at] for at in range(len(shown)) if kept[at] and at not in some])
    assert shown_only_by(some, twice, kept) == {at: shown[at] - others for at in some}
