"""A session turn by turn."""

from __future__ import annotations

import random
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.catalogue import database
from amplifier_module_context_persistent.cli.main import main
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.transcript.outline import TurnLine, outline
from amplifier_module_context_persistent.transcript.transcript import Transcript
from tests.support.busy_logs import lines, steps
from tests.support.counted_reads import CountedReads
from tests.support.logs import write_file
from tests.support.sessions_of_a_home import write
from tests.support.snapshots import make_snapshot


def lines_of(path: Path) -> list[TurnLine]:
    with Transcript(path) as transcript:
        return outline(transcript, EstimateCounter())


def test_figures_say_what_the_messages_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of logs with something of everything: each turn as it is when its messages are gone through.

    They are gone through where Python has no SQLite.
    """
    compared = 0
    for seed in range(30):
        content, _ = lines(list(chain.from_iterable(steps(20, random.Random(seed)))), 0, random.Random(0), 0.0)
        write_file(str(tmp_path / f"{seed}.jsonl"), content)
        with Transcript(tmp_path / f"{seed}.jsonl") as transcript:
            turns = list(transcript.turns())
            found = outline(transcript, EstimateCounter())
            assert found == outline(transcript, EstimateCounter(), turns)
            with monkeypatch.context() as without:
                without.setattr(database, "sqlite3", None)
                assert outline(transcript, EstimateCounter()) == found
            compared += len(turns)
    assert compared > 30


def test_beside_a_catalogue_only_the_first_messages_of_turns_are_read(tmp_path: Path) -> None:
    """What the others come to is kept."""
    answers = [{"role": "assistant", "content": "word " * 4_000}] * 40
    path = write(tmp_path / "log.jsonl", [{"role": "user", "content": "go"}, *answers] * 3)
    path.chmod(0o600)
    assert make_snapshot(str(path))
    assert CliRunner().invoke(main, ["stats", str(path), "--tokenizer", "estimate"]).exit_code == 0
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
