"""Copies of a log: one that is made while the log is written is a valid prefix, and one that is put back is told."""

import os

import pytest

from amplifier_module_context_persistent.log.file_handle import CHUNK_BYTES
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.fakefs import FakeFiles
from tests.support.logs import (
    append,
    append_bodies,
    body,
    content_of,
    giving,
    numbers,
    reset_bodies,
    stored_numbers,
    write_file,
)
from tests.support.sweeps import proof, spread

pytestmark = pytest.mark.usefixtures("without_and_with_snapshots")


class Copying(FakeFiles):
    """Copies the log as `cp` does, some bytes at a time, before and after each write of the log's writer."""

    def __init__(self, path: str, target: str, step: int) -> None:
        super().__init__()
        self.path, self.target, self.step = path, target, step
        write_file(target, b"")

    def write(self, fd: int, data: bytes) -> int:
        self.copy()
        short = max(1, len(data) // 2)  # the copy may also fall between the two halves of one write
        written = super().write(fd, data[:short])
        self.copy()
        return written + super().write(fd, data[short:])

    def copy(self) -> None:
        with open(self.path, "rb") as source, open(self.target, "ab") as target:
            source.seek(target.tell())
            target.write(source.read(self.step))


@proof(quick=5)
@pytest.mark.parametrize("step", [7, 50, 150, 400, 10**6])
def test_a_copy_of_a_live_log_is_a_valid_prefix(path: str, step: int) -> None:
    """Whatever it caught: whole records in their order, at most a torn tail, and what `verify` says is that alone."""
    files = Copying(path, path + ".copy", step)
    log = FileLog(path, files=files)
    append(log, *range(6))
    append_bodies(log, *reset_bodies("r", body(10), body(11), upto="id-5"))
    append(log, 12, 13)
    states = [[*range(n)] for n in range(7)] + [[10, 11], [10, 11, 12], [10, 11, 12, 13]]
    copied = content_of(files.target)
    assert content_of(path).startswith(copied)
    assert stored_numbers(files.target) in states
    if copied:
        assert {found.kind for found in verify_log(files.target).damage} <= {"torn_tail", "no_newline"}
    log.close()


@proof(quick=1)
def test_a_copy_cut_at_any_byte_goes_on(path: str, log: FileLog) -> None:
    """Put in the place of the log, it is a log that is shorter: sound, or with a torn tail that is saved aside."""
    append(log, 0, 1)
    append_bodies(log, *reset_bodies("r", body(10), upto="id-1"))
    append(log, 12)
    whole = content_of(path)
    log.close()
    sizes = list(spread(range(1, len(whole), 3), 3))
    for size in sizes:
        write_file(path, whole[:size])
        report = verify_log(path) if size > 20 else None
        assert report is None or report.is_sound == (whole[size - 1 : size] == b"\n")
        copy = FileLog(path)
        before = numbers(copy)
        append(copy, 50)
        assert numbers(copy) == [*before, 50]
        copy.close()
        assert verify_log(path).is_sound
    print(f"cuts: {len(sizes)}")


def test_a_copy_of_a_large_log_is_a_prefix_too(path: str, log: FileLog) -> None:
    """Also where a reader takes it in by several blocks."""
    log.append([giving(body(number, text=" x" * 1000)) for number in range(CHUNK_BYTES // 1000)])
    size = os.path.getsize(path)
    write_file(path + ".copy", content_of(path)[: size * 2 // 3])
    found = stored_numbers(path + ".copy")
    assert 0 < len(found) < len(log.index)
    assert found == list(range(len(found)))
