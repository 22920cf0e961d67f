"""What is counted of appends: their times, waits for the lock, and meetings with other writers."""

import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import LockTimeoutError
from amplifier_module_context_persistent.log.append_counters import KIND, AppendCounts
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.group_commit import GroupCommit
from amplifier_module_context_persistent.log.record_kinds import control_of
from tests.support.logs import append, assert_sound, body, content_of, giving, in_a_fork, stored_numbers


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.jsonl")


class BusyFiles(FileSystem):
    """A file system whose lock somebody else has for the next so many tries; syncs are counted."""

    def __init__(self) -> None:
        self.busy = self.syncs = 0

    def try_lock(self, path: str, fd: int) -> int | None:
        if self.busy:
            self.busy -= 1
            return None
        return super().try_lock(path, fd)

    def sync(self, fd: int) -> None:
        self.syncs += 1
        super().sync(fd)


def ticking() -> Callable[[], float]:
    """A clock that goes on by a millisecond whenever it is asked."""
    ticks = count()
    return lambda: next(ticks) / 1_000


def told(path: str) -> list[dict[str, Any]]:
    """What the log says of its appends."""
    found = (control_of(line) for line in content_of(path).splitlines())
    return [one[1] for one in found if one is not None and one[0] == KIND]


def test_a_log_that_was_alone_tells_nothing(path: str) -> None:
    """However often it was appended to, closed and opened again."""
    log = FileLog(path)
    for number in range(3):
        append(log, number)
        log.close()
    log.follow()
    log.close()
    assert told(path) == []


def test_a_wait_for_the_lock_is_counted(path: str) -> None:
    """How often one waited, and for how long; and how long appends took, the wait included."""
    files = BusyFiles()
    log = FileLog(path, files=files, clock=ticking())
    append(log, 0)
    files.busy = 2
    append(log, 1)
    log.close()
    (record,) = told(path)
    # An append asks the clock when it begins and when it has ended, a wait likewise.
    assert (record["appends"], record["append_us"], record["longest_append_us"]) == (2, 4_000, 3_000)
    assert (record["lock_waits"], record["lock_wait_us"], record["longest_lock_wait_us"]) == (1, 1_000, 1_000)
    assert record["conflicts"] == 0
    assert record["buckets"] == [[10, 1], [12, 1]]
    assert stored_numbers(path) == [0, 1]
    assert_sound(path)


def test_a_wait_in_vain_is_counted_too(path: str) -> None:
    """The append that was given up is none."""
    files = BusyFiles()
    log = FileLog(path, files=files, clock=ticking(), lock_timeout_s=0)
    append(log, 0)
    files.busy = 1
    with pytest.raises(LockTimeoutError):
        append(log, 1)
    log.close()
    (record,) = told(path)
    assert (record["lock_waits"], record["appends"]) == (1, 1)


def test_another_writer_s_records_are_counted_as_conflicts(path: str) -> None:
    """Once for each append that found some, and for one that found another file."""
    one, other = FileLog(path), FileLog(path)
    append(one, 0)
    append(other, 1)
    append(other, 2)
    append(one, 3)
    append(one, 4)
    one.close()
    (record,) = told(path)
    assert (record["conflicts"], record["appends"], record["lock_waits"]) == (1, 3, 0)
    other.close()  # which found nothing new when it appended
    assert len(told(path)) == 1
    assert stored_numbers(path) == [0, 1, 2, 3, 4]


def test_what_was_followed_before_is_no_conflict(path: str) -> None:
    """A writer that had read what others appended was not in their way."""
    one = FileLog(path)
    append(one, 0)
    append(FileLog(path), 1)
    one.follow()
    append(one, 2)
    one.close()
    assert told(path) == []


def test_each_opening_tells_its_own(path: str) -> None:
    """What was told is not told again."""
    one = FileLog(path)
    for number in (0, 2):
        append(one, number)
        append(FileLog(path), number + 1)
        append(one, number + 10)
        one.close()
    append(one, 20)
    one.close()
    assert [(record["appends"], record["conflicts"]) for record in told(path)] == [(2, 1), (2, 1)]


def test_the_record_costs_no_sync_and_no_wait(path: str) -> None:
    """It is written when the log is closed, if nobody else has the lock."""
    files = BusyFiles()
    log = FileLog(path, files=files)
    for held_at_the_end in (False, True):
        append(log, 0)
        files.busy = 1
        append(log, 1)
        before, files.busy = files.syncs, int(held_at_the_end)
        log.close()
        assert files.syncs == before
        assert files.busy == 0
    assert len(told(path)) == 1
    assert_sound(path)


def test_a_fork_does_not_tell_what_its_parent_counted(path: str) -> None:
    """The parent tells it."""
    log = FileLog(path)
    append(log, 0)
    append(FileLog(path), 1)
    append(log, 2)

    def child() -> bool:
        log.close()
        return told(path) == []

    assert in_a_fork(child)
    log.close()
    assert [record["conflicts"] for record in told(path)] == [1]


async def test_appends_beside_a_held_lock_are_counted_through_group_commit(path: str) -> None:
    """Also where an append begins on the caller's thread and is passed on to the log's."""
    files = BusyFiles()
    commit = GroupCommit(FileLog(path, files=files, durability="write"), inline=True)
    await commit.append(giving(body(0)))
    files.busy = 2  # the caller's thread does not wait, the log's does
    await commit.append(giving(body(1)))
    await commit.close()
    (record,) = told(path)
    assert (record["appends"], record["lock_waits"]) == (2, 1)


def test_writers_that_meet_count_without_losing_a_record(path: str) -> None:
    """Two logs that append at once, as often as they like: all is stored, and both counts are sound."""

    def work(first: int) -> None:
        log = FileLog(path, durability="write", lock_timeout_s=300)
        for number in range(first, first + 40):
            append(log, number)
        log.close()

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert sorted(stored_numbers(path)) == [*range(40), *range(100, 140)]
    for record in told(path):
        assert record["appends"] == 40
        assert sum(number for _, number in record["buckets"]) == 40
        assert 0 <= record["conflicts"] <= 40
    assert_sound(path)


def test_counts_are_added_up() -> None:
    """Sums, the longest of each, and shares over the buckets of all."""
    counts = AppendCounts()
    first = AppendCounts(3, 700, 500, {7: 2, 9: 1}, 1, 40, 40, 2)
    second = AppendCounts(97, 9_700, 900, {7: 96, 10: 1}, 0, 0, 0, 1)
    counts.add(first.to_record())
    counts.add(second.to_record())
    assert counts == AppendCounts(100, 10_400, 900, {7: 98, 9: 1, 10: 1}, 1, 40, 40, 3)
    assert [counts.share_us(share) for share in (0.5, 0.98, 0.99, 1.0)] == [128, 128, 512, 900]
    assert AppendCounts().share_us(0.5) == 0


@pytest.mark.parametrize("wrong", [None, -1, 1.5, "7", True, 1 << 60, [], {}])
def test_what_is_no_count_is_left_out(wrong: Any) -> None:
    """As another program, or a person, may have written it."""
    counts = AppendCounts()
    counts.add({**dict.fromkeys(AppendCounts().to_record(), wrong), "conflicts": 2})
    counts.add({"buckets": [[wrong, 4], [3, wrong], [70, 1], [1], wrong, [1, 2, 3]]})
    assert counts == AppendCounts(conflicts=2, buckets={3: 0})
