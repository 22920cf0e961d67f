"""The checkpoint's file: when it is believed, who writes it and how, and what a failure leaves."""

import os
import stat
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.checkpoint_file import SUFFIX
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.record import seal
from tests.support.checkpoints import always, is_used, known, make_checkpoint, put, some_log, stored
from tests.support.fakefs import FakeFiles
from tests.support.logs import append_bodies, append_to, body, content_of, reset_bodies, write_file

SECRET = "PURPLE-ELEPHANT"


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.jsonl")


@pytest.mark.parametrize("what", ["link", "writable", "directory"])
def test_a_checkpoint_that_others_may_have_written_is_not_used(path: str, tmp_path: Path, what: str) -> None:
    """It is a regular file that only its owner may write."""
    some_log(path)
    sound = stored(path)
    os.remove(path + SUFFIX)
    if what == "link":
        (tmp_path / "elsewhere").write_bytes(sound)
        os.symlink(tmp_path / "elsewhere", path + SUFFIX)
    elif what == "directory":
        os.mkdir(path + SUFFIX)
    else:
        put(path, sound)
        os.chmod(path + SUFFIX, 0o666)
    assert not is_used(path)
    assert known(path, trusting=True) == known(path, trusting=False)


def test_why_a_checkpoint_is_not_used_is_said(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """At the level that `--verbose` shows."""
    some_log(path)
    put(path, stored(path)[:-1])
    with caplog.at_level("INFO"):
        is_used(path)
    assert "is not used: it is cut" in caplog.text


# -- when it is written ------------------------------------------------------------------------------------------------


def test_it_is_private_and_holds_no_content(path: str) -> None:
    """Mode 0600, and no word of a message."""
    some_log(path, text=f" {SECRET}")
    assert stat.S_IMODE(os.stat(path + SUFFIX).st_mode) == 0o600
    assert SECRET.encode() in content_of(path)
    assert SECRET.encode() not in stored(path)


def test_none_is_written_inside_an_open_reset(path: str) -> None:
    """Of a log that ends there, none is there."""
    bodies = reset_bodies("r1", body(5), upto="id-4")
    for content in ([*map(body, range(5)), *bodies[:stop]] for stop in (1, 2)):
        seed, written = 0, b""
        for one in content:
            line, seed = seal(one, seed)
            written += line
        write_file(path, written)
        assert not make_checkpoint(path)
        assert not os.path.lexists(path + SUFFIX)


def test_one_that_stands_further_stays(path: str) -> None:
    """A writer that knows less of the same log does not replace it."""
    behind, ahead = FileLog(path), FileLog(path)
    append_bodies(behind, body(0))
    append_bodies(ahead, *map(body, range(1, 9)))
    ahead.close()
    further = stored(path)
    behind.close()
    assert stored(path) == further
    assert is_used(path)


def test_who_only_reads_writes_none(path: str) -> None:
    """Nor does a session that appended nothing."""
    append_to(path, 1, 2)
    os.remove(path + SUFFIX)
    known(path, trusting=True)
    log = FileLog(path)
    log.follow()
    log.close()
    assert not os.path.lexists(path + SUFFIX)


@pytest.mark.parametrize(
    "op", ["create_new", "write", "replace", "stat", "close", "lock", "read", "fstat", "open_readonly"]
)
def test_a_checkpoint_that_cannot_be_written_is_no_error(path: str, op: str) -> None:
    """What failed leaves no file, and the log is closed as ever."""
    append_to(path, *range(5))
    for nth in range(1, 8):
        files = FakeFiles()
        log = FileLog(path, files=files)
        append_bodies(log, body(10 + nth))
        files.fail(op, nth=nth, short=3 if op == "write" else None)
        log.close()
        left = [name for name in os.listdir(os.path.dirname(path)) if name.endswith(".part")]
        assert left == []
        assert known(path, trusting=True) == known(path, trusting=False)


def test_what_killed_writers_left_is_swept(path: str) -> None:
    """With the next one that is written; other files stay."""
    append_to(path, 1)
    directory = os.path.dirname(path)
    for name in ("log.jsonl.checkpoint-0123abcd.part", "log.jsonl.checkpoint-mine.part"):
        write_file(os.path.join(directory, name), b"x")
    append_to(path, 2)
    assert sorted(os.listdir(directory)) == ["log.jsonl", "log.jsonl.checkpoint", "log.jsonl.checkpoint-mine.part"]


def test_a_small_log_gets_none(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is scanned as quickly as a checkpoint is read."""
    monkeypatch.undo()
    append_to(path, *range(100))
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
