"""What each promise holds, over drafts in which everything is kept."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.always_kept import (
    ANSWER_CHARS,
    FIRST_SHARE,
    LEAST_SAVED,
    PROMISES,
    Hold,
    Stage,
    first_message,
    interrupted_turns,
    last_words,
    newest_results,
    peoples_words,
    start_of_turn,
)
from amplifier_module_context_persistent.compaction.answer_items import PROSE_HEAD_SHARE, PROSE_TAIL_SHARE
from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.compaction.shorter_forms import Forms
from amplifier_module_context_persistent.view.entry import classify
from amplifier_module_context_persistent.view.plan import Plan
from amplifier_module_context_persistent.view.render import shorten
from tests.support.drafts import count, draft, draft_of, history, holding, request_of
from tests.support.messages import Message
from tests.support.view_properties import examples


def held(found: Any) -> set[int]:
    """The groups that are left out only when nothing else is left."""
    return {hold.position for hold in found if hold.leave >= Stage.ANSWERS}


def plan_of(words: str, budget: int, **given: Any) -> Plan:
    return compact(request_of(history(words), budget, **given)).plan


def test_each_promise_has_a_name_and_one_sentence() -> None:
    """They are what a reader goes by."""
    assert len({promise.name for promise in PROMISES}) == len(PROMISES)
    assert all(promise.says.endswith(".") and promise.says.count(". ") == 0 for promise in PROMISES)


def test_of_several_promises_the_strictest_counts() -> None:
    """And a group that none holds is free."""
    made = draft("s:9 u:9 a:90 t:90! u:9 t:90 a:9 t:9", 1_000, protected_recent=0.0)
    forms = Forms(made, PROMISES)
    assert [stage.name for stage in forms.leave] == [
        *("NEVER", "HELD", "FREE", "NEVER", "NEVER", "HELD", "FREE", "NEVER")
    ]
    assert forms.cut[4] == Stage.NEVER
    assert holding(made, 4) == ["what stays"]


def test_nothing_changes_while_promises_are_asked() -> None:
    """They are pure."""
    made = draft("u:9 t:900 a:300 u:9 t:900 u:9 a:9", 300)
    before = (list(made.kept), dict(made.cuts), list(made.sizes), made.total_tokens)
    first, again = Forms(made, PROMISES), Forms(made, PROMISES)
    assert (first.leave, first.cut, first.shortest_cut) == (again.leave, again.cut, again.shortest_cut)
    assert (made.kept, made.cuts, made.sizes, made.total_tokens) == before


# --- the newest results -----------------------------------------------------------------------------------------------


def test_the_newest_results_are_held() -> None:
    """As many as are protected, and never the newest group of all, which nothing touches anyway; no pins."""
    assert held(newest_results(draft("u:9 t:9 t:9 t:9 t:9 u:9", 1_000, protected_tool_results=2))) == {3, 4}
    assert held(newest_results(draft("u:9 t:900 t:900! u:9 a:9", 1_000))) == {1}


def test_of_calls_with_large_arguments_the_newest_is_held() -> None:
    """No cut makes them shorter, so people's messages would go for them; others are held while they take little."""
    messages = history("u:9 t:9 t:9 t:9 t:9 u:9")
    for at, tokens in ((1, 10), (3, 250), (5, 10), (7, 300)):
        messages[at]["content"] = "x" * 4 * tokens
    assert held(newest_results(draft_of(messages, 1_200, protected_tool_results=4))) == {4}


@pytest.mark.parametrize("results", ["t:800", "t:700 t:500", "t:5000 t:10"])
def test_they_take_half_the_room_at_most(results: str) -> None:
    """The largest are brought down to one level, so that older messages have the rest."""
    made = compact(request_of(history(f"u:9 {'t:300 ' * 6}{results} u:9 a:9"), 2_000, protected_tool_results=2))
    items = [item for item in made.arrangement.items if item.entry is not None and item.entry.result_of is not None]
    assert len(items) > 2
    assert sum(item.tokens for item in items[-2:]) <= 620


