"""The mark that a session has its log in a database open: shared, gone with its connection, and in nobody's way."""

from __future__ import annotations

import os
import re
import time
from contextlib import closing, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import DeleteError, LogUnreadableError
from amplifier_module_context_persistent.log.database_location import Location, parse_location, split_location
from amplifier_module_context_persistent.log.postgres import list_logs, marks_after_start, open_marks
from amplifier_module_context_persistent.log.postgres.list_logs import delete_stored_log, open_marks_in
from amplifier_module_context_persistent.log.postgres.marks_after_start import seconds_until_marked
from amplifier_module_context_persistent.log.postgres.migration_steps import APPEND, PURGE
from amplifier_module_context_persistent.log.postgres.open_marks import mark_key
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.role_rights import rights
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.commands import run
from tests.support.logs import append, numbers
from tests.support.postgres import CuttingProxy, TestServer
from tests.support.sweeps import proof


@pytest.fixture
def location(server: TestServer) -> str:
    """Where this test's log is."""
    return f"{server.new_location()}#project/session"


def is_open(location: str) -> bool:
    keys = open_marks_in(split_location(location)[0])
    assert keys is not None
    return mark_key(parse_location(location)) in keys


def size_of(location: str) -> int:
    with closing(PostgresLog(location)) as log:
        log.follow()
        return log.describe().size_bytes


def test_a_log_is_marked_from_its_first_use_to_its_close(location: str) -> None:
    """Any number of sessions mark it; whoever only reads or writes without being a session does not."""
    logs = [PostgresLog(location, marks_open=True) for _ in range(3)]
    logs[0].follow()
    assert not is_open(location)  # there is none yet
    for log in logs:
        append(log, 1)
        assert is_open(location)
    append(PostgresLog(location), 2)
    for log in logs:
        assert is_open(location)
        log.close()
    assert not is_open(location)
    logs[0].follow()
    assert is_open(location)
    logs[0].close()


def test_an_open_session_is_not_deleted(location: str) -> None:
    """Not after a purge either; a closed one is."""
    with closing(PostgresLog(location, marks_open=True)) as log:
        append(log, 1)
        purge_log(location, Purge(everything=True), now=lambda: "")
        append(log, 2)
        with pytest.raises(DeleteError, match="the session is open"):
            delete_stored_log(location, size_of(location))
        assert numbers(log) == [2]
    delete_stored_log(location, size_of(location))


def test_a_lost_connection_is_made_anew(location: str, server: TestServer) -> None:
    """With all its marks, once the log finds out."""
    other = f"{split_location(location)[0]}#project/other"
    with closing(PostgresLog(location, marks_open=True)) as log, closing(PostgresLog(other, marks_open=True)) as second:
        append(log, 1)
        append(second, 1)
        server.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        append(log, 2)
        assert is_open(location)
        assert is_open(other)
        assert numbers(log) == [1, 2]
    assert not is_open(location)


def until_open(location: str) -> None:
    """Wait until a log is marked, without a use of it."""
    for _ in range(600):
        with suppress(LogUnreadableError):
            if is_open(location):
                return
        time.sleep(0.05)
    pytest.fail("it is not marked as open")


@pytest.mark.parametrize("how", ["ended", "restarted"])
def test_an_idle_session_marks_its_log_again(how: str, location: str, server: TestServer) -> None:
    """No append and no request is needed, whoever closes the connection."""
    with closing(PostgresLog(location, marks_open=True)) as log:
        append(log, 1)
        for _ in range(2):
            if how == "restarted":
                server.kill()
                server.start()
            else:
                server.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
            until_open(location)
        with pytest.raises(DeleteError, match="the session is open"):
            delete_stored_log(location, log.describe().size_bytes)
    assert not is_open(location)


def holders(server: TestServer) -> list[tuple[int, ...]]:
    """The server's processes that hold marks."""
    return server.execute("select pid from pg_locks where locktype = 'advisory' and granted order by pid")


def test_the_server_keeps_an_idle_mark(location: str, server: TestServer) -> None:
    """Whatever time a role's sessions may be idle."""
    server.execute("alter role postgres set idle_session_timeout = '1s'")
    try:
        with closing(PostgresLog(location, marks_open=True)) as log:
            append(log, 1)
            before = holders(server)
            time.sleep(1.2)
            assert len(before) == 1
            assert holders(server) == before
    finally:
        server.execute("alter role postgres reset idle_session_timeout")


