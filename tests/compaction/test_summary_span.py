"""Which messages a summary stands for."""

from amplifier_module_context_persistent.compaction.summary_span import (
    Span,
    Summary,
    drop_span,
    older_ordinals,
    summary_text,
)
from amplifier_module_context_persistent.view.plan import SUMMARY_TAGS
from tests.support.drafts import check_total, draft, kept


def test_the_older_part_without_people_pins_and_system_text() -> None:
    """What is recent stays, whole groups are taken."""
    made = draft("s:10 u:10 t:90 a:90! a:90 u:10 a:100 a:100", 100)
    assert older_ordinals(made) == {2, 3, 5, 7}


def test_what_a_summary_stands_for_is_left_out() -> None:
    """Only groups that it covers in whole, and nothing that no step touches."""
    made = draft("u:10 t:90 a:90 a:90 u:10 a:1", 100)
    drop_span(made, Summary("so far", frozenset({1, 2, 3}), "basis"))
    assert kept(made) == "0 3 4 5"
    check_total(made)
    made = draft("u:10 t:90 a:90 u:10 a:1", 100)
    drop_span(made, Summary("so far", frozenset({1}), "basis"))
    assert kept(made) == "0 1 2 3 4"


def test_a_summary_keeps_what_its_span_was() -> None:
    """The messages and the basis on which it is valid."""
    span = Span(frozenset({1, 2}), ("basis", 1), [], with_tools=False, tokens=10)
    assert span.summed_up("text") == Summary("text", frozenset({1, 2}), ("basis", 1))


def test_a_summary_is_marked_as_one() -> None:
    """So that the model takes it for no message."""
    assert summary_text("said") == SUMMARY_TAGS[0] + "said" + SUMMARY_TAGS[1]
