"""What goes with what was left out: stretches between too many gaps, people without answers, the start of a gap."""

import pytest

from amplifier_module_context_persistent.compaction.always_kept import PROMISES
from amplifier_module_context_persistent.compaction.choose import (
    LEAST_MARKERS,
    close_turn,
    leave_nobody_unanswered,
    merge_gaps,
)
from amplifier_module_context_persistent.compaction.draft import GAP_TOKENS, Draft
from amplifier_module_context_persistent.compaction.markers import SHARE
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.compaction.shorter_forms import Forms
from amplifier_module_context_persistent.compaction.why_shown import why
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.view.render import render
from tests.support.drafts import check_total, draft, history, kept, named, request_of
from tests.support.sweeps import proof


def merged(made: Draft) -> Draft:
    merge_gaps(made, Forms(made, PROMISES))
    check_total(made)
    return made


@pytest.mark.parametrize(("target", "gone"), [(4 * 12 * GAP_TOKENS, 40), (4 * (15 * GAP_TOKENS - 1), 20)])
def test_no_more_is_merged_than_is_needed(target: int, gone: int) -> None:
    """The smallest stretches go first, and only until the markers fit; also where they lack a single token."""
    sizes = (30, 90, 20, 80, 70, 60, 50, 40, 95, 85, 45, 55, 65, 75)
    made = draft("u:9 " + " ".join(f"t:50 t:{size}" for size in sizes) + " t:50 u:9", target, protected_recent=0.0)
    for position in range(1, 30, 2):
        made.leave_out(position)
    merged(made)
    assert made.kept_positions() == [0, *(2 * at for at, size in enumerate(sizes, start=1) if size > gone), 30]


