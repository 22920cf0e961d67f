"""Gap markers: what they say, what goes where they take too much, and where one may stand."""

from collections.abc import Sequence

import pytest

from amplifier_module_context_persistent.compaction import gap_markers
from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.gap_markers import (
    LEAST_TOKENS,
    PEOPLE_TOKENS,
    SHARE,
    Marked,
    close_turn,
    drop_opening,
    hold_turn_start,
    mark_gaps,
    merge_gaps,
    name_in_markers,
)
from amplifier_module_context_persistent.compaction.gaps import GapFinder
from amplifier_module_context_persistent.compaction.ladder import narrow_protections
from amplifier_module_context_persistent.compaction.notice import place_notice
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.errors import FloorError
from amplifier_module_context_persistent.view.plan import Gap, Plan
from tests.support.drafts import draft, history, kept, request_of
from tests.support.messages import Message

COUNT_ONLY = len("[2 messages left out]") // 3 + 4  # about what the shortest marker comes to


def reading(paths: Sequence[str]) -> list[Message]:
    """A person's message, a read of each file, and a person's message."""
    messages: list[Message] = [{"role": "user", "content": "go on"}]
    for number, path in enumerate(paths):
        call = {"id": f"c{number}", "tool": "read_file", "arguments": {"file_path": path}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "name": "read_file", "content": "text\n" * 90})
    messages.append({"role": "user", "content": "and now?"})
    return [{**message, "metadata": {"message_id": f"m{number}"}} for number, message in enumerate(messages)]


def marked(messages: Sequence[Message], dropped: Sequence[int], target: int = 10_000, **given: object) -> Marked:
    """The gaps of a view without the groups at these positions."""
    request = request_of(messages, 2 * target, **given)
    made = request.draft()
    for position in dropped:
        made.drop(position)
    found = mark_gaps(made, request, GapFinder(made, request))
    return name_in_markers(found, made, target, recall=request.config.offers_recall)


def texts(found: Marked) -> list[str]:
    return [gap.text for gap in found.gaps]


def merged(made: Draft, target: int) -> None:
    """Merge the gaps of a draft."""
    entries = [entry for members in made.members for entry in members]
    request = request_of([], 2 * target, entries=entries)
    merge_gaps(made, GapFinder(made, request))


def test_a_marker_says_how_many_what_they_did_and_how_to_have_them_back() -> None:
    """Files by their last name, what was done most first, and a reference only where there is the tool for it."""
    work = reading(["src/a.py", "lib/b.py", "src/a.py"])
    said = "[6 messages left out: read_file a.py x2, read_file b.py"
    assert texts(marked(work, [1, 2, 3])) == [f"{said}; recall m1]"]
    assert texts(marked(work, [1, 2, 3], recall=False)) == [f"{said}]"]
    assert marked(work, [1, 2, 3]).read == ("lib/b.py", "src/a.py")


def test_a_marker_ends_the_result_before_it_or_is_a_message() -> None:
    """After a result it is its last line; after a person's word it is a message before the next kept one."""
    work = reading(["a.py", "b.py", "c.py"])
    assert [(gap.before, gap.after) for gap in marked(work, [2]).gaps] == [("m5", "m2")]
    assert [(gap.before, gap.after) for gap in marked(work, [1, 2]).gaps] == [("m5", "")]


