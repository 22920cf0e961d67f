"""Where a view leaves messages out: found as a count over the whole history would find it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.gaps import OpenGap, find_gaps
from amplifier_module_context_persistent.compaction.plan_request import PlanRequest
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.view.plan import Plan
from tests.support.drafts import history, request_of
from tests.support.messages import Message
from tests.support.view_properties import examples


def drafted(messages: Sequence[Message], dropped: Sequence[int], **request: object) -> tuple[Draft, PlanRequest]:
    """A draft that leaves out the groups at these positions."""
    asked = request_of(messages, 10_000, **request)
    made = asked.draft()
    for position in dropped:
        made.drop(position)
    return made, asked


def gaps(messages: Sequence[Message], dropped: Sequence[int], **request: object) -> list[tuple[int, int | None, int]]:
    """The gaps of such a draft: the groups around them, and how many messages."""
    made, asked = drafted(messages, dropped, **request)
    found = find_gaps(made.view, made.kept, asked)
    return [(gap.before, gap.after, gap.messages) for gap in found]


def test_a_gap_counts_messages_and_names_the_groups_around_it() -> None:
    """Calls count with their results; the first gap may have nothing before it, and none comes after the last group."""
    talk = history("u:9 t:9 t:9 u:9 t:9 u:9")
    assert gaps(talk, []) == []
    assert gaps(talk, [1, 2, 4]) == [(3, 0, 4), (5, 3, 2)]
    assert gaps(talk, [0, 1]) == [(2, None, 3)]
    assert gaps(talk, [4, 5]) == []


def test_what_the_gap_left_out_is_known_by_position() -> None:
    """A later plan describes it by them."""
    made, request = drafted(history("u:9 t:9 t:9 u:9"), [1, 2])
    assert find_gaps(made.view, made.kept, request) == [OpenGap(3, 0, 4, [1, 2], [])]


def test_results_that_came_late_are_no_gap() -> None:
    """A result stands with its call in a view, wherever it came in the session: nothing is missing there."""
    talk = history("u:9 t:9 t:9 u:9 a:9")
    late = [talk[0], talk[1], talk[3], talk[4], talk[5], talk[2], talk[6]]
    assert gaps(late, []) == []
    assert gaps(late, [2]) == [(3, 1, 2)]


def test_results_that_came_after_a_person_spoke_are_missing_where_they_came() -> None:
    """Where their call is left out, by a later plan too: a host may queue what a person says while tools run."""
    talk = history("u:9 t:9 u:9 a:9 u:9 a:9")
    late = [*talk[:2], talk[3], talk[2], *talk[4:]]
    assert gaps(late, [1]) == [(2, 0, 1), (3, 2, 1)]
    entries = request_of(late, 100).entries
    keep = tuple(entry.id for entry in entries)
    before = Plan(id="p0", upto=keep[-1], keep=keep, gaps=())
    assert gaps(late, [1], previous=before) == [(2, 0, 1), (3, 2, 1)]
    assert gaps(late, [], previous=before) == []


@pytest.mark.parametrize("kind", ["blank", "orphan", "beside"])
def test_what_no_group_has_is_not_missing(kind: str) -> None:
    """Blank messages, results without calls, and messages that are shown beside the entries."""
    talk = history("u:9 a:9 u:9 u:9")
    if kind == "blank":
        talk[1]["content"] = ""
    elif kind == "orphan":
        talk[1] = {**talk[1], "role": "tool", "tool_call_id": "nobody's"}
    shown = frozenset({1}) if kind == "beside" else frozenset[int]()
    entries = [entry for entry in request_of(talk, 100).entries if kind != "beside" or entry.ordinal != 1]
    assert gaps(talk, [], entries=entries, shown_anyway=shown) == []


def test_a_gap_of_the_plan_before_is_known_again() -> None:
    """Also where this plan leaves out more beside it: it is a part of the gap that becomes of both."""
    talk = history("u:9 " + "t:90 " * 30 + "u:9 a:9")
    before = compact(request_of(talk, 2_000))
    assert before.plan.gaps
    kept = set(before.plan.keep)
    entries = [entry for entry in request_of(talk, 2_000).entries if entry.id in kept]
    request = request_of(talk, 2_000, entries=entries, previous=before.plan)
    made = request.draft()
    assert [gap.known for gap in find_gaps(made.view, made.kept, request)] == [[gap] for gap in before.plan.gaps]
    last = before.plan.gaps[-1]
    position = next(at for at, group in enumerate(made.view.groups) if group.head.id == last.before)
    made.drop(position)
    grown = find_gaps(made.view, made.kept, request)[-1]
    assert last in grown.known
    assert grown.messages > last.messages


def test_a_gap_before_system_text_within_the_session_ends_there() -> None:
    """Not after it, where nothing is missing; and there is none before system text that comes first."""
    talk = history("s:9 u:9 t:9 s:9 a:9 u:9")
    assert gaps(talk, [2]) == [(3, 1, 2)]
    assert gaps(talk, [4]) == [(5, 3, 1)]
    assert gaps(history("s:9 s:9 u:9 t:9 u:9"), [3]) == [(4, 2, 2)]


@examples(60)
@given(st.lists(st.sampled_from(("u:9", "a:9", "t:9", "r:9", "h:9", "s:9")), min_size=2, max_size=25), st.data())
def test_gaps_add_up(words: list[str], data: st.DataObject) -> None:
    """Between two kept messages that can end a gap, as many are missing as the history has there and no view shows."""
    talk = history(" ".join(words))
    dropped = data.draw(st.sets(st.integers(0, len(words) - 1)))
    made, request = drafted(talk, sorted(dropped))
    shown = {entry.ordinal for position in made.left() for entry in made.view.members[position]}
    start = next((group.head.ordinal for group in made.view.groups if not group.head.instructs), len(talk))
    expected, before = [], -1
    for position in made.left():
        head = made.view.groups[position].head
        if head.ordinal < start:
            continue
        missing = [at for at in range(before + 1, head.ordinal) if at not in shown]
        if missing:
            expected.append((position, len(missing)))
        before = head.ordinal
    assert [(gap.before, gap.messages) for gap in find_gaps(made.view, made.kept, request)] == expected
