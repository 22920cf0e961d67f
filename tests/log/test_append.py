"""One way of appending, for one caller and for many, on a log that is as it was left and on one that is not."""

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import LogError, LogVersionError, RecordError
from amplifier_module_context_persistent.log.contract import Prepare
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.record_line import encode_control
from tests.support.fakefs import FakeFiles
from tests.support.logs import (
    append,
    append_bodies,
    assert_sound,
    body,
    content_of,
    giving,
    numbers,
    reset_bodies,
    stored_numbers,
    write_file,
)
from tests.support.snapshots import columns_of

USAGE = encode_control("usage", provider="p", model="m", actual=5)
RECEIPT = encode_control("view", provider="p", model="m", estimated=5)


def refusing(_: Index) -> list[bytes]:
    raise KeyError("mine")


CALLERS: list[Prepare] = [
    giving(),
    giving(body(1)),
    giving(body(2, pinned=True)),
    giving(body(3, text="Grüße " * 40)),
    giving(USAGE),
    giving(RECEIPT, body(4)),
    giving(body(5), body(6)),
    giving(body(7, text="x" * 5_000)),
    giving(*reset_bodies("r1", body(8))),
    refusing,
]


def told(outcomes: Sequence[object]) -> list[object]:
    return [repr(outcome) if isinstance(outcome, Exception) else outcome for outcome in outcomes]


@pytest.mark.parametrize("durability", ["fsync", "write"])
@given(chosen=st.lists(st.integers(0, len(CALLERS) - 1), max_size=12))
def test_one_by_one_and_all_at_once_write_the_same(
    tmp_path_factory: pytest.TempPathFactory, durability: str, chosen: list[int]
) -> None:
    """The same bytes, outcomes and index, whatever callers prepare."""
    directory = tmp_path_factory.mktemp("logs")
    single, together = (
        FileLog(directory / name, durability=durability, max_record_bytes=4_000) for name in ("single", "together")
    )
    callers = [CALLERS[number] for number in chosen]
    outcomes = [outcome for caller in callers for outcome in single.append([caller])]
    assert told(outcomes) == told(together.append(callers))
    assert columns_of(single.index) == columns_of(together.index)
    if os.path.exists(single.path):
        assert content_of(single.path) == content_of(together.path)
        assert_sound(single.path)
    single.close()
    together.close()


def replace(path: str) -> None:
    Path(path + "2").write_bytes(content_of(path))
    os.replace(path + "2", path)


CHANGES: dict[str, Callable[[str], None]] = {
    "appended": lambda path: append(FileLog(path), 5),
    "torn": lambda path: write_file(path, content_of(path) + b'{"role":'),
    "cut": lambda path: os.truncate(path, len(content_of(path)) - 4),
    "edited": lambda path: write_file(path, content_of(path)[:-4] + b'0"}\n'),
    "replaced": replace,
}


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_what_others_did_is_taken_in_first(tmp_path: Path, change: str, is_known: bool) -> None:
    """Nothing is written after bytes that this process does not know, or after a torn tail that it knows of."""
    with closing(FileLog(tmp_path / "log.jsonl")) as log:
        append(log, 0)
        append(log, 1)
        CHANGES[change](log.path)
        if is_known:
            log.follow()
        append(log, 9)
        assert stored_numbers(log.path) == numbers(log)
        expected = {"appended": [0, 1, 5, 9], "torn": [0, 1, 9], "replaced": [0, 1, 9]}
        if change in expected:
            assert numbers(log) == expected[change]
            assert_sound(log.path)


@pytest.mark.parametrize("is_known", [False, True])
def test_nothing_is_appended_to_a_log_of_a_later_version(tmp_path: Path, is_known: bool) -> None:
    """Also where its header came while the log was open."""
    log = FileLog(tmp_path / "log.jsonl")
    append(log, 0)
    append_bodies(FileLog(log.path), encode_control("header", version=99, log_id="l", session_id="s"))
    if is_known:
        log.follow()
    before = content_of(log.path)
    with pytest.raises(LogVersionError):
        append(log, 1)
    assert content_of(log.path) == before


@pytest.mark.parametrize("op", ["stat", "read", "write", "sync"])
def test_a_call_that_fails_is_told_and_leaves_no_lock(tmp_path: Path, op: str, files: FakeFiles) -> None:
    log = FileLog(tmp_path / "log.jsonl", files=files)
    append(log, 0)
    files.fail(op, code=errno.EIO)
    with pytest.raises((LogError, RecordError)):
        append(log, 1)
    append(FileLog(log.path, lock_timeout_s=0), 2)