def test_a_newest_group_that_does_not_fit_alone_is_shortened_before_all_else_goes() -> None:
    """It has to be cut in any case; people's messages and last words are not to go for it before that."""
    made = plan_of("u:9 " + "u:9 t:50 a:40 " * 4 + "u:9 t:5000", 2_000)
    words = ("u:9 " + "u:9 t:50 a:40 " * 4 + "u:9 t:5000").split()
    assert all(f"m{at}" in made.keep for at, word in enumerate(words) if word[0] in "ua")


def test_results_that_are_held_are_shortened_before_people_go() -> None:
    """They are only shorter then; what a person said would be gone."""
    made = plan_of("u:9 " + "u:300 a:9 " * 2 + "t:900 t:900 u:9 a:9", 2_400, protected_tool_results=2)
    assert {"m1", "m3"} <= set(made.keep)
    assert {"m5", "m6"} <= made.cuts.keys()


# --- what is said last ------------------------------------------------------------------------------------------------


def test_last_words_are_the_last_text_before_a_person_speaks() -> None:
    """No calls, and no turn that is not finished."""
    assert held(last_words(draft("u:9 t:9 a:9 u:9 a:9 a:9 u:9 t:9 u:9 a:9", 1_000))) == {2, 5}


def test_long_last_words_are_cut_to_their_share() -> None:
    """To the longest cut with which all of them fit; short ones are never cut, and the newest stays whole."""
    for turns in (9, 30, 90):
        found = list(last_words(draft("u:9 t:200 a:900 " * turns + "u:9", 20_000)))
        cuts = {hold.shortest_cut.shown_chars for hold in found[:-1] if hold.shortest_cut is not None}
        most = ANSWER_CHARS[(9, 30, 90).index(turns)]
        assert cuts == {int(PROSE_HEAD_SHARE * most) + int(PROSE_TAIL_SHARE * most)}
        assert (found[-1].leave, found[-1].cut, found[-1].shortest_cut) == (Stage.NEVER, Stage.ANSWERS, None)
    short = list(last_words(draft(f"u:9 a:9 u:9 a:{LEAST_SAVED - 20} u:9 a:9 u:9", 1_000)))
    assert [hold.shortest_cut for hold in short] == [None, None, None]


def test_last_words_keep_their_beginning_and_their_end() -> None:
    """The end has the conclusion, or the question that the next person answers."""
    messages = history("u:9 t:200 a:900 " * 5 + "u:9 t:900 a:9")
    said = [message for message in messages if message["role"] == "assistant" and message["content"]][:4]
    for number, message in enumerate(said):
        message["content"] += f"\n\nFINAL ANSWER: {number}. Shall I drop the old table and write it anew?"
    plan = compact(request_of(messages, 6_000)).plan
    for message in said:
        cut = plan.cuts[message["metadata"]["message_id"]]
        shown = shorten(classify(0, message, count), message, cut)["content"]
        assert shown.endswith(message["content"][-70:])
        assert shown.startswith(message["content"][:200])


# --- people's words ---------------------------------------------------------------------------------------------------


def test_the_first_message_stays_whole_up_to_a_quarter_of_the_room() -> None:
    """Beyond it paragraphs go, and never more than that."""
    (whole,) = first_message(draft("u:900 t:50 u:9", 8_000))
    assert (whole.leave, whole.cut, whole.shortest_cut) == (Stage.HELD, Stage.LAST, None)
    (cut,) = first_message(draft("u:2000 t:50 u:9", 4_000))
    assert cut.shortest_cut is not None
    assert cut.shortest_cut.shown_chars >= 4 * int(FIRST_SHARE * 4_000)


def test_a_task_is_not_cut_for_later_words() -> None:
    """However many there are; their own go first, the oldest ones."""
    plan = plan_of("u:200 " + "t:50 a:40 u:100 " * 80 + "t:9 a:9", 4_000)
    assert "m0" in plan.keep
    assert "m0" not in plan.cuts


