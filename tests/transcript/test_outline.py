"""A session turn by turn."""

from __future__ import annotations

import random
from itertools import chain
from pathlib import Path

from amplifier_module_context_persistent.messages.message import calls_of, result_id_of
from amplifier_module_context_persistent.messages.metadata import first_line, is_human, timestamp_of
from amplifier_module_context_persistent.messages.normalize import tokens_of
from amplifier_module_context_persistent.messages.outcome import ANSWERED, asking_calls, outcome_of
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.transcript.calls import duration_s, instant_of_message
from amplifier_module_context_persistent.transcript.stats import TurnLine, outline
from amplifier_module_context_persistent.transcript.transcript import Transcript
from tests.support.busy_logs import lines, steps
from tests.support.commands import run
from tests.support.counted_sessions import CountedReads
from tests.support.logs import write_file
from tests.support.sessions_of_a_home import write
from tests.support.snapshots import make_snapshot


def lines_of(path: Path) -> list[TurnLine]:
    with Transcript(path) as transcript:
        return outline(transcript, EstimateCounter())


def gone_through(transcript: Transcript) -> list[TurnLine]:
    """Each turn as it is when its messages are gone through; a result answers the last call of its id that has none."""
    found: list[TurnLine] = []
    open_calls: dict[str, list[tuple[TurnLine, bool]]] = {}
    for turn in transcript.turns():
        line = TurnLine(turn.number, turn.start + 1, turn.stop)
        found.append(line)
        start = None
        for message in transcript.messages(turn.start, turn.stop):
            asking = asking_calls(message)
            for call in calls_of(message):
                line.calls += 1
                open_calls.setdefault(call.id, []).append((line, call.id in asking))
            if (call_id := result_id_of(message)) is not None:
                waiting = open_calls.get(call_id)
                of, asks = waiting.pop() if waiting else (line, False)
                of.errors += outcome_of(message, asks=asks) != ANSWERED
            elif not line.line and is_human(message):
                line.line = first_line(message)
            line.tokens += tokens_of(message, EstimateCounter())
            instant = instant_of_message(message)
            if start is None and instant is not None:
                start, line.time = instant, timestamp_of(message)
            if (took := duration_s(start, instant)) is not None:
                line.duration_s = max(took, line.duration_s or 0.0)
    for line, _ in chain.from_iterable(open_calls.values()):
        line.open_calls += 1
    return found


def test_figures_say_what_the_messages_say(tmp_path: Path) -> None:
    """Of logs with something of everything."""
    compared = 0
    for seed in range(30):
        content, _ = lines(list(chain.from_iterable(steps(20, random.Random(seed)))), 0, random.Random(0), 0.0)
        write_file(str(tmp_path / f"{seed}.jsonl"), content)
        with Transcript(tmp_path / f"{seed}.jsonl") as transcript:
            found = outline(transcript, EstimateCounter())
            assert found == gone_through(transcript)
            compared += len(found)
    assert compared > 30


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
