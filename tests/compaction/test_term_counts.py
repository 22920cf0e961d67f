"""Who shows a term."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.term_counts import TermCounts

MESSAGES = st.lists(st.frozensets(st.sampled_from("abcdefgh")), min_size=1, max_size=8)


def assert_counted(counted: TermCounts, shown: list[frozenset[str]]) -> None:
    counts = Counter(name for names in shown for name in names)
    assert {name: count for name, count in counted.counts.items() if count} == counts
    assert counted.once == {name for name, count in counts.items() if count == 1}
    assert counted.twice == {name for name, count in counts.items() if count == 2}


@given(MESSAGES, st.data())
def test_terms_are_counted_as_messages_go_and_come(messages: list[frozenset[str]], data: st.DataObject) -> None:
    """After every step the counts are those of the messages that stay."""
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


@given(MESSAGES, st.integers(1, 5))
@example([frozenset("ab"), frozenset("ab"), frozenset("ac"), frozenset("b")], 3)
def test_what_only_some_messages_show_is_what_goes_with_them(messages: list[frozenset[str]], number: int) -> None:
    """However many of them show it."""
    some, others = messages[:number], messages[number:]
    expected = frozenset().union(*some) - frozenset().union(*others)
    assert TermCounts(messages).only_in([tuple(sorted(names)) for names in some]) == expected
