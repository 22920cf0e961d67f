"""Logs in PostgreSQL: the contract, broken connections, killed servers, several writers, and what a server refuses."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent import AppendError, FileLog, LogFailedError, LogUnreadableError
from amplifier_module_context_persistent.log.base import Log
from amplifier_module_context_persistent.log.open import open_log
from amplifier_module_context_persistent.log.postgres import PostgresLog
from tests.support.log_contract import LogContract, OpenLog
from tests.support.logs import append, append_bodies, body, findings, numbers, reset_bodies, write_file
from tests.support.postgres import CuttingProxy, TestServer

CUTS = 120
KILLS = 5


@pytest.fixture
def location(server: TestServer) -> str:
    """Where this test's log is."""
    return f"{server.new_location()}#project/session"


class TestPostgresLog(LogContract):
    """Rows of a server; with and without waiting for its disk."""

    @pytest.fixture(params=["fsync", "write"])
    def open_log(self, location: str, server: TestServer, request: pytest.FixtureRequest) -> Iterator[OpenLog]:
        opened: list[PostgresLog] = []
        self.server, self.schema = server, schema_of(location)

        def another() -> Log:
            opened.append(PostgresLog(location, durability=request.param))
            return opened[-1]

        yield another
        for log in opened:
            log.close()

    def tamper(self, log: Log, old: bytes, new: bytes) -> bool:
        if old:
            change = "update {}.record set line = decode(replace(encode(line, 'hex'), %s, %s), 'hex')"
            self.server.execute(change.format(self.schema), old.hex(), new.hex())
        return True


@pytest.fixture
def proxy(server: TestServer) -> Iterator[CuttingProxy]:
    """A way to the server that can be cut."""
    cutting = CuttingProxy(server.socket_path)
    yield cutting
    cutting.close()


def schema_of(location: str) -> str:
    """The schema that a location names."""
    return location.rpartition("schema=")[2].partition("#")[0]


def assert_is(log: Log, expected: list[int]) -> None:
    """A log holds these messages, each once, in this order, and its chain is sound."""
    assert numbers(log) == expected
    assert log.index.damage == []


def test_a_location_opens_a_log_in_postgres(location: str) -> None:
    """The factory knows it by its form."""
    log = open_log(location)
    append(log, 1)
    assert isinstance(log, PostgresLog)
    assert log.describe().location.endswith("#project/session")
    log.close()


def test_connections_are_cut_anywhere(proxy: CuttingProxy, location: str) -> None:
    """Whatever the number of bytes after which it breaks, a message is stored once and acknowledged, in order."""
    rng, expected = random.Random(7), []
    cut, direct = PostgresLog(proxy.location(location), lock_timeout_s=60), PostgresLog(location)
    for number in range(0, 2 * CUTS, 2):
        if rng.random() < 0.5:
            proxy.cut_after = rng.randrange(1, 1500)
        else:
            proxy.cut_answers_after = rng.randrange(1, 400)
        if number % 8 == 0:
            append(direct, number)
            expected.append(number)
        elif number % 50 == 2:
            append_bodies(cut, *reset_bodies(f"r{number}", body(number)))
            expected = [number]
        else:
            append(cut, number)
            expected.append(number)
    proxy.cut_after = proxy.cut_answers_after = None
    fresh = PostgresLog(location)
    for log in (fresh, cut, direct):
        assert_is(log, expected)
        log.close()
    assert proxy.cuts > CUTS // 4
    print(f"connections cut: {proxy.cuts}, acknowledged: {len(expected)}, lost: 0")


