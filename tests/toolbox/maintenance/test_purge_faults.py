"""A purge over a failing disk: the old log or the new one is left, whole."""

import errno
import os
from itertools import count
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import AppendError, LogError, LogFailedError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.fakefs import FakeFiles, choosers
from tests.support.logs import append, append_to, assert_sound, content_of, findings, saved_tails, stored_numbers
from tests.support.purges import before, purged
from tests.support.small_disk import free_on_disks
from tests.support.sweeps import proof, spread, whole

OLD, NEW = [0, 1, 2, 3], [2, 3]


def torn_log(path: str) -> None:
    append_to(path, 0, 1)
    with open(path, "ab") as file:
        file.write(b"torn")
    append_to(path, 2, 3)


@proof(quick=1)
@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("code", [5, 28])
def test_every_call_of_a_purge_may_fail(tmp_path: Path, forever: bool, code: int) -> None:
    """Fail the n-th call for n = 1, 2, 3 …: the old log or the new one is there, whole, and the error says which."""
    for nth in spread(count(1), 4, 2 * (code == 28) + forever):
        directory = tmp_path / str(nth)
        directory.mkdir()
        path = str(directory / "log.jsonl")
        torn_log(path)
        files = FakeFiles()
        fault = files.fail(nth=nth, code=code, forever=forever)
        try:
            purged(path, before(2), files=files)
            expected = [NEW]
        except AppendError:
            expected = [OLD]
        except LogFailedError:
            expected = [NEW]
        except LogError:
            expected = [OLD]
        assert stored_numbers(path) in expected
        assert_sound(path)
        assert findings(path) == []
        log = FileLog(path, lock_timeout_s=1)
        append(log, 9)
        assert stored_numbers(path) == [*expected[0], 9]
        purged(path, Purge(before="id-3", torn=True))
        assert os.listdir(directory) == ["log.jsonl"]
        log.close()
        if fault.seen < nth:
            break
    assert nth > 15
    print(f"I/O operations of a purge failed: {(nth - 1) // (1 if whole() else 4)}")


@pytest.mark.parametrize("short", [0, 10])
def test_a_short_write_is_refused(path: str, short: int, files: FakeFiles) -> None:
    """The log is what it was, and nothing is left beside it."""
    torn_log(path)
    content, listed = content_of(path), os.listdir(os.path.dirname(path))
    files.fail("write", short=short)
    with pytest.raises(AppendError, match=r"the disk is full, or a limit is reached.*the log is what it was"):
        purged(path, before(2), files=files)
    assert content_of(path) == content
    assert os.listdir(os.path.dirname(path)) == listed


@proof
def test_a_power_cut_at_any_call_leaves_the_old_log_or_the_new_one(tmp_path: Path) -> None:
    """With the power cut at each call of a purge, in many states of the disk: never neither, never a mixture."""
    images, seen = 0, set()
    for nth in range(1, 200):
        root = tmp_path / f"{nth}"
        root.mkdir()
        path = str(root / "log.jsonl")
        torn_log(path)
        files = FakeFiles()
        fault = files.fail(nth=nth, forever=True)
        acknowledged = True
        try:
            purged(path, before(2), files=files)
        except LogError:
            acknowledged = False
        for chooser in (None, *choosers(7)):
            target = tmp_path / f"{nth}-{images}"
            target.mkdir()
            files.power_cut(str(root), str(target), chooser)
            image = str(target / "log.jsonl")
            stored = stored_numbers(image)
            assert stored in ([NEW] if acknowledged else [OLD, NEW])
            assert findings(image) == []
            assert saved_tails(image) or stored == NEW  # they go when nothing can bring the old log back
            append_to(image, 9)
            assert stored_numbers(image) == [*stored, 9]
            assert_sound(image)
            seen.add(tuple(stored))
            images += 1
        if fault.seen < nth:
            break
    else:
        raise AssertionError("the purge did not end")
    assert seen == {tuple(OLD), tuple(NEW)}
    print(f"power cuts of a purge: {nth}, crash images: {images}")


def test_a_purge_that_finds_no_room_says_how_much_it_needs(tmp_path: Path) -> None:
    """The log is what it was."""
    path = str(tmp_path / "log.jsonl")
    append_to(path, 0, 1, 2, 3)
    size = os.path.getsize(path)
    files = FakeFiles()
    files.fail("write", code=errno.ENOSPC)
    with (
        free_on_disks(100),
        pytest.raises(AppendError, match=f"needs up to {size} bytes, and 100 are free on the disk"),
    ):
        purged(path, before(2), files=files)
    assert stored_numbers(path) == OLD


def test_what_a_full_disk_got_of_the_new_file_counts_as_free(path: str) -> None:
    """It is removed."""
    append_to(path, 0, 1, 2, 3)
    size, lines = os.path.getsize(path), Path(path).read_bytes().splitlines(keepends=True)
    files = FakeFiles()
    files.fail("sync", code=errno.ENOSPC)
    with free_on_disks(100), pytest.raises(AppendError, match="are free on the disk") as refused:
        purged(path, before(2), files=files)
    assert f"needs up to {size} bytes, and {100 + len(b''.join(lines[2:]))} are free" in str(refused.value)
    assert Path(path).read_bytes() == b"".join(lines)
