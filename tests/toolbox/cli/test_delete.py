"""`context-persistent delete` and `prune`: whole sessions, never in silence, and nothing that is not listed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.erasures.erasure_list import erasures_path
from amplifier_module_context_persistent.errors import DeleteError
from amplifier_module_context_persistent.log import open_mark
from amplifier_module_context_persistent.log.database_location import location_of
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.paths import log_name, project_slug
from amplifier_module_context_persistent.sessions.delete_log import delete_log
from amplifier_module_context_persistent.sessions.session_files import session_files
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.commands import run, shows
from tests.support.logs import append, sealed
from tests.support.sessions_of_a_home import log_of
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")

HEADER = encode_control("header", version=2)


def session(
    session_id: str, days_old: float, *, working_dir: str = ".", path: Path | None = None, parent: str = ""
) -> Path:
    """A session of two messages, the last one so many days old; with `parent` a sub-agent's."""
    path = path or log_of(session_id, working_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    stamp = (datetime.now(UTC) - timedelta(days=days_old)).isoformat()
    said = [{"role": "user", "content": f"About {session_id}."}, {"role": "assistant", "content": "Yes."}]
    bodies = [encode_message(one, message_id=f"{session_id}-{n}", timestamp=stamp) for n, one in enumerate(said)]
    header = encode_control("header", version=2, parent_id=parent) if parent else HEADER
    path.write_bytes(b"".join(sealed([header, *bodies])))
    return path


def with_own_id(session_id: str) -> Path:
    """A session whose log has an id of its own, as those of a manager have."""
    path = session(session_id, 1)
    said = encode_message({"role": "user", "content": "Keep this."}, message_id="m1", timestamp="2026-01-05T09:00:00Z")
    header = encode_control("header", version=2, log_id=f"log-{session_id}", session_id=session_id)
    path.write_bytes(b"".join(sealed([header, said])))
    return path


def of_host(log: Path) -> list[Path]:
    """What the host writes beside a log."""
    files = [log.with_name(name) for name in ("events.jsonl", "metadata.json", "transcript.jsonl")]
    for file in files:
        file.write_text('{"name": "a session of the host"}\n')
    return files


def left() -> set[str]:
    """The sessions that there are, of all projects."""
    return {one["session"] for one in json.loads(run("list", "--all", "--json").stdout)["sessions"]}


def told(*arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return found


def test_a_session_is_listed_and_asked_for_and_then_gone() -> None:
    """Its log and what belongs to it; its directory too where nothing else is in it. Another session stays."""
    path = session("gone", 3)
    session("stays", 3)
    Path(f"{path}.checkpoint").write_bytes(b"of an earlier version")
    tail = path.with_name(f"{path.name}.torn-12-0123abcd")
    tail.write_bytes(b"torn")
    for arguments, code, said in ((["--dry-run"], 0, "Nothing was done"), ([], 2, "Delete 1 session for good?")):
        done = run("delete", "gone", *arguments, code=code)
        assert said in done.stdout
        shows(
            done.stdout,
            f"gone: 2 messages, {path.stat().st_size}B, 3d old",
            '"About gone."',
            f"goes: {path.parent}/ {tail.name}, {path.name}",
        )
        assert path.exists()
    assert "Deleted 1 session, " in run("delete", "gone", "--yes").stdout
    assert not path.parent.exists()
    assert left() == {"stays"}


def test_the_hosts_files_are_named_and_stay_unless_they_are_asked_for() -> None:
    """With --host-files they go too, and nothing else that somebody put there."""
    path = session("s1", 3)
    files = of_host(path)
    path.with_name("notes.txt").write_text("mine")
    shown = run("delete", "s1", "--yes").stdout
    shows(
        shown,
        f"stays, the host's: {path.parent}/ events.jsonl, transcript.jsonl, metadata.json",
        "--host-files deletes them too",
    )
    assert not path.exists()
    assert all(file.exists() for file in files)
    session("s1", 3)
    shown = run("delete", "s1", "--host-files", "--yes").stdout
    assert "stays" not in shown
    assert [file.name for file in path.parent.iterdir()] == ["notes.txt"]


def test_what_a_fork_wrote_for_the_host_goes_with_it() -> None:
    """As long as the host has not changed it; the session that it was forked from stays, with all that is its."""
    origin = session("origin", 3)
    of_host(origin)
    for name in ("forked", "resumed", "named"):
        fork_session(origin, session_id=name)
    resumed = log_of("resumed").with_name("transcript.jsonl")
    resumed.write_text(resumed.read_text() + '{"role": "user", "content": "and more"}\n')
    metadata = log_of("named").with_name("metadata.json")
    metadata.write_text(json.dumps({**json.loads(metadata.read_text()), "name": "A good name"}))
    shown = run("delete", "forked", "resumed", "named", "--yes").stdout
    place = log_of("forked").parent
    assert f"goes, written for the host by an import or a fork: {place}/ transcript.jsonl, metadata.json" in shown
    assert not log_of("forked").parent.exists()
    assert sorted(os.listdir(resumed.parent)) == ["metadata.json", "transcript.jsonl"]
    assert os.listdir(metadata.parent) == ["metadata.json"]
    assert len(os.listdir(origin.parent)) == 4


@pytest.mark.parametrize("has_host_files", [False, True])
def test_the_empty_file_of_a_lock_goes_with_the_session(*, has_host_files: bool) -> None:
    """Not while the host's files stay, for which the host may take the lock; then it is named."""
    log = session("s-one", 1)
    lock = log.parent.with_name(".s-one.metadata.lock")
    lock.touch()
    if has_host_files:
        of_host(log)
        shows(run("delete", "s-one", "--yes").output, f"stays, the host's: {lock.parent}/ {lock.name}")
        assert lock.exists()
        log = session("s-one", 1)
    shows(run("delete", "s-one", "--yes", "--host-files").output, f"goes: {lock.parent}/ {lock.name}")
    assert not log.parent.exists()
    assert not lock.exists()


def test_a_relative_path_is_listed_as_the_other_files(tmp_path: Path) -> None:
    """All files of a deletion are absolute."""
    log = session("s-one", 1)
    of_host(log)
    path = os.path.relpath(log)
    planned = json.loads(run("delete", path, "--dry-run", "--json").stdout)["deleted"][0]
    assert {os.path.dirname(name) for name in (*planned["files"], *planned["host_files"])} == {str(log.parent)}


def test_sub_agents_go_with_their_session_and_forks_stay() -> None:
    """The log or the host's metadata names the parent; else the id has to have the form that hosts give."""
    session("run", 3)
    for name, parent in (
        ("run_abc", "run"),
        ("run_abc-1_deeper", "run_abc"),
        ("0-f_x", "run_abc-1_deeper"),
        ("own-id", "run"),
    ):
        session(name, 3, parent=parent)
    of_form = "run-0123456789abcdef_agent"
    for name in (of_form, f"{of_form}-0123456789abcdef_deeper", "run-2", "running", "of_host"):
        session(name, 3)
    log_of("of_host").with_name("metadata.json").write_text('{"parent_id": "run"}')
    fork_session(log_of("run"), path=log_of("run-fork_1"))
    host = log_of("ofhost").parent
    session("ofhost", 3)
    (host / "metadata.json").write_text('{"parent_id": "own-id"}')
    assert "run_abc, a sub-agent's of run: 2 messages" in run("delete", "run", "--yes", "--host-files").stdout
    assert left() == {"run-2", "running", "run-fork_1"}


@pytest.mark.parametrize("name", ["a*b", "a?b", "a[xy]b", "[slug]"])
def test_a_project_with_signs_of_patterns_in_its_name_is_that_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`a*b` is not `axb`; Next.js has directories such as `[slug]`."""
    for own, directory in (("its", name), ("others", "axb"), ("more", "s")):
        (tmp_path / directory).mkdir()
        session(own, 100, working_dir=str(tmp_path / directory))
    monkeypatch.chdir(tmp_path / name)
    assert [session.id for session in session_files(project_slug("."))] == ["its"]
    run("prune", "--older", "1d", "--yes")
    assert log_of("others", tmp_path / "axb").exists()
    assert log_of("more", tmp_path / "s").exists()
    assert not log_of("its").exists()


def test_a_clock_that_was_reset_makes_no_session_old() -> None:
    """Its last message says 1970, and was written today."""
    said = [
        encode_message({"role": "user", "content": "hi"}, message_id=f"m{number}", timestamp=stamp)
        for number, stamp in enumerate((f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "1970-01-01T00:00:05Z"))
    ]
    session("old", 100)
    path = session("reset", 1)
    path.write_bytes(b"".join(sealed([HEADER, *said])))
    run("prune", "--older", "90d", "--yes")
    assert left() == {"reset"}
    assert "reset" in run("list", "--since", "1d").stdout


def test_a_clock_that_was_ahead_keeps_no_session_for_ever() -> None:
    """Its first message says 2087, and the file was written when the last one was."""
    said = [
        encode_message({"role": "user", "content": "hi"}, message_id=f"m{number}", timestamp=stamp)
        for number, stamp in enumerate(("2087-01-01T00:00:00Z", "2026-01-05T00:00:05Z"))
    ]
    path = session("ahead", 1)
    path.write_bytes(b"".join(sealed([HEADER, *said])))
    run("prune", "--older", "2026-06-01", "--yes")
    assert left() == set()


def test_a_branch_of_an_imported_session_stays(tmp_path: Path) -> None:
    """Also one that has no message in common with it, because a person changed the first question."""
    made = {"r": (None, "", ""), "q": ("r", "user", "hi"), "p": ("r", "user", "hello")}
    nodes = {
        key: {
            "id": key,
            "parent": parent,
            "children": [child for child, (of, _, _) in made.items() if of == key],
            "message": {"id": f"m-{key}", "author": {"role": role}, "content": {"parts": [text]}} if role else None,
        }
        for key, (parent, role, text) in made.items()
    }
    given = [{"title": "x", "conversation_id": "one", "current_node": "p", "mapping": nodes}]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(given))
    run("import", path)
    assert left() == {"one", "one-q"}
    run("delete", "one", "--yes")
    assert left() == {"one-q"}


def test_ids_that_people_choose_make_no_sub_agents() -> None:
    """They may begin alike; the list says that such a session stays."""
    names = ("alice", "alice_smith", "alice-b_c", "alice-0123456789abcde_x")
    for name in names:
        session(name, 100)
    session("alice_jones", 100, parent="somebody")
    host = "5f0e0000-0000-4000-8000-000000000001"
    session(host, 100)
    session(f"{host}_agent", 100)
    session(f"{host}-1_agent", 100, parent="alice")
    shown = run("delete", "alice", host, "--yes").stdout
    assert "stays: alice_smith: nothing says that it is a sub-agent's of alice; name it to delete it too" in shown
    assert left() == {"alice_smith", "alice-b_c", "alice-0123456789abcde_x", "alice_jones"}
    log_of("alice_smith").with_name("context-messages.jsonl.written").write_text("{}")
    log_of("alice_smith").unlink()
    session("alice", 100)
    run("delete", "alice", "--yes")
    assert log_of("alice_smith").with_name("context-messages.jsonl.written").exists()


def test_logs_that_name_each_other_are_sessions_of_their_own() -> None:
    session("a_1", 3, parent="b_1")
    session("b_1", 3, parent="a_1")
    run("delete", "a_1", "--yes")
    assert left() == {"b_1"}


async def test_the_log_of_a_sub_agent_names_its_parent() -> None:
    """From its first record on, so that it goes with the parent whatever its id is."""
    session("run", 3)
    async with PersistentContextManager(log_of("x_1"), session_id="x_1", parent_id="run") as manager:
        await manager.add_message({"role": "user", "content": "Look."})
    run("delete", "run", "--yes")
    assert left() == set()


def test_an_open_session_is_not_deleted() -> None:
    """Nor its sub-agents; each is named, with why."""
    path = session("s1", 100)
    session("s1_a", 100, parent="s1")
    with path.open("ab"):
        for arguments in (["delete", "s1"], ["prune", "--older", "90d"], ["prune", "--older", "90d", "--dry-run"]):
            done = run(*arguments, "--yes", code=2)
            assert left() == {"s1", "s1_a"}, done.output
            shows(
                done.stdout,
                f"NOT deleted: {path}: the session is open; close it first",
                "it belongs together with s1: the session is open",
            )


def test_a_session_that_was_written_to_since_the_listing_is_not_deleted() -> None:
    """What was agreed to is what was shown."""
    path = session("s1", 3)
    size = path.stat().st_size
    with closing(FileLog(path)) as log:
        append(log, 7)
    before = path.read_bytes()
    with pytest.raises(DeleteError, match="since it was looked at"):
        delete_log(str(path), size)
    assert path.read_bytes() == before


@proof
def test_prune_deletes_what_is_older() -> None:
    """Of 40 sessions those of this project whose last message is old enough, the oldest first, with their sum."""
    for number in range(40):
        path = session(f"s{number:03}", 5 * number, working_dir="../other" if number % 10 == 9 else ".")
        os.utime(path, (time.time(), time.time()))  # when a file was copied says nothing
    of_host(log_of("s031"))
    shown = run("prune", "--older", "90d", "--dry-run")
    rows = [line.partition(":")[0] for line in shown.stdout.splitlines() if line.startswith("s") and " old" in line]
    expected = [f"s{number:03}" for number in range(39, 17, -1) if number % 10 != 9]
    assert rows == expected
    shows(shown.stdout, f"{len(expected)} sessions, ", f"stays, the host's: {log_of('s031').parent}/ events.jsonl")
    assert len(left()) == 40
    run("prune", "--older", "90d", code=2)  # nobody can answer
    assert len(left()) == 40
    done = told("prune", "--older", "90d", "--yes")
    assert [one["session"] for one in done["deleted"]] == expected
    assert all(not Path(one["path"]).exists() for one in done["deleted"])
    assert len(left()) == 40 - len(expected)
    assert run("prune", "--older", "90d", "--yes").stdout == "no session to delete\n"
    assert len(told("prune", "--older", "90d", "--all", "--yes")["deleted"]) == 3


def test_prune_keeps_a_session_with_its_sub_agents() -> None:
    """A sub-agent whose parent is newer stays with it, and so does a parent whose sub-agent is newer."""
    for name, days in (("a", 10), ("a_1", 100), ("b", 100), ("b_1", 10), ("c", 100), ("c_1", 95)):
        session(name, days, parent=name.removesuffix("_1") if name.endswith("_1") else "")
    assert [one["session"] for one in told("prune", "--older", "90d", "--yes")["deleted"]] == ["c", "c_1"]


def test_prune_leaves_what_cannot_be_read() -> None:
    """It names it, and exits with 1; the others are deleted."""
    session("old", 100)
    broken = session("broken", 100)
    broken.write_bytes(b"\xff\n" * 20)
    os.utime(broken, (1, 1))
    assert f"NOT deleted: {broken}: it cannot be read: " in run("prune", "--older", "90d", "--yes", code=1).stdout
    assert left() == {"broken"}
    run("delete", "broken", "--yes", code=2)
    assert left() == {"broken"}


def test_prune_of_a_directory_takes_logs_only(tmp_path: Path) -> None:
    """Plain messages may be another program's."""
    store = tmp_path / "store"
    session("s1", 100, path=store / "s1" / "context-messages.jsonl")
    session("s2", 100, path=store / "named.jsonl")
    plain = store / "transcript.jsonl"
    plain.write_text('{"role":"user","content":"x","timestamp":"2001-01-01T00:00:00Z"}\n')
    assert len(told("prune", "--older", "90d", store, "--yes")["deleted"]) == 2
    assert [path.name for path in store.iterdir()] == ["transcript.jsonl"]
    run("prune", "--older", "90d", store, "--all", code=2)


@pytest.mark.parametrize("arguments", [["prune"], ["prune", "--older", "soon"], ["delete"], ["delete", "nobody"]])
def test_nothing_is_deleted_without_saying_what(arguments: list[str]) -> None:
    """There is no default age and no default session."""
    session("s1", 1_000)
    run(*arguments, "--yes", code=2)
    assert left() == {"s1"}


def test_json_cannot_ask() -> None:
    """It takes --yes or --dry-run, which lists the same."""
    path = session("s1", 3)
    run("delete", "s1", "--json", code=2)
    planned = told("delete", "s1", "--dry-run")
    assert planned["dry_run"]
    assert planned["deleted"][0]["files"] == [str(path)]
    assert left() == {"s1"}


def test_a_session_in_a_database_is_deleted(storage: str) -> None:
    """Its rows are gone; another session's stay."""
    for name in ("s1", "s2"):
        session(name, 100)
        run("copy", name, storage)
    assert "vacuumed" in run("delete", "s1", "--yes", "--storage", storage).stdout
    listed = json.loads(run("list", "--json", "--storage", storage).stdout)["sessions"]
    assert [one["session"] for one in listed] == ["s2"]
    run("show", location_of(storage, log_name("s1", ".")), code=2)
    assert len(told("prune", "--older", "90d", "--yes", "--storage", storage)["deleted"]) == 1
    assert left() == {"s1", "s2"}


def test_what_stays_under_another_name_is_not_called_deleted_for_good(tmp_path: Path) -> None:
    """The other name of a log (a hard link) still has all of its text."""
    path = session("linked", 1)
    os.link(path, tmp_path / "other.jsonl")
    asked = run("delete", "linked", answer="n\n", code=None)
    assert "has another name (hard link), under which its content stays" in asked.output
    assert "for good" not in asked.output
    done = run("delete", "linked", "--yes")
    assert "stays under other names (hard links)" in done.output
    assert "for good" not in done.output
    assert (tmp_path / "other.jsonl").exists()
    assert told("delete", session("alone", 1), "--dry-run")["deleted"][0].get("linked") is None


def test_where_it_is_not_known_whether_a_session_is_open_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system without locks; the answer decides."""

    def refuse(*_: Any, **__: Any) -> bool:
        raise OSError(errno.ENOLCK, "no locks here")

    session("old", 1).with_name("context-messages.jsonl.open").touch()
    monkeypatch.setattr(open_mark, "try_lock", refuse)
    asked = run("delete", "old", answer="n\n", code=None)
    assert "whether it is open is not known here" in asked.output
    assert left() == {"old"}
    run("delete", "old", "--yes")
    assert left() == set()


@pytest.mark.parametrize("command", [["delete", "one"], ["prune", "--older", "1d"]], ids=["delete", "prune"])
def test_a_deletion_that_cannot_be_noted_is_no_success(command: list[str]) -> None:
    """It is done, and says that an import may bring the session back."""
    session("one", 3)
    erasures_path().parent.mkdir(parents=True, exist_ok=True)
    erasures_path().mkdir()
    done = run(*command, "--yes", code=1)
    assert "DELETED, NOT NOTED: " in done.stderr
    assert "an import or a sync may bring it back" in done.stderr
    assert left() == set()
    session("one", 3)
    assert "not_noted" in json.loads(run(*command, "--yes", "--json", code=1).stdout)["deleted"][0]


@pytest.mark.parametrize("command", [["delete", "one"], ["prune", "--older", "1d"]], ids=["delete", "prune"])
def test_a_full_disk_does_not_keep_a_session_from_being_deleted(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deletion is how a person makes room; it is noted as soon as there is some."""
    log, write = session("one", 3), FileSystem.write

    def write_if_there_is_room(fd: int, content: bytes) -> int:
        if log.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, content)

    monkeypatch.setattr(FileSystem, "write", staticmethod(write_if_there_is_room))
    done = run(*command, "--yes")
    assert done.stderr == ""
    assert not log.parent.exists()
    assert erasures_path().read_text().count('"erased"') == 1


def test_a_project_alone_means_all_of_it() -> None:
    """The listing and the question say so, and name what is left out; beside another filter they do not."""
    for name in ("s1", "s2", "s3"):
        session(name, 3)
    asked = run("prune", "--project", ".", code=2).output
    shows(asked, "This is all of the project .", "Delete 3 sessions, all of the project ., for good?")
    told = run("prune", "--project", ".", "--except", "s2", "--dry-run").stdout
    assert "This is all of the project . but s2." in told
    for narrowed in (["--name", "s"], ["--older", "1d"]):
        told = run("prune", "--project", ".", *narrowed, "--dry-run").stdout
        assert "all of the project" not in told


def test_a_deleted_copy_of_a_log_does_not_erase_its_session(tmp_path: Path) -> None:
    """The session is still there, so a later sync leaves it where it is, here and on the other side."""
    log, stick, copy = with_own_id("kept"), tmp_path / "stick", tmp_path / "session.jsonl"
    stick.mkdir()
    run("sync", stick, "--yes")
    shutil.copy(log, copy)
    result = run("delete", copy, "--yes")
    shows(result.stdout, f"stays, the same session: only this copy of it is deleted: {log.parent}")
    assert "At the next" not in result.stdout
    assert not copy.exists()
    assert not erasures_path().exists()
    before = log.read_bytes()
    run("sync", stick, "--yes")
    assert log.read_bytes() == before
    run("delete", log, "--yes")
    assert erasures_path().exists()


def test_a_session_is_erased_although_a_copy_of_it_stays(tmp_path: Path) -> None:
    """The log under its own id is the session. A sync does not bring it back, and erases the copy that was named."""
    log, copy, stick = with_own_id("kept"), log_of("copied"), tmp_path / "stick"
    stick.mkdir()
    run("sync", stick, "--yes")
    shutil.copytree(log.parent, copy.parent)
    result = run("delete", log, "--yes")
    shows(result.stdout, f"stays, a copy of the same session, until the next sync erases it there too: {copy.parent}")
    assert erasures_path().exists()
    run("sync", stick, "--yes")
    assert left() == set()
    assert [path for path in stick.rglob("*") if path.is_file() and b"Keep this." in path.read_bytes()] == []


def test_both_logs_of_a_session_are_deleted_as_one_session() -> None:
    """Then nothing of it stays, and that is noted."""
    log, copy = with_own_id("one"), log_of("other")
    shutil.copytree(log.parent, copy.parent)
    run("delete", log, copy, "--yes")
    assert erasures_path().exists()
    assert left() == set()


def test_a_purge_of_a_copy_says_where_the_session_is_too(tmp_path: Path) -> None:
    """There the next sync erases the same."""
    log, copy = with_own_id("kept"), tmp_path / "session.jsonl"
    shutil.copy(log, copy)
    result = run("purge", copy, "--everything", "--yes")
    shows(result.stdout, f"{log} is the same session as {copy}", "the next sync erases this there too")


def test_a_purge_says_which_copy_beside_the_session_keeps_the_text() -> None:
    """Also a second time, and not once the copy is purged."""
    log, copy = with_own_id("kept"), log_of("copied")
    shutil.copytree(log.parent, copy.parent)
    for _ in range(2):
        result = run("purge", "kept", "--redact", "Keep", "--yes", code=1)
        shows(result.stdout, f"{copy} is the same session as {log}, and holds it too")
    run("purge", "copied", "--redact", "Keep", "--yes")
    run("purge", "kept", "--redact", "Keep", "--yes")


@pytest.mark.parametrize("by_path", [False, True])
def test_what_is_deleted_already_is_told_and_the_rest_goes(*, by_path: bool) -> None:
    """A killed `delete A B` is repeated as it was. What nobody deleted is an error, and then nothing is done."""
    logs = [with_own_id("one"), with_own_id("two")]
    names = [str(log.parent) for log in logs] if by_path else ["one", "two"]
    run("delete", "one", "--yes")
    assert "unknown" in run("delete", names[1], "unknown", "--yes", code=2).stderr
    assert logs[1].exists()
    result = run("delete", *names, "--yes")
    assert f"{names[0]}: already deleted, on " in result.stderr
    assert not logs[1].exists()
    run("delete", *names, "--yes")
