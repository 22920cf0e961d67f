"""Lists of a database's sessions cost what is asked for, and what was looked at once is kept."""

from __future__ import annotations

import json
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from amplifier_module_context_persistent.catalogue import session_list_cache
from amplifier_module_context_persistent.catalogue.glance import Glance, told_of
from amplifier_module_context_persistent.clock import utc_now
from amplifier_module_context_persistent.log.postgres import list_logs, old_logs
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.sessions import find_session as find_session_module
from amplifier_module_context_persistent.sessions import overview
from amplifier_module_context_persistent.sessions.find_session import SessionNameError, find_session
from amplifier_module_context_persistent.toolbox.cli import list_
from tests.support.commands import run
from tests.support.logs import STAMP, append, append_bodies, append_to
from tests.support.postgres import TestServer
from tests.support.sweeps import proof

SESSIONS = 24


@pytest.fixture
def sessions(server: TestServer, storage: str) -> str:
    """A storage with sessions of two projects, some of which were written to in the same moment."""
    schema = storage.rpartition("=")[2]
    for number in range(SESSIONS):
        with closing(PostgresLog(f"{storage}#-p{number % 2}/s{number:02}")) as log:
            append(log, number)
    number_of = "right(name, 2)::int"
    server.execute(f"update {schema}.log set changed = %s::timestamptz - interval '3 hours' * ({number_of} / 3)", STAMP)
    server.execute(f"update {schema}.log set touched = changed - interval '20 minutes' * ({number_of} %% 3)")
    return storage


def listed(storage: str, *options: str) -> list[str]:
    """The sessions that the command lists, in its order."""
    told = json.loads(run("list", "--all", "--json", "--storage", storage, *options).output)
    return [one["session"] for one in told["sessions"]]