@pytest.mark.parametrize("budget", [4_000, 16_000])
@pytest.mark.parametrize("size", [150, 250])
def test_nothing_of_a_person_is_cut_to_save_a_little(size: int, budget: int) -> None:
    """A message is whole, or it is left out: 240 characters of one of 250 tokens would save 190."""
    words = "u:9 " + f"t:50 a:40 u:{size} " * 40
    plan = plan_of(f"{words} t:9 a:9", budget)
    people = {message["metadata"]["message_id"] for message in history(words) if message["role"] == "user"}
    assert not people & {key for key, cut in plan.cuts.items() if cut.shortens}
    assert people - set(plan.keep)
    assert len(people & set(plan.keep)) >= 5


def test_short_messages_of_people_stay_beside_a_long_one() -> None:
    """They say most for their room; the long one is shortened, although it is newer."""
    made = draft("u:9 " + "a:9 u:30 " * 8 + "a:9 u:350 a:9 u:9", 1_000)
    holds = {hold.position: hold for hold in peoples_words(made)}
    *short, long = [position for position in made.view.people if position in holds]
    assert [holds[position].leave for position in short] == [Stage.PEOPLE] * 8
    assert (holds[long].leave, holds[long].cut) == (Stage.PEOPLE, Stage.FREE)


def test_every_second_answer_goes_before_what_people_wrote() -> None:
    """So no three messages of people are adjacent, and a later plan leaves out no more."""
    words = "u:9 " + "u:20 a:150 " * 12 + "u:9 t:20 a:9"
    first = compact(request_of(history(words), 3_000))
    people, answers = {f"m{at}" for at in range(1, 25, 2)}, [f"m{at}" for at in range(2, 26, 2)]
    assert people < set(first.plan.keep)
    gone = [answer not in first.plan.keep for answer in answers]
    assert any(gone)
    assert not any(one and other for one, other in pairwise(gone))


def test_people_stay_for_as_much_more_as_the_turn_in_progress_takes() -> None:
    """It cannot become smaller, and what people wrote would be gone."""
    words = "u:9 " + "u:40 a:90 " * 8 + "u:9 " + "a:120 " * 6 + "t:20"
    plan = plan_of(words, 2_000)
    assert {f"m{at}" for at in range(1, 17, 2)} <= set(plan.keep)


def test_very_many_last_words_take_half_of_the_target_at_the_most() -> None:
    """Of two in succession one is held, and the newest are."""
    turns = 60
    made = draft("u:9 t:50 a:100 " * turns + "u:9", 1_000)
    positions = held(last_words(made))
    assert positions < set(made.view.answers.values())
    assert sum(min(made.sizes[position], 80) for position in positions) <= 60 * 80 / 2 + 160
    assert 3 * turns - 1 in positions


@examples(45)
@given(st.lists(st.sampled_from(["u:9 a:100", "u:9 t:30 a:9", "u:9 a:300"]), min_size=2, max_size=40))
def test_of_two_last_words_in_succession_one_is_held(turns: list[str]) -> None:
    """However many there are, and however small the target."""
    made = draft(" ".join(turns) + " u:9", 200)
    positions = held(last_words(made))
    shown = [position in positions for position in made.view.answers.values()]
    assert all(one or other for one, other in pairwise(shown))


def said_with_calls(words: str, target: int) -> Draft:
    """A draft in which every call has words beside it."""
    messages = history(words)
    for number, message in enumerate(messages):
        if message.get("tool_calls"):
            message["content"] = f"I look at part {number}."
    return draft_of(messages, target)


def test_of_two_interrupted_turns_something_is_held() -> None:
    """What takes least, with its results cut to nothing; nobody who was not answered yet counts."""
    made = said_with_calls("u:9 t:300 u:9 t:300 t:9 u:9 t:300 u:9 t:300 u:9", 1_000)
    found = list(interrupted_turns(made))
    assert held(found) == {4, 8}
    assert all(hold.shortest_cut is not None and hold.shortest_cut.head_chars == 0 for hold in found)
    assert not list(interrupted_turns(draft("u:9 u:9 u:9 u:9", 1_000)))


