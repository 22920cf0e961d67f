"""Erasing that is interrupted, refused or meets odd files: a second call finds all, or nothing has changed."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.erasures.erasure_list import erasures
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from tests.support.commands import run
from tests.support.logs import sealed
from tests.support.sessions_of_a_home import log_of

pytestmark = pytest.mark.usefixtures("project")


def session(session_id: str) -> Path:
    """A session of one message."""
    path = log_of(session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    body = encode_message(
        {"role": "user", "content": "q"}, message_id=f"{session_id}-0", timestamp="2026-11-01T10:00:00Z"
    )
    path.write_bytes(b"".join(sealed([encode_control("header", version=2), body])))
    return path


def test_sub_agents_of_a_session_whose_log_is_gone_are_deleted_with_what_was_left_of_it() -> None:
    """An earlier version deleted a session before its sub-agents' sessions; a fork of it stays."""
    root, child = session("aaaa-root"), session("aaaa-root-0123456789abcdef_explorer")
    fork = log_of("aaaa-root-fork")

    run("fork", "aaaa-root", "--session", "aaaa-root-fork")
    root.with_name(root.name + ".written").write_text("{}")
    root.unlink()
    found = json.loads(run("delete", "aaaa-root", "--yes", "--json").stdout)
    assert [one["session"] for one in found["deleted"]] == ["aaaa-root-0123456789abcdef_explorer"]
    assert found["left"] == [str(root.with_name(root.name + ".written"))]
    assert not child.exists()
    assert fork.exists()


def test_a_refused_deletion_leaves_no_tombstone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of a session that was not deleted is not told that it was."""
    log = session("aaaa-root")

    def refuse(self: FileSystem, path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    with monkeypatch.context() as patched:
        patched.setattr(FileSystem, "remove", refuse)
        result = run("delete", "aaaa-root", "--yes", code=2)
    assert "nothing was deleted" in result.stderr
    assert log.exists()
    assert erasures() == []


def test_an_error_names_the_file_that_it_is_about() -> None:
    """Something else in the place of a note beside the log is named, not the log."""
    log = session("aaaa-root")
    note = log.with_name(log.name + ".written")
    note.mkdir()
    result = run("delete", "aaaa-root", "--yes", code=2)
    assert f"{note}: there is a directory" in result.stderr
    assert erasures() == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_with_the_name_of_a_backup_is_not_waited_for() -> None:
    """A purge reads the copies that rewinds kept: only regular files are such."""
    log = session("aaaa-root")
    os.mkfifo(log.with_name("transcript.jsonl.bak-context-persistent-1"))
    run("purge", "aaaa-root", "--redact", "q", "--yes")
    assert b'"content":"q"' not in log.read_bytes()
