"""A purge goes on with the scan of its plan, and believes nothing that has changed since."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import PurgeError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import plan_purge, purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.reused_scan import KnownScan
from tests.support.logs import (
    STAMP,
    append_bodies,
    append_to,
    assert_sound,
    body,
    content_of,
    keep,
    reset_bodies,
    stored_numbers,
    write_file,
)
from tests.support.purges import before, messages, purged, redact, write_log

PURGE = redact("secret")


class CountingFiles(FileSystem):
    """The real file system; it counts the bytes that are read."""

    bytes_read = 0

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read, and count."""
        block = super().read(fd, size, offset)
        self.bytes_read += len(block)
        return block


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A log of four messages, one of which holds a secret."""
    path = str(tmp_path / "log.jsonl")
    write_log(path, body(0), body(1), body(2, text=" secret"), body(3))
    return path


def planned(path: str) -> KnownScan:
    known = plan_purge(path, PURGE).known
    assert known is not None
    return known


def finish(path: str, known: KnownScan | None, files: FileSystem | None = None) -> int:
    return purge_log(path, PURGE, now=lambda: STAMP, known=known, files=files).messages_redacted


def test_the_purge_reads_the_log_once_less_than_without_a_plan(path: str, tmp_path: Path) -> None:
    """Its plan has scanned the log, so the purge reads it once: to write it anew."""
    other = str(tmp_path / "other.jsonl")
    write_file(other, content_of(path))
    counts = []
    for place, known in ((path, planned(path)), (other, None)):
        files = CountingFiles()
        assert finish(place, known, files) == 1
        counts.append(files.bytes_read)
    assert content_of(path) == content_of(other)
    assert counts[1] - counts[0] > os.path.getsize(path) / 2


def test_what_was_appended_after_the_plan_is_purged_too(path: str) -> None:
    """The purge takes it in where the scan of the plan ended."""
    known = planned(path)
    append_to(path, 4)
    write_more = messages(path)
    assert finish(path, known) == 1
    assert len(messages(path)) == len(write_more) == 5
    assert_sound(path)


@pytest.mark.parametrize("other", [b"massage 1", b"MESSAGE 1"])
def test_a_log_that_was_changed_in_its_middle_after_the_plan_is_left_alone(path: str, other: bytes) -> None:
    """Its last bytes are what they were; the purge finds the changed line while it writes, and changes nothing."""
    known = planned(path)
    changed = content_of(path).replace(b"message 1", other)
    write_file(path, changed)
    with pytest.raises(PurgeError, match="try again"):
        finish(path, known)
    assert content_of(path) == changed
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    assert finish(path, planned(path)) == 1


def test_a_log_that_another_purge_replaced_after_the_plan_is_read_anew(path: str) -> None:
    """The path names another file then."""
    known = planned(path)
    purged(path, before(2))
    assert finish(path, known) == 1
    assert stored_numbers(path) == [2, 3]
    assert_sound(path)


def test_messages_without_a_match_are_carried_over_as_the_plan_found_them(path: str) -> None:
    """Their texts are looked at once, by the plan; texts of messages that change are looked at again."""
    seen: list[str] = []

    def replace(text: str) -> str:
        seen.append(text)
        return text.replace("secret", "[redacted]")

    purge = Purge(redact=replace)
    known = plan_purge(path, purge).known
    seen.clear()
    assert purge_log(path, purge, now=lambda: STAMP, known=known).messages_redacted == 1
    assert "message 2 secret" in seen
    assert not {"message 0", "message 1", "message 3"}.intersection(seen)
    assert [message["content"] for message in messages(path)] == [
        "message 0",
        "message 1",
        "message 2 [redacted]",
        "message 3",
    ]
    assert_sound(path)


def test_another_purge_than_the_planned_one_looks_at_every_message(path: str) -> None:
    """It may find a match in a message in which the plan found none."""
    known = planned(path)
    done = purge_log(path, redact("message 1"), now=lambda: STAMP, known=known)
    assert done.messages_redacted == 1
    assert b"message 1" not in content_of(path)
    assert b"secret" in content_of(path)


@pytest.mark.parametrize("appended", [(), (4, 5)])
def test_a_purge_with_a_plan_leaves_the_same_log_as_one_without(
    path: str, tmp_path: Path, appended: tuple[int, ...]
) -> None:
    """Byte for byte: with resets, answers and what was appended after the plan."""
    answer = {"role": "assistant", "content": "no match"}
    told = {"role": "assistant", "content": "a secret"}
    bodies = (encode_message(one, message_id=f"a-{at}", timestamp=STAMP) for at, one in enumerate((answer, told)))
    with contextlib.closing(FileLog(path)) as log:
        append_bodies(log, *bodies, *reset_bodies("r", keep(1, 3)), body(9), body(8, text=" secret"))
    known = planned(path)
    append_to(path, *appended)
    other = str(tmp_path / "other.jsonl")
    write_file(other, content_of(path))
    assert finish(path, known) == finish(other, None) == 3
    assert content_of(path) == content_of(other)
    assert_sound(path)