def test_interrupted_turns_take_no_more_than_their_share() -> None:
    """The oldest are not held then."""
    found = held(interrupted_turns(said_with_calls("u:9 t:300 " * 100 + "u:9", 1_000)))
    assert found
    assert min(found) > 50


# --- the start of the turn --------------------------------------------------------------------------------------------


def test_what_comes_first_in_the_turn_is_held_up_to_a_result() -> None:
    """A gap right after the newest person's message could be marked by nothing; it goes with what is held."""
    found = list(start_of_turn(draft("u:9 t:9 u:9 a:9 t:9 t:9", 1_000)))
    assert found == [Hold(3, Stage.HELD), Hold(4, Stage.HELD)]


def test_a_gap_right_after_the_newest_persons_message_has_its_marker_in_a_small_view() -> None:
    """However large the newest results are."""
    for budget in range(600, 2_400, 200):
        gaps = plan_of("u:9 " + "t:300 " * 12 + "t:3000", budget).left_out.gaps or ()
        assert gaps
        assert all("messages left out" in gap.text for gap in gaps)


# --- eleven groups of a session ---------------------------------------------------------------------------------------


ELEVEN = [
    (0, "first message", True, "the first person's message: what the session is for"),
    (1, "", False, "an old result that names nothing"),
    (2, "", True, "an old result with names that a later call uses: cut, and not left out"),
    (3, "last words", True, "the answer of a finished turn"),
    (4, "what stays", True, "the newest message of a person"),
    (5, "what to do", True, "the newest list of what to do"),
    (6, "", False, "an answer that a later call of the same tool gave again"),
    (7, "what stays", True, "a pin"),
    (8, "", True, "the newest of these answers"),
    (9, "newest results", True, "the newest result but one: shorter, but there"),
    (10, "what stays", True, "the newest group"),
]
"""By the table of promises: the group, what holds it, and whether a view shows it that has a sixth of the room."""


def eleven_groups() -> list[Message]:
    """A session of eleven groups."""
    plain = "nothing of note was said in here at all today\n"
    names = "".join(f"see src/core/part_{n}/module_name_{n}.py\n" for n in range(9))
    messages: list[Message] = [{"role": "user", "content": "Please mend the exporter."}]

    def call(tool: str, arguments: dict[str, Any], result: str, **metadata: Any) -> None:
        call_id = f"c{len(messages)}"
        calls = [{"id": call_id, "tool": tool, "arguments": arguments}]
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": call_id, "content": result, "metadata": metadata})

    call("bash", {"command": "true"}, plain * 40)
    call("bash", {"command": "ls"}, names + plain * 40 + names)
    messages.append({"role": "assistant", "content": "The exporter lacks a header."})
    messages.append({"role": "user", "content": "Then write it."})
    call("todo_write", {"todos": ["write the header", "test it"]}, "noted")
    call("job_status", {}, "pending")
    call("bash", {"command": "cat rules"}, "never touch the vendor's files", pinned=True)
    call("job_status", {}, "pending")
    call("bash", {"command": "cat src/core/part_1/module_name_1.py"}, plain * 60)
    call("bash", {"command": "cat src/core/part_2/module_name_2.py"}, "short")
    for number, message in enumerate(messages):
        message["metadata"] = {**message.get("metadata", {}), "message_id": f"m{number}"}
    return messages


@pytest.mark.parametrize(("group", "promise", "stays", "what"), ELEVEN)
def test_the_table_of_promises_tells_what_becomes_of_a_group(group: int, promise: str, stays: bool, what: str) -> None:
    """Who has read no more than the sentences predicts it."""
    messages = eleven_groups()
    request = request_of(messages, 600, protected_recent=0.0, protected_tool_results=2)
    made = Draft(request)
    names = holding(made, group)
    assert (promise in names) if promise else set(names) <= {"start of the turn"}, what
    head = made.view.groups[group].head.id
    assert (head in compact(request).plan.keep) is stays, what
