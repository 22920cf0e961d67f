"""The log with several writers: other objects, other processes, forks, the older module."""

import os
import signal
import subprocess
import sys
import time

import pytest

from amplifier_module_context_persistent.errors import LockTimeoutError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.reset_record import KeptRun, Reset, frame
from tests.support.fakefs import FakeFiles
from tests.support.logs import (
    STAMP,
    append,
    append_bodies,
    assert_sound,
    body,
    content_of,
    findings,
    giving,
    in_a_fork,
    numbers,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.places import ROOT
from tests.support.sweeps import proof, whole


def test_a_log_that_was_replaced_is_appended_to_where_it_is_now(path: str, log: FileLog) -> None:
    """After a rename over the log nothing goes to the old file."""
    append(log, 0, 1)
    os.link(path, path + ".old")
    before = content_of(path)
    write_file(path + ".new", sealed([body(7)])[0])
    os.replace(path + ".new", path)
    append(log, 8)
    assert numbers(log) == stored_numbers(path) == [7, 8]
    assert content_of(path + ".old") == before


def test_a_log_replaced_while_its_lock_is_awaited_is_appended_to_where_it_is_now(path: str, log: FileLog) -> None:
    """Device and inode are compared once the lock is held."""
    append(log, 0)

    class Racing(FakeFiles):
        def try_lock(self, path: str, fd: int) -> int | None:
            if not self.count("lock"):
                write_file(path + ".new", sealed([body(7)])[0])
                os.replace(path + ".new", path)
            return super().try_lock(path, fd)

    racing = FileLog(path, files=Racing())
    append(racing, 8)
    assert numbers(racing) == stored_numbers(path) == numbers(log) == [7, 8]


HOLDER = """
import sys, time
from filelock import lock_descriptor
file = open(sys.argv[1], "ab")
assert lock_descriptor(file.fileno(), blocking=False)
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


def hold(path: str, seconds: float) -> subprocess.Popen[bytes]:
    """A process that holds the log's lock."""
    child = subprocess.Popen([sys.executable, "-c", HOLDER, path, str(seconds)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    return child


def end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.communicate()


def test_a_lock_that_another_process_keeps_ends_in_an_error_that_names_it(path: str) -> None:
    """After `lock_timeout_s` the holder is named, nothing is stored, and reads go on; killed, it blocks nobody."""
    log = FileLog(path, lock_timeout_s=0.2)
    append(log, 0)
    child = hold(path, 60)
    try:
        child.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(LockTimeoutError) as raised:
            append(log, 1)
        assert 0.2 <= time.monotonic() - began < 60
        if sys.platform == "linux":
            assert f"process {child.pid} has held" in str(raised.value)
        assert isinstance(raised.value, TimeoutError)
        assert numbers(log) == [0]
        with pytest.raises(BlockingIOError):
            log.append([giving(body(1))], wait=False)
    finally:
        end(child)
    append(log, 1)
    assert stored_numbers(path) == [0, 1]


def test_a_lock_that_is_given_back_in_time_is_waited_for(path: str) -> None:
    """An append after another process's waits its turn."""
    log = FileLog(path, lock_timeout_s=20)
    append(log, 0)
    child = hold(path, 0.3)
    try:
        append(log, 1)
    finally:
        end(child)
    assert stored_numbers(path) == [0, 1]


def test_without_waiting_nothing_slow_is_begun(path: str, log: FileLog) -> None:
    """An append that must not wait neither opens, nor repairs, nor reads much."""
    whole = b"".join(sealed([body(number) for number in range(9_000)]))
    append(FileLog(path), 0)
    content = content_of(path)
    with pytest.raises(BlockingIOError):
        log.append([giving(body(1))], wait=False)
    log.follow()
    with open(path, "ab") as file:
        file.write(b"torn")
    with pytest.raises(BlockingIOError):
        log.append([giving(body(1))], wait=False)
    assert content_of(path) == content + b"torn"
    append(log, 1)
    other = FileLog(path)
    other.follow()
    log.append([giving(body(2, text=" " * len(whole)))])
    with pytest.raises(BlockingIOError):
        other.append([giving(body(3))], wait=False)
    append(other, 3)
    assert other.append([giving(body(4))], wait=False) == [range(4, 5)]
    assert stored_numbers(path) == [0, 1, 2, 3, 4]
    assert_sound(path)


def test_a_forked_process_appends_as_another_writer(path: str, log: FileLog) -> None:
    """Parent and child both append, each under a lock of its own."""
    append(log, 0)

    def child() -> bool:
        append(log, 1)
        return numbers(log) == [0, 1]

    assert in_a_fork(child)
    append(log, 2)
    assert numbers(log) == stored_numbers(path) == [0, 1, 2]
    assert_sound(path)


def test_a_log_of_the_older_module_goes_on(path: str, log: FileLog) -> None:
    """Bare lines stay as they are, get ids that last, and chained records follow them."""
    old = b'{"role": "user", "content": "message 0", "timestamp": "2025"}\n{"role": "user", "content": "message 1"}\n'
    write_file(path, old)
    assert numbers(log) == [0, 1]
    first = [message["metadata"]["message_id"] for message in log.read([0, 1])]
    append(log, 2)
    append(log, 3)
    assert content_of(path).startswith(old)
    again = FileLog(path)
    assert numbers(again) == [0, 1, 2, 3]
    assert [message["metadata"]["message_id"] for message in again.read([0, 1])] == first
    assert [again.index.find(name) for name in first] == [0, 1]
    assert findings(path) == []
    reset = Reset("r", "clear", STAMP, "id-3", 0, 2, (KeptRun.of(0, [first[1], "id-2"]),))
    append_bodies(again, *frame(reset, []))
    assert stored_numbers(path) == [1, 2]


APPENDERS = """
import os, sys
from amplifier_module_context_persistent import FileLog
from tests.support.logs import append
wait, go = os.pipe()
for first in range(0, 40_000, 10_000):
    if os.fork() == 0:
        os.close(go)
        os.read(wait, 1)  # all begin once the last one is forked
        log = FileLog(sys.argv[1], durability=sys.argv[3])
        for number in range(first, first + int(sys.argv[2])):
            append(log, number)
        os._exit(0)
os.close(go)
sys.exit(any(os.wait()[1] for _ in range(4)))
"""


@proof(quick=1)
@pytest.mark.parametrize(("durability", "each"), [("fsync", 200), ("write", 5_000 if whole() else 1_000)])
def test_four_processes_append_at_once(path: str, durability: str, each: int) -> None:
    """Nothing is lost or torn, and each writer's order is kept."""
    command = [sys.executable, "-c", APPENDERS, path, str(each), durability]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    stored = stored_numbers(path)
    assert len(stored) == 4 * each
    for n in range(4):
        assert [number for number in stored if number // 10_000 == n] == list(range(10_000 * n, 10_000 * n + each))
    assert findings(path) == []
    assert_sound(path)
