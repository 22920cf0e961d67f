"""Files that appear whole or not at all."""

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.atomic_file import NewFile, remove_other_name
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.os_file_lock import try_lock
from tests.support.fakefs import FakeFiles


def refusing(call: str) -> FakeFiles:
    """A file system on which one call fails."""
    files = FakeFiles()
    files.fail(call, code=errno.ENOSPC)
    return files


def write(path: Path, content: bytes = b"new", *, replace: bool = False, files: FileSystem | None = None) -> None:
    with NewFile(path, replace=replace, with_directories=True, files=files) as file:
        file.write(content)
        file.finish()


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_it_is_private_and_so_are_its_directories(tmp_path: Path, umask: int) -> None:
    """Whatever the umask: 0600 and 0700; nothing else is left beside it."""
    old = os.umask(umask)
    try:
        write(tmp_path / "a" / "b" / "file", b"x" * (3 << 20))
    finally:
        os.umask(old)
    assert (tmp_path / "a" / "b" / "file").stat().st_size == 3 << 20
    assert os.listdir(tmp_path / "a" / "b") == ["file"]
    assert stat.S_IMODE((tmp_path / "a" / "b" / "file").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["file", "directory", "link", "fifo"])
@pytest.mark.parametrize("replace", [False, True])
def test_what_is_there_stays(tmp_path: Path, kind: str, *, replace: bool) -> None:
    """Only a regular file is replaced, and only when that is asked for."""
    path = tmp_path / "there"
    if kind == "file":
        path.write_bytes(b"old")
    elif kind == "directory":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path)
    if kind == "file" and replace:
        write(path, replace=True)
        assert path.read_bytes() == b"new"
    else:
        with pytest.raises(FileExistsError, match="already"):
            write(path, replace=replace)
        assert kind != "file" or path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["there"]


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """Who is faster has the name."""
    with NewFile(tmp_path / "file") as new:
        new.write(b"new")
        (tmp_path / "file").write_bytes(b"faster")
        with pytest.raises(FileExistsError):
            new.finish()
    assert (tmp_path / "file").read_bytes() == b"faster"
    assert os.listdir(tmp_path) == ["file"]


def test_the_race_for_the_name_is_lost_without_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the other file comes after the last look."""
    (tmp_path / "file").write_bytes(b"faster")
    monkeypatch.setattr("amplifier_module_context_persistent.log.atomic_file.check_free", lambda *_, **__: None)
    with pytest.raises(FileExistsError, match="already"):
        write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"faster"
    assert os.listdir(tmp_path) == ["file"]


def test_what_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    """Not the file, not the one aside, not the directory that was made for it."""
    with NewFile(tmp_path / "made" / "file", with_directories=True) as new:
        new.write(b"x")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("call", ["write", "sync"])
def test_a_full_disk_leaves_nothing_of_that_name(tmp_path: Path, call: str) -> None:
    """The error is raised, and there is no half of a file."""
    with pytest.raises(OSError, match="space"):
        write(tmp_path / "file", files=refusing(call))
    assert os.listdir(tmp_path) == []


def test_without_hard_links_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on file systems that have none."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(FileSystem, "give_name", refuse)
    for files in (None, FakeFiles()):  # written without a name, if the system can do that; and beside its place
        write(tmp_path / "file", files=files)
        assert (tmp_path / "file").read_bytes() == b"new"
        assert os.listdir(tmp_path) == ["file"]
        os.remove(tmp_path / "file")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files without a name")
@pytest.mark.parametrize("replace", [False, True])
def test_what_a_killed_writer_wrote_is_gone(tmp_path: Path, *, replace: bool) -> None:
    """Until the file gets its name it has none, so nothing of its text is left anywhere."""
    (tmp_path / "file").write_bytes(b"old")
    new = NewFile(tmp_path / ("file" if replace else "other"), replace=replace)
    with new:
        new.write(b"a secret" * (1 << 20))
        assert os.listdir(tmp_path) == ["file"]


def test_the_file_aside_is_locked_as_long_as_it_is_in_use(tmp_path: Path) -> None:
    """So that whoever clears up can tell it from one that a killed writer left."""
    with NewFile(tmp_path / "file", files=FakeFiles()) as new:
        new.write(b"x")
        (aside,) = tmp_path.iterdir()
        fd = os.open(aside, os.O_RDONLY)
        assert not try_lock(fd, exclusive=True)
        os.close(fd)


def test_a_file_that_is_there_is_not_called_failed(tmp_path: Path) -> None:
    """If only its directory cannot be synced, the error names the new file and says what is uncertain."""
    with pytest.raises(OSError, match="it was written") as raised:
        write(tmp_path / "file", files=refusing("sync_directory"))
    assert raised.value.filename == str(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_name_that_could_not_be_removed_is_no_failure(tmp_path: Path) -> None:
    """The file is there under its own name."""
    write(tmp_path / "file", files=refusing("remove"))
    assert (tmp_path / "file").read_bytes() == b"new"


def test_the_other_name_that_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    """Between link and unlink a file has two names; other files beside it stay."""
    write(tmp_path / "file")
    os.link(tmp_path / "file", tmp_path / "file.0123abcd.part")
    os.link(tmp_path / "file", tmp_path / "file.copy")
    (tmp_path / "file.89abcdef.part").write_bytes(b"being written")
    (tmp_path / "other.0123abcd.part").write_bytes(b"of another file")
    remove_other_name(str(tmp_path / "file"), FileSystem())
    assert sorted(os.listdir(tmp_path)) == ["file", "file.89abcdef.part", "file.copy", "other.0123abcd.part"]


def test_short_and_long_writes_keep_their_order(tmp_path: Path) -> None:
    """A long one is written without waiting, after those that wait."""
    pieces = [b"short", b"x" * (2 << 20), b"short", b"y" * (1 << 20), b"end"]
    with NewFile(tmp_path / "file", replace=False, with_directories=True, files=None) as file:
        for piece in pieces:
            file.write(piece)
        file.finish()
    assert (tmp_path / "file").read_bytes() == b"".join(pieces)
