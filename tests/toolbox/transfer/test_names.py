"""Names that forks and imports carry into `metadata.json`, and the lock under which it is changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from amplifier_module_context_persistent.sessions.session_name import read_name
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.host_files import metadata_lock as module
from amplifier_module_context_persistent.toolbox.transfer.host_files.metadata_lock import lock_path, metadata_lock
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from amplifier_module_context_persistent.toolbox.transfer.rewind_session import rewind_session
from tests.support.commands import run
from tests.support.sessions_of_a_home import CONVERSATION, log_of, write
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")


def metadata(log: str | Path) -> dict[str, Any]:
    value = json.loads(Path(log).with_name("metadata.json").read_bytes())
    assert isinstance(value, dict)
    return value


def session(**fields: Any) -> Path:
    log = write(log_of("s1"), CONVERSATION)
    log.with_name("metadata.json").write_text(json.dumps({"session_id": "s1", "bundle": "b", **fields}))
    log.with_name("transcript.jsonl").write_text(json.dumps(CONVERSATION[1]) + "\n")
    return log


def test_a_fork_carries_the_name_and_says_that_it_is_one() -> None:
    """With the description, and whether a program made the name up."""
    log = session(name="Fix the build", description="It broke.", name_source="generated", name_revision=3)
    forked = metadata(fork_session(log, session_id="f1").path)
    assert {key: forked.get(key) for key in ("name", "description", "name_source", "name_revision")} == {
        "name": "Fix the build (fork)",
        "description": "It broke.",
        "name_source": "generated",
        "name_revision": None,
    }
    assert metadata(fork_session(log_of("f1"), session_id="f2").path)["name"] == "Fix the build (fork) (fork)"
    assert metadata(log)["name"] == "Fix the build"


@pytest.mark.parametrize(
    ("name", "carried"),
    [("n" * 200, "n" * 193 + " (fork)"), (" two\n lines ", "two lines (fork)"), ("", None), (" ", None), (7, None)],
)
def test_a_forks_name_is_one_that_hosts_take(name: Any, carried: str | None) -> None:
    """At most 200 characters, on one line; nothing is named that had no name."""
    assert metadata(fork_session(session(name=name), session_id="f1").path).get("name") == carried


@pytest.mark.parametrize("kind", ["damaged", "list", "FIFO", "link", "missing"])
def test_an_origin_without_metadata_that_can_be_read_is_forked_all_the_same(kind: str, tmp_path: Path) -> None:
    log = session(name="x")
    path = log.with_name("metadata.json")
    path.unlink()
    match kind:
        case "damaged":
            path.write_bytes(b'{"name": "x"')
        case "list":
            path.write_bytes(b'["name"]')
        case "FIFO":
            os.mkfifo(path)
        case "link":
            (tmp_path / "far.json").write_text('{"name": "x"}')
            path.symlink_to(tmp_path / "far.json")
        case _:
            pass
    assert "name" not in metadata(fork_session(log, session_id="f1").path)
    rewind_session(log, 1)
    assert path.is_symlink() == (kind == "link")


def claude(tmp_path: Path, *titles: str, turns: int = 1) -> Path:
    lines = [
        {
            "type": "user",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "5f2c0000-0000-4000-8000-000000000000",
            "timestamp": f"2026-01-05T09:00:0{number}.000Z",
            "message": {"role": "user", "content": f"hello {number}"},
        }
        for number in range(turns)
    ]
    lines += [{"type": "custom-title", "customTitle": title, "sessionId": lines[0]["sessionId"]} for title in titles]
    path = tmp_path / "claude.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_an_import_is_named_by_the_title_of_its_source(tmp_path: Path) -> None:
    log = import_session(claude(tmp_path, "Fix the build")).path
    assert read_name(log).name == "Fix the build"
    assert metadata(log)["session_id"] == Path(log).parent.name


@proof
def test_a_second_import_takes_a_new_title_but_no_persons_name(tmp_path: Path) -> None:
    """What else stands in the metadata stays."""
    log = import_session(claude(tmp_path)).path
    assert "name" not in metadata(log)
    import_session(claude(tmp_path, "First title", turns=2))
    assert metadata(log)["name"] == "First title"
    Path(log).with_name("metadata.json").write_text(json.dumps(metadata(log) | {"more": 1}))
    import_session(claude(tmp_path, "Second title", turns=3))
    assert {**metadata(log), "more": 1} == metadata(log)
    assert metadata(log)["name"] == "Second title"
    Path(log).with_name("metadata.json").write_text(json.dumps(metadata(log) | {"name": "Mine"}))
    import_session(claude(tmp_path, "Third title", turns=4))
    assert metadata(log)["name"] == "Mine"
    import_session(claude(tmp_path, "Older title", turns=1))
    assert metadata(log)["name"] == "Mine"


def test_the_lock_is_foundations() -> None:
    """Beside the session's directory, by the session's id: the file that `metadata_lock` of foundation takes."""
    directory = session(name="x").parent
    assert lock_path(directory) == directory.parent / ".s1.metadata.lock"
    with metadata_lock(directory):
        script = "import filelock, sys; filelock.FileLock(sys.argv[1], timeout=0).acquire()"
        command = [sys.executable, "-c", script, str(directory.parent / ".s1.metadata.lock")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "could not be acquired" in done.stderr


def test_metadata_that_another_program_is_changing_is_waited_for() -> None:
    """And read only then: the name that it wrote meanwhile is not lost."""
    log = session(name="x", turn_count=2)
    path, held, begun = log.with_name("metadata.json"), threading.Event(), threading.Event()

    def host() -> None:
        with FileLock(str(log.parent.parent / ".s1.metadata.lock")):
            fields = json.loads(path.read_bytes())
            held.set()
            begun.wait(30)
            threading.Event().wait(0.3)
            path.write_text(json.dumps(fields | {"name": "Renamed"}))

    renaming = threading.Thread(target=host)
    renaming.start()
    held.wait(30)
    begun.set()
    rewind_session(log, 1)
    renaming.join()
    assert metadata(log) == {"session_id": "s1", "bundle": "b", "name": "Renamed", "turn_count": 1}


def test_metadata_that_stays_locked_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is rewound, and it is said why the host's files are not."""
    monkeypatch.setattr(module, "TIMEOUT_S", 0.1)
    log = session(name="x")
    before = log.with_name("transcript.jsonl").read_bytes()
    with FileLock(str(lock_path(log.parent))):
        done = rewind_session(log, 1)
    assert "another program has been changing the session's metadata.json" in done.host_files_because
    assert log.with_name("transcript.jsonl").read_bytes() == before
    assert done.messages


