"""A session turn by turn."""

from __future__ import annotations

from pathlib import Path

from amplifier_module_context_persistent.sessions.statistics import TurnLine, outline
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.commands import run
from tests.support.counted_sessions import CountedReads
from tests.support.sessions_of_a_home import write
from tests.support.snapshots import make_snapshot


def lines_of(path: Path) -> list[TurnLine]:
    with Transcript(path) as transcript:
        return outline(transcript, EstimateCounter())


def test_beside_a_catalogue_only_the_first_messages_of_turns_are_read(tmp_path: Path) -> None:
    """What the others come to is kept."""
    answers = [{"role": "assistant", "content": "word " * 4_000}] * 40
    path = write(tmp_path / "log.jsonl", [{"role": "user", "content": "go"}, *answers] * 3)
    path.chmod(0o600)
    assert make_snapshot(str(path))
    run("stats", path, "--tokenizer", "estimate")
    read = CountedReads()
    with Transcript(path, files=read) as transcript:
        found = outline(transcript, EstimateCounter())
    assert [(line.number, line.first, line.last, line.line) for line in found] == [
        (1, 1, 41, "go"),
        (2, 42, 82, "go"),
        (3, 83, 123, "go"),
    ]
    assert all(line.tokens > 40 * 4_000 for line in found)
    assert read.bytes_read < path.stat().st_size / 4


def test_a_result_answers_the_last_call_of_its_id_that_has_none(tmp_path: Path) -> None:
    """The one before it stays open, in the turn in which it was made."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "tool": "bash"}]}
    asked = {"role": "user", "content": "go"}
    result = {"role": "tool", "tool_call_id": "a", "content": "done"}
    lines = lines_of(write(tmp_path / "log.jsonl", [asked, call, asked, call, result]))
    assert [line.open_calls for line in lines] == [1, 0]
