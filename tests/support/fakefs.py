"""A file system for faults: real files under a temporary directory, with every call counted, failed or torn on demand.

- `calls` lists what was called, in order. `fail` lets the n-th call that matches fail, or a write take only some bytes,
  once or for ever.
- `go_astray` lets a write land in another place than it was meant for, or nowhere, while its caller is told that all is
  well, as a faulty disk does.
- It tells written from synced: `power_cut` writes into another directory what may be on the disk after a power cut.
  Without a chooser that is the least: synced bytes under synced names. With one, each write and cut that was not
  synced is kept, lost, torn or zeroed as it says. `choosers` gives all subsets of what may be lost, then samples.

Only what is written through this object is tracked; what stood in the files before counts as synced.
"""

import errno
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from amplifier_module_context_persistent.log.filesystem import FileSystem

Chooser = Callable[[int], int]
"""Gives a number below its argument, as `random.Random.randrange` does."""


MOST_SUBSETS = 2**10


def choosers(samples: int, seed: int = 0) -> Iterator[Chooser]:
    """Every way to keep or lose whole writes, cuts and names, up to ten of them; then so many seeded samples.

    What a chooser is asked tells how many there are, so each one is to be used before the next is taken.
    """
    script: list[int] = []
    for _ in range(MOST_SUBSETS):
        asked: list[int] = []

        def choose(count: int, script: list[int] = script, asked: list[int] = asked) -> int:
            asked.append(script[len(asked)] if len(asked) < len(script) else 0)
            return asked[-1] * (count - 1)  # the first fate or the last one: kept or lost

        yield choose
        while asked and asked[-1]:
            asked.pop()
        if not asked:
            break
        script = [*asked[:-1], 1]
    for number in range(samples):
        yield random.Random(1000 * seed + number).randrange


@dataclass
class Fault:
    """A fault that waits for its call."""

    nth: int
    ops: frozenset[str]
    code: int
    short: int | None
    forever: bool
    seen: int = 0


@dataclass
class Change:
    """A write or a cut that was not synced."""

    offset: int
    data: bytes | None


@dataclass
class Tracked:
    """A file as the disk has it for certain, and what was done to it since."""

    synced: bytes
    changes: list[Change] = field(default_factory=list)

    def image(self, choose: Chooser | None) -> bytes:
        content = bytearray(self.synced)
        for change in self.changes if choose else ():
            fate = choose(4)  # kept, kept with a zeroed block, torn, lost
            if fate == 3:
                continue
            if change.data is None:
                del content[change.offset :]
                continue
            data = change.data
            if fate == 1:
                start = choose(len(data) + 1)
                data = data[:start] + bytes(min(4096, len(data) - start)) + data[start + 4096 :]
            elif fate == 2:
                data = data[: choose(len(data) + 1)]
            content.extend(bytes(max(0, change.offset - len(content))))
            content[change.offset : change.offset + len(data)] = data
        return bytes(content)


