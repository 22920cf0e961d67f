"""The last words of finished turns."""

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.last_words import (
    MOST_SHARE,
    answers_by_human,
    hold_last_words,
    last_words,
    leave_nobody_unanswered,
)
from amplifier_module_context_persistent.compaction.planner import compact
from tests.support.drafts import draft, draft_of, history, request_of
from tests.support.view_properties import examples


def test_they_are_the_last_text_before_a_person_speaks() -> None:
    """Not what was said on the way, nor a turn that ends with a call, nor the turn in progress."""
    made = draft("u:10 a:20 t:30 a:20 u:10 t:30 u:10 a:5", 1_000)
    assert last_words(made) == [3]
    assert answers_by_human(made) == {0: 3}


def test_they_are_held_within_a_quarter_of_the_target_shortened_as_far_as_needed() -> None:
    """Long ones by what they come to when they are shortened."""
    made = draft("u:1 t:9000 " + "a:900 u:1 " * 6 + "a:9", 16_000)
    hold_last_words(made)
    assert made.held == {2, 4, 6, 8, 10, 12}
    assert {cut.head_chars for cut in made.shorter.values()} == {400}


def test_very_many_take_half_of_the_target_at_the_most() -> None:
    """Shortened most; and where that is too much too, every second one of the oldest is not held."""
    made = draft("u:1 t:9000 " + "a:900 u:1 " * 6 + "a:9", 1_600)
    hold_last_words(made)
    assert made.held == {2, 4, 6, 8, 10, 12}
    assert {cut.head_chars for cut in made.shorter.values()} == {270}
    made = draft("u:1 t:9000 " + "a:900 u:1 " * 6 + "a:9", 800)
    hold_last_words(made)
    assert made.held == {4, 8, 10, 12}


def test_they_take_more_where_little_else_is_there() -> None:
    """In a conversation without tools nothing else competes for the room."""
    made = draft("u:1 a:90 " * 20 + "u:1", 1_750)
    hold_last_words(made)
    assert len(made.held) == 19


@examples(60)
@given(st.lists(st.sampled_from(("u:3 a:40", "u:3 a:300", "u:3", "u:3 t:20")), max_size=30), st.integers(50, 4_000))
def test_of_two_in_succession_one_is_held(turns: list[str], target: int) -> None:
    """Whatever they come to; and all are, where all of them shortened fit half of the target."""
    made = draft(" ".join(["u:3 t:9000", *turns, "u:3 a:9"]), target)
    hold_last_words(made)
    ends = answers_by_human(made)
    people = [position for position, group in enumerate(made.groups) if group.head.human]
    shown = [ends.get(position) in made.held for position in people]
    for turn, position in enumerate(people[:-1]):
        if position in ends and not shown[turn]:
            assert shown[turn + 1]
            assert turn == 0 or shown[turn - 1]
    assert made.held.issuperset(ends.values()) or 100 * len(ends) > MOST_SHARE * target


def test_short_ones_stay_as_they_are() -> None:
    """A text that is not much longer than its cut is not worth a marker."""
    made = draft("u:1 a:110 u:1 a:9", 1_600)
    hold_last_words(made)
    assert (made.held, made.shorter) == ({1}, {})


def test_their_thinking_does_not_count() -> None:
    """It is left out before they are, so it takes no room from those of other turns."""
    made = draft("u:1 t:9000 " + "h:900 u:1 " * 6 + "a:9", 800)
    hold_last_words(made)
    assert made.held == {2, 4, 6, 8, 10, 12}
    messages = history("u:1 t:9000 " + "a:300 u:1 " * 6 + "a:9")
    for message in messages:
        if message["content"] and message["role"] == "assistant":
            thinking = {"type": "thinking", "thinking": "thought " * 450, "signature": "s"}
            message["content"] = [thinking, {"type": "text", "text": message["content"]}]
    made = draft_of(messages, 1_100)
    hold_last_words(made)
    assert made.held == {2, 4, 6, 8, 10, 12}
    assert made.shorter.keys() == made.held


def test_nobody_is_left_between_two_others_without_an_answer() -> None:
    """Where people's messages are left out; who spoke right after another person stays."""
    made = draft("u:1 a:1 u:1 a:1 u:1 a:1 u:1 u:1 u:1 a:1 u:1", 1_000)
    leave_nobody_unanswered(made)
    assert all(made.kept)
    for position in (1, 2, 3, 5):
        made.drop(position)
    leave_nobody_unanswered(made)
    assert made.left() == [0, 6, 7, 8, 9, 10]


def test_a_window_of_the_newest_messages_keeps_its_people() -> None:
    """The strategy says which messages stay; only the others look for who was answered."""
    words = "u:9 a:9 u:9 a:90 " + "u:9 a:400 " * 4 + "u:9 t:20 u:9"
    request = request_of(
        history(words), 700, compaction_strategy="sliding_window", keep_recent=12, compaction_notice_enabled=False
    )
    assert {"m4", "m6", "m8", "m10", "m12"} <= set(compact(request).plan.keep)