@proof
def test_a_server_that_does_not_answer_is_noticed(
    location: str, server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody closes the connection then, so it is asked; another one is made."""
    monkeypatch.setattr(open_marks, "CHECK_S", 0.1)
    with closing(CuttingProxy(server.socket_path)) as proxy:
        near = f"{proxy.location(split_location(location)[0])}#project/session"
        with closing(PostgresLog(near, marks_open=True)) as log:
            append(log, 1)
            before = holders(server)
            proxy.delay_s = 10
            while proxy.accepted < 3:
                time.sleep(0.05)
            proxy.delay_s = 0
            for _ in range(600):
                if set(holders(server)) - set(before):
                    break
                time.sleep(0.05)
            assert set(holders(server)) - set(before)


def test_a_mark_that_another_client_prevents_is_taken_later(location: str, server: TestServer) -> None:
    """An archive keeps sessions from opening its log for a moment."""
    key = mark_key(parse_location(location))
    server.execute(f"select pg_advisory_lock({key})")
    with closing(PostgresLog(location, marks_open=True)) as log:
        append(log, 1)
        assert not is_open(location)
        server.execute(f"select pg_advisory_unlock({key})")
        until_open(location)


def test_a_mark_that_the_server_refuses_is_taken_later(location: str, server: TestServer) -> None:
    """It had no connection left."""
    schema = parse_location(location).schema
    role = f"crowded_{schema}"
    server.execute(f"create role {role} login connection limit 1; {rights(APPEND, schema, role)}")
    with closing(PostgresLog(location.replace("postgres:@", f"{role}:@", 1), marks_open=True)) as log:
        append(log, 1)
        assert not is_open(location)
        server.execute(f"alter role {role} connection limit 10")
        until_open(location)


def test_a_deletion_waits_after_a_start(location: str, server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open sessions mark their logs meanwhile, and so are not deleted."""
    waited, schema = list[float](), parse_location(location).schema
    server.execute(f"create role waits_{schema} login; {rights(PURGE, schema, f'waits_{schema}')}")
    as_role = location.replace("postgres:@", f"waits_{schema}:@", 1)

    def wait(connection: Any, where: Location) -> float:
        waited.append(seconds_until_marked(connection, where))
        until_open(location)
        return 0.0

    monkeypatch.setattr(marks_after_start, "SETTLED_S", 1e9)
    monkeypatch.setattr(list_logs, "seconds_until_marked", wait)
    with closing(PostgresLog(location, marks_open=True)) as log:
        append(log, 1)
        server.kill()
        server.start()
        with pytest.raises(DeleteError, match="the session is open"):
            delete_stored_log(as_role, log.describe().size_bytes)
        assert len(waited) == 1
        assert waited[0] > 0


def test_it_is_said_that_a_deletion_waits(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And for how long."""
    with closing(PostgresLog(f"{storage}#-p/s1")) as log:
        append(log, 1)
    slept = list[float]()
    monkeypatch.setattr(marks_after_start, "SETTLED_S", 1e9)
    monkeypatch.setattr(list_logs, "time", SimpleNamespace(sleep=slept.append, monotonic=time.monotonic))
    told = run("delete", "s1", "--storage", storage, "--yes")
    assert re.search(r"just been started: waiting \d+ s until open sessions have said", told.output)
    assert slept
    assert all(seconds > 1 for seconds in slept)


@pytest.mark.parametrize(
    ("since_start_s", "timeline", "of_checkpoint", "waits"),
    [(5.0, "7/0000000A", 10, True), (1e6, "7/0000000A", 10, False), (1e6, "7/0000000B", 10, True), (1e6, "", 1, False)],
    ids=["started", "settled", "promoted", "replica"],
)
def test_when_a_deletion_waits(
    since_start_s: float, timeline: str, of_checkpoint: int, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a start, and after a failover, until it is known that the sessions had their time."""
    monkeypatch.setattr(marks_after_start, "SETTLED_S", 20.0)
    monkeypatch.setattr(marks_after_start, "is_direct", lambda _: True)
    rows = [(since_start_s, timeline, of_checkpoint)]
    answer = SimpleNamespace(fetchall=lambda: rows)
    connection: Any = SimpleNamespace(execute=lambda _: answer, driver=SimpleNamespace(Error=OSError))
    where = parse_location("postgresql://db.example/agents#p/s")
    assert (seconds_until_marked(connection, where) > 0) == waits
    assert seconds_until_marked(connection, replace(where, prepares=False)) == 0
    monkeypatch.setattr(marks_after_start, "SETTLED_S", 0.0)
    assert seconds_until_marked(connection, where) == 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # it is multi-threaded, and forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_keep_it(location: str) -> None:
    """It takes one of its own; the parent's goes when the parent closes its log, and not before."""
    log = PostgresLog(location, marks_open=True)
    append(log, 1)
    told, tell = os.pipe()
    wait, go = os.pipe()
    child = os.fork()
    if not child:
        os.close(go)
        os.read(wait, 1)
        append(log, 2)
        os.write(tell, b"1" if is_open(location) else b"0")
        log.close()
        os._exit(0)
    os.close(wait)
    append(log, 3)
    assert is_open(location)
    log.close()
    assert not is_open(location)
    os.write(go, b"x")
    assert os.read(told, 1) == b"1"
    os.waitpid(child, 0)
    assert not is_open(location)
    for fd in (told, tell, go):
        os.close(fd)


def test_behind_a_pooler_it_is_not_known(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock would stay with the pooler's connection, so none is taken."""
    storage, _, name = location.partition("#")
    pooled = f"{storage}{'&' if '?' in storage else '?'}prepare=off#{name}"
    monkeypatch.setattr(list_logs, "is_direct", lambda _: False)
    monkeypatch.setattr(open_marks, "is_direct", lambda _: False)
    with closing(PostgresLog(location, marks_open=True)) as log:  # a pooler that nobody named
        append(log, 1)
        append(log, 2)
        assert open_marks_in(split_location(location)[0]) is None
    with closing(PostgresLog(pooled, marks_open=True)) as log:
        append(log, 3)
        assert open_marks_in(split_location(pooled)[0]) is None
        delete_stored_log(pooled, size_of(location))
