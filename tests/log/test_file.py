"""The log: what is acknowledged is there; creating it; and mending its tail."""

import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from amplifier_module_context_persistent.errors import (
    AppendError,
    LogCreateError,
    LogError,
    LogFailedError,
    LogUnreadableError,
    RecordError,
)
from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.memory import MemoryLog
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
    saved_tails,
    sealed,
    stored_numbers,
    write_file,
)


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


# -- both logs ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["file", "memory"])
def any_log(request: pytest.FixtureRequest, path: str) -> Log:
    return FileLog(path) if request.param == "file" else MemoryLog()


def test_appends_are_read_back_in_order(any_log: Log) -> None:
    """The ordinals that an append gives name its messages."""
    assert any_log.append([giving(body(0)), giving(), giving(body(1), body(2))]) == [range(1), range(1, 1), range(1, 3)]
    assert append_bodies(any_log, encode_control("view"), body(3)) == range(3, 4)
    assert numbers(any_log) == [0, 1, 2, 3]
    assert [message["metadata"]["message_id"] for message in any_log.read([3, 0])] == ["id-3", "id-0"]


def test_a_reset_replaces_the_live_history(any_log: Log) -> None:
    """What a reset hides stays in the log and is no longer live."""
    append(any_log, 0, 1, 2)
    append_bodies(any_log, *reset_bodies("r", encode_control("keep", **{"from": "id-1", "to": "id-1"}), body(3)))
    append(any_log, 4)
    assert numbers(any_log) == [1, 3, 4]
    assert len(any_log.index) == 5
    assert any_log.index.generation == 1


def test_what_one_caller_gets_wrong_is_refused_to_it_alone(any_log: Log) -> None:
    """Whatever a preparation raises goes to its caller, and the others are stored."""

    def fails(_index: Index) -> list[bytes]:
        raise KeyError("mine")

    outcomes = any_log.append([giving(body(0)), fails, giving(body(1))])
    assert (outcomes[0], outcomes[2]) == (range(1), range(1, 2))
    assert isinstance(outcomes[1], KeyError)
    assert numbers(any_log) == [0, 1]


def test_a_preparation_sees_the_control_records_before_it(any_log: Log) -> None:
    """Two callers who would both write a header do not, even in one batch."""

    def first(index: Index) -> list[bytes]:
        return [body(0)] if index.headers else [encode_control("header", version=2), body(0)]

    assert any_log.append([first, first, first]) == [range(1), range(1, 2), range(2, 3)]
    assert any_log.index.control_counts == {"header": 1}


@pytest.mark.parametrize("size", [1_000, 1_001])
def test_a_record_beyond_the_limit_is_refused(path: str, size: int) -> None:
    """The limit holds to the byte, and what is within it is read again."""
    for log in (FileLog(path, max_record_bytes=1_000), MemoryLog(max_record_bytes=1_000)):
        text = " " * (size - len(sealed([body(0)])[0]))
        (outcome,) = log.append([giving(body(0, text=text))])
        if size == 1_000:
            assert outcome == range(1)
            assert numbers(log) == [0]
        else:
            assert isinstance(outcome, RecordError)
            assert len(log.index) == 0
    assert os.path.exists(path) == (size == 1_000)


def test_a_log_in_memory_has_the_bytes_of_one_on_disk(path: str) -> None:
    """One engine, two logs."""
    disk, memory = FileLog(path), MemoryLog()
    for bodies in ([body(0)], reset_bodies("r", body(1)), [encode_control("view"), body(2)]):
        append_bodies(disk, *bodies)
        append_bodies(memory, *bodies)
    assert list(disk.read([0, 1, 2])) == list(memory.read([0, 1, 2]))
    assert (disk.index.live, disk.index.columns.offsets, disk.index.columns.id_hashes) == (
        memory.index.live,
        memory.index.columns.offsets,
        memory.index.columns.id_hashes,
    )


# -- creating ----------------------------------------------------------------------------------------------------------


def test_the_first_append_creates_private_and_synced_directories(tmp_path: Path, files: FakeFiles) -> None:
    """What is made has mode 0700 and 0600 under any umask, and all entries are synced before the acknowledgement."""
    path = str(tmp_path / "a" / "b" / "log.jsonl")
    old = os.umask(0)
    try:
        log = FileLog(path, files=files)
        log.follow()
        assert numbers(log) == []
        assert list(tmp_path.iterdir()) == []
        append(log, 0)
    finally:
        os.umask(old)
    assert [mode(str(tmp_path / name)) for name in ("a", "a/b", "a/b/log.jsonl")] == [0o700, 0o700, 0o600]
    assert files.unsynced_entries == set()
    assert files.calls[-1][0] == "unlock"


