"""The reader: opening without writing, following what others append, and never taking unreadable for empty."""

import errno
import json
import logging
import os
import re
from functools import cache
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.index import TornTail
from amplifier_module_context_persistent.log.read_back import fetch_lines
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_message
from tests.support.fakefs import FakeFiles
from tests.support.logs import STAMP, body, content_of, in_a_fork, number_of, reset_bodies, sealed, write_file
from tests.support.scans import scan
from tests.support.sweeps import proof


def numbers(reader: LogReader) -> list[int]:
    return [number_of(message) for message in reader.read(reader.index.live)]


def opened(path: str, files: FakeFiles | None = None, **options: int) -> LogReader:
    reader = LogReader(path, files=files, **options)
    reader.follow()
    return reader


def holding(path: str, content: bytes) -> LogReader:
    """A reader of a file with this content."""
    write_file(path, content)
    return opened(path)


@cache
def lines(count: int) -> list[bytes]:
    return sealed([body(number) for number in range(count)])


# -- opening -----------------------------------------------------------------------------------------------------------


def test_a_log_that_is_not_there_is_empty_and_stays_away(path: str) -> None:
    """Reading creates nothing."""
    reader = opened(path)
    assert (reader.file.fd, len(reader.index), reader.torn) == (None, 0, None)
    assert not os.path.exists(path)


def test_a_log_below_a_file_is_not_there(tmp_path: Path) -> None:
    """Where a directory is missing, or is a file, no log exists."""
    write_file(str(tmp_path / "file"), b"")
    assert opened(str(tmp_path / "file" / "log.jsonl")).file.fd is None
    assert opened(str(tmp_path / "no" / "where" / "log.jsonl")).file.fd is None


@pytest.mark.parametrize("writable", [False, True])
def test_opening_writes_nothing(path: str, writable: bool) -> None:
    """A torn tail and a missing newline stay as they are until somebody appends."""
    for tail in (b"", lines(3)[2][:-1], b'{"role":"us'):
        content = b"".join(lines(2)) + tail
        write_file(path, content)
        files = FakeFiles()
        reader = LogReader(path, files=files, writable=writable)
        reader.follow()
        list(reader.read(reader.index.live))
        reader.close()
        assert content_of(path) == content
        assert files.count("write", "truncate", "sync", "create", "create_new", "lock") == 0


@pytest.mark.parametrize("cut", [1, 20, 21, 60])
def test_a_torn_tail_is_a_value(path: str, cut: int) -> None:
    """What stands after the last whole record is told by place and size, and is no damage."""
    whole = lines(3)
    reader = holding(path, b"".join(whole)[:-cut])
    start = len(whole[0]) + len(whole[1])
    if cut == 1:
        assert (numbers(reader), reader.torn, reader.lacks_newline) == ([0, 1, 2], None, True)
    else:
        assert (numbers(reader), reader.torn) == ([0, 1], TornTail(start, len(whole[2]) - cut))
    assert reader.index.damage == []