def test_where_markers_take_too_much_names_go_first() -> None:
    """Those of the oldest gaps; how many messages are missing is said of each gap whatever it costs."""
    work = reading([f"long_name_of_a_file_{number}.py" for number in range(14)])
    wide = texts(marked(work, range(2, 15, 2)))
    assert all(text.startswith("[2 messages left out: read_file long_name_of_a_file_") for text in wide)
    narrow = texts(marked(work, range(2, 15, 2), target=LEAST_TOKENS * 5))
    assert narrow[0] == "[2 messages left out]"
    assert narrow[-1].startswith("[2 messages left out: read_file")
    assert len(narrow) == len(wide)
    assert sum(len(text) // 3 + 4 for text in narrow) <= LEAST_TOKENS


def test_an_unchanged_gap_keeps_its_text() -> None:
    """As the plan before had it, though there would be room for other words now; one that grew says what both did."""
    work = reading(["a.py", "b.py", "c.py", "d.py"])
    old = Gap("m5", "m2", 2, "[2 messages left out, as was said before]", (("read_file b.py", 1),), "m3")
    previous = Plan("p0", "m6", tuple(f"m{number}" for number in (0, 1, 2, 5, 6)), gaps=(old,))
    entries = [entry for entry in request_of(work, 100).entries if entry.id not in ("m3", "m4")]
    (same,) = marked(work, [], entries=entries, previous=previous).gaps
    assert same is old
    (grown,) = marked(work, [2], entries=entries, previous=previous).gaps
    assert grown.text == "[4 messages left out: read_file b.py, read_file c.py; recall m3]"


def test_no_more_is_merged_than_is_needed() -> None:
    """The smallest stretches go first, and only until the shortest markers fit."""
    sizes = (30, 90, 20, 80, 70, 60, 50, 40, 95, 85, 45, 55, 65, 75)
    target = int(12 * COUNT_ONLY / SHARE) + 1
    made = draft("u:9 " + " ".join(f"t:50 t:{size}" for size in sizes) + " t:50 u:9", target)
    for position in range(1, 30, 2):
        made.drop(position)
    merged(made, target)
    assert made.left() == [0, *(2 * at for at, size in enumerate(sizes, start=1) if size > 40), 30]


@pytest.mark.parametrize(
    ("target", "people"), [(30_000, PEOPLE_TOKENS), (20_000, 1_200), (4_000, 600), (1_600, 400), (60_000, 2_400)]
)
def test_people_stay_while_the_markers_between_them_are_few(target: int, people: int) -> None:
    """Up to so many tokens of markers none of their messages goes; beyond it the oldest go, with their answers."""
    most = people // COUNT_ONLY
    for turns, gone in ((most, False), (most + 20, True)):
        made = draft("u:9 " + "t:9 u:2 a:2 " * turns + "u:9", target)
        for position in range(1, 3 * turns, 3):
            made.drop(position)
        merged(made, target)
        humans = [made.kept[at] for at, group in enumerate(made.groups) if group.head.human]
        assert all(humans) != gone
        assert humans == [True, *sorted(humans[1:])]
        assert humans[-1]


def test_tool_results_between_people_go_before_people() -> None:
    """However large they are."""
    turns, target = 30, 1_000
    made = draft("u:9 " + "t:9 t:500 t:9 u:2 " * turns + "u:9", target)
    for at, group in enumerate(made.groups):
        if made.sizes[at] < 20 and group.head.calls:
            made.drop(at)
    merged(made, target)
    assert [group.head.human for at, group in enumerate(made.groups) if made.kept[at]] == [True] * len(made.left())


def test_what_is_held_is_never_left_out_for_a_marker() -> None:
    """Fixed groups, the first person's message, and held groups that no person's answer is."""
    turns, target = 60, 500
    made = draft("u:9 " + "t:9 t:30 " * turns + "u:9", target)
    for position in range(1, 2 * turns, 2):
        made.drop(position)
    made.held.update(range(2, 40))
    made.fixed.update(range(40, 60))
    merged(made, target)
    assert made.left() == [0, *range(2, 60, 2), 2 * turns, 2 * turns + 1]  # no gap is after the last stretch


def test_in_the_turn_in_progress_a_gap_begins_after_a_result() -> None:
    """A word without a result goes with the gap after it, but not what a gap may not begin before."""
    made = draft("u:9 t:9 u:9 t:9 a:9 t:9 t:9 a:9", 1_000)
    made.drop(5)
    close_turn(made)
    assert kept(made) == "0 1 2 3 6 7"
    made = draft("u:9 t:9 a:9 t:9 u:9 t:9", 1_000)
    made.drop(3)
    close_turn(made)
    assert kept(made) == "0 1 2 4 5"  # in a finished turn a message of its own marks it


def test_what_comes_first_in_the_turn_is_held_up_to_a_result() -> None:
    """A gap right after the newest person's message could be marked by nothing."""
    made = draft("u:9 t:9 u:9 a:9 t:9 t:9", 1_000)
    hold_turn_start(made)
    assert made.held == {3, 4}


def test_a_gap_right_after_the_newest_persons_message_has_no_marker() -> None:
    """A message of its own would begin a new turn there; it counts, and the notice stands before that turn."""
    work = [*reading(["a.py", "b.py"])[:-1], {"role": "assistant", "content": "done"}]
    work[-1]["metadata"] = {"message_id": "m5"}
    found = marked(work, [1])
    assert [(gap.messages, gap.text) for gap in found.gaps] == [(2, "")]
    assert found.unmarkable == {"m3"}
    assert place_notice(found, "notice", "", "m0").before == "m0"
    assert place_notice(found, "notice", "", "m0").notice == "notice"


@pytest.mark.parametrize(("tokens", "opening"), [(9, {3, 4}), (400, set())])
def test_what_a_marker_needs_goes_after_all_else_that_is_held(tokens: int, opening: set[int]) -> None:
    """If it is small with its results cut; else it goes with the rest."""
    made = draft(f"u:9 t:9 u:9 a:{tokens} t:50 t:900 a:9", 1_000)
    hold_turn_start(made)
    assert made.opening == opening
    made.held.add(5)
    made.goal_tokens = 1
    narrow_protections(made)
    assert {position for position in (3, 4, 5) if made.kept[position]} == opening
    assert drop_opening(made) == bool(opening)
    assert not drop_opening(made)
    assert kept(made) == "2 6"


def test_a_gap_right_after_the_newest_persons_message_has_its_marker_in_a_small_view() -> None:
    """However large the newest results are."""
    messages = history("u:9 " + "t:300 " * 12 + "t:3000")
    for budget in range(1_000, 2_400, 200):
        (gap,) = compact(request_of(messages, budget)).plan.gaps
        assert gap.text.startswith("[22 messages left out")


def test_what_a_marker_needs_costs_no_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where little room is left, a view fits whenever it would fit without."""
    messages = history("u:9 " + "t:300 " * 6 + "t:3000")

    def fits(fixed: int) -> bool:
        try:
            compact(request_of(messages, 2_000, fixed=fixed))
        except FloorError:
            return False
        return True

    room = range(1_800, 2_010, 10)
    found = [fits(fixed) for fixed in room]
    assert True in found
    assert False in found
    monkeypatch.setattr(gap_markers, "OPENING_SHARE", -1)
    assert found == [fits(fixed) for fixed in room]
