"""Archived logs for tests: small logs of many frames, and what is in one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log import archive_log as module
from amplifier_module_context_persistent.log.file_handle import FileHandle
from amplifier_module_context_persistent.log.record_line import encode_control
from tests.support.logs import body, sealed

HEADER = encode_control("header", version=2, session_id="s1")


@contextmanager
def small_frames(frame_bytes: int = 600, least: int = 200) -> Iterator[None]:
    """Let frames be small, so that a small log has many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FRAME_BYTES", frame_bytes)
        patch.setattr(module, "LEAST_FRAME_BYTES", least)
        yield


def random_text(seed: int, size: int = 60) -> str:
    """A text that does not compress."""
    return f" {random.Random(seed).randbytes(size).hex()}"


def write_numbered(path: str | Path, count: int) -> bytes:
    """Write a log of a header and messages with their numbers; its bytes."""
    bodies = [HEADER, *(body(number, text=random_text(number)) for number in range(count))]
    content = b"".join(sealed(bodies))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content)
    Path(path).chmod(0o600)
    return content


def is_archived(path: str | Path) -> bool:
    """Whether a file is an archived log."""
    handle = FileHandle(path)
    try:
        return handle.open(create=False) and handle.archive is not None
    finally:
        handle.close()


def content_of_log(path: str | Path) -> bytes:
    """The bytes of a log, archived or not."""
    handle = FileHandle(path)
    try:
        assert handle.open(create=False)
        return handle.read(0, handle.size())
    finally:
        handle.close()