@proof
def test_an_imported_session_with_a_busy_lock_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.1)
    log = import_session(claude(tmp_path, "First title")).path
    with FileLock(str(lock_path(Path(log).parent))):
        import_session(claude(tmp_path, "Second title", turns=2))
    assert metadata(log)["name"] == "First title"
    assert "keeps its name" in caplog.text


@proof
def test_the_metadata_of_an_open_session_is_not_changed(tmp_path: Path) -> None:
    """An older host writes it without a lock."""
    log = import_session(claude(tmp_path, "First title")).path
    with open(log, "ab"):
        import_session(claude(tmp_path, "Second title", turns=2))
    assert metadata(log)["name"] == "First title"


def test_a_purge_takes_a_secret_from_a_name_that_we_gave(tmp_path: Path) -> None:
    """Of an import and of its fork; a name that the host gave is the host's, and is named."""
    title = "About KEY-123456"
    log = import_session(claude(tmp_path, title)).path
    fork = fork_session(log, session_id="f1").path
    hosts = fork_session(log, session_id="f2").path
    Path(hosts).with_name("metadata.json").write_text(json.dumps(metadata(hosts) | {"name_revision": 1}))
    for path in (log, fork):
        done = run("purge", Path(path).parent, "--redact", r"KEY-\d+", "--yes")
        assert "Done." in done.stdout
        assert metadata(path)["name"].startswith("About [redacted]")
        assert not [file for file in Path(path).parent.iterdir() if b"KEY-1" in file.read_bytes()]
    done = run("purge", "f2", "--redact", r"KEY-\d+", "--yes", code=1)
    assert f"{Path(hosts).with_name('metadata.json')}: 1 text" in done.stdout
