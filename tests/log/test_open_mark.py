"""The mark that a session has its log open: shared, gone with its process, and in nobody's way."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log import open_mark
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.open_mark import OpenMark, is_marked, keep_closed
from amplifier_module_context_persistent.sessions.session_is_open import is_open
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import append_bodies, body
from tests.support.sweeps import proof

SAID = {"role": "user", "content": "hello"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place for a log."""
    return tmp_path / "log.jsonl"


def marked(path: Path) -> FileLog:
    """A log that is open as a session's is."""
    log = FileLog(path, marks_open=True)
    append_bodies(log, body(0))
    return log


async def test_a_session_is_open_from_its_first_use_to_its_close(path: Path) -> None:
    """Before that nothing is created; afterwards nothing is left."""
    manager = PersistentContextManager(path)
    assert await manager.get_messages() == []
    assert list(path.parent.iterdir()) == []
    await manager.add_message(SAID)
    assert is_open(path)
    await manager.close()
    assert not is_open(path)
    assert list(path.parent.iterdir()) == [path]
    await manager.get_messages()
    assert is_open(path)
    await manager.close()


def test_it_outlives_a_purge(path: Path) -> None:
    """The log's file is another one then; the session is still open."""
    log = marked(path)
    purge_log(str(path), Purge(everything=True), now=lambda: "")
    assert is_marked(str(path))
    append_bodies(log, body(1))
    assert is_marked(str(path))
    log.close()
    assert is_marked(str(path)) is False


def test_any_number_of_sessions_hold_it(path: Path) -> None:
    """Nobody waits for another one, and the last one that closes removes the file."""
    logs = [marked(path) for _ in range(5)]
    for log in logs:
        assert is_marked(str(path))
        log.close()
    assert is_marked(str(path)) is False
    assert os.listdir(path.parent) == [path.name]


@proof
def test_it_goes_with_its_process(path: Path) -> None:
    """A file that is left is locked by nobody."""
    code = f"""
import asyncio, sys
from amplifier_module_context_persistent import PersistentContextManager
async def main():
    manager = PersistentContextManager({str(path)!r})
    await manager.add_message({SAID!r})
    print("open", flush=True)
    sys.stdin.readline()
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        assert is_marked(str(path))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert is_marked(str(path)) is False
    with keep_closed(str(path)) as is_closed:
        assert is_closed
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_keep_it(path: Path) -> None:
    """Nor the log's file; it takes a mark of its own with its first use, and its parent's stays."""
    log = marked(path)
    told, tell = os.pipe()
    wait, go = os.pipe()
    child = os.fork()
    if not child:
        os.close(go)
        os.write(tell, b"s")
        os.read(wait, 1)
        append_bodies(log, body(1))
        os.write(tell, b"1" if is_marked(str(path)) else b"0")
        log.close()
        os._exit(0)
    os.close(wait)
    assert os.read(told, 1) == b"s"  # it runs, so it has let go of what it inherited
    assert is_marked(str(path))
    log.close()
    assert not is_open(path)
    os.write(go, b"x")
    assert os.read(told, 1) == b"1"
    os.waitpid(child, 0)
    assert not is_open(path)
    for fd in (told, tell, go):
        os.close(fd)


def test_whoever_deletes_is_not_waited_for(path: Path) -> None:
    """A session that opens the log at that moment goes on, and marks it with its next call."""
    log = FileLog(path, marks_open=True)
    append_bodies(FileLog(path), body(0))
    with keep_closed(str(path)) as is_closed:
        assert is_closed
        append_bodies(log, body(1))
        with keep_closed(str(path)) as again:
            assert again is False
    append_bodies(log, body(2))
    assert is_marked(str(path))
    with keep_closed(str(path)) as is_closed:
        assert is_closed is False
    log.close()


def test_a_mark_whose_file_goes_at_that_moment_is_taken_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be on a file that nobody finds."""
    lock, removed = open_mark.try_lock, list[str]()

    def lock_late(fd: int, *, exclusive: bool) -> bool:
        if not exclusive and not removed:
            removed.append(open_mark.mark_path(str(path)))
            os.remove(removed[0])
        return lock(fd, exclusive=exclusive)

    monkeypatch.setattr(open_mark, "try_lock", lock_late)
    log = marked(path)
    assert removed
    assert is_marked(str(path))
    log.close()


def test_without_locks_nothing_is_known_and_everything_works(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever deletes is told so."""

    def refuse(*_: Any, **__: Any) -> bool:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(open_mark, "try_lock", refuse)
    log = marked(path)
    assert is_marked(str(path)) is None
    with keep_closed(str(path)) as is_closed:
        assert is_closed is None
    log.close()


@pytest.mark.parametrize("what", ["directory", "fifo", "link", "no right"])
def test_what_lies_in_its_place_does_no_harm(path: Path, what: str) -> None:
    """The session goes on without a mark; a FIFO is not waited for."""
    place = Path(open_mark.mark_path(str(path)))
    if what == "directory":
        place.mkdir()
    elif what == "fifo":
        os.mkfifo(place)
    elif what == "link":
        place.symlink_to(path.parent / "elsewhere")
    else:
        append_bodies(FileLog(path), body(1))
        path.parent.chmod(0o500)
    log = marked(path)
    log.close()
    path.parent.chmod(0o700)
    assert path.exists()
    assert not (path.parent / "elsewhere").exists()


def test_a_log_that_no_session_opens_gets_no_mark(path: Path) -> None:
    """An import, a purge and a repair are no sessions."""
    append_bodies(FileLog(path), body(0))
    assert os.listdir(path.parent) == [path.name]
    assert OpenMark(FileLog(path).file).give_back() is None


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_marks_leave_descriptors_to_logs(tmp_path: Path) -> None:
    """Half of what a process may have; logs beyond that open without a mark."""
    code = f"""
import resource
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_message
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
body = encode_message({SAID!r}, message_id="x", timestamp=None)
logs = [FileLog(f{str(tmp_path)!r} + f"/log-{{number}}", marks_open=True) for number in range(80)]
for log in logs:
    assert log.append([lambda _: [body]]) == [range(1)]
for log in logs:
    log.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not list(tmp_path.glob("*.open"))
