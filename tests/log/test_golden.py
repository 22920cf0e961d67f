"""The format does not change unnoticed: golden files, the examples of `docs/format.md`, and the fixtures."""

import json
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.forms.request_bodies import written_as
from amplifier_module_context_persistent.log.bundle import bundled
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import FORMAT_VERSION, Member, encode_control, encode_message
from amplifier_module_context_persistent.log.reset_record import KeptRun, Reset, frame
from fixtures import make_logs
from tests.support.logs import append, assert_sound, content_of, findings, saved_tails, sealed
from tests.support.places import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(ROOT, "fixtures")
GOLDEN = os.path.join(HERE, "golden", f"format-{FORMAT_VERSION}")

CONTROLS: list[tuple[str, dict[str, Any]]] = [
    ("header", {"version": FORMAT_VERSION, "log_id": "l", "session_id": "s", "tokenizer": "estimate", "created": "t"}),
]
MESSAGES: list[dict[str, Any]] = [
    {"content": "first key last", "role": "user"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "f", "arguments": {"a": [1.5, True]}}]},
    {"role": "tool", "tool_call_id": "c", "name": "f", "content": 'ünï 合計 😀 \u2028 \x00 " \\ \n'},
    {"role": "user", "content": "pinned", "metadata": {"pinned": True, "source": "x", "critical": True}},
    {"role": "developer", "content": {"big": 2**64, "inf": float("inf"), "half": "\ud83d"}},
    {"role": "user", "content": "old", "timestamp": "2020-01-01T00:00:00Z"},
]


MEMBERS: list[dict[str, Any]] = [
    {"role": "user", "content": "new"},
    {"role": "user", "content": {"big": 2**64}, "metadata": {"pinned": True}},
]


def golden_lines() -> bytes:
    bodies = [encode_control("header", **CONTROLS[0][1])]
    bodies += [encode_message(message, message_id=f"id-{n}", timestamp="T") for n, message in enumerate(MESSAGES)]
    runs = (KeptRun.of(0, ["id-0", "id-1", "id-2"]), KeptRun.of(2, ["id-5"]))
    reset = Reset("r", "set_messages", "T", "id-5", 2, 6, runs)
    members = [
        encode_message(message, message_id=f"id-{6 + n}", timestamp="T", member=Member("r", n))
        for n, message in enumerate(MEMBERS)
    ]
    bodies += frame(reset, members)
    lines, seed = [], 0
    for body in bodies:
        line, seed = seal(body, seed)
        lines.append(line)
    return b"".join(lines)


def live(path: str) -> list[dict[str, Any]]:
    log = FileLog(path)
    try:
        log.follow()
        return list(log.read(log.index.live))
    finally:
        log.close()


def test_records_are_written_as_they_always_were() -> None:
    """The bytes of every kind of record are those of the golden file of this version."""
    assert golden_lines() == content_of(f"{GOLDEN}.jsonl")


def test_bundles_are_written_and_read_as_they_always_were(path: str) -> None:
    """The golden file has a header, a message, a bundle of three, and half a bundle that a crash left."""
    golden = content_of(os.path.join(HERE, "golden", "bundle.jsonl"))
    messages = [encode_message(MESSAGES[n], message_id=f"id-{n}", timestamp="T") for n in (0, 1, 2, 3, 4, 5)]
    bodies = [encode_control("header", **CONTROLS[0][1]), messages[0], *bundled(messages[1:4]), *bundled(messages[4:])]
    assert golden == b"".join(sealed(bodies))[:-10]
    Path(path).write_bytes(golden)
    assert [message["metadata"]["message_id"] for message in live(path)] == ["id-0", "id-1", "id-2", "id-3"]
    theirs, damaged = documented_reader()(path)
    assert (len(theirs), damaged) == (4, [])


@pytest.mark.parametrize("version", [FORMAT_VERSION])
def test_golden_records_are_read_as_they_always_were(version: int) -> None:
    """The golden file of every version reads to its golden messages."""
    golden = os.path.join(HERE, "golden", f"format-{version}")
    assert live(f"{golden}.jsonl") == json.loads(content_of(f"{golden}.live.json"))
    assert findings(f"{golden}.jsonl") == []


# -- the documentation -------------------------------------------------------------------------------------------------


def blocks(language: str) -> list[str]:
    text = content_of(os.path.join(ROOT, "docs", "format.md")).decode()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_worked_example_is_right(path: str) -> None:
    """The checksums of the example, its table and its text are right, and the example is a sound log."""
    (example,) = blocks("jsonl")
    Path(path).write_text(example, encoding="utf-8")
    assert_sound(path)
    assert [message["content"] for message in live(path)] == ["Hi", "Hello"]
    text = content_of(os.path.join(ROOT, "docs", "format.md")).decode()
    rows = re.findall(r"^\| (\d) \| .* \| `([0-9a-f]{8})` \| `([0-9a-f]{8})` \|$", text, re.MULTILINE)
    crcs = [json.loads(line)["_crc"] for line in example.splitlines()]
    seeds = ["00000000", *crcs[:-1]]
    assert rows == [(str(n), seed, crc) for n, (seed, crc) in enumerate(zip(seeds, crcs, strict=True), 1)]
    (summed,) = re.findall(r"^`(\{\"role\":\"user\".*\})`\.$", text, re.MULTILINE)
    assert f"{zlib.crc32(summed.encode(), int(crcs[0], 16)):08x}" == crcs[1]


