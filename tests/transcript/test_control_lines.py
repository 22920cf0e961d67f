"""Reading a log's control records without its messages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record import CONTROL_HEAD, encode_control
from amplifier_module_context_persistent.transcript import control_lines as module
from amplifier_module_context_persistent.transcript.control_lines import control_lines, has_known_places
from tests.support.counted_sessions import CountedReads
from tests.support.logs import body, reset_bodies, sealed, write_file

SOME = [encode_control("pin", message_id=f"m{number}", pinned=True) for number in range(9)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Control records at the beginning, between messages, next to each other, within a reset, and at the end."""
    far = body(3, text="x" * 40_000)
    bodies = [*SOME[:2], body(1), SOME[2], body(2), far, SOME[3], *reset_bodies("r", body(4), body(5)), SOME[4]]
    write_file(tmp_path / "log.jsonl", b"".join(sealed([*bodies, *map(body, range(6, 30)), *SOME[5:]])))
    return tmp_path / "log.jsonl"


def opened(path: Path, files: CountedReads | None = None) -> LogReader:
    reader = LogReader(path, files=files)
    reader.follow()
    return reader


def expected(reader: LogReader) -> list[bytes]:
    return [line.removesuffix(b"\n") for line in reader.records() if line.startswith(CONTROL_HEAD)]


def given(reader: LogReader) -> list[bytes]:
    return [found.line for found in control_lines(reader)]


@pytest.mark.parametrize("block", [1, 3, 4096])
def test_all_are_given_in_order(path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """The same lines as a pass over the whole log gives, each with the messages before it."""
    monkeypatch.setattr(module, "_BLOCK", block)
    with closing(opened(path)) as reader:
        assert has_known_places(reader)
        assert given(reader) == expected(reader)
        before = [line.startswith(CONTROL_HEAD) for line in reader.records()]
        messages = [before[:at].count(False) for at, control in enumerate(before) if control]
        assert [found.records for found in control_lines(reader)] == messages


def test_messages_are_not_read(tmp_path: Path) -> None:
    """What lies between two records far from each other costs nothing."""
    bodies = [one for number in range(40) for one in (SOME[number % 9], body(number, text="x" * 60_000))]
    write_file(tmp_path / "log.jsonl", b"".join(sealed(bodies)))
    files = CountedReads()
    with closing(opened(tmp_path / "log.jsonl", files)) as reader:
        scanned = files.bytes_read
        assert len(list(control_lines(reader))) == 40
        assert files.bytes_read - scanned < 40 * 200 < scanned / 100


def test_a_damaged_log_has_no_known_places(path: Path) -> None:
    """The index does not say for sure what lies between its messages."""
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"pinned":true', b'"pinned":trux', 1))
    with closing(opened(path)) as reader:
        assert not has_known_places(reader)


def test_an_empty_log_has_none(tmp_path: Path) -> None:
    """Nor does one with messages only."""
    for number, content in enumerate((b"", b"".join(sealed([body(1), body(2)])))):
        write_file(tmp_path / f"{number}.jsonl", content)
        with closing(opened(tmp_path / f"{number}.jsonl")) as reader:
            assert not given(reader)


@pytest.mark.parametrize(
    "torn", [encode_control("pin", message_id="m9", pinned=True)[:-1], b'{"_record":"pi', b"\0\0\0"]
)
def test_what_was_torn_off_at_the_end_is_no_record(path: Path, torn: bytes) -> None:
    """It is not given."""
    with open(path, "ab") as file:
        file.write(torn)
    with closing(opened(path)) as reader:
        assert has_known_places(reader)
        assert given(reader) == expected(reader)


def test_records_near_each_other_are_read_together(tmp_path: Path) -> None:
    """At first a few of them, so that the first is there at once; then more."""
    bodies = [one for number in range(2_000) for one in (SOME[number % 9], body(number))]
    write_file(tmp_path / "log.jsonl", b"".join(sealed(bodies)))
    files = CountedReads()
    with closing(opened(tmp_path / "log.jsonl", files)) as reader:
        scanned = files.bytes_read
        lines = control_lines(reader)
        next(lines)
        first = files.bytes_read - scanned
        assert 0 < first <= 65_536
        reads = files.reads
        assert len(list(lines)) == 1_999
        assert files.reads - reads < 5
        assert files.bytes_read - scanned < 1.2 * (tmp_path / "log.jsonl").stat().st_size


@pytest.mark.parametrize("last", [body(99), SOME[8]], ids=["message", "control"])
def test_the_last_line_may_lack_its_end(path: Path, last: bytes) -> None:
    """As an editor may leave it, or another program write it."""
    content = path.read_bytes()
    path.write_bytes(content + last + b"}")
    with closing(opened(path)) as reader:
        assert given(reader) == [line.removesuffix(b"\n") for line in expected(reader)]
