"""The log when calls fail: what was acknowledged is there, and the caller knows what was not."""

import contextlib
import errno
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import AppendError, LogError, LogFailedError
from amplifier_module_context_persistent.log.batch import PART_BYTES
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Damage
from amplifier_module_context_persistent.log.record_line import encode_control
from tests.support.fakefs import FakeFiles, choosers
from tests.support.logs import (
    append,
    append_bodies,
    append_to,
    assert_sound,
    body,
    content_of,
    giving,
    keep,
    numbers,
    reset_bodies,
    saved_tails,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.sweeps import proof, spread, whole


@pytest.mark.parametrize(
    "fault",
    [{"short": 0}, {"short": 40}, *({"code": code} for code in (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR))],
)
def test_a_refused_write_is_cut_back_and_the_log_goes_on(
    path: str, files: FakeFiles, log: FileLog, fault: dict[str, int]
) -> None:
    """Nothing of a refused batch stays, its callers are told, and the next append works."""
    append(log, 0)
    before = content_of(path)
    files.fail("write", **fault)  # type: ignore[arg-type]
    with pytest.raises(AppendError, match="nothing was stored") as raised:
        log.append([giving(body(1)), giving(body(2))])
    assert raised.value.errno == fault.get("code", errno.ENOSPC)
    assert (content_of(path), numbers(log)) == (before, [0])
    append(log, 3)
    assert stored_numbers(path) == numbers(log) == [0, 3]
    assert_sound(path)


def test_a_missing_newline_is_cut_back_too(path: str, files: FakeFiles, log: FileLog) -> None:
    """A write that completes a last line is undone as a whole when it is refused."""
    content = b"".join(sealed([body(0)]))[:-1]
    write_file(path, content)
    files.fail("write", short=5)
    with pytest.raises(AppendError):
        append(log, 1)
    assert content_of(path) == content
    append(log, 1)
    assert stored_numbers(path) == [0, 1]


@pytest.mark.parametrize("op", ["sync", "sync_directory"])
def test_after_a_failed_sync_the_log_takes_no_appends_until_it_is_opened_anew(
    path: str, files: FakeFiles, log: FileLog, op: str
) -> None:
    """The outcome is unknown, reads serve what was acknowledged, and there is no second sync on that descriptor."""
    append(log, 0)
    log.close()
    log.follow()
    files.fail(op)
    with pytest.raises(LogFailedError, match="unknown"):
        append(log, 1)
    syncs = files.count("sync")
    with pytest.raises(LogFailedError, match="initialize"):
        append(log, 2)
    assert files.count("sync") == syncs
    assert numbers(log) == [0]
    log.close()
    append(log, 2)
    assert numbers(log) == stored_numbers(path) == [0, 1, 2]  # the unacknowledged one is there as a whole
    assert_sound(path)


@pytest.mark.parametrize("op", ["truncate", "fstat"])
def test_after_a_failed_cut_back_the_log_takes_no_appends(path: str, files: FakeFiles, log: FileLog, op: str) -> None:
    """What a refused write left and could not be removed is a torn tail for the next opening."""
    append(log, 0)
    files.fail("write", short=30)
    files.fail(op)
    with pytest.raises(LogFailedError, match="cut back"):
        append(log, 1)
    with pytest.raises(LogFailedError):
        append(log, 2)
    assert numbers(log) == [0]
    log.close()
    append(log, 3)
    assert stored_numbers(path) == [0, 3]
    assert len(saved_tails(path)) == 1
    assert_sound(path)


def test_a_failure_behind_an_acknowledged_part_keeps_the_acknowledgement(
    path: str, files: FakeFiles, log: FileLog
) -> None:
    """A batch is written in parts; one that fails does not unsay the parts before it."""
    append(log, 0)
    files.fail("write", nth=2, code=errno.ENOSPC)
    outcomes = log.append([giving(encode_control("header", version=2), body(1)), giving(body(2)), giving(body(3))])
    assert outcomes[0] == range(1, 2)
    assert [type(outcome) for outcome in outcomes[1:]] == [AppendError, AppendError]
    assert stored_numbers(path) == [0, 1]


def test_a_large_batch_is_written_in_parts(files: FakeFiles, log: FileLog) -> None:
    """What is written at once is bounded."""
    text = " " * (PART_BYTES // 4)
    log.append([giving(body(number, text=text)) for number in range(10)])
    assert files.count("write") == 3
    assert numbers(log) == list(range(10))


def test_a_batch_has_one_write_and_one_sync(files: FakeFiles, log: FileLog) -> None:
    """However many callers wait, the disk is waited for once."""
    append(log, 0)
    files.calls.clear()
    log.append([giving(body(number)) for number in range(1, 33)])
    assert [op for op, _ in files.calls] == ["lock", "stat", "read", "write", "sync", "unlock"]
    assert numbers(log) == list(range(33))


def test_without_a_sync_the_rest_is_alike(path: str, files: FakeFiles) -> None:
    """`durability="write"` never syncs the log."""
    log = FileLog(path, files=files, durability="write")
    append(log, 0)
    append(log, 1)
    assert files.count("sync", "sync_directory") == 0
    assert stored_numbers(path) == [0, 1]


@pytest.mark.parametrize("op", ["lock", "unlock", "stat"])
def test_a_lock_that_the_system_refuses_loses_nothing(path: str, op: str, files: FakeFiles) -> None:
    """What fails around the lock leaves nothing stored, or all of it, and no lock behind."""
    log = FileLog(path, files=files, lock_timeout_s=0.5)
    append(log, 0)
    files.fail(op, code=errno.ENOLCK)
    expected = [0, 1]
    if op == "unlock":
        append(log, 1)
    else:
        with pytest.raises(LogError):
            append(log, 1)
        expected = [0]
    append(FileLog(path, lock_timeout_s=0.5), 2)
    append(log, 3)
    assert stored_numbers(path) == [*expected, 2, 3]


CODES = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR)


@proof(quick=2)
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("forever", [False, True])
def test_every_call_may_fail(tmp_path: Path, forever: bool, code: int) -> None:
    """Fail the n-th call for n = 1, 2, 3 … of a log's life: what was acknowledged is there, the rest whole or not."""
    for nth in spread(count(1), 4, (CODES.index(code) + forever) % 4):
        directory = tmp_path / str(nth)
        directory.mkdir()
        path = str(directory / "a" / "log.jsonl")
        files = FakeFiles()
        acknowledged, tried = live_through_faults(path, files, nth, forever=forever, code=code)
        log = FileLog(path)
        stored = numbers(log) if os.path.exists(path) else []
        assert stored == sorted(stored)
        assert set(acknowledged) <= set(stored) <= set(tried)
        append(log, 99)
        assert numbers(log) == [*stored, 99]
        log.close()
        assert look(path) == (([*stored, 99], None), [])
        assert_sound(path)
        if files.faults[0].seen < nth:
            break
    assert nth > 30
    print(f"I/O operations failed: {(nth - 1) // (1 if whole() else 4)}")


def live_through_faults(
    path: str, files: FakeFiles, nth: int, *, forever: bool, code: int
) -> tuple[list[int], list[int]]:
    """Open, create, append, batch, tear, repair, reset, close and reopen with the n-th call failing."""
    files.fail(nth=nth, forever=forever, code=code)
    log = FileLog(path, files=files)
    acknowledged: list[int] = []
    tried: list[int] = []

    def attempt(*these: int) -> None:
        tried.extend(these)
        try:
            outcomes = log.append([giving(body(number)) for number in these])
        except LogFailedError:
            log.close()
        except LogError:
            pass
        else:
            acknowledged.extend(n for n, outcome in zip(these, outcomes, strict=True) if isinstance(outcome, range))

    def quietly(job: Callable[[], Any]) -> None:
        with contextlib.suppress(OSError):
            job()

    attempt(0)
    attempt(1, 2, 3)
    if os.path.exists(path):
        with open(path, "ab") as file:
            file.write(b'{"role":"us')
    quietly(log.follow)
    attempt(4)
    quietly(lambda: list(log.read(log.index.live)))
    quietly(log.close)
    attempt(5)
    quietly(log.close)
    return acknowledged, tried


def test_a_reset_and_its_content_are_synced_before_its_commit(path: str) -> None:
    """Also where other records stand around them; anything else is one write and one sync."""
    reset = reset_bodies("r", body(1), body(2))
    for bodies, syncs in (([body(0)], 1), ([body(0), *reset, body(3)], 2), (reset_bodies("s"), 2), ([body(4)] * 3, 1)):
        files = FakeFiles()
        log = FileLog(path, files=files)
        log.follow()
        append_bodies(log, *bodies)
        assert (files.count("write"), files.count("sync")) == (syncs, syncs)
        log.close()
    files = FakeFiles()
    append_bodies(FileLog(path, files=files, durability="write"), *reset)
    assert (files.count("write"), files.count("sync")) == (1, 0)


# -- resets and plans by themselves ------------------------------------------------------------------------------------

BEFORE = [0, 1, 2, 3, 4]
State = tuple[list[int], Any]
"""The numbers of the live messages, and the id of the plan in force."""


def plan(plan_id: str, *runs: tuple[int, int]) -> bytes:
    named = [[f"id-{first}", f"id-{last}"] for first, last in runs]
    return encode_control("plan", id=plan_id, upto="id-4", keep=named, cuts={}, notice="")


KEPT = [keep(1, 2), body(10, text=" and more" * 40), keep(4, 4), body(11)]
LARGE = [body(number, text=" and more" * 600) for number in (20, 21, 22)]  # blocks that the disk may keep or lose alone
OPERATIONS: dict[str, tuple[list[bytes], State]] = {
    "clear": (reset_bodies("r"), ([], None)),
    "set_messages": (reset_bodies("r", *KEPT), ([1, 2, 10, 4, 11], None)),
    "large set_messages": (reset_bodies("r", *LARGE), ([20, 21, 22], None)),
    "plan": ([plan("new", (0, 0), (3, 4))], (BEFORE, "new")),
}
OLD: State = (BEFORE, "old")


def write_before(path: str, *, torn: bool) -> None:
    """A log with messages and a plan, all of it synced."""
    write_file(path, b"".join(sealed([*map(body, BEFORE), plan("old", (0, 4))])) + b'{"_record":"reset","id":"x' * torn)


def look(path: str) -> tuple[State, list[Damage]]:
    """What a new process reads, and what it finds damaged."""
    with contextlib.closing(FileLog(path)) as log:
        live = numbers(log)
        return (live, log.index.session.plan and log.index.session.plan["id"]), list(log.index.damage)


def check_goes_on(path: str, expected: list[State], number: int = 90) -> State:
    """One of these states is there, nothing is damaged but what is torn, and an append and a reopening work."""
    state, damage = look(path)
    assert state in expected
    after = ([*state[0], number], state[1])
    if state == OLD and any(b"\0" in line for line in lines_of(path, damage)):
        append_to(path, number)  # a hole in the messages of a reset that was never committed: it stays, reported
        found, damage = look(path)
        assert found == after
        assert all(b'"_reset"' in line or b"\0" in line for line in lines_of(path, damage))
        return state
    log = FileLog(path, lock_timeout_s=1)
    log.follow()
    described = log.describe()
    assert [one for one in log.index.damage if one.offset < described.size_bytes - described.torn_bytes] == []
    append(log, number)
    assert numbers(log) == after[0]
    log.close()
    assert look(path) == (after, [])
    assert_sound(path)
    return state


def lines_of(path: str, damage: list[Damage]) -> list[bytes]:
    lines = content_of(path).split(b"\n")
    return [lines[found.line - 1] for found in damage]


@proof(quick=4)
@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_every_call_of_a_reset_or_a_plan_may_fail(tmp_path: Path, operation: str, forever: bool, torn: bool) -> None:
    """Fail the n-th call for n = 1, 2, 3 …: it is in force as a whole or not at all, and the caller knows which."""
    bodies, new = OPERATIONS[operation]
    seen = set()
    for nth in spread(count(1), 2, forever ^ torn):
        path = str(tmp_path / f"{nth}.jsonl")  # each has a torn tail of its own to save
        write_before(path, torn=torn)
        files = FakeFiles()
        log = FileLog(path, files=files)
        fault = files.fail(nth=nth, forever=forever, code=CODES[nth % len(CODES)])
        try:
            append_bodies(log, *bodies)
            expected = [new]
        except LogFailedError:
            expected = [OLD, new]
        except LogError:
            expected = [OLD]
        with contextlib.suppress(OSError):
            log.close()
        seen.add(str(check_goes_on(path, expected)))
        files.heal()
        append(log, 91)
        assert numbers(log)[-2:] == [90, 91]
        log.close()
        if fault.seen < nth:
            break
    assert nth > 10
    assert seen == {str(OLD), str(new)}
    print(f"I/O operations of {operation} failed: {(nth - 1) // (1 if whole() else 2)}")


def sizes_of_writes(path: str, bodies: list[bytes]) -> list[int]:
    """How many bytes each write of an append takes."""
    write_before(path, torn=False)
    before, files = os.path.getsize(path), FakeFiles()
    log, sizes = FileLog(path, files=files), []
    with pytest.MonkeyPatch.context() as patch:
        write = files.write
        patch.setattr(files, "write", lambda fd, data: sizes.append(len(data)) or write(fd, data))
        append_bodies(log, *bodies)
    log.close()
    assert sum(sizes) == os.path.getsize(path) - before
    return sizes


@proof(quick=2)
@pytest.mark.parametrize("stuck", [False, True])
@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_a_short_write_of_a_reset_or_a_plan_leaves_what_was_before(path: str, operation: str, stuck: bool) -> None:
    """A write that stops at any place is cut back, or where that fails is a torn tail for the next opening."""
    bodies, _ = OPERATIONS[operation]
    sizes = sizes_of_writes(path, bodies)
    step = (29 if sum(sizes) < 4_000 else 290) * (1 if whole() else 4)
    shorts = [(nth, n) for nth, size in enumerate(sizes, 1) for n in {*range(0, size, step), 1, size - 2}]
    for nth, short in shorts:
        write_before(path, torn=False)
        before = content_of(path)
        files = FakeFiles()
        log = FileLog(path, files=files)
        files.fail("write", nth=nth, short=short)
        failed = stuck and (short > 0 or nth > 1)
        if failed:
            files.fail("truncate")
        with pytest.raises(LogFailedError if failed else AppendError):
            append_bodies(log, *bodies)
        assert numbers(log) == BEFORE
        if failed:
            with pytest.raises(LogFailedError):
                append_bodies(log, *bodies)
        else:
            assert content_of(path) == before
        check_goes_on(path, [OLD, OPERATIONS[operation][1]] if failed else [OLD])
        log.close()
    print(f"short writes of {operation}: {len(shorts)}")


@proof(quick=1)
@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_a_power_cut_at_any_call_leaves_a_reset_or_a_plan_whole_or_not_at_all(tmp_path: Path, operation: str) -> None:
    """With the power cut at each call, in many states of the disk: what was acknowledged is in force."""
    bodies, new = OPERATIONS[operation]
    images, states = 0, dict[tuple[bytes, bool], State]()
    for nth in range(1, 100):
        root = tmp_path / f"{nth}"
        root.mkdir()
        path = str(root / "log.jsonl")
        write_before(path, torn=True)
        files = FakeFiles()
        fault = files.fail(nth=nth, forever=True)
        expected = [new]
        try:
            append_bodies(FileLog(path, files=files), *bodies)
        except LogError:
            expected = [OLD, new]
        for chooser in (None, *choosers(7, nth)):
            target = tmp_path / f"{nth}-{images}"
            target.mkdir()
            files.power_cut(str(root), str(target), chooser)
            image = content_of(str(target / "log.jsonl")), len(expected) == 1
            if image not in states:  # what is read of the same bytes is the same
                states[image] = check_goes_on(str(target / "log.jsonl"), expected)
            images += 1
        if fault.seen < nth:
            break
    else:
        raise AssertionError("the operation did not end")
    assert {str(state) for state in states.values()} == {str(OLD), str(new)}
    print(f"power cuts of {operation}: {nth}, crash images: {images}")
