"""Snapshots that are not what they should be, put in the catalogue of a log before each of its openings.

A log is read the same with any of them as with none. `SNAPSHOT_FAULTS=SEED` runs tests of the log like that:

    SNAPSHOT_FAULTS=1 python -m pytest tests/log/test_damage.py tests/log/test_reset_effects.py

Not those that count calls, look at the files beside a log, or put snapshots there themselves.

Kinds: one of the log as it is (present), of its first lines (stale), of an earlier state of the same file, of another
log (swapped); each as it was made, cut or flipped; and none.

Nothing is brought to the real disk meanwhile. Each opening would wait for it, and thousands of them take half an hour
where others write to the same disk. No test cuts the real power; `FakeFiles` knows by itself what was synced.
"""

import os
import random
import tempfile
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue.catalogue_file import remove_catalogue
from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.log.file_handle import FileHandle
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.scanner import Scanner
from tests.support.logs import body, content_of, sealed
from tests.support.snapshots import always, put, stored

KINDS = ("present", "present", "stale", "stale", "earlier", "earlier", "swapped", "none")
DAMAGES = ("", "", "", "cut", "flipped")


class SnapshotFaults(CatalogueSnapshots):
    """Hands each log below the directory for temporary files a snapshot of some kind as it is opened.

    Args:
        seed: for what is handed out.
        patch: undoes all of it.
    """

    def __init__(self, seed: int, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        always(patch)
        self._rng = random.Random(seed)
        self._earlier: deque[tuple[str, Callable[[], None]]] = deque(maxlen=8)
        begin = LogReader.__init__

        def with_faults(reader: LogReader, *args: Any, **options: Any) -> None:
            if options.get("writable") or "snapshots" not in options:  # else it is told to use none, as by `verify`
                options["snapshots"] = self
            begin(reader, *args, **options)

        patch.setattr(LogReader, "__init__", with_faults)
        patch.setattr(FileSystem, "sync", lambda _self, _fd: None)
        patch.setattr(FileSystem, "sync_directory", lambda _self, _path: None)

    def load(self, log: FileHandle, max_record_bytes: int) -> Scanner | None:
        if not log.path.startswith(tempfile.gettempdir()):  # the golden logs stay as they are
            return None
        remove_catalogue(log.path)
        write = self._made(log, max_record_bytes, self._rng.choice(KINDS))
        if write is not None:
            write()
            self._damage(log.path)
        return super().load(log, max_record_bytes)

    def take(self, log: FileHandle, scanner: Scanner, known_end: bytes) -> Callable[[], None] | None:
        """Nothing: what is there is put there at each opening."""
        return None

    def _made(self, log: FileHandle, max_record_bytes: int, kind: str) -> Callable[[], None] | None:
        """What writes a snapshot of a kind; None where there is to be none."""
        if kind == "earlier":
            here = [write for path, write in self._earlier if path == log.path]
            return self._rng.choice(here) if here else None
        if kind == "none":
            return None
        content = content_of(log.path)
        if kind == "stale":
            ends = [at + 1 for at in range(len(content)) if content[at] == 10]
            content = content[: self._rng.choice(ends)] if ends else b""
        elif kind == "swapped":
            content = b"".join(sealed([*map(body, range(80, 95))]))
        scanner = Scanner(max_record_bytes)
        scanner.feed(content)
        write = super().take(log, scanner, content[: scanner.offset][-32:])
        if write is not None and kind != "swapped":
            self._earlier.append((log.path, write))
        return write

    def _damage(self, path: str) -> None:
        damage = self._rng.choice(DAMAGES)
        if not damage or not os.path.exists(path + ".catalogue") or not (rows := stored(path)):
            return
        number, check, content = rows.pop(self._rng.randrange(len(rows)))
        at = self._rng.randrange(len(content))
        if damage == "cut":
            content = content[:at]
        else:
            content = content[:at] + bytes([content[at] ^ (1 << self._rng.randrange(8))]) + content[at + 1 :]
        put(path, [*rows, (number, check, content)])
