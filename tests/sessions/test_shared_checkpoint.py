"""The checkpoint that several hosts share: it is found wherever hosts keep it, and another session's is left alone."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.sessions.shared_checkpoint import shared_checkpoints, texts_of
from tests.support.commands import run, shows
from tests.support.sessions_of_a_home import log_of, write

pytestmark = pytest.mark.usefixtures("project")

KEY = "KEYKEYKEY-123456789"
SAID = [{"role": "user", "content": f"my key is {KEY}"}, {"role": "assistant", "content": "ok"}]
USUAL = ".local/state/amplifier/sessions"


def checkpoint(session_id: str, directory: Path | None = None, *, root: Path | None = None, **fields: Any) -> Path:
    """Write a checkpoint as foundation does."""
    directory = (directory or Path.cwd()).resolve()
    key = hashlib.sha256(str(directory).encode()).hexdigest()
    path = (root or Path.home() / USUAL) / "v1" / key / session_id / "checkpoint.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": 1, "workspace": str(directory), "messages": SAID} | fields))
    return path


def test_a_purge_names_the_checkpoint_and_does_not_say_that_all_is_done() -> None:
    """The log is purged, the checkpoint is named with how much of it holds the text, and the exit code is 1."""
    log = write(log_of("s1"), SAID)
    path = checkpoint("s1")
    done = run("purge", "s1", "--redact", KEY, "--yes", code=1)
    shows(done.stdout, f"  {path}: 1 text\n", "Done, but files named above still hold what was to go")
    assert KEY not in log.read_text()
    assert KEY in path.read_text()
    assert f"  {path}: 1 text\n" in run("purge", "s1", "--redact", KEY, "--yes", code=1).stdout
    path.unlink()
    run("purge", "s1", "--redact", KEY, "--yes")


def test_a_purge_of_everything_names_the_checkpoint() -> None:
    write(log_of("s1"), SAID)
    path = checkpoint("s1")
    assert f"  {path}\n" in run("purge", "s1", "--everything", "--yes").stdout


def test_a_search_for_hidden_texts_looks_into_the_checkpoint() -> None:
    """Only with --hidden: it is a copy of what the log has."""
    write(log_of("s1"), [{"role": "user", "content": "nothing"}])
    path = checkpoint("s1")
    run("search", KEY, "--all", code=1)
    (found,) = run("search", KEY, "--hidden", "--all", "--json").stdout.splitlines()
    assert json.loads(found)["hidden"] == f"the hosts' shared checkpoint {path}"
    assert f"[the hosts' shared checkpoint {path}]" in run("search", KEY, "--hidden").stdout
    path.unlink()
    run("search", KEY, "--hidden", "--all", code=1)


@pytest.mark.parametrize("variable", ["AMPLIFIER_SESSION_STATE_HOME", "XDG_STATE_HOME"])
def test_the_hosts_variables_say_where_checkpoints_are(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual place is looked at too: whoever purges may have set other variables than the host had."""
    root = tmp_path / "state"
    monkeypatch.setenv(variable, str(root))
    below = root if variable == "AMPLIFIER_SESSION_STATE_HOME" else root / "amplifier/sessions"
    configured, usual = checkpoint("s1", root=below), checkpoint("s1")
    assert shared_checkpoints(log_of("s1")) == sorted([configured, usual])


def test_what_a_killed_write_left_is_found_too() -> None:
    path = checkpoint("s1")
    left = path.rename(path.with_name(".checkpoint.json.x1y2z3"))
    path.with_name("owner.json").write_text("{}")
    path.with_name("session.lock").write_text("")
    assert shared_checkpoints(log_of("s1")) == [left]


def test_another_projects_session_of_the_same_id_keeps_its_own(tmp_path: Path) -> None:
    """But the checkpoint of a session that went on in another directory is its own."""
    other, moved = tmp_path / "other", tmp_path / "moved"
    moved.mkdir()
    write(log_of("s1"), SAID)
    write(log_of("s1", other), SAID)
    mine, theirs, moved_one = checkpoint("s1"), checkpoint("s1", other), checkpoint("s1", moved)
    assert shared_checkpoints(log_of("s1")) == sorted([mine, moved_one])
    assert theirs in shared_checkpoints(log_of("s1", other))
    assert mine not in shared_checkpoints(log_of("s1", other))


