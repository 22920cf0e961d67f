"""Checkpoints that are not what they should be, put beside a log before each of its openings.

A log is read the same with any of them as with none. `CHECKPOINT_FAULTS=SEED` runs tests of the log like that:

    CHECKPOINT_FAULTS=1 python -m pytest tests/log/test_damage.py tests/log/test_resets.py

Not those that count calls, look at the files beside a log, or put checkpoints there themselves.

Kinds: one of the log as it is (present), of its first lines (stale), of an earlier state of the same file, of another
log (swapped); each as it was made, cut, flipped, or half-written beside it; and none.

Nothing is brought to the real disk meanwhile. Each opening would wait for it, and thousands of them take half an hour
where others write to the same disk. No test cuts the real power; `FakeFiles` knows by itself what was synced.
"""

import contextlib
import os
import random
import tempfile
from collections import deque

import pytest

from amplifier_module_context_persistent.log import checkpoint_file, reader
from amplifier_module_context_persistent.log.checkpoint_file import SUFFIX
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.open_log import OpenLog
from amplifier_module_context_persistent.log.scanner import Scanner
from tests.support.checkpoints import always, make_checkpoint, put, stored
from tests.support.logs import body, content_of, sealed, write_file

KINDS = ("present", "present", "stale", "stale", "earlier", "earlier", "swapped", "as it is", "none")
DAMAGES = ("", "", "", "cut", "flipped", "half-written")


class CheckpointFaults:
    """Puts a checkpoint of some kind beside each log below the directory for temporary files before it is opened.

    Args:
        seed: for what is put.
        patch: undoes all of it.
    """

    def __init__(self, seed: int, patch: pytest.MonkeyPatch) -> None:
        always(patch)
        self._rng = random.Random(seed)
        self._earlier: deque[bytes] = deque(maxlen=8)
        self._busy = False
        self._read = checkpoint_file.read_checkpoint
        patch.setattr(reader, "read_checkpoint", self._read_checkpoint)
        patch.setattr(FileSystem, "sync", lambda _self, _fd: None)
        patch.setattr(FileSystem, "sync_directory", lambda _self, _path: None)

    def _read_checkpoint(self, log: OpenLog, max_record_bytes: int) -> Scanner | None:
        if self._busy or not log.path.startswith(tempfile.gettempdir()):  # the golden logs stay as they are
            return self._read(log, max_record_bytes)
        kind = self._rng.choice(KINDS)
        self._busy = True
        try:
            made = self._make(log.path, kind)
        finally:
            self._busy = False
        if made is not None:
            self._put(log.path, made)
        return self._read(log, max_record_bytes)

    def _make(self, path: str, kind: str) -> bytes | None:
        """The checkpoint of a kind; None where nothing is to be put."""
        if kind == "as it is":
            return None
        if kind == "none":
            with contextlib.suppress(OSError):
                os.remove(path + SUFFIX)
            return None
        if kind == "earlier":
            return self._rng.choice(self._earlier) if self._earlier else None
        if kind == "swapped":
            return _made_of(b"".join(sealed([*map(body, range(80, 95))])))
        content = content_of(path)
        if kind == "stale":
            ends = [at + 1 for at in range(len(content)) if content[at] == 10]
            content = content[: self._rng.choice(ends)] if ends else b""
        made = _made_of(content)
        if made is not None:
            self._earlier.append(made)
        return made

    def _put(self, path: str, made: bytes) -> None:
        damage, at = self._rng.choice(DAMAGES), self._rng.randrange(len(made))
        with contextlib.suppress(OSError):  # what is there may be a link or a directory
            os.remove(path + SUFFIX)
        if damage == "cut":
            made = made[:at]
        elif damage == "flipped":
            made = made[:at] + bytes([made[at] ^ (1 << self._rng.randrange(8))]) + made[at + 1 :]
        elif damage == "half-written":
            write_file(f"{path}{SUFFIX}-{self._rng.getrandbits(32):08x}.part", made[:at])
            return
        put(path, made)


def _made_of(content: bytes) -> bytes | None:
    """The checkpoint of a log with this content; None if it has none."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "log.jsonl")
        write_file(path, content)
        return stored(path) if make_checkpoint(path) else None