@proof(quick=1)
@pytest.mark.parametrize("target", [1_600, 4_000, 20_000, 60_000])
def test_people_stay_while_the_markers_between_them_are_few(target: int) -> None:
    """Up to so many tokens of markers none of their messages goes; beyond it the oldest go, with their answers."""
    most = max(int(SHARE * target), min(LEAST_MARKERS, target // 4)) // GAP_TOKENS
    for turns, gone in ((most, False), (most + 20, True)):
        made = draft("u:9 " + "t:9 u:2 a:2 " * turns + "u:9", target)
        for position in range(1, 3 * turns, 3):
            made.leave_out(position)
        merged(made)
        humans = [made.kept[position] for position in made.view.people]
        assert all(humans) != gone
        assert humans == [True, *sorted(humans[1:])]
        assert humans[-1]


def test_tool_results_between_people_go_before_people() -> None:
    """However large they are."""
    made = draft("u:9 " + "t:9 t:500 t:9 u:2 " * 30 + "u:9", 1_000)
    for position in made.view.calling:
        if made.sizes[position] < 20:
            made.leave_out(position)
    merged(made)
    assert set(made.kept_positions()) <= {*made.view.people, made.view.calling[-2]}


@pytest.mark.parametrize("pinned", ["t:30!", "a:30!"])
def test_what_is_held_is_never_left_out_for_a_marker(pinned: str) -> None:
    """Pins, and the first person's message."""
    made = draft("u:9 " + f"t:9 {pinned} " * 60 + "u:9", 500)
    for position in range(1, 120, 2):
        made.leave_out(position)
    assert merged(made).kept_positions() == [0, *range(2, 121, 2), 121]


@proof
def test_a_plan_has_no_more_markers_than_there_is_room_for() -> None:
    """Small groups that would stay between gaps go, and larger ones come back for them."""
    made = compact(request_of(history("u:9 " + "t:400 a:12 " * 200 + "u:9"), 9_000, protected_recent=0.0))
    assert 0 < len(made.plan.left_out.gaps or ()) * GAP_TOKENS <= LEAST_MARKERS


@pytest.mark.parametrize(
    ("words", "gone", "left"),
    [
        ("u:9 t:9 u:9 t:9 a:9 t:9 t:9 a:9", 5, "0 1 2 3 6 7"),
        ("u:9 t:9 a:9 a:9 t:9 t:9 a:9", 4, "0 1 5 6"),  # of two words the gap would begin after the first one
        ("u:9 t:9 t:9 a:9 t:9", 2, "0 1 3 4"),  # it begins after a result; the word after it stays
        ("u:9 t:9 a:9 t:9 t:9 t:9", 4, "0 1 2 3 5"),  # a word before the result that it begins after stays, too
        ("u:9 a:9 t:9 t:9 a:9", 2, "0 1 3 4"),  # what is held stays all the same
        ("u:9 t:9 a:9 t:9 u:9 t:9", 3, "0 1 2 4 5"),  # in a finished turn a message of its own marks it
    ],
)
def test_in_the_turn_in_progress_a_gap_begins_after_a_result(words: str, gone: int, left: str) -> None:
    """A word without a result goes with the gap after it, but not what a gap may not begin before."""
    made = draft(words, 1_000, protected_recent=0.0)
    made.leave_out(gone)
    close_turn(made, Forms(made, PROMISES))
    assert kept(made) == left


def test_nobody_is_left_between_two_others_without_an_answer() -> None:
    """The first person stays; of three in a row whose answers went, the one between goes."""
    made = draft("u:9 a:9 u:9 a:9 u:9 a:9 u:9 a:9 u:9", 1_000)
    for position in (1, 2, 3, 5):
        made.leave_out(position)
    leave_nobody_unanswered(made)
    assert kept(made) == "0 6 7 8"
    made = draft("u:9 a:9 u:9 a:9 u:9 a:9 u:9", 1_000)
    for position in (1, 2, 3, 5):
        made.leave_out(position)
    leave_nobody_unanswered(made)
    assert kept(made) == "0 6"
    made = draft("u:9 a:9 u:9 u:9 u:9 u:9 a:9 u:9", 1_000)
    for position in (1, 2, 6):
        made.leave_out(position)
    leave_nobody_unanswered(made)
    assert kept(made) == "0 3 4 5 7"  # nobody spoke between them


PLAIN = "nothing of note was said in here at all today\n" * 40
NAMES = "".join(f"see src/core/module_name_{n}.py\n" for n in range(4))


def reasons(texts: list[str], *messages: int, budget: int = 1_000) -> list[str]:
    """Why the view of a session of these results shows, or does not show, some of its messages."""
    history = named(texts)
    request = request_of(history, budget, protected_recent=0.0)
    view = render(compact(request).arrangement, request.fetch)
    return why(view, [history[number] for number in messages], Config.load(), budget)


def test_what_is_left_out_says_where_its_names_are_shown() -> None:
    """So that a person sees that nothing was lost, or what was."""
    texts = ["start", PLAIN, NAMES + PLAIN, NAMES * 9, "short"]
    assert reasons(texts, 3, 4, budget=340) == ["Left out: it has no path, name or id that could be needed again."]
    (said,) = reasons(texts, 5, 6, budget=340)
    assert said == "Left out: everything it names is shown in m8."


def test_a_long_message_of_a_person_has_its_reason_too() -> None:
    """Of which a promise looks at the text."""
    log = "\n".join(f"{n}\tdef handler_{n}(self) -> None:" for n in range(90))
    history = [
        *named(["start", PLAIN]),
        {"role": "user", "content": f"And why?\n{log}", "metadata": {"message_id": "p"}},
    ]
    history.append({"role": "user", "content": "Well?", "metadata": {"message_id": "q"}})
    assert why(history, [history[-2]], Config.load(), 4_000)[0].startswith("Shown: people's words.")


def test_what_is_lost_is_named() -> None:
    """Where the view shows it nowhere."""
    (said,) = reasons(["start", NAMES + PLAIN, PLAIN, "x", "y"], 3, 4, budget=100)
    assert said.startswith("Left out: module_name_0, module_name_1, ")
    assert said.endswith("cost more room than others did.")


def test_what_is_shown_says_which_promise_holds_it() -> None:
    """And what nothing else shows."""
    assert reasons([PLAIN, "short"], 0)[0].startswith("Shown: what stays. System text, pins")
    said = reasons([NAMES, "short"], 1, 2, budget=4_000)
    assert said[-1].startswith("Nothing else in the view shows module_name_0")
