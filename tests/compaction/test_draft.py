"""A draft: cuts that are estimated first and counted once they stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.term_counts import shown_only_by
from amplifier_module_context_persistent.messages.elide import Cut, cut_for, elide_text, stays_whole
from amplifier_module_context_persistent.view.plan import Plan
from amplifier_module_context_persistent.view.render import shorten
from tests.support.drafts import check_total, draft, named, request_of


def shown(made: Draft) -> dict[int, set[str]]:
    return shown_only_by(made.left(), made.shown_terms(), made.kept)


def test_an_estimated_cut_is_counted_when_it_is_settled() -> None:
    """Until then it comes to what was said; then to what the shortened message comes to, whatever was cut before."""
    made = draft("u:10 t:900 t:900 a:1", 100)
    result = made.members[1][1]
    for chars, tokens in ((1_000, 5), (200, 3)):
        made.cut_about(1, result, cut_for(chars), tokens)
        assert made.total_tokens == 911 + tokens
    made.settle()
    (message,) = made.fetch([result])
    exact = made.count(shorten(result, message, cut_for(200)))
    assert exact > 3
    assert (made.cut_tokens[result.id], made.total_tokens) == (exact, 911 + exact)
    check_total(made)


def test_an_estimated_cut_that_saves_too_little_is_taken_back() -> None:
    """The message is as it was before, and who asked is told which cut it has again."""
    made = draft("u:10 t:900 t:900 a:1", 100)
    result, other = made.members[1][1], made.members[2][1]
    made.cut(1, result, cut_for(1_000))
    total, cuts = made.total_tokens, dict(made.cuts)
    made.cut_about(1, result, cut_for(980), 5)
    made.cut_about(2, other, cut_for(3_590), 5)
    assert made.settle() == [(1, result, cut_for(1_000), cut_for(980)), (2, other, None, cut_for(3_590))]
    assert (made.cuts, made.total_tokens) == (cuts, total)
    check_total(made)


def test_messages_are_cut_in_order_until_the_goal_is_reached() -> None:
    """They are read together; what comes after the goal is left as it is."""
    made = draft("u:10 t:900 t:900 t:900 a:1", 1_200)
    pieces = [(position, made.members[position][1]) for position in (1, 2, 3)]
    made.cut_each(pieces, lambda _: cut_for(400))
    assert list(made.cuts) == ["m1", "m2"]
    assert made.total_tokens <= made.goal_tokens
    check_total(made)


@given(st.integers(0, 400), st.sampled_from(["", "m1", "m123456789"]), st.integers(0, 3))
def test_what_cannot_get_shorter_is_known_without_reading_it(length: int, reference: str, tail: int) -> None:
    """A text that is no longer than its marker is shown whole, however it is cut; every longer one can be cut."""
    text = "word " * (length // 5) + "x" * (length % 5)
    cuts = [Cut(0, 0, whole_words=True), Cut(tail, tail, whole_words=True), Cut(length // 3, length // 3)]
    if stays_whole([length], reference):
        assert [elide_text(text, cut, reference=reference) for cut in cuts] == [text] * 3
    else:
        longer = "y" * (length + 1)  # the marker says how many characters went, which may be a digit longer
        assert len(elide_text(longer * 2, cuts[0], reference=reference)) < len(longer * 2)


def test_a_cut_message_may_always_get_shorter() -> None:
    """What it shows is not known from the length of its text."""
    made = draft("u:10 t:5 t:900 a:1", 100)
    short, long = made.members[1][1], made.members[2][1]
    assert (made.can_shorten(short), made.can_shorten(long)) == (False, True)
    made.show_by(1, short, Cut(0, 0, instead="a long line that stands instead"))
    assert made.can_shorten(short)


def test_what_is_left_out_meanwhile_is_not_counted() -> None:
    """A group that went after it was cut stays out, and is not read."""
    made = draft("u:10 t:900 t:900 a:1", 100)
    made.cut_about(1, made.members[1][1], cut_for(200), 5)
    made.drop(1)
    made.fetch = lambda wanted: iter(()) if not wanted else 1 / 0  # type: ignore[assignment,return-value]
    made.settle()
    assert made.total_tokens == 911
    check_total(made)


def test_what_is_shown_longer_shows_more_than_the_draft_began_with() -> None:
    """A message that a plan before cut to nothing holds its terms again when it is shown."""
    talk = named(["src/first_name.py and second_name\n" * 40, "word"])
    request = request_of(talk, 10_000)
    previous = Plan("p0", "m5", tuple(f"m{number}" for number in range(6)), cuts={"m2": Cut(0, 0)})
    made = request_of(talk, 10_000, entries=request.entries, previous=previous).draft()
    assert "src/first_name.py" not in shown(made)[1]
    made.show_by(1, made.members[1][1], Cut(500, 500))
    assert "src/first_name.py" in shown(made)[1]
    check_total(made)
