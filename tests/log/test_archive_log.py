"""Archived logs: the same bytes, read in place; one whole file or the other at any moment; damage costs its frame."""

from __future__ import annotations

import io
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import AppendError, ArchiveError, LogError, LogUnreadableError
from amplifier_module_context_persistent.log.archive_format import HEAD, skippable, zstd
from amplifier_module_context_persistent.log.archive_log import archive_log
from amplifier_module_context_persistent.log.archived_bytes import archived_bytes
from amplifier_module_context_persistent.log.bring_back_log import bring_back
from amplifier_module_context_persistent.log.file_handle import FileHandle
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.archives import content_of_log, is_archived, small_frames, write_numbered
from tests.support.fakefs import FakeFiles, choosers
from tests.support.logs import append, assert_sound, body, giving, numbers, sealed, stored_numbers
from tests.support.sweeps import proof, some

LONG = b"".join(sealed([encode_control("header", version=2), body(0, text="x" * 3_000_000), body(1), body(2)]))

LOGS = {
    "one line": sealed([encode_control("header", version=2)])[0],
    "a long line": LONG,
    "no newline": LONG[:-1],
    "no record": b'{"role":"user","content":"bare"}\n' * 3,
    "damaged": b"".join(sealed([body(n) for n in range(9)])).replace(b"message 3", b"message 4"),
    "blank lines": b"\n\n".join(sealed([body(n) for n in range(4)])),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_comes_back_byte_for_byte(path: str, name: str) -> None:
    """And reads the same while it is archived: the same bytes at every place, the same findings."""
    Path(path).write_bytes(content := LOGS[name])
    os.utime(path, ns=(10**18, 10**18))
    with closing(LogReader(path)) as plain:
        plain.follow()
        found = [str(one) for one in plain.index.damage]
    with small_frames(2_000, 500):
        told = archive_log(path)
    assert told.bytes_before == len(content)
    assert told.bytes_after == os.path.getsize(path)
    assert is_archived(path)
    assert content_of_log(path) == content
    with closing(LogReader(path)) as reader:
        reader.follow()
        assert reader.describe().size_bytes == len(content)
        assert [str(one) for one in reader.index.damage] == found
        for offset in range(0, len(content), max(1, len(content) // 97)):
            assert reader.file.read(offset, 700) == content[offset : offset + 700]
        assert reader.file.read(len(content), 10) == b""
    bring_back(path)
    assert Path(path).read_bytes() == content
    assert os.stat(path).st_mtime_ns == 10**18
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]


class ReadLater(FileSystem):
    """Each look at an open file finds that the file was read a minute later than at the look before."""

    looks = 0

    def fstat(self, fd: int) -> os.stat_result:
        self.looks += 1
        values, named = os.fstat(fd).__reduce__()[1]
        return os.stat_result((*values[:7], values[7] + 60 * self.looks, *values[8:]), named)


def test_a_log_that_is_only_read_meanwhile_is_archived(path: str) -> None:
    """By a backup or by the command itself: file systems note when a file was read last."""
    write_numbered(path, 5)
    archive_log(path, files=ReadLater())
    assert is_archived(path)


def test_any_zstd_gives_the_log_back(path: str) -> None:
    """The file is a sequence of frames; what is ours is passed over."""
    content = write_numbered(path, 50)
    with small_frames():
        archive_log(path)
    packed = Path(path).read_bytes()
    assert packed.endswith(b"\n")
    with zstd().ZstdFile(io.BytesIO(packed)) as file:
        assert file.read() == content


def test_frames_are_whole_lines_of_about_one_size(path: str) -> None:
    write_numbered(path, 50)
    with small_frames(2_000, 500):
        archive_log(path)
    handle = FileHandle(path)
    assert handle.open(create=False)
    assert handle.archive is not None
    frames = handle.archive.frames
    assert [frame.line for frame in frames[1:]] == [frame.line + frame.lines for frame in frames[:-1]]
    assert all(500 <= frame.size <= 2_000 for frame in frames[:-1])
    assert all(content.endswith(b"\n") for content in handle.archive.contents())
    handle.close()


def test_an_append_brings_the_log_back_first(path: str) -> None:
    """What was read stays known: the index is the same object, and the record continues the chain."""
    content = write_numbered(path, 20)
    with small_frames():
        archive_log(path)
    with closing(FileLog(path, marks_open=True)) as log:
        assert numbers(log) == list(range(20))
        assert is_archived(path)
        index = log.index
        append(log, 20)
        assert log.index is index
        append(log, 21)
        assert numbers(log) == list(range(22))
    assert Path(path).read_bytes().startswith(content)
    assert stored_numbers(path) == list(range(22))
    assert_sound(path)


def test_another_process_goes_on_with_the_plain_log(path: str) -> None:
    """Who has the archive open reads on where the log is now."""
    write_numbered(path, 20)
    archive_log(path)
    with closing(FileLog(path)) as one, closing(FileLog(path)) as other:
        assert numbers(one) == numbers(other) == list(range(20))
        append(one, 20)
        append(other, 21)
        append(one, 22)
        assert numbers(one) == numbers(other) == list(range(23))
    assert_sound(path)


def test_a_log_that_is_open_is_not_archived(path: str) -> None:
    content = write_numbered(path, 3)
    with closing(FileLog(path, marks_open=True)) as log:
        log.follow()
        with pytest.raises(ArchiveError, match="open"):
            archive_log(path)
    assert Path(path).read_bytes() == content


def test_what_cannot_be_archived_stays(path: str, tmp_path: Path) -> None:
    """A torn end, a second name, a later version, an archive, no file."""
    content = write_numbered(path, 3)
    Path(path).write_bytes(content + b'{"role":')
    with pytest.raises(ArchiveError, match="torn"):
        archive_log(path)
    Path(path).write_bytes(content)
    os.link(path, tmp_path / "other")
    with pytest.raises(ArchiveError, match="2 names"):
        archive_log(path)
    os.remove(tmp_path / "other")
    Path(path).write_bytes(sealed([encode_control("header", version=3)])[0])
    with pytest.raises(ArchiveError, match="version 3"):
        archive_log(path)
    Path(path).write_bytes(content)
    with pytest.raises(ArchiveError, match="not archived"):
        bring_back(path)
    archive_log(path)
    with pytest.raises(ArchiveError, match="already"):
        archive_log(path)
    with pytest.raises(LogUnreadableError, match="no such file"):
        archive_log(str(tmp_path / "none"))


def test_an_append_meanwhile_keeps_the_log_plain(path: str, files: FakeFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was acknowledged is lost."""
    write_numbered(path, 3)
    sync = FakeFiles.sync

    def appending(self: FakeFiles, fd: int) -> None:
        sync(self, fd)
        with monkeypatch.context() as once:
            once.setattr(FakeFiles, "sync", sync)
            with closing(FileLog(path)) as other:
                append(other, 3)

    monkeypatch.setattr(FakeFiles, "sync", appending)
    with pytest.raises(ArchiveError, match="by another process"):
        archive_log(path, files=files)
    assert stored_numbers(path) == [0, 1, 2, 3]


# -- one whole file or the other ---------------------------------------------------------------------------------------


def change(path: str, what: str, files: FakeFiles | None = None) -> None:
    """Archive a log, bring it back, or append to it."""
    if what == "archive":
        archive_log(path, files=files)
    elif what == "undo":
        bring_back(path, files=files)
    else:
        with closing(FileLog(path, files=files)) as log:
            append(log, 8)


@proof(quick=1)
@pytest.mark.parametrize("what", ["archive", "undo", "append"])
def test_a_power_cut_at_any_call_leaves_one_of_the_two(tmp_path: Path, what: str) -> None:
    """Each call to the system fails for ever, in many states of the disk: never neither, never a mixture."""
    images, forms = 0, set()
    for nth in range(1, 200):
        root = tmp_path / f"{nth}"
        path = str(root / "log.jsonl")
        content = write_numbered(path, 8)
        with small_frames():
            if what != "archive":
                archive_log(path)
            files = FakeFiles()
            fault = files.fail(nth=nth, forever=True)
            is_done = True
            try:
                change(path, what, files)
            except (LogError, ArchiveError, OSError):
                is_done = False
        for chooser in (None, *choosers(some(2))):
            target = tmp_path / f"{nth}-{images}"
            target.mkdir()
            files.power_cut(str(root), str(target), chooser)
            image = str(target / "log.jsonl")
            if what != "append" or not is_done:
                assert content_of_log(image).startswith(content)
            longest = [*range(9)]
            assert stored_numbers(image) in ([longest] if what == "append" and is_done else [longest[:8], longest])
            forms.add(is_archived(image))
            with closing(FileLog(image)) as log:
                append(log, 9)
            assert stored_numbers(image)[-1] == 9
            assert_sound(image)
            images += 1
        if fault.seen < nth:
            break
    else:
        raise AssertionError("it did not end")
    assert forms == {True, False}
    print(f"power cuts of archives: {nth}, crash images: {images}")


@pytest.mark.parametrize("what", ["archive", "undo", "append"])
def test_one_call_that_fails_changes_nothing(tmp_path: Path, what: str) -> None:
    """A full disk, an I/O error: the log is what it was or the whole other file, nothing is left, and it works then."""
    for nth in range(1, 200):
        path = str(tmp_path / f"{nth}" / "log.jsonl")
        content = write_numbered(path, 8)
        if what != "archive":
            archive_log(path)
        files = FakeFiles()
        fault = files.fail("write", "sync", "replace", "create_new", "sync_directory", "lock", nth=nth)
        try:
            change(path, what, files)
        except (LogError, ArchiveError, OSError):
            assert content_of_log(path).startswith(content)
            if is_archived(path) == (what != "archive"):
                change(path, what)
        assert content_of_log(path).startswith(content)
        assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
        if fault.seen < nth:
            assert nth > 4
            return
    raise AssertionError("it did not end")


# -- damage ------------------------------------------------------------------------------------------------------------


def frames_of(path: str) -> list[tuple[int, int, int, int]]:
    """Of each frame where it lies in the file, its length, and its first line and the one after its last."""
    handle = FileHandle(path)
    assert handle.open(create=False)
    assert handle.archive is not None
    found = [(one.at, one.packed_bytes, one.line, one.line + one.lines) for one in handle.archive.frames]
    handle.close()
    return found


def test_a_damaged_frame_costs_that_frame(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Two flipped bits anywhere in it; it is told with its place, and the chain goes on behind it."""
    write_numbered(path, 40)
    with small_frames():
        archive_log(path)
    packed, frames = Path(path).read_bytes(), frames_of(path)
    assert len(frames) > 5
    for number, (at, size, first, stop) in enumerate(frames):
        spoiled = bytearray(packed)
        spoiled[at + size // 2] ^= 5
        Path(path).write_bytes(spoiled)
        caplog.clear()
        with closing(LogReader(path)) as reader:
            reader.follow()
            lost = {line - 1 for line in range(first, stop)}  # line 0 is the header
            kept = [int(m["metadata"]["message_id"][3:]) for m in reader.read(reader.index.live)]
            assert kept == [n for n in range(40) if n not in lost]
            assert [one.line for one in reader.index.damage] == [*range(first + 1, stop + 1)]
        assert f"frame {number + 1} of {len(frames)}, bytes {at:,} to {at + size:,} of the file" in caplog.text
        assert f"lines {first + 1:,} to {stop:,} of the log" in caplog.text
        with pytest.raises(ArchiveError, match="is damaged"):
            bring_back(path)
        with closing(FileLog(path)) as log, pytest.raises(AppendError, match="could not be brought back"):
            log.append([giving(body(99))])
        assert Path(path).read_bytes() == spoiled


@pytest.mark.parametrize("place", ["head", "version", "description", "frame", "index", "end"])
def test_one_flipped_bit_costs_nothing(path: str, place: str) -> None:
    """Wherever it is: the log reads the same, can be brought back, and a check names the damage."""
    content = write_numbered(path, 40)
    with small_frames():
        archive_log(path)
    packed, frames = Path(path).read_bytes(), frames_of(path)
    at, size, _, _ = frames[2]
    places = {
        "head": range(0, len(HEAD) - 2, 5),
        "version": range(len(HEAD) - 2, len(HEAD)),
        "description": range(at - 60, at, 7),
        "frame": range(at, at + size, max(1, size // 8)),
        "index": range(len(packed) - 200, len(packed) - 100, 11),
        "end": range(len(packed) - 60, len(packed), 7),
    }
    for number, spoiled_at in enumerate(places[place]):
        spoiled = bytearray(packed)
        spoiled[spoiled_at] ^= 1 << number % 8
        Path(path).write_bytes(spoiled)
        assert content_of_log(path) == content, spoiled_at
        assert not verify_log(path).is_sound, spoiled_at
        bring_back(path)
        assert Path(path).read_bytes() == content


def test_an_archive_without_its_beginning_is_read(path: str) -> None:
    """The first sector of the file is zeros: its end tells what it is, and only the first frame is lost."""
    write_numbered(path, 40)
    with small_frames():
        archive_log(path)
    packed, frames = Path(path).read_bytes(), frames_of(path)
    Path(path).write_bytes(bytes(300) + packed[300:])
    with closing(LogReader(path)) as reader:
        reader.follow()
        assert len(reader.index) == 40 - (frames[0][3] - 1)


def test_a_damaged_frame_is_read_up_to_its_damage(path: str) -> None:
    """Of a session of one frame the lines before the damage are left; the place names only lines that are lost."""
    write_numbered(path, 3_000)
    archive_log(path)
    assert len(frames_of(path)) == 1
    packed = bytearray(Path(path).read_bytes())
    middle = len(packed) // 2
    packed[middle : middle + 512] = bytes(512)
    Path(path).write_bytes(packed)
    with closing(LogReader(path)) as reader:
        reader.follow()
        kept = len(reader.index)
        assert 500 < kept < 2_500
        assert reader.file.archive is not None
        assert f"with lines {kept + 2:,} to 3,001 of the log" in reader.file.archive.first_damage()
        assert [damage.line for damage in reader.index.damage] == list(range(kept + 2, 3_002))
    frame_findings = [found for found in verify_log(path).damage if found.kind == "archive_frame"]
    assert [found.line for found in frame_findings] == [kept + 2]


@pytest.mark.parametrize("lost", [1, 40, 300])
def test_a_damaged_index_costs_nothing(path: str, lost: int) -> None:
    """Frames are found by what stands before each; also if the end of the file is gone, or something follows it."""
    content = write_numbered(path, 40)
    with small_frames():
        archive_log(path)
    packed = Path(path).read_bytes()
    at = frames_of(path)[-1][0] + frames_of(path)[-1][1]
    spoiled = bytearray(packed)
    spoiled[at + 8 + lost % (len(packed) - at - 9)] ^= 1
    for broken in (bytes(spoiled), packed[:-lost], packed + b"x" * lost):
        Path(path).write_bytes(broken)
        assert content_of_log(path) == content
        bring_back(path)
        assert Path(path).read_bytes() == content


def test_a_frame_without_its_description_is_the_only_one_lost(path: str) -> None:
    """The index is damaged, and what stands before the frame too: its checksum is not known."""
    write_numbered(path, 40)
    with small_frames():
        archive_log(path)
    packed, frames = bytearray(Path(path).read_bytes()), frames_of(path)
    packed[-5] ^= 1
    packed[frames[1][0] - 20] ^= 1
    Path(path).write_bytes(packed)
    with closing(LogReader(path)) as reader:
        reader.follow()
        assert len(reader.index) == 40 - (frames[1][3] - frames[1][2])


def test_not_all_is_lost_if_one_frame_is(path: str) -> None:
    """An import takes the others."""
    write_numbered(path, 40)
    with small_frames():
        archive_log(path)
    packed, frames = bytearray(Path(path).read_bytes()), frames_of(path)
    for spoiled in (frames[1:2], frames):
        for at, size, _, _ in spoiled:
            packed[at : at + size] = bytes(size)
        archive = archived_bytes(lambda size, at: bytes(packed[at : at + size]), len(packed), path)
        assert archive is not None
        assert len(list(archive.contents())) == len(frames)
        assert archive.is_all_lost() is (spoiled is frames)


def test_frames_that_are_gone_are_told(path: str) -> None:
    """An archive that was cut off: what is there is read, what is lost is reported, and it is not brought back."""
    content = write_numbered(path, 40)
    with small_frames():
        archive_log(path)
    packed, frames = Path(path).read_bytes(), frames_of(path)
    Path(path).write_bytes(packed[: frames[3][0] + 5])
    with closing(LogReader(path)) as reader:
        reader.follow()
        assert reader.describe().size_bytes == len(content)
        assert len(reader.index) == frames[3][2] - 1
        assert reader.index.damage or reader.torn
    with pytest.raises(ArchiveError, match="damaged"):
        bring_back(path)


@proof
def test_a_flipped_bit_of_any_byte_costs_no_message(path: str) -> None:
    """Wherever it is: in a frame, in what describes it, in the index, in the head."""
    write_numbered(path, 12)
    with small_frames():
        archive_log(path)
    packed = Path(path).read_bytes()
    for at in range(0, len(packed), 1 + 2 * (some(10) < 10)):
        spoiled = bytearray(packed)
        spoiled[at] ^= 1 << at % 8
        Path(path).write_bytes(spoiled)
        with closing(LogReader(path)) as reader:
            reader.follow()
            assert len(reader.index) == 12, at
    print(f"bits of archives flipped: {len(packed)}")


# -- other versions, and what is not installed -------------------------------------------------------------------------


def test_a_later_version_is_refused(path: str) -> None:
    """Neither read as something else, nor appended to."""
    Path(path).write_bytes(later := HEAD.replace(b"archive 1\n", b"archive 2\n") + skippable(b"more"))
    for log in (LogReader(path), FileLog(path)):
        with closing(log), pytest.raises(LogUnreadableError, match="later version"):
            log.follow()
    with closing(FileLog(path)) as log, pytest.raises(LogUnreadableError, match="later version"):
        log.append([giving(body(1))])
    assert Path(path).read_bytes() == later


def test_without_the_library_the_error_says_what_to_install(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken for an empty log, and nothing is stored."""
    write_numbered(path, 3)
    archive_log(path)
    before = Path(path).read_bytes()
    for name in ("compression", "compression.zstd", "backports", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with closing(LogReader(path)) as reader, pytest.raises(LogUnreadableError, match="backports-zstd"):
        reader.follow()
    with closing(FileLog(path)) as log, pytest.raises(LogUnreadableError, match="install"):
        log.append([giving(body(1))])
    assert Path(path).read_bytes() == before
