"""The gaps of a view: where they end, and how many messages they lack."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.gaps import find_gaps
from amplifier_module_context_persistent.compaction.plan_request import RestOfHistory, ViewSoFar
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.view.plan import LeftOut, Plan
from tests.support.drafts import draft_of, history, request_of
from tests.support.messages import Message
from tests.support.view_properties import examples


def drafted(messages: Sequence[Message], dropped: Sequence[int], **given: Any) -> Draft:
    """A draft that leaves out the groups at these positions."""
    made = draft_of(messages, 5_000, **given)
    for position in dropped:
        made.leave_out(position)
    return made


def gaps(messages: Sequence[Message], dropped: Sequence[int], **given: Any) -> list[tuple[int, int]]:
    """The gaps of such a draft: the group after each, and how many messages."""
    return found_in(drafted(messages, dropped, **given))


def found_in(made: Draft) -> list[tuple[int, int]]:
    places = {group.head.id: position for position, group in enumerate(made.view.groups)}
    return [(places[gap.before], gap.messages) for gap in find_gaps(made)]


def test_a_gap_counts_messages() -> None:
    """Calls count with their results; the first gap may have nothing before it, and none comes after the last group."""
    talk = history("u:9 t:9 t:9 u:9 t:9 u:9")
    assert gaps(talk, []) == []
    assert gaps(talk, [1, 2, 4]) == [(3, 4), (5, 2)]
    assert gaps(talk, [0, 1]) == [(2, 3)]
    assert gaps(talk, [4, 5]) == []


def test_results_that_came_late_are_no_gap() -> None:
    """A result stands with its call in a view, wherever it came in the session: nothing is missing there."""
    talk = history("u:9 t:9 t:9 u:9 a:9")
    late = [talk[0], talk[1], talk[3], talk[4], talk[5], talk[2], talk[6]]
    assert gaps(late, []) == []
    assert gaps(late, [2]) == [(3, 2)]


def test_results_that_came_after_a_person_spoke_are_missing_where_they_came() -> None:
    """Where their call is left out, by a later plan too: a host may queue what a person says while tools run."""
    talk = history("u:9 t:9 u:9 a:9 u:9 a:9")
    late = [*talk[:2], talk[3], talk[2], *talk[4:]]
    assert gaps(late, [1]) == [(2, 1), (3, 1)]
    entries = request_of(late, 100).entries
    keep = tuple(entry.id for entry in entries)
    before = Plan(id="p0", upto=keep[-1], keep=keep, left_out=LeftOut(gaps=()))
    assert gaps(late, [1], so_far=ViewSoFar(before)) == [(2, 1), (3, 1)]
    assert gaps(late, [], so_far=ViewSoFar(before)) == []


def test_what_is_shown_beside_the_entries_is_not_missing() -> None:
    """System text that the host's replaces is not left out."""
    talk = history("u:9 a:9 u:9 u:9")
    entries = [entry for entry in request_of(talk, 100).entries if entry.ordinal != 1]
    assert gaps(talk, [], entries=entries, history=RestOfHistory(shown_anyway=frozenset({1}))) == []


UNSHOWN: dict[str, Message] = {
    "blank": {"role": "assistant", "content": ""},
    "thinking": {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]},
    "orphan": {"role": "tool", "tool_call_id": "nobody's", "content": "text"},
}


@pytest.mark.parametrize("kind", UNSHOWN)
def test_what_no_view_can_show_is_a_gap_of_its_own(kind: str) -> None:
    """In the first plan as in the next one, so that its marker stays; a larger gap counts it."""
    talk = history("u:9 a:9 u:9 a:9 u:9")
    talk[1] = {**UNSHOWN[kind], "metadata": {"message_id": "m1"}}
    made = drafted(talk, [])
    (alone,) = find_gaps(made)
    assert (alone.before, alone.messages, alone.reference) == ("m2", 1, "m1")
    plan = Plan("p0", "m4", ("m0", "m2", "m3", "m4"), left_out=LeftOut(1, gaps=(alone,)))
    later = [entry for entry in request_of(talk, 100).entries if entry.ordinal != 1]
    assert find_gaps(drafted(talk, [], entries=later, so_far=ViewSoFar(plan))) == (alone,)
    (larger,) = find_gaps(drafted(talk, [1, 2]))
    assert (larger.before, larger.messages, larger.reference) == ("m4", 3, "m1")
    (grown,) = find_gaps(drafted(talk, [1, 2], entries=later, so_far=ViewSoFar(plan)))
    assert (grown.before, grown.messages, grown.reference) == ("m4", 3, "m1")


def test_a_gap_of_the_plan_before_is_known_again() -> None:
    """Also where this plan leaves out more beside it: it is a part of the gap that becomes of both."""
    talk = history("u:9 " + "t:90 " * 30 + "u:9 a:9")
    before = compact(request_of(talk, 2_000))
    assert before.plan.left_out.gaps
    kept = set(before.plan.keep)
    entries = [entry for entry in request_of(talk, 2_000).entries if entry.id in kept]
    made = draft_of(talk, 1_000, entries=entries, so_far=ViewSoFar(before.plan))
    assert find_gaps(made) == before.plan.left_out.gaps
    last = before.plan.left_out.gaps[-1]
    position = next(at for at, group in enumerate(made.view.groups) if group.head.id == last.before)
    made.leave_out(position)
    grown = find_gaps(made)[-1]
    assert grown.reference == last.reference
    assert grown.messages > last.messages
    assert dict(grown.did)["bash"] > dict(last.did)["bash"]


def test_a_gap_before_system_text_within_the_session_ends_there() -> None:
    """Not after it, where nothing is missing; and there is none before system text that comes first."""
    talk = history("s:9 u:9 t:9 s:9 a:9 u:9")
    assert gaps(talk, [2]) == [(3, 2)]
    assert gaps(talk, [4]) == [(5, 1)]
    assert gaps(history("s:9 s:9 u:9 t:9 u:9"), [3]) == [(4, 2)]


@examples(60)
@given(st.lists(st.sampled_from(("u:9", "a:9", "t:9", "r:9", "h:9", "s:9")), min_size=2, max_size=25), st.data())
def test_gaps_add_up(words: list[str], data: st.DataObject) -> None:
    """Between two kept messages that can end a gap, as many are missing as the history has there and no view shows."""
    talk = history(" ".join(words))
    dropped = data.draw(st.sets(st.integers(0, len(words) - 1)))
    made = drafted(talk, sorted(dropped))
    shown = {entry.ordinal for position in made.kept_positions() for entry in made.view.members[position]}
    start = next((group.head.ordinal for group in made.view.groups if not group.head.instructs), len(talk))
    expected, before = [], -1
    for position in made.kept_positions():
        head = made.view.groups[position].head
        if head.ordinal < start:
            continue
        missing = [at for at in range(before + 1, head.ordinal) if at not in shown]
        if missing:
            expected.append((position, len(missing)))
        before = head.ordinal
    assert found_in(made) == expected
