"""A line that is too long for memory: all of it is read but for the texts that make it long, which are lost by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.importers import lines as lines_module
from amplifier_module_context_persistent.toolbox.transfer.importers import long_line as long_line_module
from amplifier_module_context_persistent.toolbox.transfer.importers.long_line import LongLine
from amplifier_module_context_persistent.toolbox.transfer.imports.too_large_value import LEFT_OUT, left_out_text
from tests.support.imports import history_and_view, imported, texts, write_jsonl
from tests.support.sweeps import proof

BIG = "iVBORw0K" * 1_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test reaches with little."""
    monkeypatch.setattr(lines_module, "MOST_LINE_BYTES", 4_000)
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 100)
    monkeypatch.setattr(long_line_module, "_LEAST_BYTES", 500)


def claude(number: int, kind: str, content: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, "id": f"m{number}"}
    above = f"u{number - 1}" if number else None
    return {"type": kind, "uuid": f"u{number}", "parentUuid": above, "sessionId": "s", "message": message}


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


CALL = {"type": "tool_use", "id": "c", "name": "look", "input": {}}


@pytest.mark.parametrize("large", [BIG, [{"type": "text", "text": "See:"}, image(BIG)]], ids=["text", "image"])
async def test_the_rest_of_a_long_line_is_read(tmp_path: Path, large: Any) -> None:
    """A result keeps its call, and what follows it its place; a text stands for an image that would be none."""
    result = [{"type": "tool_result", "tool_use_id": "c", "content": large}]
    talk = [claude(0, "user", "Look."), claude(1, "assistant", [CALL]), claude(2, "user", result)]
    source = write_jsonl(tmp_path / "s.jsonl", [*talk, claude(3, "assistant", [{"type": "text", "text": "Seen."}])])
    report = imported(source)
    history, _ = await history_and_view(report.path)
    said = left_out_text(len(BIG))
    assert texts(history) == [
        "user: Look.",
        "assistant: look",
        f"tool: {said}" if large is BIG else f"tool: See: {said}",
        "assistant: Seen.",
    ]
    (loss,) = report.account.lost
    assert (loss.line, loss.is_part) == (3, True)
    assert f"{len(BIG):,} bytes" in loss.reason


async def test_reasoning_without_its_state_is_bound_to_nothing(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": BIG}
    source = write_jsonl(tmp_path / "s.jsonl", [claude(0, "user", "Go."), claude(1, "assistant", [thought])])
    history, _ = await history_and_view(imported(source).path)
    assert history[1]["content"] == [{"type": "thinking", "thinking": "hm", "signature": None}]


@proof(quick=10)
@pytest.mark.parametrize("block", [1, 2, 7, 4_000])
@pytest.mark.parametrize("text", ["plain" * 900, 'q"' * 2_000, "\\" * 3_000, "ä\n" * 2_000, '\\"' * 1_500])
def test_a_text_ends_where_it_ends(text: str, block: int) -> None:
    """Whatever it holds, and wherever blocks divide the line."""
    value = {"before": 'a "word" \\', "text": text, "after": [1, "b", text, {"c": "\\"}]}
    content = json.dumps(value).encode()
    line = LongLine(4_000)
    for start in range(0, len(content), block):
        line.feed(content[start : start + block])
    size = len(json.dumps(text)) - 2
    left = left_out_text(size)
    expected = {**value, "text": left, "after": [1, "b", left, {"c": "\\"}]}
    assert json.loads(line.finish()) == expected
    assert line.left_out == [size, size]


def test_the_first_of_two_texts_is_kept_if_there_is_room() -> None:
    """As of an output that stands in a line twice."""
    value = {"message": "x" * 3_000, "copy": "x" * 3_000}
    line = LongLine(4_000)
    line.feed(json.dumps(value).encode())
    assert json.loads(line.finish()) == {"message": "x" * 3_000, "copy": left_out_text(3_000)}


def test_a_line_that_is_long_without_long_texts_is_lost(tmp_path: Path) -> None:
    many = claude(1, "user", [{"type": "text", "text": "short"} for _ in range(500)])
    source = write_jsonl(tmp_path / "s.jsonl", [claude(0, "user", "one"), many])
    report = imported(source)
    assert report.messages == 1
    (loss,) = report.account.lost
    assert "at most 4,000 are read" in loss.reason


def test_a_cut_long_line_is_lost(tmp_path: Path) -> None:
    whole = write_jsonl(tmp_path / "s.jsonl", [claude(0, "user", "one"), claude(1, "user", BIG)]).read_bytes()
    (tmp_path / "s.jsonl").write_bytes(whole[: -len(BIG) // 2])
    report = imported(tmp_path / "s.jsonl")
    assert report.messages == 1
    assert report.account.lost_lines == 1
    assert LEFT_OUT not in (tmp_path / "imported" / "s.jsonl").read_text()
