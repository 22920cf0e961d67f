"""What `verify` says about a log: counts, places and advice, and nothing of what the messages say."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.archive_format import HEAD
from amplifier_module_context_persistent.log.archive_log import archive_log
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.toolbox.maintenance.verify import ADVICE, Report, verify_log
from tests.support.archives import small_frames, write_numbered
from tests.support.logs import (
    STAMP,
    append,
    append_bodies,
    body,
    content_of,
    findings,
    numbers,
    reset_bodies,
    saved_tails,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.sweeps import proof, spread


def message(role: str, number: int, **more: Any) -> bytes:
    given = {"role": role, "content": f"message {number}", **more}
    return encode_message(given, message_id=f"id-{number}", timestamp=STAMP)


def call(number: int, *ids: str) -> bytes:
    return message("assistant", number, tool_calls=[{"id": i, "tool": "SECRETTOOL", "arguments": {}} for i in ids])


def result(number: int, call_id: str) -> bytes:
    return message("tool", number, tool_call_id=call_id, name="SECRETTOOL")


def kinds(report: Report) -> tuple[list[str], list[str]]:
    return [found.kind for found in report.damage], [found.kind for found in report.notes]


def test_a_sound_log_is_counted(path: str) -> None:
    """Bytes, messages by role, live and hidden ones, control records by kind; no finding."""
    bodies = [encode_control("header", version=2), body(0), call(1, "a"), result(2, "a")]
    write_file(path, b"".join(sealed([*bodies, *reset_bodies("r", body(3))])))
    os.chmod(path, 0o600)
    report = verify_log(path)
    assert report.is_sound
    assert (report.size_bytes, report.live) == (os.path.getsize(path), 1)
    assert report.messages == {"user": 2, "assistant": 1, "tool": 1}
    assert report.controls == {"header": 1, "reset_begin": 1, "reset_commit": 1}
    assert kinds(report) == ([], [])


def test_damage_has_its_line_offset_and_advice(path: str) -> None:
    """An altered line, a line without a checksum, and one that is no JSON are told with their places."""
    lines = sealed([body(number) for number in range(4)])
    lines[1] = lines[1].replace(b"message 1", b"message 7")
    lines[2:2] = [b'{"role":"user","content":"by hand"}\n', b"no json\n"]
    write_file(path, b"".join(lines))
    report = verify_log(path)
    ends = [sum(map(len, lines[:n])) for n in range(5)]
    assert [(found.kind, found.line, found.offset) for found in report.damage][:3] == [
        ("checksum", 2, ends[1]),
        ("unchained", 3, ends[2]),
        ("unreadable", 4, ends[3]),
    ]
    assert all(found.advice for found in report.damage)
    assert report.chain_breaks == sum(found.kind != "unreadable" for found in report.damage)


def test_calls_without_results_and_results_without_calls_are_notes(path: str) -> None:
    """Only the live history counts, a call id that is used again is another call, and the log is sound."""
    bodies = [call(0, "a"), result(1, "a"), call(2, "a", "b"), result(3, "b"), result(4, "zz")]
    write_file(path, b"".join(sealed(bodies)))
    report = verify_log(path)
    assert report.is_sound
    notes = [(found.kind, found.offset) for found in report.notes if found.kind != "mode"]
    offsets = [sum(len(line) for line in sealed(bodies)[:n]) for n in range(5)]
    assert notes == [("orphan_result", offsets[4]), ("open_call", offsets[2])]
    append_bodies(FileLog(path), *reset_bodies("r"))
    assert [found.kind for found in verify_log(path).notes if found.kind != "mode"] == []


def test_a_torn_tail_and_a_saved_one_are_told(path: str) -> None:
    """The torn tail is damage until it is saved aside; the copy is a note with its size."""
    content = b"".join(sealed([body(0)]))
    write_file(path, content + b'{"role":"us')
    os.chmod(path, 0o600)
    report = verify_log(path)
    assert kinds(report) == (["torn_tail"], [])
    assert report.damage[0].offset == len(content)
    append(FileLog(path), 1)
    report = verify_log(path)
    assert kinds(report) == ([], ["saved_tail"])
    assert "11 bytes" in report.notes[0].detail


def test_a_last_line_without_a_newline_is_told(path: str) -> None:
    """It is read, and it is for repair."""
    write_file(path, b"".join(sealed([body(0)]))[:-1])
    report = verify_log(path)
    assert kinds(report)[0] == ["no_newline"]
    assert report.live == 1


def test_a_file_that_others_may_read_is_noted(path: str) -> None:
    """The mode is a note with what to do about it."""
    append(FileLog(path), 0)
    assert kinds(verify_log(path)) == ([], [])
    os.chmod(path, 0o644)
    report = verify_log(path)
    assert kinds(report) == ([], ["mode"])
    assert "0644" in report.notes[0].detail


def test_a_purge_that_was_interrupted_is_noted(path: str) -> None:
    """Its file beside the log holds history, so it is named."""
    append(FileLog(path), 0)
    write_file(path + ".purging", b"")
    assert kinds(verify_log(path)) == ([], ["purging"])


def test_an_append_on_its_way_is_not_taken_for_a_torn_tail(path: str, log: FileLog) -> None:
    """Where a writer holds the lock over an unfinished line, the report waits for it."""
    append(log, 0)
    line = sealed([body(0), body(1)])[1]
    files = FileSystem()
    descriptor = files.open_log(path, create=False)
    lock = files.try_lock(path, descriptor)
    assert lock is not None
    with open(path, "ab") as file:
        file.write(line[:20])

    def finish() -> None:
        time.sleep(0.2)
        with open(path, "ab") as file:
            file.write(line[20:])
        files.unlock(lock)
        files.close(descriptor)

    thread = threading.Thread(target=finish)
    thread.start()
    report = verify_log(path)
    thread.join()
    assert report.is_sound
    assert report.live == 2


@pytest.mark.parametrize("make", ["missing", "directory", "link", "fifo"])
def test_what_is_no_log_is_an_error_that_says_so(path: str, tmp_path: Path, make: str) -> None:
    """A missing file, a directory, a link or a FIFO is never an empty log, and nothing hangs."""
    if make == "directory":
        os.mkdir(path)
    elif make == "link":
        append(FileLog(str(tmp_path / "other.jsonl")), 0)
        os.symlink(str(tmp_path / "other.jsonl"), path)
    elif make == "fifo":
        os.mkfifo(path)
    with pytest.raises(LogUnreadableError, match={"missing": "no such file", "fifo": "no regular"}.get(make, make)):
        verify_log(path)


def test_an_empty_file_is_a_sound_log_of_nothing(path: str) -> None:
    """Nothing in it is damaged."""
    write_file(path, b"")
    report = verify_log(path)
    assert report.is_sound
    assert (report.size_bytes, report.messages) == (0, {})


def test_a_report_holds_nothing_of_what_messages_say(path: str) -> None:
    """Not the content, the tools' names, the calls' ids, a strange record's kind, nor bytes of a damaged line."""
    secret = "SECRETWORD"
    lines = sealed(
        [
            message("user", 0, name=secret),
            call(1, secret, "b"),
            result(2, secret + "2"),
            encode_control(secret, text=secret),
            message("user", 3, extra={secret: secret}),
        ]
    )
    lines[4] = lines[4].replace(b"message 3", b"message 9")
    content = b"".join([*lines, b'{"role":"user","content":"SECRETWORD" oops}\n', b"SECRETWORD\n"])
    write_file(path, content + b'{"a":"SECRETWORD')
    report = verify_log(path)
    told = json.dumps(report.to_json()) + repr(report)
    assert len(report.damage) == 4
    assert "SECRET" not in told
    assert report.controls == {"unknown": 1}