class FakeFiles(FileSystem):
    """The system calls of a log, with faults."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.faults: list[Fault] = []
        self.tracked: dict[str, Tracked] = {}
        self.unsynced_entries: set[str] = set()
        self.unsynced_renames: dict[str, Tracked] = {}
        """What stood under a name before another file was renamed over it."""
        self._paths: dict[int, str] = {}
        self._astray: tuple[int, Callable[[int], int | None]] | None = None

    # -- faults ------------------------------------------------------------------------------------------------------

    def fail(
        self, *ops: str, nth: int = 1, code: int = errno.EIO, short: int | None = None, forever: bool = False
    ) -> Fault:
        """Let the n-th call from now (of these operations, or of any) fail, or a write take only `short` bytes."""
        fault = Fault(nth, frozenset(ops), code, short, forever)
        self.faults.append(fault)
        return fault

    def go_astray(self, *, nth: int = 1, to: Callable[[int], int | None]) -> None:
        """Let the n-th write leave NUL bytes where it belongs; what it writes lands at `to` (of its offset)."""
        self._astray = (self.count("write") + nth, to)

    def heal(self) -> None:
        """Let everything work again."""
        self.faults.clear()
        self._astray = None

    def count(self, *ops: str) -> int:
        """How many calls of these operations were made."""
        return sum(op in ops for op, _ in self.calls)

    def _call(self, op: str, path: str) -> int | None:
        """Note a call; raises, or gives the bytes that a write may take."""
        self.calls.append((op, path.rpartition(os.sep)[2]))
        for fault in self.faults:
            if fault.ops and op not in fault.ops:
                continue
            fault.seen += 1
            if fault.seen == fault.nth or (fault.forever and fault.seen > fault.nth):
                if fault.short is None:
                    raise OSError(fault.code, os.strerror(fault.code), path)
                if op == "write":
                    return fault.short
        return None

    # -- what a power cut leaves -------------------------------------------------------------------------------------

    def power_cut(self, root: str, target: str, choose: Chooser | None = None) -> None:
        """Write what may be left of the tree under `root` into the empty directory `target`."""
        for path in self._survivors(root, choose):
            image = os.path.join(target, os.path.relpath(path, root))
            os.makedirs(os.path.dirname(image), exist_ok=True)
            with open(image, "wb") as file:
                tracked = self.tracked.get(path)
                if path in self.unsynced_renames and not (choose and choose(2)):
                    tracked = self.unsynced_renames[path]
                file.write(tracked.image(choose) if tracked else _content(path))

    def _survivors(self, root: str, choose: Chooser | None) -> Iterator[str]:
        for directory, names, files in os.walk(root):
            lost = {
                name
                for name in names + files
                if os.path.join(directory, name) in self.unsynced_entries and not (choose and choose(2))
            }
            names[:] = [name for name in names if name not in lost]
            yield from (os.path.join(directory, name) for name in files if name not in lost)

    # -- the calls ---------------------------------------------------------------------------------------------------

    def open_log(self, path: str, *, create: bool) -> int:
        self._call("create" if create else "open", path)
        new = create and not os.path.lexists(path)
        return self._opened(super().open_log(path, create=create), path, new=new)

    def open_readonly(self, path: str) -> int:
        self._call("open_readonly", path)
        return self._opened(super().open_readonly(path), path, new=False)

    def create_new(self, path: str) -> int:
        self._call("create_new", path)
        return self._opened(super().create_new(path), path, new=True)

    def _opened(self, fd: int, path: str, *, new: bool) -> int:
        self._paths[fd] = path
        if new:
            self.unsynced_entries.add(path)
        if os.path.isfile(path):
            self.tracked.setdefault(path, Tracked(_content(path)))
        return fd

    def make_directory(self, path: str) -> None:
        self._call("make_directory", path)
        super().make_directory(path)
        self.unsynced_entries.add(path)

    def stat(self, path: str) -> os.stat_result:
        self._call("stat", path)
        return super().stat(path)

    def fstat(self, fd: int) -> os.stat_result:
        self._call("fstat", self._paths[fd])
        return super().fstat(fd)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        self._call("read", self._paths[fd])
        return super().read(fd, size, offset)

    def write(self, fd: int, data: bytes) -> int:
        path = self._paths[fd]
        short = self._call("write", path)
        taken = data if short is None else data[:short]
        offset = os.fstat(fd).st_size
        if self._astray is not None and self._astray[0] == self.count("write"):
            place = self._astray[1](offset)
            super().write(fd, bytes(len(data)))
            if place is not None:
                with open(path, "r+b") as file:
                    file.seek(place)
                    file.write(data)
            self.tracked[path] = Tracked(_content(path))
            return len(data)
        written = super().write(fd, taken) if taken else 0
        self.tracked[path].changes.append(Change(offset, taken))
        return written

    def sync(self, fd: int) -> None:
        path = self._paths[fd]
        self._call("sync", path)  # the image is what counts: the real disk need not be waited for
        self.tracked[path] = Tracked(_content(path))

    def sync_directory(self, path: str) -> None:
        self._call("sync_directory", path)
        for target in [target for target in self.unsynced_renames if os.path.dirname(target) == path]:
            del self.unsynced_renames[target]
        self.unsynced_entries = {entry for entry in self.unsynced_entries if os.path.dirname(entry) != path}

    def remove(self, path: str) -> None:
        self._call("remove", path)
        super().remove(path)
        self.tracked.pop(path, None)
        self.unsynced_entries.discard(path)

    def replace(self, source: str, target: str) -> None:
        self._call("replace", source)
        before = self.tracked.get(target) or Tracked(_content(target))
        super().replace(source, target)
        self.unsynced_renames[target] = before
        self.unsynced_entries.discard(source)
        self.tracked[f"{target} before"] = before
        self.tracked[target] = self.tracked.pop(source)
        new_names = {source: target, target: f"{target} before"}
        self._paths = {fd: new_names.get(path, path) for fd, path in self._paths.items()}

    def truncate(self, fd: int, size: int) -> None:
        path = self._paths[fd]
        self._call("truncate", path)
        super().truncate(fd, size)
        self.tracked[path].changes.append(Change(size, None))

    def close(self, fd: int) -> None:
        path = self._paths.pop(fd)
        super().close(fd)
        self._call("close", path)

    def try_lock(self, path: str, fd: int) -> int | None:
        self._call("lock", path)
        return super().try_lock(path, fd)

    def unlock(self, lock_fd: int) -> None:
        self._call("unlock", self._paths[lock_fd])
        super().unlock(lock_fd)


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