def test_the_server_is_killed_under_writers(server: TestServer, location: str) -> None:
    """What was acknowledged is there after each crash, once; who was waiting goes on by itself."""
    acknowledged: list[list[int]] = [[], []]
    failures: list[Exception] = []
    stop = threading.Event()

    def write(which: int) -> None:
        log, number = PostgresLog(location, lock_timeout_s=60), 100_000 * which
        while not stop.is_set():
            try:
                append(log, number)
            except Exception as error:  # reported below
                failures.append(error)
                return
            acknowledged[which].append(number)
            number += 1
        log.close()

    writers = [threading.Thread(target=write, args=(which,)) for which in range(2)]
    for writer in writers:
        writer.start()
    for kill in range(KILLS):
        threading.Event().wait(0.1 * kill)
        server.kill()
        server.start()
    stop.set()
    for writer in writers:
        writer.join()
    assert not failures
    fresh = PostgresLog(location)
    stored = numbers(fresh)
    assert fresh.index.damage == []
    assert [n for n in stored if n < 100_000] == acknowledged[0]
    assert [n for n in stored if n >= 100_000] == acknowledged[1]
    assert min(map(len, acknowledged)) > 0
    fresh.close()
    print(f"servers killed: {KILLS}, acknowledged: {len(stored)}, lost: 0")


def test_a_server_that_stays_away_is_an_error_in_time(server: TestServer, location: str) -> None:
    """Nothing was sent, so nothing is stored; the next append works without any repair."""
    log = PostgresLog(location, lock_timeout_s=0.5)
    append(log, 1)
    server.kill()
    with pytest.raises((AppendError, LogFailedError)):
        append(log, 2)
    server.start()
    append(log, 3)
    assert [n for n in numbers(log) if n != 2] == [1, 3]
    log.close()


def test_a_log_that_is_removed_is_no_new_session(server: TestServer, location: str) -> None:
    """It is an error, not an empty log."""
    log = PostgresLog(location)
    append(log, 1, 2, 3)
    server.execute(f"delete from {schema_of(location)}.log")
    with pytest.raises(LogUnreadableError, match="removed"):
        log.follow()
    log.close()


def test_a_server_that_went_back_has_lost_messages(server: TestServer, location: str) -> None:
    """As after a failover to one that lagged: every handle counts what is gone, and goes on after what is there."""
    log, other = PostgresLog(location), PostgresLog(location)
    for number in range(5):
        append(log, number)
    other.follow()
    before = PostgresLog(location)
    before.follow()
    schema, (line,) = schema_of(location), [line for _, line in before.lines([2])]
    size, crc = sum(map(len, list(before.records())[:3])), int(line[-10:-2], 16)
    server.execute(f"delete from {schema}.record where seq >= 3")
    server.execute(f"update {schema}.log set head = 3, size = %s, crc = %s", size, crc)
    append(log, 7)
    assert numbers(other) == numbers(log) == [0, 1, 2, 7]
    assert (log.describe().lost_messages, other.describe().lost_messages) == (2, 2)
    for one in (log, other, before):
        one.close()


def test_tables_that_are_not_there_are_named(server: TestServer) -> None:
    """The error says which command makes them."""
    log = PostgresLog(f"{server.server.get_uri()}&schema=nowhere#s", lock_timeout_s=1)
    with pytest.raises(LogUnreadableError, match="storage init"):
        log.follow()


def test_newer_tables_are_refused(server: TestServer, location: str) -> None:
    """Nothing is read or written."""
    schema = schema_of(location)
    server.execute(f"update {schema}.version set number = 99")
    with pytest.raises(LogUnreadableError, match="newer"):
        append(PostgresLog(location, lock_timeout_s=1), 1)


def test_a_server_that_syncs_nothing_is_refused_for_fsync(server: TestServer, location: str) -> None:
    """The weaker level works."""
    server.execute("alter role postgres set synchronous_commit = off")
    try:
        with pytest.raises(AppendError, match="synchronous_commit"):
            append(PostgresLog(location), 1)
        append(PostgresLog(location, durability="write"), 1)
    finally:
        server.execute("alter role postgres reset synchronous_commit")


def test_the_lines_are_those_of_a_file(tmp_path: Path, location: str) -> None:
    """Written to a file, they are a sound log with the same index."""
    log = PostgresLog(location)
    append(log, 1, 2)
    append_bodies(log, *reset_bodies("r", body(3)))
    path = str(tmp_path / "log.jsonl")
    write_file(path, b"".join(log.records()))
    file = FileLog(path)
    assert findings(path) == []
    assert numbers(file) == numbers(log) == [3]
    assert list(file.index.offsets) == list(log.index.offsets)
    file.close()
    log.close()
