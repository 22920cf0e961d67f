"""What a server, its settings and other clients do to an append: nothing is doubled, lost or told too early."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from amplifier_module_context_persistent import AppendError, LogFailedError, LogUnreadableError
from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.postgres import postgres_log as log_module
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.server_connections import MOST_CONNECTIONS, ServerError, using
from tests.support.logs import append, numbers
from tests.support.postgres import CuttingProxy, TestServer, in_parts_too
from tests.support.sweeps import proof, spread

OURS = "context-persistent"


def backends(server: TestServer) -> list[int]:
    """The server's processes for connections of ours."""
    return [row[0] for row in server.execute("select pid from pg_stat_activity where application_name = %s", OURS)]


def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait for what another thread or process does."""
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def log(server: TestServer, storage: str) -> Iterator[PostgresLog]:
    """A log with one message, of a process whose earlier tests have no connection open any more."""
    for backend in backends(server):
        server.execute("select pg_terminate_backend(%s)", backend)
    wait_until(lambda: not backends(server))
    opened = PostgresLog(f"{storage}#p/s", lock_timeout_s=30)
    append(opened, 1)
    yield opened
    opened.close()


def cut_once_more(proxy: CuttingProxy, place: int) -> None:
    """Let the next connection be cut after so many bytes of the server's."""
    proxy.on_cut = lambda: None

    def arm() -> None:
        proxy.cut_answers_after = place

    threading.Timer(0.005, arm).start()  # the proxy disarms both cuts as it makes one


@contextlib.contextmanager
def holding(server: TestServer, storage: str) -> Iterator[Any]:
    """Hold the row of a log, as a client does that vanished in a transaction."""
    import psycopg

    schema = storage.rpartition("schema=")[2]
    with psycopg.connect(server.server.get_uri(), application_name="vanished") as connection:
        connection.execute(f"select from {schema}.log for update".encode())
        yield connection


@contextlib.contextmanager
def setting(server: TestServer, name: str, value: str) -> Iterator[None]:
    """Change a setting of the whole server."""
    server.execute(f"alter system set {name} = {value}")
    server.execute("select pg_reload_conf()")
    wait_until(lambda: server.execute(f"show {name}")[0][0] == value.strip("'"))
    time.sleep(0.1)  # other processes of the server read it a little later
    try:
        yield
    finally:
        server.execute(f"alter system reset {name}")
        server.execute("select pg_reload_conf()")
        wait_until(lambda: server.execute(f"show {name}")[0][0] != value.strip("'"))


@in_parts_too
@proof
def test_a_refused_question_is_no_verdict(server: TestServer, storage: str) -> None:
    """The answer to an append is cut off, and a short lock_timeout refuses the question for it: it is stored once."""
    server.execute("alter role postgres set lock_timeout = '50ms'")
    try:
        with contextlib.closing(CuttingProxy(server.socket_path)) as proxy:
            log = PostgresLog(f"{proxy.location(storage)}#p/s", lock_timeout_s=20)
            append(log, 1)
            append(log, 2)
            appended = threading.Thread(target=append, args=(log, 3))
            with contextlib.ExitStack() as held:
                proxy.on_cut = lambda: held.enter_context(holding(server, storage))  # type: ignore[assignment]
                proxy.cut_answers_after = 1
                appended.start()
                wait_until(lambda: proxy.cuts == 1)
                time.sleep(0.25)  # some questions are refused meanwhile
            appended.join(30)
            assert numbers(log) == [1, 2, 3]
            log.close()
    finally:
        server.execute("alter role postgres reset lock_timeout")


@in_parts_too
@proof
def test_a_session_whose_first_append_is_cut_begins_all_the_same(server: TestServer, storage: str) -> None:
    """Cut as the log's row is made, and again at the end of the next attempt: it is no log that was removed."""
    with contextlib.closing(CuttingProxy(server.socket_path)) as proxy:
        append(warm := PostgresLog(f"{proxy.location(storage)}#p/warm", lock_timeout_s=20), 1)
        warm.close()
        for number, place in enumerate(spread(range(100, 1_700, 100), 2)):
            log = PostgresLog(f"{proxy.location(storage)}#p/s{number}", lock_timeout_s=20)
            log.follow()  # it is connected, and there is no such log
            proxy.on_cut = lambda place=place: cut_once_more(proxy, place)  # type: ignore[misc]
            proxy.cut_after = 1
            append(log, 1)
            append(log, 2)
            proxy.cut_answers_after = None
            assert numbers(log) == [1, 2]
            log.close()


