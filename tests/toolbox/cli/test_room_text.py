"""A command says how much room it needs before it writes, and in the error."""

from __future__ import annotations

import errno
import json
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import AppendError
from amplifier_module_context_persistent.log.archive_log import archive_log
from amplifier_module_context_persistent.log.file_handle import is_archived
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.cli import archive
from tests.support.archives import content_of_log
from tests.support.commands import run, shows
from tests.support.logs import body
from tests.support.messages import user
from tests.support.sessions_of_a_home import log_of, write
from tests.support.small_disk import free_on_disks
from tests.support.two_homes import Home, carry

TEXT = "word " * 20_000
"""100 kB that compress well."""


@pytest.fixture
def archived(project: None) -> Path:
    """An archived session."""
    path = write(log_of("one"), [user(TEXT), {"role": "assistant", "content": "Thank you."}])
    path.chmod(0o600)
    archive_log(str(path))
    return path


def test_bringing_a_log_back_says_the_room_first(archived: Path) -> None:
    with free_on_disks(2_000_000_000):
        shows(run("archive", "--undo", "one", "--dry-run").output, "needs up to 100kB of room; 2.0GB are free.")
    with free_on_disks(50_000):
        shows(run("archive", "--undo", "one", "--dry-run", code=1).output, "NOT ENOUGH ROOM. This needs up to 100kB")
        told = run("archive", "--undo", "one", "--yes", code=2).output
    assert "the new file needs up to 100,2" in told
    assert "and 50,000 are free on the disk" in told
    assert is_archived(archived)


def test_a_session_that_cannot_go_on_says_the_room(archived: Path) -> None:
    """The archive is what it was."""
    before = archived.read_bytes()
    is_refused = pytest.raises(AppendError, match="and 50,000 are free on the disk")
    with free_on_disks(50_000), closing(FileLog(archived)) as log, is_refused:
        log.append([lambda _: [body(1)]])
    assert archived.read_bytes() == before


def test_a_sync_says_the_room_that_an_archived_copy_needs(tmp_path: Path) -> None:
    """The copy of an archived session needs no more than the archive; one that grows is brought back first."""
    laptop = Home(tmp_path / "laptop", "name")
    stick = tmp_path / "stick"
    stick.mkdir()
    laptop.says("talk", TEXT)
    laptop.run("archive", "talk", "--yes")
    with free_on_disks(50_000):
        carry(stick, laptop)
    copy = next(stick.rglob(LOG_NAME))
    assert copy.read_bytes() == laptop.log("talk").read_bytes()
    laptop.says("talk", "more")
    with free_on_disks(50_000):
        told = laptop.run("sync", stick, "--dry-run", code=1).output
        assert "its archived copy is brought back, 201kB" in told
        assert "NOT ENOUGH ROOM" in told
        assert "50,000 are free on the disk" in laptop.run("sync", stick, code=1).output
    assert is_archived(copy)
    carry(stick, laptop)
    assert content_of_log(copy) == laptop.log("talk").read_bytes()


def test_a_session_that_does_not_fit_is_named_and_the_others_are_copied(tmp_path: Path) -> None:
    laptop = Home(tmp_path / "laptop", "name")
    stick = tmp_path / "stick"
    stick.mkdir()
    laptop.says("long", TEXT)
    laptop.says("short", "one")
    with free_on_disks(50_000):
        assert "NOT ENOUGH ROOM" in laptop.run("sync", stick, "--dry-run", code=1).output
        assert json.loads(laptop.run("sync", stick, "--dry-run", "--json", code=1).stdout)["lacks_room"] is True
        told = laptop.run("sync", stick, code=1).output
    assert "LEFT: long: " in told
    assert "50,000 are free on the disk" in told
    assert [path.parent.name for path in stick.rglob(LOG_NAME)] == ["short"]


