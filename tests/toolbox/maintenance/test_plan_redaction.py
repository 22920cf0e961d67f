"""A plan of a redaction reads a sound log once, and counts what the purge does, whatever the log is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import plan_purge
from tests.support.logs import body, content_of, keep, reset_bodies, sealed, write_file
from tests.support.purges import HEADER, plan, purged, redact

SECRET = [body(0), body(1, text=" secret"), body(2)]
PLANNED = [*SECRET, encode_control("view", provider="a", model="b", hash="c"), plan(2, (0, 1), notice="a secret")]
RESET = [*SECRET, *reset_bodies("r", keep(0, 1)), body(3, text=" secret")]
INTERRUPTED = [*SECRET, *reset_bodies("r", body(3, text=" secret"))[:-1]]


def altered(content: bytes) -> bytes:
    return content.replace(b"message 2", b"massage 2")


SHAPES: dict[str, tuple[list[bytes], Callable[[bytes], bytes]]] = {
    "sound": (SECRET, bytes),
    "plan": (PLANNED, bytes),
    "reset": (RESET, bytes),
    "interrupted": (INTERRUPTED, bytes),
    "altered": (SECRET, altered),
    "unreadable": (SECRET, lambda content: content + b"no record with a secret\n"),
    "torn": (SECRET, lambda content: content + b'{"role":"user","content":"sec'),
    "no newline": (SECRET, lambda content: content[:-1]),
    "without checksums": (SECRET, lambda content: b'{"role":"user","content":"a secret"}\n' + content),
}


class CountingFiles(FileSystem):
    """The real file system; it counts the bytes that are read."""

    bytes_read = 0

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read, and count."""
        block = super().read(fd, size, offset)
        self.bytes_read += len(block)
        return block


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("expression", ["secret", "absent"])
def test_the_plan_counts_what_the_purge_does(tmp_path: Path, shape: str, expression: str) -> None:
    """Sound logs are looked at as they are scanned, others are read twice; the counts are those of the purge."""
    path, (bodies, damage) = str(tmp_path / "log.jsonl"), SHAPES[shape]
    write_file(path, damage(b"".join(sealed([HEADER, *bodies]))))
    before = content_of(path)
    planned = plan_purge(path, redact(expression)).counts
    assert content_of(path) == before
    assert purged(path, redact(expression)) == planned
    assert planned.is_nothing == (expression == "absent")
    assert b"a secret" not in content_of(path) or expression == "absent"


def test_a_sound_log_is_read_once(tmp_path: Path) -> None:
    """A log with a reset is read once more: what is live is known at its end only."""
    read = {}
    for shape in ("sound", "reset"):
        path, files = str(tmp_path / shape), CountingFiles()
        write_file(path, b"".join(sealed([HEADER, *SHAPES[shape][0]])))
        plan_purge(path, redact("secret"), files=files)
        read[shape] = files.bytes_read / os.path.getsize(path)
    assert read["sound"] < 1.5 < read["reset"]