def test_findings_are_logged_once_without_content(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Damage and a torn tail are warned of at opening, and no message's content is in the warning."""
    whole = lines(3)
    write_file(path, whole[0] + whole[1].replace(b"message 1", b"message 9") + whole[2] + b'{"role":"user","conte')
    with caplog.at_level(logging.WARNING):
        reader = opened(path)
        reader.follow()
    assert len(caplog.records) == 2
    assert f"line 2, byte {len(whole[0])}: checksum" in caplog.text
    assert "21 bytes" in caplog.text
    assert not re.search(r"message \d", caplog.text)


# -- unreadable is not empty -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("kind", ["directory", "link", "dangling", "fifo", "socket-like"])
def test_what_is_no_plain_file_is_an_error(tmp_path: Path, kind: str, writable: bool) -> None:
    """A directory, a link or a FIFO is refused at once, with a reason."""
    path = tmp_path / "log.jsonl"
    if kind == "directory":
        path.mkdir()
    elif kind == "link":
        write_file(str(tmp_path / "other"), b"".join(lines(1)))
        path.symlink_to(tmp_path / "other")
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    with pytest.raises(LogUnreadableError, match=r"no regular file|a directory|symbolic link") as raised:
        LogReader(str(path), writable=writable).follow()
    assert raised.value.filename == str(path)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_a_log_that_cannot_be_opened_is_an_error(path: str, code: int, files: FakeFiles) -> None:
    """Whatever the system refuses, an existing log is not taken for an empty one."""
    write_file(path, b"".join(lines(2)))
    files.fail("open", "open_readonly", code=code, forever=True)
    for writable in (False, True):
        with pytest.raises(LogUnreadableError) as raised:
            LogReader(path, files=files, writable=writable).follow()
        assert raised.value.errno == code


def test_a_log_that_may_only_be_read_is_read(path: str, files: FakeFiles) -> None:
    """A log that this process may not write is opened for reading."""
    write_file(path, b"".join(lines(2)))
    files.fail("open", code=errno.EACCES)
    reader = LogReader(path, files=files, writable=True)
    reader.follow()
    assert numbers(reader) == [0, 1]


@proof(quick=1)
@pytest.mark.parametrize("op", ["fstat", "read", "stat"])
@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5])
def test_a_failed_read_leaves_nothing_half_read(path: str, op: str, nth: int, files: FakeFiles) -> None:
    """After any failed call the next use reads the whole log, and no descriptor is lost."""
    write_file(path, b"".join(sealed([body(number, text=" x" * 20_000) for number in range(60)])))  # several blocks
    reader = LogReader(path, files=files)
    fault = files.fail(op, nth=nth)
    failed = False
    try:
        reader.follow()
        reader.follow()
    except LogUnreadableError:
        failed = True
    assert failed == (fault.seen >= nth)
    files.heal()
    reader.follow()
    assert len(reader.index.live) == 60
    assert reader.torn is None
    assert reader.index.damage == []
    reader.close()
    assert files.count("open_readonly") == files.count("close")


# -- following ---------------------------------------------------------------------------------------------------------


def test_what_others_append_is_followed_in_order(path: str, files: FakeFiles) -> None:
    """Each follow takes in what is new, however the appends fall into it, with work that does not grow with the log."""
    content = b"".join(lines(400))
    write_file(path, b"")
    reader = opened(path, files)
    index = reader.index
    with open(path, "ab", buffering=0) as file:
        for start in range(0, len(content), 997):
            file.write(content[start : start + 997])
            before = len(files.calls)
            reader.follow()
            assert len(files.calls) - before < 10
    assert reader.index is index
    assert numbers(reader) == list(range(400))
    assert reader.torn is None


def test_following_nothing_new_does_next_to_nothing(path: str, files: FakeFiles) -> None:
    """A follow without news is one look at the path and one at the last bytes."""
    write_file(path, b"".join(lines(10)))
    reader = opened(path, files)
    files.calls.clear()
    reader.follow()
    assert files.calls == [("stat", "log.jsonl"), ("read", "log.jsonl")]


def test_a_newline_that_comes_later_completes_the_record(path: str) -> None:
    """A record that was read before its newline stood there is not read twice."""
    whole = lines(3)
    reader = holding(path, b"".join(whole[:2])[:-1])
    with open(path, "ab") as file:
        file.write(b"\n" + whole[2])
    reader.follow()
    assert numbers(reader) == [0, 1, 2]
    assert reader.index.damage == []


def test_something_else_than_the_newline_is_noticed(path: str) -> None:
    """A record glued after one that lacks its newline is reported, and both are read."""
    whole = lines(3)
    reader = holding(path, b"".join(whole[:2])[:-1])
    with open(path, "ab") as file:
        file.write(whole[2])
    reader.follow()
    assert numbers(reader) == [0, 1, 2]
    assert [damage.kind for damage in reader.index.damage] == ["glued"]