@proof
def test_a_vanished_holder_is_named_and_blocks_nobody_for_ever(
    server: TestServer, storage: str, log: PostgresLog
) -> None:
    """The append fails in time, says who holds the log, and leaves no process waiting on the server."""
    log.timeout_s = 0.4
    with holding(server, storage) as holder:
        for _ in range(3):
            with pytest.raises((AppendError, LogFailedError), match=rf"process {holder.info.backend_pid} \(vanished"):
                append(log, 2)
        waiting = "select count(*) from pg_stat_activity where application_name = %s and wait_event_type = 'Lock'"
        wait_until(lambda: server.execute(waiting, OURS) == [(0,)])
        assert len(backends(server)) <= 2
    log.timeout_s = 30
    append(log, 3)
    assert numbers(log)[-1] == 3
    assert numbers(log).count(2) <= 3


def test_a_connection_that_nobody_answers_is_given_up_early(
    server: TestServer, storage: str, log: PostgresLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a machine between dropped it: the append takes another connection, and is stored once."""
    monkeypatch.setattr(log_module, "FIRST_SHARE", 0.5 / log.timeout_s)  # half a second for the first connection
    (pid,) = backends(server)
    stopped = psutil.Process(pid)
    stopped.suspend()
    try:
        append(log, 2)
    finally:
        stopped.resume()
    wait_until(lambda: pid not in backends(server))
    append(log, 3)
    assert numbers(log) == [1, 2, 3]
    again = PostgresLog(f"{storage}#p/s", trusting=False)
    assert numbers(again) == [1, 2, 3]
    again.close()


@proof(quick=1)
@pytest.mark.parametrize("function", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_commit_that_no_replica_has_is_not_acknowledged(server: TestServer, log: PostgresLog, function: str) -> None:
    """Whether the wait for the replica is cancelled or its process ended; once there is one, the log goes on."""
    failures: list[Exception] = []
    log.timeout_s = 0.5

    def try_it() -> None:
        try:
            append(log, 2)
        except Exception as error:
            failures.append(error)

    waiting = "select pid from pg_stat_activity where wait_event = 'SyncRep'"
    with setting(server, "synchronous_standby_names", "'nowhere'"):
        thread = threading.Thread(target=try_it)
        thread.start()
        while thread.is_alive():
            for (pid,) in server.execute(waiting):
                server.execute(f"select {function}(%s)", pid)
            thread.join(0.05)
        for (pid,) in server.execute(waiting):
            server.execute("select pg_cancel_backend(%s)", pid)
    assert [type(failure) for failure in failures] == [LogFailedError]
    log.timeout_s = 30
    append(log, 3)
    assert numbers(log) == [1, 2, 3]


def test_a_refused_end_of_the_question_is_no_verdict(
    server: TestServer, storage: str, log: PostgresLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is stored and no replica has it; then the transaction that finds it is cancelled as it ends."""
    import psycopg

    commits: list[bytes] = []
    really = psycopg.Connection.execute

    def execute(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        if query == b"commit":
            commits.append(query)
            if len(commits) == 1:
                return really(self, b"do $$ begin raise exception 'cancelled' using errcode = '57014'; end $$")
        return really(self, query, *arguments, **options)

    waiting = "select pid from pg_stat_activity where wait_event = 'SyncRep'"
    with setting(server, "synchronous_standby_names", "'nowhere'"):
        thread = threading.Thread(target=append, args=(log, 2))
        thread.start()
        wait_until(lambda: bool(server.execute(waiting)))
        monkeypatch.setattr(psycopg.Connection, "execute", execute)
        for (pid,) in server.execute(waiting):
            server.execute("select pg_cancel_backend(%s)", pid)
        wait_until(lambda: len(commits) >= 2)
    thread.join(30)
    append(log, 3)
    assert numbers(log) == [1, 2, 3]


def test_fsync_overrules_a_role_that_does_not_wait(server: TestServer, storage: str) -> None:
    """With `durability: write` what was appended is not on the disk yet; with `fsync` it is."""
    unflushed = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())::bigint"
    server.execute("alter role postgres set synchronous_commit = off")
    left = {}
    try:
        with setting(server, "wal_writer_delay", "'10s'"):
            for durability in ("fsync", "write"):
                log = PostgresLog(f"{storage}#p/{durability}", durability=durability)
                append(log, 1)
                append(log, 2)
                left[durability] = server.execute(unflushed)[0][0]
                log.close()
    finally:
        server.execute("alter role postgres reset synchronous_commit")
    assert left["fsync"] == 0
    assert left["write"] > 0


def test_what_no_second_attempt_mends_fails_at_once(server: TestServer, storage: str) -> None:
    """A database that is not there is one attempt, and the server's own words."""
    with contextlib.closing(CuttingProxy(server.socket_path)) as proxy:
        location = proxy.location(storage).replace("/postgres?", "/nowhere?")
        log = PostgresLog(f"{location}#p/s", lock_timeout_s=30)
        with pytest.raises(LogUnreadableError, match='database "nowhere" does not exist'):
            log.follow()
        with pytest.raises(AppendError, match='database "nowhere" does not exist'):
            append(log, 1)
        assert proxy.accepted == 2
        log.close()


def test_the_connections_of_a_process_are_few_and_shared(server: TestServer, storage: str) -> None:
    """Sessions beyond that number wait for one; all of them go when the last log is closed."""
    logs = [PostgresLog(f"{storage}#p/{number}") for number in range(4 * MOST_CONNECTIONS)]
    threads = [threading.Thread(target=lambda log=log: [append(log, n) for n in range(5)]) for log in logs]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 1 <= len(backends(server)) <= MOST_CONNECTIONS
    for log in logs:
        assert numbers(log) == [0, 1, 2, 3, 4]
        log.close()
    wait_until(lambda: not backends(server))


def test_an_idle_connection_that_died_is_found_out_first(
    server: TestServer, log: PostgresLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After half a minute the connection is asked before anything is sent on it."""
    (pid,) = backends(server)
    server.execute("select pg_terminate_backend(%s)", pid)
    wait_until(lambda: not backends(server))
    later = time.monotonic() + 31
    clock = "amplifier_module_context_persistent.log.postgres.server_connections.time.monotonic"
    monkeypatch.setattr(clock, lambda: later)
    append(log, 2)
    monkeypatch.undo()
    assert numbers(log) == [1, 2]


@proof
def test_what_became_of_an_append_without_an_answer_is_told(
    server: TestServer, storage: str, log: PostgresLog, caplog: pytest.LogCaptureFixture
) -> None:
    """The next append that stores something says whether it was stored: before, the server may still store it."""
    log.timeout_s = 1
    with holding(server, storage), pytest.raises((AppendError, LogFailedError)) as failed:
        append(log, 2)
    log.timeout_s = 30
    log.append([lambda _index: []])
    assert "without an answer" not in caplog.text
    append(log, 3)
    assert numbers(log) == [1, 3]
    told = [record.getMessage() for record in caplog.records if "without an answer" in record.getMessage()]
    assert len(told) == isinstance(failed.value, LogFailedError)
    assert all("was not stored" in line for line in told)


@pytest.mark.parametrize("statement", [b"prepare x as select 1", b"execute y"], ids=["is there", "is not there"])
def test_what_a_pooler_does_to_prepared_statements_gets_the_advice(statement: bytes, storage: str) -> None:
    """Another client of its connection prepared one of that name, or it gave another connection."""
    with using(parse_location(storage)) as server, server.connected(time.monotonic() + 10) as connection:
        connection.execute(b"prepare x as select 1")
        with pytest.raises(ServerError, match="add prepare=off"), server.telling(connection):
            connection.execute(statement)
