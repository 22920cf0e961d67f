"""A disk that is nearly full, for tests of the room that a command needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest


@contextmanager
def free_on_disks(free_bytes: int, total_bytes: int = 1 << 40) -> Iterator[None]:
    """Let the system say that this many bytes are free on every disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free_bytes, total=total_bytes))
        yield
