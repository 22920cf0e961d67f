"""A draft: cuts that are estimated first and counted once they stand."""

from __future__ import annotations

from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.messages.elide import Cut, cut_for
from amplifier_module_context_persistent.view.plan import Plan
from amplifier_module_context_persistent.view.render import shorten
from tests.support.drafts import check_total, draft, named, request_of


def shown(made: Draft) -> dict[str, int]:
    return {name: count for name, count in made.term_counts.counts.items() if count}


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
    """The message is as it was before, and shows what it showed."""
    made = draft("u:10 t:900 t:900 a:1", 100)
    result, before = made.members[1][1], shown(made)
    made.cut(1, result, cut_for(1_000))
    known, total, cuts = shown(made), made.total_tokens, dict(made.cuts)
    made.cut_about(1, result, cut_for(980), 5)
    made.cut_about(2, made.members[2][1], cut_for(3_590), 5)
    made.settle()
    assert (made.cuts, made.total_tokens, shown(made)) == (cuts, total, known)
    assert known == before
    check_total(made)


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
    assert "src/first_name.py" not in shown(made)
    made.show_by(1, made.members[1][1], Cut(500, 500))
    assert shown(made)["src/first_name.py"] == 1
    check_total(made)
