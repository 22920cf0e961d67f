"""A request as text: the gauge, the marks and the proof."""

import re
from dataclasses import replace

import pytest

from amplifier_module_context_persistent.toolbox.cli.replay import RequestPanel, counts_text, strip
from amplifier_module_context_persistent.toolbox.replay import Proof, Seen, open_transcript, requests
from amplifier_module_context_persistent.toolbox.replay.visibility import DROPPED, ELIDED, KEPT, SUMMARISED
from tests.support.replays import MESSAGES, record
from tests.support.sweeps import proof


@pytest.fixture
async def seen(tmp_path) -> list[Seen]:
    """The requests of a session with compactions."""
    await record(tmp_path / "log.jsonl", MESSAGES)
    with open_transcript(tmp_path / "log.jsonl") as transcript:
        return list(requests(transcript))


@pytest.mark.parametrize(("tokens", "filled"), [(0, 0), (500, 20), (1_000, 40), (5_000, 40)])
def test_the_gauge_is_filled_by_the_share_of_the_budget(tokens: int, filled: int) -> None:
    """Never beyond its end; the numbers say what the bar cannot."""
    text = RequestPanel(100).gauge(tokens, 1_000).plain
    assert text.count("█") == filled
    assert len(re.findall("[█░]", text)) == 40
    assert f"{tokens:,} of 1,000 tokens, {tokens / 1_000:.0%}" in text


def test_a_terminal_without_blocks_gets_plain_signs() -> None:
    """And one without an encoding that is known."""
    for encoding in ("ascii", "latin-1", "no such encoding"):
        text = RequestPanel(80, encoding).gauge(500, 1_000).plain
        assert text.isascii()
        assert "#" in text


@proof
async def test_a_request_fits_the_width_and_says_whether_it_is_proved(seen: list[Seen]) -> None:
    """Every line, with compaction or without; what was altered stands out."""
    for one in seen:
        lines = RequestPanel(80).request(one).plain.splitlines()
        assert max(map(len, lines)) <= 80
        assert lines[-1] == f"hash {one.proof.hash} proved"
    assert any(one.compaction for one in seen)
    bad = RequestPanel(80).request(replace(seen[0], proof=Proof(is_proved=False, lacks=["a\nb"])))
    assert bad.plain.endswith("NOT proved: a?b")
    assert RequestPanel(80).request(replace(seen[0], proof=Proof())).plain.endswith("made under a policy")
    assert "REFUSED" in RequestPanel(80).request(replace(seen[0], proof=Proof(), view=None)).plain


@proof
async def test_marks_are_one_letter_a_message_or_a_share(seen: list[Seen]) -> None:
    """As many letters as messages where there is room, else as many as cells; the counts are exact."""
    marks = max((one.marks for one in seen if one.marks), key=lambda marks: marks.total)
    wide = strip(marks, marks.total + 4).plain.removeprefix("saw ")
    letters = {KEPT: "K", ELIDED: "E", DROPPED: "D", SUMMARISED: "S"}
    assert wide == "".join(letters[marks.of(place)] for place in range(marks.total))
    narrow = strip(marks, 24).plain.removeprefix("saw ")
    assert len(narrow) == 20
    assert set(narrow) <= set(wide)
    said = counts_text(marks).plain
    for mark, count in marks.counts().items():
        assert (f"{letters[mark]} {count:,} {mark}" in said) is (count > 0 or mark in (KEPT, DROPPED))