@proof
@pytest.mark.parametrize("has_index", [True, False], ids=["index", "older tables"])
@pytest.mark.parametrize("page", [1, 5, 200])
def test_pages_hold_every_session_once(
    page: int, has_index: bool, sessions: str, server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their size; those written last come first."""
    if not has_index:
        server.execute(f"alter table {sessions.rpartition('=')[2]}.log drop column touched cascade")
    everything = listed(sessions)
    monkeypatch.setattr(list_logs, "_FIRST_PAGE", page)
    monkeypatch.setattr(list_logs, "_LARGEST_PAGE", page)
    assert listed(sessions) == everything
    assert sorted(everything) == [f"s{number:02}" for number in range(SESSIONS)]
    paged = [name for found in list_logs.stored_pages(sessions, "-p1") for name, _ in found]
    order = server.execute(f"select name, changed from {sessions.rpartition('=')[2]}.log")
    changed = dict(order)
    assert paged == sorted(paged, key=lambda name: (changed[name], name), reverse=True)
    assert sorted(paged) == [f"-p1/s{number:02}" for number in range(1, SESSIONS, 2)]


@proof
def test_the_newest_sessions_are_all_that_is_looked_at(sessions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of two asks for a page, and not for what is kept of every session."""
    run("list", "--all", "--storage", sessions)  # keeps what it had to look at
    asked = list[str]()
    kept = list_logs.kept_glances

    def noting(storage: str, wanted: Any) -> dict[str, tuple[str, bytes]]:
        asked.extend(wanted)
        return kept(storage, wanted)

    monkeypatch.setattr(list_logs, "kept_glances", noting)
    monkeypatch.setattr(list_logs, "_FIRST_PAGE", 5)
    assert listed(sessions, "-n", "2") == ["s00", "s01"]
    assert len(set(asked)) <= 10  # one page, and the next, which says that nothing newer comes


@proof
def test_a_list_that_is_ended_goes_on_where_it_was(
    sessions: str, server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it looked at is kept in between, not only at its end."""
    schema = sessions.rpartition("=")[2]
    monkeypatch.setattr(session_list_cache, "_KEPT_AT_ONCE", 4)
    looked, look = list[str](), list_.overview_of

    def ended(session: Any, *arguments: Any, **options: Any) -> Any:
        looked.append(session.id)
        if len(looked) == 10:
            raise KeyboardInterrupt
        return look(session, *arguments, **options)

    monkeypatch.setattr(list_, "overview_of", ended)
    run("list", "--all", "--storage", sessions, code=130)
    assert server.execute(f"select count(*) from {schema}.glance") == [(8,)]


@pytest.mark.parametrize("may", [True, False], ids=["may", "may not"])
def test_an_append_keeps_the_time_by_which_lists_are_ordered(may: bool, server: TestServer, storage: str) -> None:
    """An hour behind at most; a role with the rights of older tables appends without."""
    schema, role = storage.rpartition("=")[2], f"lister{may}".lower()
    server.execute(f"create role {role} login")
    run("storage", "init", storage, "--grant", role)
    if not may:
        server.execute(f"revoke update (touched) on {schema}.log from {role}")
    ages = []
    with closing(PostgresLog(f"{storage.replace('postgres:@', f'{role}:@', 1)}#p/s")) as log:
        for minutes in (50, 70):
            append(log, minutes)
            server.execute(f"update {schema}.log set touched = now() - interval '{minutes} minutes'")
            append(log, minutes + 1)
            ages += server.execute(f"select now() - touched > interval '1 minute' from {schema}.log")
    assert ages == [(True,), (not may,)]


def doubtful(storage: str, since_s: float) -> set[str]:
    """The logs that may have no message since a time."""
    found = old_logs.logs_without_news(storage, since_s, "-p")
    assert found is not None
    return {log.name for log in found if not log.is_in_use}


@proof
def test_prune_opens_only_what_it_deletes(server: TestServer, storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what is in use, nor what has a sub-agent's session in use; a forged time or list entry deletes nothing."""
    schema = storage.rpartition("=")[2]
    ids = ["old", "busy", "busy-2_sub", "new", "forged"]
    for session in ids:
        stamp = utc_now() if session in ("forged", "new", "busy-2_sub") else "2026-01-01T00:00:00Z"
        with closing(PostgresLog(f"{storage}#-p/{session}")) as log:
            append_bodies(log, encode_message({"role": "user", "content": "x"}, message_id="m", timestamp=stamp))
    for session in ("old", "busy", "forged"):
        server.execute(f"update {schema}.log set changed = '2026-01-01' where name = %s", f"-p/{session}")
    run("list", "--all", "--storage", storage)
    opened, read = list[str](), overview._read

    def noting(path: Any, *arguments: Any) -> Glance:
        opened.append(str(path).rpartition("/")[2])
        return read(path, *arguments)

    monkeypatch.setattr(overview, "_read", noting)
    february = datetime(2026, 2, 1, tzinfo=UTC).timestamp()
    assert doubtful(storage, february) == {"-p/old", "-p/busy", "-p/forged"}
    of_new = f"(select log_id from {schema}.log where name = '-p/new')"
    server.execute(f"update {schema}.glance set told = 'x' where log_id = {of_new}")
    assert doubtful(storage, february) == {"-p/old", "-p/busy", "-p/forged", "-p/new"}
    server.execute(f"delete from {schema}.glance where told = 'x'")
    run("list", "--all", "--storage", storage)
    opened.clear()
    ((told,),) = server.execute(
        f"select told from {schema}.glance join {schema}.log using (log_id) where name = '-p/forged'"
    )
    said = orjson.loads(told)
    long_ago = dict.fromkeys(("first_message", "last_message"), "2026-01-01T00:00:00Z")
    forged = told_of(said["glance"] | long_ago, said["line"])
    prune = ("prune", "--all", "--older", "2026-02-01", "--storage", storage)
    assert "old: 1 message" in run(*prune, "--dry-run").output
    assert not opened
    of_forged = f"(select log_id from {schema}.log where name = '-p/forged')"
    server.execute(f"update {schema}.glance set told = %s where log_id = {of_forged}", forged)
    assert "has a message since" in run(*prune, "--yes", code=1).output
    assert sorted(opened) == ["forged", "old"]
    assert server.execute(f"select name from {schema}.log order by name") == [
        (f"-p/{name}",) for name in sorted(ids) if name != "old"
    ]


@proof(quick=1)
@pytest.mark.parametrize("has_index", [True, False], ids=["index", "older tables"])
def test_a_session_is_found_by_the_beginning_of_its_id(
    has_index: bool, server: TestServer, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is asked for it, not for the names of all; so is who wrote since a time."""
    schema = storage.rpartition("=")[2]
    if not has_index:
        server.execute(
            f"drop index {schema}.log_by_id, {schema}.log_by_time; alter table {schema}.log drop touched cascade"
        )
    for name in ("-p/abc-1", "-p/abd", "-q/größe%_", "-q/x"):
        with closing(PostgresLog(f"{storage}#{name}")) as log:
            append(log, 1)
    server.execute(f"update {schema}.log set changed = %s where name = '-q/x'", STAMP)
    found = dict(list_logs.stored_logs(storage, since_s=time.time() - 3600))
    assert sorted(found) == ["-p/abc-1", "-p/abd", "-q/größe%_"]

    def refuse(*_: Any, **__: Any) -> Any:
        pytest.fail("the names of all sessions are asked for")

    monkeypatch.setattr(list_logs, "stored_logs", refuse)
    for given, expected in (
        ("abc", "-p/abc-1"),
        ("-p/abd", "-p/abd"),
        ("grö", "-q/größe%_"),
        ("größe%", "-q/größe%_"),
    ):
        assert find_session(given, storage=storage) == f"{storage}#{expected}"
    with pytest.raises(SessionNameError, match="more than one"):
        find_session("ab", storage=storage)


def test_prune_keeps_a_group_of_which_a_session_is_in_use(server: TestServer, storage: str) -> None:
    """A sub-agent's session whose parent is in use stays, and so does a parent whose sub-agent is."""
    schema, old = storage.rpartition("=")[2], "2026-01-01T00:00:00Z"
    ids = {"a": utc_now(), "a-1_sub": old, "b": old, "b-1_sub": utc_now(), "c": old, "c-1_sub": old}
    for session, stamp in ids.items():
        with closing(PostgresLog(f"{storage}#-p/{session}")) as log:
            append_bodies(log, encode_message({"role": "user", "content": "x"}, message_id="m", timestamp=stamp))
    server.execute(f"update {schema}.log set changed = '2026-01-01' where name like '%%/c%%' or name = '-p/a-1_sub'")
    run("list", "--all", "--storage", storage)
    prune = ("prune", "--project", "p", "--older", "2026-02-01", "--storage", storage, "--dry-run", "--json")
    deleted = json.loads(run(*prune).output)["deleted"]
    assert sorted(one["session"] for one in deleted) == ["c", "c-1_sub"]


@proof(quick=1)
@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "nothing kept"])
def test_a_session_is_found_by_its_name_without_a_look_at_all(
    is_kept: bool, storage: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server gives those with a label, and those that the host has named on this machine."""
    for session in ("s1", "s2", "s3", "s4"):
        with closing(PostgresLog(f"{storage}#-p/{session}")) as log:
            append(log, 1)
    run("rename", "s2", "Nightly build", "--storage", storage)
    (home / ".amplifier/projects/-p/sessions/s3").mkdir(parents=True)
    (home / ".amplifier/projects/-p/sessions/s3/metadata.json").write_text('{"name": "Release"}')
    if is_kept:
        run("list", "--all", "--storage", storage)
        asked = list_logs.stored_logs_with_names(storage, ["-p/s3"])
        assert asked is not None
        assert sorted(name for name, _ in asked) == ["-p/s2", "-p/s3"]
        monkeypatch.setattr(find_session_module, "session_files", lambda *_, **__: pytest.fail("all are asked for"))
    for given, expected in (("nightly", "s2"), ("Release", "s3")):
        assert find_session(given, storage=storage) == f"{storage}#-p/{expected}"
    with pytest.raises(SessionNameError, match="no such"):
        find_session("nobody", storage=storage)


def test_a_command_on_one_session_asks_for_no_others(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sub-agents' sessions are found by the beginning of their ids."""
    for session in ("p/s1", "p/s1-0123456789abcdef_sub", "p/s2", "q/s1-0123456789abcdef_sub"):
        with closing(PostgresLog(f"{storage}#{session}")) as log:
            append(log, 1)
    monkeypatch.setattr(list_logs, "stored_logs", lambda *_, **__: pytest.fail("all are asked for"))
    told = json.loads(run("delete", "p/s1", "--storage", storage, "--dry-run", "--json").output)
    assert [one["session"] for one in told["deleted"]] == ["s1", "s1-0123456789abcdef_sub"]
    run("files", "p/s1", "--storage", storage, code=1)


@pytest.mark.parametrize("command", [("delete", "--dry-run"), ("files",), ("du",), ("report", "-o", "page.html")])
def test_a_file_can_be_named_beside_a_database(command: tuple[str, ...], storage: str, project: Path) -> None:
    """As without one."""
    append_to("transcript.jsonl", 1)
    name, *options = command
    done = run(name, "./transcript.jsonl", *options, "--storage", storage, code=None)
    assert done.exit_code in (0, 1), done.output
    assert "Error" not in done.output


@proof
def test_filters_that_leave_sessions_out_hold_in_a_database(storage: str) -> None:
    """Tags and excepted sessions are asked for although such a list could be read page by page."""
    for number in range(3):
        with closing(PostgresLog(f"{storage}#-p/s{number}")) as log:
            append(log, number)
    run("tag", "s1", "kept", "--storage", storage)
    assert sorted(listed(storage, "--tag", "kept")) == ["s1"]
    assert sorted(listed(storage, "--untagged")) == sorted(listed(storage, "--not-tag", "kept")) == ["s0", "s2"]
    assert sorted(listed(storage, "--except", "s0")) == sorted(listed(storage, "--except", "s0", "--since", "1y"))
    assert sorted(listed(storage, "--except", "s0")) == ["s1", "s2"]