def test_nothing_to_append_creates_nothing(path: str, log: FileLog) -> None:
    """A batch that is empty or refused leaves no file behind."""
    assert log.append([giving()]) == [range(0)]
    assert log.append([]) == []
    assert not os.path.exists(path)


def test_directories_of_a_failed_creation_are_synced_by_the_next(tmp_path: Path, files: FakeFiles) -> None:
    """A directory made before a failure is not forgotten."""
    path = str(tmp_path / "a" / "log.jsonl")
    log = FileLog(path, files=files)
    files.fail("create", code=errno.ENOSPC)
    with pytest.raises(LogCreateError):
        append(log, 0)
    append(log, 0)
    assert files.unsynced_entries == set()


def test_the_entry_of_a_log_that_another_one_created_is_synced(path: str, log: FileLog, files: FakeFiles) -> None:
    """Who created the log may have died before its directory was synced."""
    append(FileLog(path, files=files, durability="write"), 0)
    assert files.unsynced_entries == {path}
    append(log, 1)
    assert files.unsynced_entries == set()
    once = files.count("sync_directory")
    append(log, 2)
    assert files.count("sync_directory") == once


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
@pytest.mark.parametrize("op", ["make_directory", "create"])
def test_where_no_log_can_be_created_an_error_says_so(tmp_path: Path, op: str, code: int, files: FakeFiles) -> None:
    """No log exists and none can be made: that is told apart from an unreadable one."""
    files.fail(op, code=code, forever=True)
    log = FileLog(str(tmp_path / "a" / "log.jsonl"), files=files)
    for _ in range(2):
        with pytest.raises(LogCreateError) as raised:
            append(log, 0)
        assert raised.value.errno == code
    assert numbers(log) == []
    files.heal()
    append(log, 0)
    assert numbers(log) == [0]


def test_a_log_that_appears_meanwhile_and_cannot_be_opened_is_no_missing_one(path: str) -> None:
    """Another process may create the log between our two looks; if it cannot be read, that is the error."""

    class Late(FakeFiles):
        def open_log(self, path: str, *, create: bool) -> int:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "not there yet", path)
            write_file(path, b"")
            raise PermissionError(errno.EACCES, "not yours", path)

        def open_readonly(self, path: str) -> int:
            raise PermissionError(errno.EACCES, "not yours", path)

    with pytest.raises(LogUnreadableError, match="may not read"):
        append(FileLog(path, files=Late()), 0)


def test_a_file_in_the_place_of_a_directory_is_no_log(tmp_path: Path) -> None:
    """Below a file no log exists and none can be created."""
    write_file(str(tmp_path / "file"), b"")
    log = FileLog(str(tmp_path / "file" / "log.jsonl"))
    assert numbers(log) == []
    with pytest.raises(LogCreateError):
        append(log, 0)


@pytest.mark.parametrize("kind", ["directory", "link", "dangling", "fifo"])
def test_what_is_no_log_is_never_written_to(tmp_path: Path, kind: str) -> None:
    """A link is not followed and nothing is taken for a new log."""
    path, other = tmp_path / "log.jsonl", tmp_path / "other"
    write_file(str(other), b"precious")
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(other if kind == "link" else tmp_path / "nowhere")
    log = FileLog(str(path))
    with pytest.raises(LogUnreadableError):
        append(log, 0)
    with pytest.raises(LogUnreadableError):
        log.follow()
    assert content_of(str(other)) == b"precious"
    assert not (tmp_path / "nowhere").exists()


def test_an_unreadable_log_takes_no_append(path: str, log: FileLog, files: FakeFiles) -> None:
    """A log that cannot be read is left as it is."""
    append(FileLog(path), 0)
    before = content_of(path)
    files.fail("open", "open_readonly", code=errno.EACCES, forever=True)
    with pytest.raises(LogUnreadableError, match="may not read"):
        append(log, 1)
    assert content_of(path) == before
    files.heal()
    append(log, 1)
    assert stored_numbers(path) == [0, 1]


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_failed_read_at_opening_never_cuts_what_was_not_read(
    path: str, log: FileLog, nth: int, files: FakeFiles
) -> None:
    """What could not be read is not taken for a torn tail by the append that follows."""
    whole = sealed([body(number, text=" x" * 20_000) for number in range(60)])
    write_file(path, b"".join(whole))
    files.fail("read", nth=nth)
    with pytest.raises(LogUnreadableError):
        append(log, 60)
    append(log, 60)
    assert saved_tails(path) == []
    assert stored_numbers(path) == list(range(61))


