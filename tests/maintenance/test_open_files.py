"""Which files are held open for writing."""

import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.maintenance.open_files import held_for_writing


def test_files_that_are_open_for_writing_are_found(tmp_path: Path) -> None:
    """By name, of this process too; not those that are only read, and none after they were closed."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("x")
    identity = {path.name: (path.stat().st_dev, path.stat().st_ino) for path in tmp_path.iterdir()}
    opened = [os.open(tmp_path / "a", os.O_RDWR | os.O_APPEND), os.open(tmp_path / "b", os.O_RDONLY)]
    opened.append(os.open(tmp_path / "c", os.O_WRONLY))
    held = held_for_writing({"a", "b"})
    for fd in opened:
        os.close(fd)
    if held is None:
        pytest.skip("this system does not tell which files are open")
    assert held & set(identity.values()) == {identity["a"]}
    assert not (held_for_writing({"a"}) or frozenset()) & {identity["a"]}


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    """It is known that nothing is known."""
    assert held_for_writing({"a"}, proc=str(tmp_path / "nowhere")) is None