def test_every_kind_of_damage_has_its_advice() -> None:
    """What the scanner may report, `verify` can say what to do about."""
    import inspect

    from amplifier_module_context_persistent.log import index_builder, scanner

    source = "".join(map(inspect.getsource, (index_builder, scanner)))
    for kind in ("checksum", "unchained", "repeated", "glued", "unreadable", "oversized", "reset"):
        assert f'"{kind}"' in source
        assert kind in ADVICE


# -- FileLog.repair ----------------------------------------------------------------------------------------------------


def test_repair_saves_a_torn_tail_and_loses_nothing(path: str, log: FileLog) -> None:
    """The tail goes to a copy, every whole record stays, and the log is sound and goes on."""
    content = b"".join(sealed([body(0), body(1)]))
    write_file(path, content + b'{"role":"us')
    log.repair()
    assert content_of(path) == content
    assert [content_of(tail) for tail in saved_tails(path)] == [b'{"role":"us']
    append(log, 2)
    assert numbers(log) == stored_numbers(path) == [0, 1, 2]
    assert verify_log(path).is_sound


def test_repair_completes_a_last_line(path: str, log: FileLog) -> None:
    """It gets the newline that it lacks, and the chain goes on after it."""
    content = b"".join(sealed([body(0), body(1)]))
    write_file(path, content[:-1])
    log.repair()
    assert content_of(path) == content
    assert saved_tails(path) == []
    append(log, 2)
    assert stored_numbers(path) == numbers(log) == [0, 1, 2]
    assert findings(path) == []


def test_repair_leaves_a_sound_log_and_damage_in_the_middle_alone(path: str) -> None:
    """No byte of it changes."""
    lines = sealed([body(0), body(1)])
    content = lines[0] + b"no json\n" + lines[1]
    write_file(path, content)
    FileLog(path).repair()
    assert content_of(path) == content


def test_repair_of_a_missing_log_is_an_error(path: str) -> None:
    """It creates nothing."""
    with pytest.raises(LogUnreadableError):
        FileLog(path).repair()
    assert not os.path.exists(path)


@proof(quick=1)
@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_of_any_byte_of_an_archive_is_told(tmp_path: Path, bit: int) -> None:
    """Also in what this package does not need to read it, such as the head of the index's frame."""
    path = tmp_path / "log.jsonl"
    write_numbered(path, 4)
    with small_frames():
        archive_log(str(path))
    packed = path.read_bytes()
    assert verify_log(str(path)).is_sound
    for at in spread(range(len(HEAD), len(packed)), 8):
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 1 << bit]) + packed[at + 1 :])
        assert not verify_log(str(path)).is_sound, at
