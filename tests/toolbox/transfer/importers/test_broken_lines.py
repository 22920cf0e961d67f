"""Lines that are not one JSON value: whole records in them are imported, and what is lost is named."""

import json
from pathlib import Path

import pytest

from amplifier_module_context_persistent.toolbox.transfer.importers.broken_lines import pieces_of
from tests.support.claude_entries import answers, says
from tests.support.imports import history_and_view, imported, texts, write_jsonl
from tests.support.sweeps import proof

FIRST = json.dumps(says("u1", None, "first"))
ANSWER = json.dumps(answers("a1", "u1", "msg_1", {"type": "text", "text": "{answer}"}))
SECOND = json.dumps(says("u2", "a1", "second"))
ALL = ["user: first", "assistant: {answer}", "user: second"]


async def said(source: Path) -> list[str]:
    history, _ = await history_and_view(imported(source).path)
    return texts(history)


@proof(quick=1)
@pytest.mark.parametrize(
    "lines",
    [
        [FIRST, ANSWER + SECOND],
        [FIRST + ANSWER + SECOND],
        [FIRST, ANSWER + "  " + SECOND],
        [FIRST + ", " + ANSWER + "," + SECOND],
        [FIRST, "\0" * 300 + ANSWER, SECOND],
        [FIRST, ANSWER + "\0" * 4_096 + SECOND + "\0"],
    ],
    ids=[
        "two on one line",
        "three on one line",
        "with a space between",
        "with commas between",
        "after NULs",
        "NULs between and at the end",
    ],
)
async def test_each_whole_record_of_a_line_is_imported(tmp_path: Path, lines: list[str]) -> None:
    """In order, with nothing lost."""
    source = write_jsonl(tmp_path / "s.jsonl", lines)
    assert await said(source) == ALL
    assert imported(source).lost == 0


@proof(quick=1)
@pytest.mark.parametrize("cut", [5, len(ANSWER) // 2, len(ANSWER) - 1])
async def test_a_record_behind_a_cut_one_is_imported(tmp_path: Path, cut: int) -> None:
    """The cut one is lost by name; nothing inside it is taken for a record."""
    source = write_jsonl(tmp_path / "s.jsonl", [FIRST, ANSWER[:cut] + SECOND])
    assert await said(source) == ["user: first", "user: second"]
    (loss,) = imported(source).not_carried
    assert (loss.line, loss.is_part) == (2, True)
    assert f"{cut} characters that are no whole record" in loss.reason


@proof
async def test_a_cut_record_behind_a_whole_one_is_named(tmp_path: Path) -> None:
    """As a file ends that a killed program wrote."""
    source = write_jsonl(tmp_path / "s.jsonl", [FIRST, ANSWER + SECOND[:40]], end="")
    assert await said(source) == ["user: first", "assistant: {answer}"]
    assert [loss.line for loss in imported(source).not_carried] == [2]


@proof
async def test_line_breaks_inside_a_text_belong_to_it(tmp_path: Path) -> None:
    """Some programs write them as they are; the lines are accounted for."""
    raw = json.dumps(answers("a1", "u1", "msg_1", {"type": "text", "text": "one#two##}#four"})).replace("#", "\n")
    source = write_jsonl(tmp_path / "s.jsonl", [FIRST, raw, SECOND])
    assert await said(source) == ["user: first", "assistant: one\ntwo\n\n}\nfour", "user: second"]
    account = imported(source).account
    assert (account.lines, account.not_conversational) == (7, {"line that belongs to the record before it": 4})


@proof
async def test_a_cut_line_does_not_swallow_the_next_record(tmp_path: Path) -> None:
    """A record that is whole by itself ends the one before it."""
    source = write_jsonl(tmp_path / "s.jsonl", [FIRST, ANSWER[:80], SECOND])
    assert await said(source) == ["user: first", "user: second"]
    assert [loss.line for loss in imported(source).not_carried] == [2]


@proof(quick=1)
@pytest.mark.parametrize("unit", ['{"', '{"a":', '{"a":[', '{"a":1},', '{"a', "{}", "\0{"])
def test_every_character_of_a_hostile_line_is_told_once(unit: str) -> None:
    """As a part of an object or as lost, but for what stands between objects: NULs and commas; in bounded time."""
    line = unit * ((1 << 20) // len(unit))
    pieces = pieces_of(line)
    between = line.count("\0") + line.count("},")
    assert sum(piece.characters for piece in pieces) == len(line) - between * (pieces[0].value is not None)