@pytest.mark.parametrize(
    ("flags", "told"),
    [(0, "may only read it; change its mode or owner"), (os.ST_RDONLY, "it lies on a read-only file system")],
)
@pytest.mark.parametrize("refused", ["the write", "the lock"])
def test_a_log_that_may_only_be_read_refuses_appends_and_serves_reads(
    path: str, log: FileLog, monkeypatch: pytest.MonkeyPatch, flags: int, told: str, refused: str, files: FakeFiles
) -> None:
    """A refused write that left nothing behind does not make the log fail; the words say what to do."""
    append(FileLog(path), 0)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flags))
    files.fail("open", code=errno.EACCES)
    if refused == "the lock":  # as a network file system does
        files.fail("lock", code=errno.EBADF, forever=True)
    for _ in range(2):
        with pytest.raises(AppendError, match=told) as raised:
            append(log, 1)
        assert raised.value.errno == (errno.EROFS if flags else errno.EACCES)
        assert numbers(log) == [0]


# -- tails -------------------------------------------------------------------------------------------------------------


def test_a_torn_tail_is_saved_aside_then_cut_by_the_next_append(path: str, log: FileLog, files: FakeFiles) -> None:
    """The torn bytes are in a synced private copy before the log is cut, and the new record stands alone."""
    whole = sealed([body(0), body(1)])
    torn = whole[1][:-30]
    write_file(path, whole[0] + torn)
    assert numbers(log) == [0]
    assert log.describe().torn_bytes == len(torn)
    append(log, 2)
    assert log.describe().torn_bytes == 0
    (copy,) = saved_tails(path)
    assert content_of(copy) == torn
    assert os.path.basename(copy).startswith(f"log.jsonl.torn-{len(whole[0])}-")
    assert mode(copy) == 0o600
    order = [op for op, _ in files.calls if op in ("create_new", "write", "sync", "sync_directory", "truncate")]
    saved, appended = order[:5], order[5:8]
    assert saved == ["create_new", "write", "sync", "sync_directory", "truncate"]
    assert appended == ["write", "sync", "sync_directory"]
    assert set(order[8:]) <= {"sync_directory"}
    assert stored_numbers(path) == [0, 2]
    assert_sound(path)


def test_a_whole_last_line_gets_its_newline(path: str, log: FileLog) -> None:
    """A record that lacks only its newline is kept, not cut."""
    write_file(path, b"".join(sealed([body(0), body(1)]))[:-1])
    append(log, 2)
    append(log, 3)
    assert (stored_numbers(path), numbers(log), saved_tails(path)) == ([0, 1, 2, 3], [0, 1, 2, 3], [])
    assert_sound(path)


@pytest.mark.parametrize("torn", [b"x", b"\0" * 500, b"\xff\xfe", b"null", b'"text"', b"[1]"])
def test_any_bytes_without_an_end_are_saved_and_cut(path: str, torn: bytes) -> None:
    """Whatever stands after the last line is kept beside the log, and nothing is glued to it."""
    write_file(path, sealed([body(0)])[0] + torn)
    append(FileLog(path), 1)
    assert [content_of(copy) for copy in saved_tails(path)] == [torn]
    assert stored_numbers(path) == [0, 1]
    assert_sound(path)


def test_a_tail_repaired_by_another_one_is_not_cut_again(path: str) -> None:
    """A record that took the place of a torn tail, as long as that was, stays."""
    write_file(path, sealed([body(0)])[0])
    seed_log = FileLog(path)
    seed_log.follow()
    torn_bytes = len(sealed([body(1)])[0])
    write_file(path, sealed([body(0)])[0] + b"x" * torn_bytes)
    log, other = FileLog(path), FileLog(path)
    assert numbers(log) == [0]
    append(other, 1)
    assert os.path.getsize(path) == len(sealed([body(0)])[0]) + torn_bytes
    append(log, 2)
    assert stored_numbers(path) == numbers(log) == [0, 1, 2]
    assert_sound(path)


@pytest.mark.parametrize("op", ["create_new", "write", "sync", "sync_directory", "truncate"])
def test_a_tail_that_cannot_be_saved_is_not_cut(path: str, log: FileLog, op: str, files: FakeFiles) -> None:
    """No byte is cut before its copy is safe."""
    content = sealed([body(0)])[0] + b"torn"
    write_file(path, content)
    log.follow()
    files.fail(op, code=errno.ENOSPC)
    with pytest.raises(LogError):
        append(log, 1)
    assert content_of(path) == content
    log.close()
    append(log, 1)
    assert stored_numbers(path) == [0, 1]
    assert len(saved_tails(path)) == 1


def test_the_directories_that_another_one_made_are_synced(tmp_path: Path) -> None:
    """Who made the directories may have failed before their entries were on the disk: the next append syncs them."""
    path, files = str(tmp_path / "a" / "b" / "log.jsonl"), FakeFiles()
    failing = FileLog(path, files=files)
    files.fail("sync", code=errno.EIO)
    with pytest.raises(LogFailedError):
        append(failing, 0)
    files.heal()
    append(FileLog(path, files=files), 1)
    assert files.unsynced_entries == set()