@pytest.mark.parametrize("torn", [b"x" * 40, b'{"role":"user"', reset_bodies("r", body(8))[0] + b"\n"])
def test_a_tail_that_another_one_repaired_is_read_anew(path: str, torn: bytes) -> None:
    """A torn tail that was cut and written over is followed, be the file shorter, as long, or longer."""
    whole = lines(2)
    for more in (0, 1, 2):
        for pad in range(-1, 2):
            write_file(path, b"".join(whole) + torn)
            reader = opened(path)
            assert numbers(reader) == [0, 1]
            seed = int(json.loads(whole[-1])["_crc"], 16)
            plain = sum(map(len, sealed([body(9)], seed)))
            text = " " * max(0, len(torn) - plain + pad) if more == 1 else ""
            write_file(path, b"".join(whole + sealed([body(9 + n, text=text) for n in range(more)], seed)))
            reader.follow()
            assert numbers(reader) == [0, 1, *range(9, 9 + more)]
            assert reader.torn is None
            reader.close()


def test_a_record_that_was_cut_back_and_replaced_by_one_as_long_is_noticed(path: str) -> None:
    """The size alone is not trusted: the last bytes known must still be there."""
    whole = lines(3)
    reader = holding(path, b"".join(whole))
    other = sealed([body(0), body(1), body(7)])
    assert len(other[2]) == len(whole[2])
    with open(path, "r+b") as file:
        file.write(b"".join(other))
    reader.follow()
    assert numbers(reader) == [0, 1, 7]


