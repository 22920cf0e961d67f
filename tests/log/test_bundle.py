"""The messages of one append are in a file together or not at all, wherever a crash cut it."""

from contextlib import closing

import pytest

from amplifier_module_context_persistent.log.bundle import HEAD, bundled
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.fakefs import FakeFiles
from tests.support.logs import (
    STAMP,
    append_bodies,
    append_to,
    assert_sound,
    body,
    content_of,
    numbers,
    reset_bodies,
    saved_tails,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("without_and_with_snapshots")

HEADER = encode_control("header", version=2, log_id="l")
TEXT = " " + "x" * 40


def bundle(*numbered: int) -> list[bytes]:
    return list(bundled([body(number, text=TEXT) for number in numbered]))


def start() -> bytes:
    return b"".join(sealed([HEADER, body(0)]))


def whole(*bodies: bytes) -> bytes:
    return b"".join(sealed([HEADER, body(0), *bodies]))


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "log.jsonl")


@proof
def test_a_bundle_that_a_crash_cut_anywhere_is_not_there(path: str) -> None:
    """At every byte: all of it or nothing is read; what is cut is saved aside, and the log goes on."""
    content, begin = whole(*bundle(1, 2, 3)), len(start())
    for end in range(begin + 1, len(content) + 1):
        write_file(path, content[:end])
        expected = [0, 1, 2, 3] if end >= len(content) - 1 else [0]
        assert stored_numbers(path) == expected, end
        append_to(path, 9)
        assert stored_numbers(path) == [*expected, 9]
        assert_sound(path)
        tails = {content_of(name) for name in saved_tails(path)}
        assert len(expected) == 4 or content[begin:end] in tails


def test_a_reader_sees_a_bundle_once_it_is_whole(path: str) -> None:
    """What another process is about to write is not there in parts, and is taken in as soon as it is whole."""
    content = whole(*bundle(1, 2, 3))
    write_file(path, content[:-300])
    with closing(LogReader(path)) as log:
        assert numbers(log) == [0]  # type: ignore[arg-type]
        write_file(path, content)
        assert numbers(log) == [0, 1, 2, 3]  # type: ignore[arg-type]


def test_a_second_bundle_is_cut_and_the_first_stays(path: str) -> None:
    """Each is there or not for itself, also if both were written at once."""
    content = whole(*bundle(1, 2), *bundle(3, 4))
    write_file(path, content[:-30])
    assert stored_numbers(path) == [0, 1, 2]


def test_a_bundle_with_blocks_that_a_power_cut_lost_is_not_there(path: str) -> None:
    """NUL bytes at the end of the file are what was not written; nobody was told that it was stored."""
    content = bytearray(whole(*bundle(1, 2, 3)))
    content[-250:-200] = bytes(50)
    write_file(path, bytes(content))
    assert stored_numbers(path) == [0]
    append_to(path, 9)
    assert stored_numbers(path) == [0, 9]


def test_damage_in_a_whole_bundle_takes_no_more_than_its_line(path: str) -> None:
    """A bundle is only ever judged by the end of the file: a line that is damaged later does not hide the others."""
    content = whole(*bundle(1, 2, 3))
    for gone in (b'"role":"user","content":"message 2', b'"checks":"', b'"bytes":'):
        broken = content.replace(gone, b"\x01" * len(gone))
        write_file(path, broken)
        assert stored_numbers(path) == ([0, 1, 3] if b"message" in gone else [0, 1, 2, 3])
        assert not verify_log(path).is_sound
    write_file(path, b"".join(sealed([HEADER, body(0), *bundle(1, 2, 3)[:2], body(9)])))
    assert stored_numbers(path) == [0, 1, 9]


def test_what_an_earlier_version_appended_after_half_a_bundle_counts(path: str) -> None:
    """A version that knows no bundles reads the half and goes on after it; then nothing is ever cut."""
    for after in ([body(9)], [body(9), body(10)], [encode_control("view"), body(9)]):
        write_file(path, b"".join(sealed([HEADER, body(0), *bundle(1, 2, 3)[:3], *after])))
        found = stored_numbers(path)
        assert found[:4] == [0, 1, 2, 9]
        append_to(path, 20)
        assert stored_numbers(path) == [*found, 20]


def test_messages_of_one_caller_are_one_write_and_one_sync(path: str) -> None:
    """Also in a log that a bundle began."""
    files = FakeFiles()
    with closing(FileLog(path, files=files)) as log:
        append_bodies(log, HEADER, body(0), body(1))
        writes, syncs = files.count("write"), files.count("sync")
        append_bodies(log, *(body(number) for number in range(2, 502)))
        assert (files.count("write") - writes, files.count("sync") - syncs) == (1, 1)
    assert stored_numbers(path) == list(range(502))
    assert content_of(path).count(HEAD) == 2


def test_one_message_and_a_reset_need_no_bundle() -> None:
    """A line is whole or torn by itself, and a reset has its own begin and commit."""
    for bodies in ([body(1)], [HEADER, body(1)], [HEADER], [], reset_bodies("a", body(1), body(2))):
        assert list(bundled(bodies)) == bodies


def test_a_purge_leaves_bundles_out(path: str) -> None:
    """A purged log ends where its messages end, and is never taken for one that a crash cut."""
    with closing(FileLog(path)) as log:
        append_bodies(log, HEADER, body(0), body(1), body(2))
        append_bodies(log, *reset_bodies("a", body(3), body(4), upto="id-2"))
    purge_log(path, Purge(cleared=True), now=lambda: STAMP)
    assert HEAD not in content_of(path)
    assert stored_numbers(path) == [3, 4]


@proof(quick=1)
def test_a_power_cut_leaves_all_of_an_append_or_nothing(tmp_path) -> None:
    """Whatever of its one write is kept, lost or torn, before it was synced."""
    root = tmp_path / "root"
    root.mkdir()
    files, name = FakeFiles(), "log.jsonl"
    with closing(FileLog(root / name, files=files)) as log:
        append_bodies(log, HEADER, body(0))
        files.fail("sync", forever=True)
        with pytest.raises(OSError, match="sync"):
            append_bodies(log, *bundle(1, 2, 3, 4))
    for number, choose in enumerate(_torn()):
        target = tmp_path / f"{number}"
        target.mkdir()
        files.power_cut(str(root), str(target), choose)
        assert stored_numbers(str(target / name)) in ([0], [0, 1, 2, 3, 4])


def _torn():
    """Ways to keep, lose or tear the last write, at many places."""
    for at in range(0, 1100, 7):
        script = iter([2, at])
        yield lambda count, script=script: min(next(script, 0), count - 1)
    yield lambda count: count - 1
