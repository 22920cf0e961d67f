"""Excerpts: whole pieces of a text, a mark at every gap, and nothing below what was asked for."""

import re

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.excerpt import excerpt, gap_mark, open_fence, shown_spans

LINES = "\n".join(f"line {n} of a result that is long enough to be cut" for n in range(100))


def test_every_gap_is_marked() -> None:
    """The first with the reference, each later one with how many lines are missing."""
    spans = [(LINES.index(f"line {n} "), LINES.index(f"line {n + 1} ") - 1) for n in (20, 21, 50)]
    text = excerpt(LINES, 100, 100, spans, reference="m7")
    marks = [line for line in text.split("\n") if not line.startswith("line ")]
    assert re.fullmatch(r"\[… [\d,]+ of [\d,]+ characters elided; recall m7 …\]", marks[0])
    assert marks[1:] == ["⋮ 28 lines", "⋮ 46 lines"]
    assert [line for line in text.split("\n") if line.startswith("line 2")][1:] == LINES.split("\n")[20:22]


def test_a_gap_within_a_line_tells_characters() -> None:
    """Lines would be told as one, though most of them are there."""
    text = "word " * 400
    shown = excerpt(text, 100, 100, [(900, 1_000)], reference="m7")
    assert re.search(r"\n⋮ [\d,]+ characters\n", shown)


def test_a_gap_that_is_no_longer_than_its_mark_is_shown() -> None:
    """So there are no lines that are cut off for nothing."""
    start, end = LINES.index("line 50 "), LINES.index("line 51 ") - 1
    after = LINES.index("line 52 ")
    shown = excerpt(LINES, 0, 0, [(start, end), (after, after + 50)], reference="m7")
    assert "line 51 " in shown


@given(st.text(alphabet="ab \n.é。字", max_size=2_000), st.integers(0, 300), st.integers(0, 300), st.booleans())
def test_an_excerpt_shows_no_less_than_was_asked_for(text: str, head: int, tail: int, prose: bool) -> None:
    """Its pieces are parts of the text, in order."""
    spans = shown_spans(text, head, tail, prose=prose)
    assert sum(end - start for start, end in spans) >= min(len(text), head + tail)
    assert spans == sorted(spans)
    assert len(excerpt(text, head, tail, reference="m7", prose=prose)) <= len(text)


def test_prose_ends_at_a_paragraph_and_closes_its_fences() -> None:
    """A reader never takes what follows for code."""
    text = "An introduction. " * 10 + "\n\n```py\n" + "value = 1\n" * 200 + "```\n\nIt works now.\n\nFINAL ANSWER: 42"
    shown = excerpt(text, 220, 30, reference="m7", prose=True)
    assert shown.count("```") == 2
    assert not open_fence(shown)
    assert shown.endswith("\n[… recall m7]\nIt works now.\n\nFINAL ANSWER: 42")


def test_a_tail_that_begins_in_a_block_opens_it_again() -> None:
    """And one that begins at its end does not."""
    text = "Words of some length. " * 20 + "\n\n```\n" + "value = 1\n" * 100 + "```\nDone."
    shown = excerpt(text, 200, 60, reference="m7", prose=True)
    assert "[… recall m7]\n```\nvalue = 1\n" in shown
    assert shown.count("```") == 2


def test_no_character_is_cut_in_two() -> None:
    """Neither an emoji of several, nor a letter with its accent."""
    text = "👩‍👩‍👧" * 200
    shown = excerpt(text, 101, 101, reference="m7")
    head, _, rest = shown.partition("\n[")
    tail = rest.partition("]\n")[2]
    assert set(head.split("👩‍👩‍👧")) == {""}
    assert set(tail.split("👩‍👩‍👧")) == {""}


def test_a_whole_line_that_is_missing_is_told_as_one() -> None:
    """At the beginning of a text, between others, and at its end."""
    text = "one\ntwo\nthree"
    assert [gap_mark(text, gap) for gap in ((0, 3), (4, 7), (8, 13))] == ["⋮ 1 line"] * 3
    assert [gap_mark(text, gap) for gap in ((1, 3), (8, 12))] == ["⋮ 2 characters", "⋮ 4 characters"]