def test_the_log_may_lie_anywhere(tmp_path: Path) -> None:
    """Its header names the session; a log in a database is named by it."""
    path = checkpoint("s1")
    assert shared_checkpoints(tmp_path / "talk.jsonl", "s1") == [path]
    assert shared_checkpoints("postgresql://host/db#project/s1") == [path]
    assert shared_checkpoints(tmp_path / "talk.jsonl") == []
    other = tmp_path / "other"
    write(log_of("s1", other), SAID)
    theirs = checkpoint("s1", other)
    assert shared_checkpoints(tmp_path / "talk.jsonl", "s1") == sorted([path, theirs])  # nobody knows whose it is
    assert shared_checkpoints(tmp_path / "talk.jsonl", "a/../s1") == []


def test_what_is_no_file_is_no_checkpoint() -> None:
    """A FIFO would be waited for."""
    path = checkpoint("s1")
    path.unlink()
    os.mkfifo(path)
    assert shared_checkpoints(log_of("s1")) == []
    path.unlink()
    path.mkdir()
    assert shared_checkpoints(log_of("s1")) == []


@pytest.mark.parametrize(
    "content", [b"\xff no JSON " + KEY.encode(), b"[" * 100_000 + KEY.encode()], ids=["torn", "deep"]
)
def test_a_damaged_checkpoint_is_read_as_a_text(content: bytes) -> None:
    path = checkpoint("s1")
    path.write_bytes(content)
    assert shared_checkpoints(log_of("s1")) == [path]
    assert KEY in texts_of(path)[0]


def test_a_text_is_found_however_json_writes_it() -> None:
    """A key in escapes is the key."""
    path = checkpoint("s1", messages=[{"content": "caf\u00e9 secret"}])
    write(log_of("s1"), [{"role": "user", "content": "caf\u00e9 secret"}])
    assert "caf\\u00e9" in path.read_text()
    assert f"{path}: 1 text" in run("purge", "s1", "--redact", "caf\u00e9 secret", "--yes", code=1).stdout


def test_a_name_that_holds_the_text_is_named() -> None:
    """Hosts name a session after what was said in it."""
    metadata = write(log_of("s1"), SAID).with_name("metadata.json")
    metadata.write_text(json.dumps({"name": f"About {KEY}", "description": KEY}, indent=2))
    metadata.with_name("metadata.json.backup").write_text('{"name": "plain"}')
    done = run("purge", "s1", "--redact", KEY, "--yes", code=1)
    assert f"  {metadata}: 2 texts\n" in done.stdout
    assert "backup" not in done.stdout


def test_a_saved_torn_tail_that_stays_is_left_over() -> None:
    """It is named, also if the log has nothing of it."""
    path = write(log_of("s1"), [{"role": "user", "content": "nothing"}])
    path.with_name(f"{path.name}.torn-12-0123abcd").write_text(KEY)
    done = run("purge", "s1", "--redact", KEY, "--yes", code=1)
    assert "1 torn tail kept although it matches" in done.stdout
    run("purge", "s1", "--redact", KEY, "--torn", "--yes")


def test_a_deletion_says_that_the_checkpoint_stays() -> None:
    """Also with the host's files: a host may hold it for another program."""
    log = write(log_of("s1"), SAID)
    path = checkpoint("s1")
    assert str(path) in run("delete", "s1", "--dry-run", "--json").stdout
    asked = run("delete", "s1", code=2, answer="n\n").output
    assert "Delete 1 session?" in asked
    done = run("delete", "s1", "--host-files", "--yes").stdout
    shows(done, f"stays, shared by hosts, with all messages: {path.parent}/ checkpoint.json")
    assert path.exists()
    assert not log.exists()
