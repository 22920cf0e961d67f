"""Snapshots in the catalogue: when they are written, who writes them, and what a failure leaves."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.catalogue import index_snapshots
from amplifier_module_context_persistent.catalogue.catalogue_file import SUFFIX, Catalogue, catalogue_of
from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.log import file_log, reader
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import STAMP, append, append_to, body, content_of, reset_bodies, write_file
from tests.support.snapshots import covered_bytes, is_used, known, make_snapshot, some_log, stored

pytestmark = pytest.mark.usefixtures("snapshots_of_any_size")


SECRET = "PURPLE-ELEPHANT"


def opened(path: str) -> FileLog:
    return FileLog(path, snapshots=CatalogueSnapshots(wait_s=0))


def test_it_holds_no_content(path: str) -> None:
    """No word of a message."""
    some_log(path, text=f" {SECRET}")
    assert SECRET.encode() in content_of(path)
    assert SECRET.encode() not in Path(path + SUFFIX).read_bytes()


def test_none_is_written_inside_an_open_reset(path: str) -> None:
    """Of a log that ends there, none is there."""
    bodies = reset_bodies("r1", body(5), upto="id-4")
    for content in ([*map(body, range(5)), *bodies[:stop]] for stop in (1, 2)):
        seed, written = 0, b""
        for one in content:
            line, seed = seal(one, seed)
            written += line
        write_file(path, written)
        assert not make_snapshot(path)
        assert not os.path.lexists(path + SUFFIX)


def test_one_that_stands_further_stays(path: str) -> None:
    """A writer that knows less of the same log does not replace it."""
    behind, ahead = opened(path), opened(path)
    append(behind, 0)
    append(ahead, *range(1, 9))
    ahead.close()
    further = stored(path)
    behind.close()
    assert stored(path) == further
    assert covered_bytes(path) == os.path.getsize(path)


def test_one_is_written_as_a_session_ends_and_after_a_long_scan(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever had to scan much writes one, a command too; who did not, and appended little, writes none."""
    append_to(path, *range(9))
    known(path, trusting=True)
    assert not os.path.lexists(path + SUFFIX)
    monkeypatch.setattr(reader, "SCANNED_BYTES", os.path.getsize(path))
    known(path, trusting=True)
    assert covered_bytes(path) == os.path.getsize(path)
    monkeypatch.setattr(file_log, "CLOSE_BYTES", 1 << 20)
    with closing(opened(path)) as log:
        append(log, 9)
    assert covered_bytes(path) < os.path.getsize(path)
    monkeypatch.setattr(file_log, "CLOSE_BYTES", 1)
    with closing(opened(path)) as log:
        append(log, 10)
    assert covered_bytes(path) == os.path.getsize(path)


def test_one_is_written_while_much_is_appended(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a session that is killed leaves at most so much to be scanned."""
    monkeypatch.setattr(file_log, "APPENDED_BYTES", 1_000)
    log = opened(path)
    log.follow()
    for number in range(40):
        append(log, number)
    size = os.path.getsize(path)
    LogReader.close(log)  # as a killed process, but for what is being written
    assert size - 1_200 < covered_bytes(path) <= size


def test_a_session_does_not_wait_for_another_one(path: str) -> None:
    """Where the catalogue is busy none is written, and the session is closed all the same."""
    with closing(opened(path)) as log:
        append(log, *range(5))
    log = opened(path)
    append(log, 5)
    with Catalogue(catalogue_of(path)).writing():
        log.close()
    assert covered_bytes(path) < os.path.getsize(path)
    assert known(path, trusting=True) == known(path, trusting=False)


def test_who_read_the_log_before_a_purge_does_not_write_back(path: str) -> None:
    """What was taken before it is of another file."""
    append_to(path, *range(9))
    with closing(LogReader(path)) as before:
        before.follow()
        write = CatalogueSnapshots().take(before.file, before.scanner, before.known_end)
        assert write is not None
        purge_log(path, Purge(redact=lambda text: text.replace("message 3", "gone")), now=lambda: STAMP)
        write()
    assert stored(path) == []
    assert make_snapshot(path)


def test_the_files_of_earlier_versions_go(path: str) -> None:
    """With the next one that is written, and with a purge; other files stay."""
    names = ("log.jsonl.checkpoint", "log.jsonl.checkpoint-0123abcd.part", "log.jsonl.checkpoint-mine.part")
    for go in (lambda: make_snapshot(path), lambda: purge_log(path, Purge(everything=True), now=lambda: STAMP)):
        append_to(path, 1)
        for name in names:
            write_file(os.path.join(os.path.dirname(path), name), b"x")
        go()
        left = {name for name in os.listdir(os.path.dirname(path)) if "checkpoint" in name}
        assert left == {names[-1]}


def test_a_small_log_gets_none(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is scanned as quickly as a snapshot is read."""
    monkeypatch.setattr(index_snapshots, "LEAST_LOG_BYTES", 1 << 20)
    with closing(opened(path)) as some:
        append(some, *range(100))
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    assert not is_used(path)