def test_a_file_that_shrank_or_changed_is_read_anew(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """What does not continue the log that is known is scanned again, with a warning and a new index."""
    reader = holding(path, b"".join(lines(9)))
    index = reader.index
    os.truncate(path, len(b"".join(lines(4))))
    reader.follow()
    assert (numbers(reader), reader.index is index) == ([0, 1, 2, 3], False)
    with open(path, "r+b") as file:
        file.write(b"".join(sealed([body(number) for number in range(50, 60)])))
    reader.follow()
    assert numbers(reader) == list(range(50, 60))
    assert caplog.text.count("reading it anew") == 2


def test_a_file_that_was_replaced_is_opened_anew(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A rename over the log, as a purge does it, is noticed."""
    reader = holding(path, b"".join(lines(4)))
    write_file(path + ".new", b"".join(lines(2)))
    os.replace(path + ".new", path)
    reader.follow()
    assert numbers(reader) == [0, 1]
    assert "was replaced" in caplog.text


# -- reading back ------------------------------------------------------------------------------------------------------


def test_any_choice_of_records_is_read_in_the_order_asked_for(path: str) -> None:
    """Neighbours, gaps, repetitions and going backwards all give the record named."""
    big = " " + "x" * 100_000
    reader = holding(
        path, b"".join(sealed([body(number, text=big if number % 7 == 3 else "") for number in range(60)]))
    )
    for choice in ([], [0], [59, 0], list(range(60)), list(range(59, -1, -1)), [3, 3, 4, 10, 17, 2], [0, 30, 31, 59]):
        assert [number_of(message) for message in reader.read(choice)] == choice


def test_every_reading_is_fresh(path: str) -> None:
    """What a caller does to a message does not change history."""
    reader = holding(path, b"".join(lines(1)))
    (first,) = reader.read([0])
    first["content"] = "altered"
    first["metadata"].clear()
    (second,) = reader.read([0])
    assert second == {
        "role": "user",
        "content": "message 0",
        "metadata": {"timestamp": STAMP, "message_id": "id-0"},
    }


@pytest.mark.parametrize(
    "metadata", ["", ', "metadata": null', ', "metadata": "odd"', ', "metadata": {"a": 1}', ', "metadata": [1]']
)
def test_bare_lines_are_handed_out_with_their_derived_id(path: str, metadata: str) -> None:
    """A line of the older module gets the id by which it can be found, whatever its metadata is."""
    reader = holding(path, f'{{"role": "user", "content": "message 5"{metadata}}}\n'.encode() + lines(1)[0])
    bare, ours = reader.read([0, 1])
    name = bare["metadata"]["message_id"]
    assert re.fullmatch(r"m[0-9a-f]{16}", name)
    assert reader.index.find(name) == 0
    assert ours["metadata"]["message_id"] == "id-0"
    assert opened(path).index.find(name) == 0


def test_a_record_whose_id_was_damaged_is_found_by_what_is_handed_out(path: str) -> None:
    """The id of a message that is read is the id that the index knows."""
    reader = holding(path, lines(1)[0].replace(b'"message_id"', b'"message_iX"'))
    (message,) = reader.read([0])
    assert reader.index.find(message["metadata"]["message_id"]) == 0


def test_bytes_that_changed_after_they_were_read_are_an_error(path: str) -> None:
    """A record that is no longer there is not handed out as something else."""
    reader = holding(path, b"".join(lines(3)))
    with open(path, "r+b") as file:
        file.write(b"X")
    with pytest.raises(LogUnreadableError, match="the record at 0 was changed"):
        list(reader.read([0]))
    assert [number_of(message) for message in reader.read([1, 2])] == [1, 2]


def test_a_record_gone_from_the_file_is_an_error(path: str) -> None:
    """A file that became shorter behind our back gives an error, not half a message."""
    reader = holding(path, b"".join(lines(3)))
    os.truncate(path, len(b"".join(lines(2))) + 10)
    with pytest.raises(LogUnreadableError):
        list(reader.read([1, 2]))


# -- long lines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2_000, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_long_line_is_skipped_in_pieces_and_all_else_is_read(path: str, size: int, files: FakeFiles) -> None:
    """A line beyond the limit is one finding; the records around it are read and verify."""
    long = encode_message({"role": "user", "content": "x" * size}, message_id="id-1", timestamp=STAMP)
    whole = sealed([body(0), long, body(2)])
    write_file(path, b"".join(whole))
    reader = opened(path, files, max_record_bytes=1_500)
    assert numbers(reader) == [0, 2]
    assert [(damage.kind, damage.line, damage.offset) for damage in reader.index.damage] == [
        ("oversized", 2, len(whole[0]))
    ]
    assert opened(path).index.damage == []


def test_a_long_line_without_an_end_is_a_torn_tail(path: str) -> None:
    """What does not end is saved aside by the next append like any torn tail."""
    write_file(path, lines(1)[0] + b"y" * (3 << 20))
    reader = opened(path, max_record_bytes=1_500)
    assert reader.torn == TornTail(len(lines(1)[0]), 3 << 20)


@proof
def test_a_huge_line_is_scanned_in_bounded_memory(path: str) -> None:
    """The memory that a line costs is bounded, however long it is."""
    import tracemalloc

    with open(path, "wb") as file:
        file.write(lines(1)[0])
        file.truncate(1 << 30)  # a hole of zeros
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"".join(sealed([body(1)])))
    tracemalloc.start()
    reader = opened(path, max_record_bytes=1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert numbers(reader) == [0, 1]
    assert [damage.kind for damage in reader.index.damage] == ["oversized", "checksum"]
    assert peak < 16 << 20


def test_a_child_process_opens_its_own_file(path: str, files: FakeFiles) -> None:
    """After a fork the child does not share its parent's open file, on which the lock lies."""
    write_file(path, b"".join(lines(2)))
    reader = opened(path, files=files)
    parent_fd, opens = reader.file.descriptor, files.count("open_readonly")

    def child() -> bool:
        reader.follow()
        return files.count("open_readonly") == opens + 1 and numbers(reader) == [0, 1]

    assert in_a_fork(child)
    assert (reader.file.descriptor, numbers(reader)) == (parent_fd, [0, 1])


LINES = sealed([body(number, text="x" * (30_000 if number in (4, 7) else 9)) for number in range(10)])
CONTENT = b"".join(LINES)


@pytest.mark.parametrize(
    ("ordinals", "reads"),
    [
        ([], 0),
        ([3], 1),
        (range(10), 1),
        ([0, 1, 3], 1),
        ([3, 5], 2),  # a long line lies between them
        ([6, 5], 2),
        ([5, 5], 2),
        ([8, 9, 0, 1], 2),
    ],
)
def test_neighbours_are_read_together_in_the_order_asked_for(ordinals: list[int], reads: int) -> None:
    """Others one by one."""
    asked = []

    def read(offset: int, size: int) -> bytes:
        asked.append((offset, size))
        return CONTENT[offset : offset + size]

    index = scan(LINES).index
    assert list(fetch_lines(index, ordinals, read)) == [(ordinal, LINES[ordinal][:-1]) for ordinal in ordinals]
    assert len(asked) == reads
