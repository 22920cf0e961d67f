"""What each promise holds, over drafts in which everything is kept."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.always_kept import (
    ANSWER_CHARS,
    PROMISES,
    PinHold,
    Stage,
    interrupted_turns,
    last_words,
    newest_results,
    start_of_turn,
)
from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.forms import Forms
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.view.entry import classify
from amplifier_module_context_persistent.view.plan import Plan
from amplifier_module_context_persistent.view.render import shorten
from tests.support.drafts import count, draft, draft_of, history, holding, request_of
from tests.support.messages import Message
from tests.support.view_properties import examples


def held(found: Any) -> set[int]:
    """The groups that are left out only when nothing else is left."""
    return {hold.position for hold in found if hold.leave >= Stage.HELD}


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
        *("NEVER", "PEOPLE", "FREE", "NEVER", "NEVER", "HELD", "FREE", "NEVER")
    ]
    assert forms.cut[4] == Stage.NEVER
    assert holding(made, 4) == ["what stays", "people's words"]


def test_nothing_changes_while_promises_are_asked() -> None:
    """They are pure."""
    made = draft("u:9 t:900 a:300 u:9 t:900 u:9 a:9", 300)
    before = (list(made.kept), dict(made.cuts), list(made.sizes), made.total_tokens)
    first, again = Forms(made, PROMISES), Forms(made, PROMISES)
    assert (first.leave, first.cut, first.to) == (again.leave, again.cut, again.to)
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


def test_last_words_are_held_within_their_share_shortened_as_far_as_needed() -> None:
    """Their head, as long as a paragraph."""
    found = list(last_words(draft("u:9 t:200 a:300 " * 4 + "u:9", 1_000)))
    assert [(hold.to and hold.to.head_chars) for hold in found] == [ANSWER_CHARS] * 4
    short = list(last_words(draft("u:9 a:9 u:9 a:60 u:9", 1_000)))
    assert [hold.to for hold in short] == [None, None]


def test_last_words_that_a_cut_would_hardly_shorten_stay_whole() -> None:
    """What it saves is less than the marker that it puts in."""
    made = plan_of("u:9 t:400 a:80 u:9 t:400 a:200 u:9 t:400 a:9", 800)
    assert {"m3", "m7"} <= set(made.keep)
    assert "m3" not in made.cuts
    assert "m7" in made.cuts


def test_last_words_end_with_the_question_that_the_next_person_answers() -> None:
    """They keep it with their head, at every length that they are cut to."""
    for turns in (2, 4):
        messages = history("u:9 t:200 a:300 " * turns + "u:9 t:900 a:9")
        asked = [message for message in messages if message["role"] == "assistant" and message["content"]][:turns]
        for number, message in enumerate(asked):
            message["content"] += f"\n\nShall I drop the old table {number} and write it anew from the backup?"
        plan = compact(request_of(messages, 2_000)).plan
        for message in asked:
            shown = shorten(classify(0, message, count), message, plan.cuts[message["metadata"]["message_id"]])[
                "content"
            ]
            assert shown.endswith(message["content"][-60:])
            assert shown.startswith(message["content"][:200])
            assert len(shown) < 600


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
    assert all(hold.to is not None and hold.to.head_chars == 0 for hold in found)
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
    assert found == [PinHold(3, Stage.HELD), PinHold(4, Stage.HELD)]


def test_a_gap_right_after_the_newest_persons_message_has_its_marker_in_a_small_view() -> None:
    """However large the newest results are."""
    for budget in range(1_000, 2_400, 200):
        gaps = plan_of("u:9 " + "t:300 " * 12 + "t:3000", budget).gaps or ()
        assert gaps
        assert all("messages left out" in gap.text for gap in gaps)


# --- ten groups of a session ------------------------------------------------------------------------------------------


TEN = [
    (0, "people's words", True, "the first person's message: what the session is for"),
    (1, "", False, "an old result that names nothing"),
    (2, "", True, "an old result with names that a later call uses: cut, and not left out"),
    (3, "last words", True, "the answer of a finished turn"),
    (4, "people's words", True, "the second person's message"),
    (5, "what to do", True, "the newest list of what to do"),
    (6, "", False, "a word in between, of the model"),
    (7, "what stays", True, "a pin"),
    (8, "newest results", True, "the newest result but one: shorter, but there"),
    (9, "what stays", True, "the newest group"),
]
"""By the table of promises: the group, what holds it, and whether a view shows it that has a sixth of the room."""


def ten_groups() -> list[Message]:
    """A session of ten groups."""
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
    messages.append({"role": "assistant", "content": "I look around first. " * 40})
    call("bash", {"command": "cat rules"}, "never touch the vendor's files", pinned=True)
    call("bash", {"command": "cat src/core/part_1/module_name_1.py"}, plain * 60)
    call("bash", {"command": "cat src/core/part_2/module_name_2.py"}, "short")
    for number, message in enumerate(messages):
        message["metadata"] = {**message.get("metadata", {}), "message_id": f"m{number}"}
    return messages


@pytest.mark.parametrize(("group", "promise", "stays", "what"), TEN)
def test_the_table_of_promises_tells_what_becomes_of_a_group(group: int, promise: str, stays: bool, what: str) -> None:
    """Who has read no more than the sentences predicts it."""
    messages = ten_groups()
    request = request_of(messages, 700, protected_recent=0.0, protected_tool_results=2)
    made = Draft(request)
    names = holding(made, group)
    assert (promise in names) if promise else set(names) <= {"start of the turn"}, what
    head = made.view.groups[group].head.id
    assert (head in compact(request).plan.keep) is stays, what
