"""What can be tried here of macOS and Windows: their own calls, played by stand-ins that keep the systems' rules."""

import ctypes
import importlib.util
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent.log import append_lock, atomic_file, file_trust, filesystem, os_file_lock
from amplifier_module_context_persistent.log.atomic_file import NewFile
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.toolbox.maintenance import swap_in_new_file
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import append, assert_sound, numbers
from tests.support.purges import purged

NOT_LOCKED, VIOLATION, NO_LOCKS = 158, 33, 1


class Kernel:
    """`LockFileEx` and `UnlockFileEx`: locks belong to handles, and a handle that has one is refused another."""

    def __init__(self) -> None:
        self.shared = defaultdict[int, set[int]](set)
        self.exclusive: dict[int, int] = {}
        self.error = 0
        self.gives_locks = True

    def LockFileEx(self, handle: Any, flags: int, *_: Any) -> bool:
        file, holder = os.fstat(handle.value).st_ino, handle.value
        others = self.shared[file] | ({self.exclusive[file]} if file in self.exclusive else set())
        if not self.gives_locks:
            self.error = NO_LOCKS
        elif file in self.exclusive or (flags & 2 and others):
            self.error = VIOLATION
        elif flags & 2:
            self.exclusive[file] = holder
            return True
        else:
            self.shared[file].add(holder)
            return True
        return False

    def UnlockFileEx(self, handle: Any, *_: Any) -> bool:
        file, holder = os.fstat(handle.value).st_ino, handle.value
        if self.exclusive.get(file) == holder:
            del self.exclusive[file]
            return True
        if holder in self.shared[file]:
            self.shared[file].remove(holder)
            return True
        self.error = NOT_LOCKED
        return False


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def locks(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of locks as Windows imports it."""
    monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: kernel, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: kernel.error, raising=False)
    monkeypatch.setattr(ctypes, "WinError", lambda code: OSError(22, f"[WinError {code}]"), raising=False)
    spec = importlib.util.spec_from_file_location("locks_of_windows", str(os_file_lock.__file__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as importing:
        importing.setattr(sys, "platform", "win32")
        importing.setitem(sys.modules, "msvcrt", SimpleNamespace(get_osfhandle=lambda fd: fd))
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Two open files of one name."""
    (tmp_path / "file").touch()
    one, other = (os.open(tmp_path / "file", os.O_RDWR) for _ in range(2))
    yield one, other
    os.close(one)
    os.close(other)


@pytest.mark.parametrize("system", ["this", "windows"])
def test_a_lock_excludes_others_until_it_is_given_back(locks: ModuleType, two: tuple[int, int], system: str) -> None:
    """Shared ones go together; who has one may ask again, for another kind too; nobody waits."""
    module: Any = locks if system == "windows" else os_file_lock
    one, other = two
    assert module.try_lock(one, exclusive=True)
    assert module.try_lock(one, exclusive=True)
    assert not module.try_lock(other, exclusive=True)
    assert not module.try_lock(other, exclusive=False)
    module.unlock(one)
    assert module.try_lock(one, exclusive=False)
    assert module.try_lock(other, exclusive=False)
    assert not module.try_lock(one, exclusive=True)


def test_a_system_without_locks_is_an_error_and_no_held_lock(
    locks: ModuleType, kernel: Kernel, two: tuple[int, int]
) -> None:
    kernel.gives_locks = False
    with pytest.raises(OSError, match="WinError 1"):
        locks.try_lock(two[0], exclusive=True)
    with pytest.raises(OSError, match=f"WinError {NOT_LOCKED}"):
        locks.unlock(two[1])


class WindowsFiles(FileSystem):
    """Files as on Windows: none that this process has open can be renamed, replaced or removed."""

    def _check_closed(self, *paths: str) -> None:
        files = {os.stat(path).st_ino for path in paths if os.path.exists(path)}
        for fd in os.listdir("/proc/self/fd"):
            try:
                is_open = os.fstat(int(fd)).st_ino in files
            except OSError:
                continue
            if is_open:
                raise PermissionError(13, "[WinError 32] used by another process", paths[0])

    def replace(self, source: str, target: str) -> None:  # type: ignore[override]
        self._check_closed(source, target)
        os.replace(source, target)

    def remove(self, path: str) -> None:  # type: ignore[override]
        self._check_closed(path)
        os.remove(path)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> WindowsFiles:
    """Take the ways of Windows where the code asks for the system."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system does not show which files are open")
    for module in (filesystem, file_trust, append_lock, atomic_file, swap_in_new_file):
        monkeypatch.setattr(module, "WINDOWS", True)
    return WindowsFiles()


@pytest.mark.parametrize("replace", [False, True])
def test_a_new_file_is_closed_before_it_gets_its_name(tmp_path: Path, windows: WindowsFiles, *, replace: bool) -> None:
    path = tmp_path / "file"
    if replace:
        path.write_bytes(b"old")
    with NewFile(path, replace=replace, files=windows) as file:
        file.write(b"new")
        file.finish()
    assert path.read_bytes() == b"new"
    assert [name for name in os.listdir(tmp_path) if name != "file"] == []


def test_a_log_is_appended_to_and_purged(path: str, windows: WindowsFiles) -> None:
    """The lock is on a file beside it, since nobody reads a locked one there; the old log is closed before it goes."""
    with closing(FileLog(path, files=windows)) as log, closing(FileLog(path, files=windows)) as other:
        append(log, 1)
        assert os.path.exists(f"{path}.lock")
        append(other, 2)
        append(log, 3)
        assert numbers(log) == [1, 2, 3]
    purged(path, Purge(before="id-3"), files=windows)
    with closing(FileLog(path, files=windows)) as log:
        append(log, 4)
        assert numbers(log) == [3, 4]
    assert_sound(path)


def test_macos_brings_what_it_syncs_through_the_drives_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fsync` of macOS leaves it there."""
    fcntl = pytest.importorskip("fcntl")
    called = list[tuple[int, int]]()
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda fd, call: called.append((fd, call)))
    monkeypatch.setattr(sys, "platform", "darwin")
    with (tmp_path / "file").open("wb") as file:
        FileSystem().sync(file.fileno())
        assert called == [(file.fileno(), 51)]
