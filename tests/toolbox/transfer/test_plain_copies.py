"""A killed command leaves no plain copy of a sealed or compressed file for long."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.toolbox.transfer.importers.source_file import Source
from amplifier_module_context_persistent.toolbox.transfer.plain_copies import PrivateDirectory, remove_abandoned_copies
from tests.support.commands import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of temporary files."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return directory


def left_by_a_killed_import(tmp_path: Path) -> None:
    """Open a compressed file in a process that ends at once, as by SIGKILL."""
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"role":"user","content":"a secret"}\n'))
    child = os.fork()
    if not child:
        Source(packed)
        os._exit(9)
    os.waitpid(child, 0)


def texts_in(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.stat().st_size]


def test_a_copy_is_private_and_goes_with_its_source(tmp_path: Path, temporary: Path) -> None:
    """Nobody else may look into its directory."""
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"role":"user","content":"a secret"}\n'))
    with Source(packed) as source:
        assert b"a secret" in Path(source.plain_path).read_bytes()
        assert os.stat(os.path.dirname(source.plain_path)).st_mode & 0o777 == 0o700
    assert os.listdir(temporary) == []


def test_the_next_copy_removes_what_a_killed_command_left(tmp_path: Path, temporary: Path) -> None:
    """What another command uses now stays."""
    left_by_a_killed_import(tmp_path)
    assert texts_in(temporary) == [b'{"role":"user","content":"a secret"}\n']
    with PrivateDirectory() as used:
        Path(used.file("plain")).write_bytes(b"in use")
        remove_abandoned_copies()
        with PrivateDirectory():
            assert texts_in(temporary) == [b"in use"]
    assert os.listdir(temporary) == []


@pytest.mark.parametrize("command", [("purge", "--all", "--redact", "secret", "--yes"), ("prune", "--all", "--yes")])
@pytest.mark.usefixtures("project")
def test_a_purge_and_a_prune_remove_it(tmp_path: Path, temporary: Path, command: tuple[str, ...]) -> None:
    """A dry run does not."""
    left_by_a_killed_import(tmp_path)
    run(*command, "--dry-run", code=None)
    assert texts_in(temporary)
    run(*command, code=None)
    assert os.listdir(temporary) == []


def test_what_others_named_alike_stays(temporary: Path) -> None:
    """A directory without our lock, and a link."""
    (temporary / "context-persistent-plain-notes").mkdir()
    (temporary / "context-persistent-plain-notes" / "text").write_bytes(b"mine")
    (temporary / "context-persistent-plain-link").symlink_to(temporary / "context-persistent-plain-notes")
    remove_abandoned_copies()
    assert texts_in(temporary) == [b"mine"]