def documented_reader() -> Callable[[str], tuple[list[dict[str, Any]], list[int]]]:
    (code,) = blocks("python")
    scope: dict[str, Any] = {}
    exec(compile(code, "docs/format.md", "exec"), scope)
    reader: Callable[[str], tuple[list[dict[str, Any]], list[int]]] = scope["read_live"]
    return reader


@pytest.mark.parametrize("name", ["older-module.jsonl", "../tests/log/golden/format-2.jsonl"])
def test_the_reader_of_the_documentation_reads_the_same(name: str) -> None:
    """A second reader, written from the specification, agrees with ours."""
    path = os.path.join(FIXTURES, name)
    messages, damaged = documented_reader()(path)
    assert damaged == []
    ours = live(path)
    assert len(messages) == len(ours)
    for theirs, own in zip(messages, ours, strict=True):
        plain = {key: value for key, value in theirs.items() if key not in ("_crc", "_json")}
        assert plain == (own if "metadata" in theirs else {k: v for k, v in own.items() if k != "metadata"})


def test_the_reader_of_the_documentation_sees_damage() -> None:
    """A second reader reports the lines that ours reports, and one that continues a record within a damaged line."""
    path = os.path.join(FIXTURES, "damaged.jsonl")
    _, damaged = documented_reader()(path)
    assert damaged == sorted({found.line for found in findings(path)} | {9})


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_the_examples_for_jq_run() -> None:
    """Each line of the examples works on a log and finds something."""
    (commands,) = blocks("sh")
    for command in commands.splitlines():
        run = subprocess.run(
            command.replace("log.jsonl", os.path.join(FIXTURES, "every-kind.jsonl")),
            shell=True,
            capture_output=True,
            check=True,
        )
        assert run.stdout.strip(), command


# -- the fixtures ------------------------------------------------------------------------------------------------------


def test_the_fixtures_are_what_their_maker_makes() -> None:
    """The logs in `fixtures/` are those of `make_logs`, and each is described."""
    described = content_of(os.path.join(FIXTURES, "README.md")).decode()
    for name, content in make_logs.logs().items():
        assert content_of(os.path.join(FIXTURES, name)) == content, name
        assert f"`{name}`" in described


def opened(name: str, tmp_path: Path) -> FileLog:
    """A fixture, copied so that it can be appended to."""
    path = shutil.copy(os.path.join(FIXTURES, name), tmp_path / "log.jsonl")
    log = FileLog(path)
    log.follow()
    return log


def goes_on(log: FileLog) -> None:
    before = len(log.index.live)
    damage = len(log.index.damage)
    append(log, 1)
    log.close()
    log.follow()
    assert len(log.index.live) == before + 1
    assert len(log.index.damage) == damage


def test_every_kind_of_record_is_read(tmp_path: Path) -> None:
    """The sound log has no finding, and shows what its last reset says."""
    log = opened("every-kind.jsonl", tmp_path)
    ids = [message["metadata"]["message_id"] for message in log.read(log.index.live)]
    assert ids == ["msg-0001", "msg-0002", "msg-0006", "msg-0007", "msg-0008", "msg-0009", "msg-0010"]
    assert log.index.damage == []
    assert log.index.control_counts["of-a-later-version"] == 1
    assert [header["session_id"] for header in log.index.headers] == ["session-a"]
    (odd,) = log.read([7])
    assert odd["content"] == {"rows": 2**70, "ratio": float("inf")}
    goes_on(log)


def test_a_log_of_the_older_module_is_read(tmp_path: Path) -> None:
    """Its bare messages are live, without a finding, and it goes on."""
    log = opened("older-module.jsonl", tmp_path)
    messages = list(log.read(log.index.live))
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[3]["content"] == "Done — see models.py."
    assert log.index.damage == []
    goes_on(log)


def test_a_torn_log_is_read(tmp_path: Path) -> None:
    """Its whole records are live, and its tail is saved aside by the next append."""
    log = opened("torn.jsonl", tmp_path)
    assert len(log.index.live) == 4
    assert log.index.damage == []
    assert log.describe().torn_bytes == 60
    goes_on(log)
    (copy,) = saved_tails(log.path)
    assert len(content_of(copy)) == 60


def test_a_damaged_log_is_read(tmp_path: Path) -> None:
    """Its damage is told with its places, and every record that is whole is read."""
    log = opened("damaged.jsonl", tmp_path)
    assert [(found.line, found.kind) for found in log.index.damage] == [
        (3, "checksum"),
        (5, "checksum"),
        (7, "glued"),
        (8, "unreadable"),
    ]
    ids = [message["metadata"]["message_id"] for message in log.read(log.index.live)]
    assert ids == [f"msg-{n:04}" for n in (1, 2, 3, 5, 6, 7, 8)]
    goes_on(log)


def test_messages_of_other_forms_are_read_and_written_back() -> None:
    """The mark says what the canonical message has no place for; the history in its own form is what was given."""
    log = FileLog(os.path.join(FIXTURES, "foreign-forms.jsonl"))
    log.follow()
    stored = list(log.read(log.index.live))
    log.close()
    assert [message["role"] for message in stored] == ["user", "assistant", "tool", "user", "assistant", "tool"]
    first, second = make_logs.FOREIGN[:3], make_logs.FOREIGN[3:]
    written = written_as(stored[:4], "anthropic")
    assert written[1]["content"] == first[1]["content"]
    assert written[2]["content"][1] == first[2]["content"][1]
    assert written_as(stored[4:], "openai_responses") == second
