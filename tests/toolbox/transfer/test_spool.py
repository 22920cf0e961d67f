"""What an import puts aside comes back as it was, in any order, and takes no memory to speak of."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.imports import spool as spool_module
from amplifier_module_context_persistent.toolbox.transfer.imports.spool import RecordBodies, Spool, SpooledValues
from tests.support.sweeps import proof

VALUES = [
    {"text": "x" * 5_000, "number": 2**70, "nothing": None},
    ["\ud800", float("inf"), {"deep": [[[]]]}],
    "",
    {"large": "y" * 300_000},
]
_PEAK = """
import sys
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
peak = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
before = peak()
report = import_session(sys.argv[1], path=sys.argv[2])
print(report.format, report.messages, peak() - before)
"""


@pytest.fixture
def spool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spool]:
    monkeypatch.setattr(spool_module, "_BLOCK_BYTES", 10_000)
    monkeypatch.setattr(spool_module, "_HELD_BYTES", 20_000)
    with Spool() as opened:
        yield opened


def test_values_come_back_in_any_order(spool: Spool) -> None:
    """Values are given back equal, those in the file and those that wait, also when more are put aside in between."""
    aside = SpooledValues(spool)
    places = [aside.put(value) for value in VALUES * 3]
    assert [aside.get(place) for place in reversed(places)] == (VALUES * 3)[::-1]
    late = aside.put("late")
    assert aside.get(places[0]) == VALUES[0]
    assert aside.get(late) == "late"


def test_values_of_a_small_source_stay_in_memory(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are given back without being written, in any order and as often as needed."""
    monkeypatch.setattr(spool, "put", None)
    aside = SpooledValues(spool, is_small=True)
    places = [aside.put(value) for value in VALUES * 5]
    aside.write_out()
    for _ in range(2):
        assert [aside.get(place) for place in reversed(places)] == (VALUES * 5)[::-1]


def test_what_is_more_than_the_memory_may_hold_waits_in_a_file(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is less in memory: a small import makes no file."""
    made = []
    new_file = tempfile.TemporaryFile

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(arguments)
        return new_file(*arguments, **options)

    monkeypatch.setattr(tempfile, "TemporaryFile", counted)
    spool.put(b"x" * 9_000)
    spool.put(b"x" * 9_000)
    assert not made
    places = [spool.put(b"%04d" % number * 250) for number in range(100)]
    assert len(made) == 1
    assert [spool.get(place, 4) for place in places] == [b"%04d" % number for number in range(100)]


def test_bodies_are_a_list_of_records(spool: Spool) -> None:
    """Bodies are read by number and in parts; a replaced one keeps its number."""
    bodies = RecordBodies(spool)
    for number in range(5_000):
        bodies.append(b"%d" % number)
    bodies[7] = b"another"
    assert (len(bodies), bodies[6], bodies[7], bodies[4_999]) == (5_000, b"6", b"another", b"4999")
    assert list(bodies.part(6, 9)) == [b"6", b"another", b"8"]
    assert len(list(bodies)) == 5_000


def claude_line(number: int) -> dict[str, Any]:
    parent = f"u{number - 1}" if number else None
    if number % 2 == 0:
        return {
            "type": "user",
            "uuid": f"u{number}",
            "parentUuid": parent,
            "sessionId": "s",
            "message": {"role": "user", "content": "ab " * 600},
        }
    answer = {"role": "assistant", "id": f"m{number}", "model": "m", "content": [{"type": "text", "text": "cd " * 600}]}
    return {"type": "assistant", "uuid": f"u{number}", "parentUuid": parent, "sessionId": "s", "message": answer}


def codex_line(number: int) -> dict[str, Any]:
    if not number:
        return {"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}
    role, kind = ("user", "input_text") if number % 2 else ("assistant", "output_text")
    item = {"type": "message", "role": role, "content": [{"type": kind, "text": f"{number} " + "ab " * 600}]}
    return {"type": "response_item", "payload": item}


def pi_line(number: int) -> dict[str, Any]:
    if not number:
        return {"type": "session", "version": 3, "id": "s", "cwd": "/w"}
    message = {"role": "user" if number % 2 else "assistant", "content": [{"type": "text", "text": "ab " * 600}]}
    parent = f"e{number - 1}" if number > 1 else None
    return {"type": "message", "id": f"e{number}", "parentId": parent, "message": message}


@proof
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("line", [claude_line, codex_line, pi_line], ids=["claude-code", "codex", "pi"])
def test_an_import_holds_no_file_in_memory(line: Any, tmp_path: Path) -> None:
    """An import of 40 MB takes less memory than the file has bytes."""
    source, count = tmp_path / "long.jsonl", 20_000
    with source.open("w") as file:
        file.writelines(json.dumps(line(number)) + "\n" for number in range(count))
    assert source.stat().st_size > 36_000_000
    run = [sys.executable, "-c", _PEAK, str(source), str(tmp_path / "new.jsonl")]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    _, messages, peak_kb = done.stdout.split()
    assert int(messages) >= count - 1
    assert int(peak_kb) < 36_000


def gemini_line(number: int) -> dict[str, Any]:
    if not number:
        return {"sessionId": "s", "projectHash": "p"}
    return {"type": "user" if number % 2 else "gemini", "id": f"e{number}", "content": "ab " * 600}


def copilot_line(number: int) -> dict[str, Any]:
    if not number:
        return {"type": "session.start", "id": "e0", "data": {"sessionId": "s"}}
    kind = "user.message" if number % 2 else "assistant.message"
    return {"type": kind, "id": f"e{number}", "data": {"content": "ab " * 600}}


@proof
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    "line", [claude_line, codex_line, pi_line, gemini_line, copilot_line], ids=lambda one: one.__name__
)
@pytest.mark.parametrize("is_last", [False, True], ids=["within", "last"])
def test_a_long_line_is_in_memory_twice_at_most(line: Any, is_last: bool, tmp_path: Path) -> None:
    """As bytes and as its value, or as its value and its record; wherever it is in the file."""
    source, size_kb = tmp_path / "long.jsonl", 40_000
    long = json.dumps(line(2)).replace("ab ", "x" * size_kb * 1_000, 1)
    after = "" if is_last else f"{json.dumps(line(3))}\n"
    source.write_text(f"{json.dumps(line(0))}\n{json.dumps(line(1))}\n{long}\n{after}")
    run = [sys.executable, "-c", _PEAK, str(source), str(tmp_path / "new.jsonl")]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[2]) < 2.4 * size_kb


def test_a_value_can_be_changed_after_it_was_given(spool: Spool) -> None:
    """Each call gives a copy of its own, also of a value that still waits for its batch."""
    aside = SpooledValues(spool)
    places = [aside.put({"number": number}) for number in range(20)]
    for place in (places[3], places[19]):
        aside.get(place)["changed"] = True
        assert "changed" not in aside.get(place)


def test_values_can_be_written_out_before_their_batch_is_full(spool: Spool) -> None:
    """Places stay right, although a batch has fewer values then."""
    aside = SpooledValues(spool)
    places = []
    for number in range(40):
        places.append(aside.put([number]))
        if number % 7 == 0:
            aside.write_out()
    assert [aside.get(place) for place in places] == [[number] for number in range(40)]
