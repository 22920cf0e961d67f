"""Logs in PostgreSQL: the contract, broken connections, killed servers, several writers, and what a server refuses."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent import AppendError, FileLog, LogFailedError, LogUnreadableError
from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.database_location import split_location
from amplifier_module_context_persistent.log.open_log import open_log
from amplifier_module_context_persistent.log.postgres.list_logs import logs_with_word
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.log_contract import LogContract, OpenLog
from tests.support.logs import append, append_bodies, body, findings, numbers, reset_bodies, write_file
from tests.support.postgres import IN_PARTS, TestServer, in_parts_too, installed_binaries, running_server
from tests.support.postgres_proofs import prove_cuts, prove_kills
from tests.support.sweeps import proof, whole

CUTS = 40 if whole() else 10
FEWER_CUTS = 15
KILLS = 2
"""A sample; `python -m tests.support.postgres_proofs` runs all of them."""
kinds_of_tables = pytest.mark.parametrize("tables", ["", IN_PARTS], ids=["whole", "in parts"])


@pytest.fixture
def location(server: TestServer) -> str:
    """Where this test's log is."""
    return f"{server.new_location()}#project/session"


class TestPostgresLog(LogContract):
    """Rows of a server; with and without waiting for its disk."""

    kept_bytes = 0

    @pytest.fixture(params=["fsync", pytest.param("write", marks=proof)])
    def open_log(
        self, location: str, server: TestServer, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[OpenLog]:
        monkeypatch.setattr("amplifier_module_context_persistent.log.postgres.row_bytes.KEPT_BYTES", self.kept_bytes)
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


class TestPostgresLogThatKeepsLines(TestPostgresLog):
    """The same with lines in memory, few enough that some are fetched again."""

    kept_bytes = 300

    def tamper(self, log: Log, old: bytes, new: bytes) -> bool:
        return False  # what is kept is what was read before


def schema_of(location: str) -> str:
    """The schema that a location names."""
    return location.rpartition("schema=")[2].partition("#")[0]


def test_a_location_opens_a_log_in_postgres(location: str) -> None:
    """The factory knows it by its form."""
    with closing(open_log(location)) as log:
        append(log, 1)
        assert isinstance(log, PostgresLog)
        assert log.describe().location.endswith("#project/session")


@proof
@kinds_of_tables
def test_connections_are_cut_anywhere(tables: str, server: TestServer) -> None:
    """In appends, resets and purges: what was acknowledged is stored once, in order; what a purge removed is gone."""
    prove_cuts(server, FEWER_CUTS if tables else CUTS, tables=tables)


@proof
@kinds_of_tables
def test_the_server_is_killed_under_writers(tables: str, server: TestServer) -> None:
    """What was acknowledged is there after each crash, once; who was waiting goes on by itself."""
    prove_kills(server, KILLS, tables=tables)


@proof
def test_an_installed_server_is_cut_and_killed() -> None:
    """The same on the oldest server that this machine has."""
    with running_server(installed_binaries()) as server:
        prove_cuts(server, FEWER_CUTS)
        prove_kills(server, KILLS)


@proof
@in_parts_too
def test_a_server_that_is_rolled_back_has_lost_messages(server: TestServer, storage: str) -> None:
    """Its directory is replaced by an older copy under open clients: each of them says what is gone, and goes on."""
    location = f"{storage}#project/session"
    writer, reader = PostgresLog(location, lock_timeout_s=60), PostgresLog(location, lock_timeout_s=60)
    append(writer, *range(100))
    server.kill()
    server.keep_copy()
    server.start()
    append(writer, *range(100, 107))
    assert len(numbers(reader)) == 107
    server.kill()
    server.restore_copy()
    server.start()
    append(writer, 200)
    for log in (writer, reader):
        assert numbers(log) == [*range(100), 200]
        assert (log.describe().lost_messages, log.index.damage) == (7, [])
        log.close()


@proof
def test_a_server_that_stays_away_is_an_error_in_time(server: TestServer, location: str) -> None:
    """Nothing was sent, so nothing is stored; the next append works without any repair."""
    with closing(PostgresLog(location, lock_timeout_s=0.5)) as log:
        append(log, 1)
        server.kill()
        with pytest.raises((AppendError, LogFailedError)):
            append(log, 2)
        server.start()
        log.timeout_s = 30
        append(log, 3)
        assert [n for n in numbers(log) if n != 2] == [1, 3]


def test_a_log_that_is_removed_is_no_new_session(server: TestServer, location: str) -> None:
    """It is an error, not an empty log."""
    log = PostgresLog(location)
    append(log, 1, 2, 3)
    server.execute(f"delete from {schema_of(location)}.log")
    for _ in range(2):
        with pytest.raises(LogUnreadableError, match="removed"):
            log.follow()
        with pytest.raises(LogUnreadableError, match="removed"):
            append(log, 4)
    log.close()
    append(log, 5)  # who opens it now knows of no other
    assert numbers(log) == [5]
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


def test_a_line_that_is_not_what_its_row_says_is_found(server: TestServer, location: str) -> None:
    """The index is made from columns, so reading the line is an error; then the log is read line by line, as a file."""
    log = PostgresLog(location)
    append(log, *range(100))
    log.close()
    schema = schema_of(location)
    server.execute(f"update {schema}.record set line = overlay(line placing 'X' from 40) where seq = 50")
    log.follow()
    assert (len(log.index), log.index.damage) == (100, [])
    with pytest.raises(LogUnreadableError, match="changed"):
        list(log.read(range(100)))
    log.follow()
    assert [found.kind for found in log.index.damage] == ["checksum"]
    assert len(list(log.read(range(100)))) == 100
    log.close()


@proof(quick=2)
@pytest.mark.parametrize("column", ["role", "id_hash", "crc", "flags"])
def test_a_column_that_is_not_what_its_line_says_is_found(server: TestServer, location: str, column: str) -> None:
    """`verify` reads every line, and compares."""
    with closing(PostgresLog(location)) as log:
        append(log, *range(100))
    assert verify_log(location).is_sound
    server.execute(f"update {schema_of(location)}.record set {column} = {column} # 4 where seq = 50")
    report = verify_log(location)
    assert [found.kind for found in report.damage] == ["columns"]


@pytest.mark.parametrize("is_text", [True, False], ids=["text", "no text"])
def test_the_server_finds_the_logs_with_a_word(server: TestServer, location: str, is_text: bool) -> None:
    """In any case or as it is written, whatever bytes somebody put into a line."""
    with closing(PostgresLog(location)) as log:
        append(log, 1, 2)
        append_bodies(log, body(3, text="a Zyzzyva"))
    storage, name = split_location(location)
    if not is_text:
        server.execute(f"update {schema_of(location)}.record set line = line || '\\xff00'::bytea where seq = 0")
    assert logs_with_word(storage, b"zyzzyva", b"nowhere", ignores_case=True) == {name}
    assert logs_with_word(storage, b"missing", b"nowhere", ignores_case=True) == set()
    assert logs_with_word(storage, b"Zyzzyva", b"nowhere", ignores_case=False) == {name}
    assert logs_with_word(storage, b"zyzzyva", b"nowhere", ignores_case=False) == set()
    assert logs_with_word(storage, b"zyzzyva", b"Zyzz", ignores_case=False) == {name}


def test_a_row_that_is_missing_is_found(server: TestServer, location: str) -> None:
    """It is an error that says so, not a shorter session."""
    log = PostgresLog(location)
    append(log, *range(100))
    log.close()
    server.execute(f"delete from {schema_of(location)}.record where seq = 50")
    with pytest.raises(LogUnreadableError, match="line 51 "):
        log.follow()
    log.close()


def test_tables_that_are_not_there_are_named(server: TestServer) -> None:
    """The error says which command makes them."""
    log = PostgresLog(f"{server.server.get_uri()}&schema=nowhere#s", lock_timeout_s=30)
    with pytest.raises(LogUnreadableError, match="storage init"):
        log.follow()


def test_newer_tables_are_refused(server: TestServer, location: str) -> None:
    """Nothing is read or written."""
    schema = schema_of(location)
    server.execute(f"update {schema}.version set number = 99")
    with pytest.raises(LogUnreadableError, match="newer"):
        append(PostgresLog(location, lock_timeout_s=30), 1)


def test_the_lines_are_those_of_a_file(tmp_path: Path, location: str) -> None:
    """Written to a file, they are a sound log with the same index."""
    with closing(PostgresLog(location)) as log:
        append(log, 1, 2)
        append_bodies(log, *reset_bodies("r", body(3)))
        path = str(tmp_path / "log.jsonl")
        write_file(path, b"".join(log.records()))
        with closing(FileLog(path)) as file:
            assert findings(path) == []
            assert numbers(file) == numbers(log) == [3]
            assert list(file.index.columns.offsets) == list(log.index.columns.offsets)