def test_a_backup_says_the_room(tmp_path: Path) -> None:
    laptop = Home(tmp_path / "laptop", "name")
    kept = tmp_path / "kept"
    kept.mkdir()
    laptop.says("long", TEXT)
    with free_on_disks(50_000):
        assert "NOT ENOUGH ROOM" in laptop.run("backup", kept, "--dry-run", code=1).output
        assert "50,000 are free on the disk" in laptop.run("backup", kept, code=1).output


@pytest.mark.parametrize(
    ("how", "free_bytes"),
    [
        ("new", 150_000),
        ("more", 80_000),
        ("archived, more", 150_000),
        ("both kept", 150_000),
        ("purged", 150_000),
        ("restored", 150_000),
        ("brought back", 150_000),
    ],
)
def test_the_hosts_file_is_reckoned_with(tmp_path: Path, how: str, free_bytes: int) -> None:
    """In a home, a second copy of the messages comes beside each log of 100 kB that is not archived."""
    laptop, desktop = Home(tmp_path / "laptop", "name"), Home(tmp_path / "desktop", "name")
    place = tmp_path / "place"
    place.mkdir()
    laptop.says("talk", "secret", TEXT)
    if how in ("archived, more", "brought back"):
        laptop.run("archive", "talk", "--yes")
    if how != "restored":
        carry(place, laptop)
    if how not in ("new", "restored"):
        carry(place, desktop)
    command: tuple[object, ...] = ("sync", place)
    match how:
        case "more" | "archived, more":
            laptop.says("talk", "more")
            carry(place, laptop)
        case "both kept":
            laptop.says("talk", "more")
            carry(place, laptop)
            desktop.says("talk", "other")
            command = ("sync", place, "--keep", "both")
        case "purged":
            laptop.run("purge", "talk", "--redact", "secret", "--yes")
            carry(place, laptop)
        case "restored":
            laptop.run("backup", place)
            command = ("backup", place, "--restore")
        case "brought back":
            command = ("archive", "--undo", "talk", "--yes")
    with free_on_disks(free_bytes):
        assert "NOT ENOUGH ROOM" in desktop.run(*command, "--dry-run", code=1).output
    with free_on_disks(1_000_000):
        assert "NOT ENOUGH ROOM" not in desktop.run(*command, "--dry-run").output


def test_a_log_that_is_back_without_the_hosts_file_is_told_and_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the disk were full by then; the same command writes the file when there is room."""
    laptop, desktop = Home(tmp_path / "laptop", "name"), Home(tmp_path / "desktop", "name")
    stick = tmp_path / "stick"
    stick.mkdir()
    laptop.says("talk", TEXT)
    laptop.run("archive", "talk", "--yes")
    carry(stick, laptop, desktop)
    transcript = desktop.log("talk").with_name("transcript.jsonl")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "the disk is full", str(transcript))

    with monkeypatch.context() as patch:
        patch.setattr(archive, "complete_host_files", full)
        told = desktop.run("archive", "--undo", "talk", "--yes", code=1).output
        found = json.loads(desktop.run("archive", "--undo", "talk", "--yes", "--json", code=1).stdout)
    assert "it is back, but without the host's file" in told
    assert "the disk is full" in found["brought_back"][0]["incomplete"]
    assert not is_archived(desktop.log("talk"))
    assert "the host's file is written" in desktop.run("archive", "--undo", "talk", "--yes").output
    assert len(transcript.read_text().splitlines()) == 2
    assert "none is archived" in desktop.run("archive", "--undo", "talk", "--yes").output


def test_a_mount_that_does_not_tell_its_room_is_written_to(tmp_path: Path) -> None:
    """Some mounts of servers say that they have 0 bytes in all."""
    laptop = Home(tmp_path / "laptop", "name")
    stick = tmp_path / "stick"
    stick.mkdir()
    laptop.says("talk", "one")
    with free_on_disks(0, total_bytes=0):
        assert "ROOM" not in laptop.run("sync", stick).output
    assert len(list(stick.rglob(LOG_NAME))) == 1
