"""A killed command leaves no plain copy of a sealed or compressed file for long."""

from __future__ import annotations

import gzip
import os
import signal
import tempfile
from pathlib import Path

import pytest

from amplifier_module_context_persistent.toolbox import abandoned_copies
from amplifier_module_context_persistent.toolbox.transfer.importers.source_file import Source
from amplifier_module_context_persistent.toolbox.transfer.plain_copies import PrivateDirectory, remove_abandoned_copies
from tests.support.commands import run
from tests.support.fixtures import usual_places_of_copies

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
    """Wherever it is."""
    left_by_a_killed_import(tmp_path)
    run(*command, code=None)
    assert os.listdir(temporary) == []


def test_what_others_named_alike_stays(temporary: Path) -> None:
    """A directory without our lock, and a link."""
    (temporary / "context-persistent-plain-notes").mkdir()
    (temporary / "context-persistent-plain-notes" / "text").write_bytes(b"mine")
    (temporary / "context-persistent-plain-link").symlink_to(temporary / "context-persistent-plain-notes")
    remove_abandoned_copies()
    assert texts_in(temporary) == [b"mine"]


def killed_import(tmp_path: Path, number: int) -> int:
    """Open a compressed file in a process that gets a signal then; return the signal that ended the process."""
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"role":"user","content":"a secret"}\n'))
    child = os.fork()
    if not child:
        signal.signal(number, signal.SIG_DFL)
        with Source(packed), Source(packed):
            grandchild = os.fork()
            if not grandchild:
                os.kill(os.getpid(), signal.SIGTERM)
            os.waitpid(grandchild, 0)
            if len(texts_in(Path(tempfile.gettempdir()))) != 2:
                os._exit(1)  # a forked child removed them
            os.kill(os.getpid(), number)
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_command_removes_its_copies(tmp_path: Path, temporary: Path, number: int) -> None:
    """The command ends by the signal, as its parent expects. A forked child removes nothing of its parent."""
    assert killed_import(tmp_path, number) == number
    assert os.listdir(temporary) == []


def test_handlers_of_others_stay_and_ours_go(tmp_path: Path) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with PrivateDirectory():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) == before[signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before[signal.SIGHUP])


@pytest.mark.usefixtures("project")
def test_the_next_command_of_any_kind_removes_what_a_killed_one_left(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(abandoned_copies, "usual_places", usual_places_of_copies)
    left_by_a_killed_import(tmp_path)
    run("list", "--all")
    assert os.listdir(temporary) == []
