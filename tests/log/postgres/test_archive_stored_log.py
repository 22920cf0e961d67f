"""Archived logs in a database: the same lines before, while and after; a killed client leaves one of both whole."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import AppendError, ArchiveError, LogUnreadableError
from amplifier_module_context_persistent.log.database_location import location_of, parse_location
from amplifier_module_context_persistent.log.open_log import new_log
from amplifier_module_context_persistent.log.open_reader import open_reader
from amplifier_module_context_persistent.log.postgres import archive_stored_log as module
from amplifier_module_context_persistent.log.postgres import connection as connections
from amplifier_module_context_persistent.log.postgres import migration_steps
from amplifier_module_context_persistent.log.postgres.archive_stored_log import (
    archive_stored_log,
    bring_back_stored_log,
    estimate_stored,
)
from amplifier_module_context_persistent.log.postgres.list_logs import delete_stored_log
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.schema import create_schema
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.archives import HEADER, random_text
from tests.support.logs import STAMP, append, body, kept, number_of, numbers, reset_bodies, sealed
from tests.support.postgres import IN_PARTS, TestServer, every_kind, in_parts_too
from tests.support.sweeps import proof, whole

FEW, MANY = 12, 150  # lines that are read at once, and so many that their columns are


@pytest.fixture
def location(storage: str) -> str:
    """Where this test's log is."""
    return f"{storage}#project/session"


@pytest.fixture(autouse=True)
def _small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small log has many frames."""
    monkeypatch.setattr(module, "FRAME_BYTES", 1500)
    monkeypatch.setattr(module, "LEAST_FRAME_BYTES", 500)


def fill(location: str, content: bytes) -> bytes:
    """Store a log with some bytes."""
    with new_log(location) as new:
        for line in content.splitlines(keepends=True):
            new.write(line)
        new.finish()
    return content


def numbered(count: int, start: int = 0) -> bytes:
    return b"".join(sealed([HEADER, *(body(number, text=random_text(number)) for number in range(start, count))]))


def strange(count: int) -> bytes:
    """A log with a plan, a reset, damaged lines, bytes that are no text, and no LF at its end."""
    bodies = [HEADER, *(body(number, text=random_text(number)) for number in range(count))]
    bodies.insert(5, encode_control("plan", upto="id-2"))
    bodies += reset_bodies("r1", kept([0, 1, 2]), upto=f"id-{count - 1}")
    lines = sealed(bodies)
    lines[7] = b"\xff\xfe no record\n"
    lines[9] = b"\n"
    return b"".join(lines).removesuffix(b"\n")


def rows_of(server: TestServer, location: str, table: str = "record") -> list[tuple[Any, ...]]:
    schema = parse_location(location).schema
    return server.execute(f"select * from {schema}.{table} order by log_id, seq")


def bytes_of(location: str) -> bytes:
    with closing(open_reader(location)) as reader:
        reader.follow()
        return b"".join(reader.stored_bytes())  # type: ignore[attr-defined]  # every log that lies somewhere has them


def index_of(location: str, *, trusting: bool = True) -> tuple[Any, ...]:
    with closing(open_reader(location, trusting=trusting)) as reader:
        reader.follow()
        index = reader.index
        found = [(one.kind, one.line, one.offset) for one in index.damage]
        return (
            list(index.live),
            list(index.columns.offsets),
            list(index.columns.checks),
            dict(index.control_counts),
            found,
        )


@proof(quick=2)
@pytest.mark.parametrize("make", [numbered, strange])
@pytest.mark.parametrize("count", [FEW, MANY])
def test_an_archived_log_reads_as_before_and_comes_back_byte_for_byte(
    make: Callable[[int], bytes], count: int, location: str, server: TestServer
) -> None:
    """Its rows become frames, which say the same; undone, each row is what it was, with its columns."""
    content = fill(location, make(count))
    before, rows = index_of(location), rows_of(server, location)
    done = archive_stored_log(location)
    assert rows_of(server, location) == []
    assert len(rows_of(server, location, "frame")) > 2
    assert done.bytes_after < done.bytes_before == len(content) + (not content.endswith(b"\n"))
    assert bytes_of(location) == content
    assert index_of(location) == index_of(location, trusting=False) == before
    assert estimate_stored(location).is_archived
    with pytest.raises(ArchiveError, match="archived already"):
        archive_stored_log(location)
    bring_back_stored_log(location)
    assert rows_of(server, location) == rows
    assert rows_of(server, location, "frame") == []
    with pytest.raises(ArchiveError, match="not archived"):
        bring_back_stored_log(location)


@every_kind
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=proof)])
def test_a_session_goes_on_behind_its_frames(count: int, location: str, server: TestServer) -> None:
    """Nothing is brought back for an append; what it added is archived the next time, and undone with the rest."""
    fill(location, numbered(count))
    archive_stored_log(location)
    frames = rows_of(server, location, "frame")
    with closing(PostgresLog(location)) as log:
        append(log, count, count + 1)
        assert numbers(log) == list(range(count + 2))
        assert not log.describe().archived
    assert rows_of(server, location, "frame") == frames
    assert len(rows_of(server, location)) == 2
    content = bytes_of(location)
    assert content.startswith(numbered(count))
    assert verify_log(location).is_sound
    assert estimate_stored(location).is_partly_archived
    archive_stored_log(location)
    assert rows_of(server, location, "frame")[: len(frames)] == frames
    assert bytes_of(location) == content
    bring_back_stored_log(location)
    assert bytes_of(location) == content
    assert verify_log(location).is_sound


@proof
def test_readers_go_on_when_the_log_is_archived_and_brought_back(location: str) -> None:
    """One that has it open finds each line where it is, without looking at the log anew."""
    fill(location, numbered(MANY))
    with closing(PostgresLog(location)) as log:
        log.follow()
        changes: list[Callable[[], Any]] = [
            lambda: archive_stored_log(location),
            lambda: bring_back_stored_log(location),
            lambda: archive_stored_log(location),
        ]
        for change in changes:
            change()
            log.bytes._kept.clear()  # else the lines come from memory
            assert [number_of(message) for message in log.read([3, 140, 77])] == [3, 140, 77]
            change_found = log.find_bytes(range(MANY), b"message 77", ignores_case=False)
            assert change_found == {77}
            index = log.index
            log.follow()
            assert log.index is index
        append(log, MANY)
        assert numbers(log) == list(range(MANY + 1))


@proof
def test_the_words_of_archived_lines_are_found(location: str) -> None:
    """As in rows: also without case, and where a line writes other characters by escapes."""
    fill(location, numbered(MANY))
    archive_stored_log(location)
    with closing(PostgresLog(location)) as log:
        log.follow()
        assert log.find_bytes(range(MANY), b"message 149", ignores_case=True) == {149}
        assert log.find_bytes([1, 2], b"message 149", ignores_case=False) == set()
        assert log.find_bytes(range(MANY), "é".encode(), ignores_case=False) == set()


def test_a_damaged_frame_costs_its_own_lines(
    location: str, server: TestServer, caplog: pytest.LogCaptureFixture
) -> None:
    """All others are read; verify names it; nobody brings the log back with it, and nothing is changed."""
    fill(location, numbered(MANY))
    archive_stored_log(location)
    schema = parse_location(location).schema
    server.execute(
        f"update {schema}.frame set packed = pg_catalog.set_byte(packed, 40, 255 - pg_catalog.get_byte(packed, 40))"
        f" where seq = (select seq from {schema}.frame order by seq offset 2 limit 1)"
    )
    with caplog.at_level(logging.ERROR):
        report = verify_log(location)
    assert "the archive is damaged: frame 3 of" in caplog.text
    assert {found.kind for found in report.damage} >= {"archive_frame"}
    assert 0 < MANY - report.live < 20
    frames = rows_of(server, location, "frame")
    with pytest.raises(ArchiveError, match="the archive is damaged: frame 3 of"):
        bring_back_stored_log(location)
    assert rows_of(server, location, "frame") == frames
    assert rows_of(server, location) == []


@proof(quick=1)
@pytest.mark.parametrize("what", ["described = 'x' || described", "row_columns = '\\x00'"])
def test_damage_beside_the_lines_costs_a_frame_at_most(what: str, location: str, server: TestServer) -> None:
    """Without its columns nothing is lost; without its description its own lines are."""
    fill(location, numbered(MANY))
    archive_stored_log(location)
    schema = parse_location(location).schema
    server.execute(
        f"update {schema}.frame set {what} where seq = (select seq from {schema}.frame order by seq offset 2 limit 1)"
    )
    report = verify_log(location)
    assert MANY - 20 < report.live <= MANY
    assert (report.live == MANY) == what.startswith("row_columns")
    of_frames = [found.detail for found in report.damage if found.kind in ("archive_frame", "columns")]
    assert [detail.partition(",")[0] for detail in of_frames] == ["frame 3 of 30"]
    with pytest.raises(ArchiveError, match="the archive is damaged: frame 3 of"):
        bring_back_stored_log(location)


@every_kind
def test_a_purge_of_an_archived_log_leaves_no_byte(location: str, server: TestServer) -> None:
    """Neither in frames nor in rows."""
    fill(location, numbered(FEW))
    archive_stored_log(location)
    purge_log(location, Purge(redact=lambda text: text.replace("message 7", "gone")), now=lambda: STAMP)
    assert rows_of(server, location, "frame") == []
    assert not any(b"message 7" in row[-1] for row in rows_of(server, location))
    assert len(rows_of(server, location)) == FEW + 2


@every_kind
def test_a_deletion_of_an_archived_log_takes_its_frames(location: str, server: TestServer) -> None:
    """With the log's row."""
    content = fill(location, numbered(FEW))
    archive_stored_log(location)
    delete_stored_log(location, len(content))
    assert rows_of(server, location, "frame") == []


@proof
def test_an_open_session_is_not_archived(location: str) -> None:
    """Nor one that was written to meanwhile."""
    with closing(PostgresLog(location, marks_open=True)) as log:
        append(log, *range(FEW))
        with pytest.raises(ArchiveError, match="is open"):
            archive_stored_log(location)
    archive_stored_log(location)


def test_a_log_that_was_written_to_meanwhile_is_not_archived(
    location: str, monkeypatch: pytest.MonkeyPatch, server: TestServer
) -> None:
    """Nothing is changed then."""
    fill(location, numbered(FEW))

    def parts(blocks: Iterator[module.Part], cut: Callable[..., Any] = module._parts) -> Iterator[module.Part]:
        yield from cut(blocks)
        with ThreadPoolExecutor() as others:  # this thread has the connection of the transaction
            others.submit(write).result()

    def write() -> None:
        with closing(PostgresLog(location)) as log:
            append(log, FEW)

    monkeypatch.setattr(module, "_parts", parts)
    with pytest.raises(ArchiveError, match="by another client"):
        archive_stored_log(location)
    assert rows_of(server, location, "frame") == []
    assert len(rows_of(server, location)) == FEW + 2


def test_what_is_missing_is_told(storage: str, server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that is not there; tables that cannot hold archived logs, with which sessions go on."""
    with pytest.raises(LogUnreadableError, match="no such log"):
        archive_stored_log(f"{storage}#nobody")
    schema = f"{parse_location(storage).schema}_old"
    with monkeypatch.context() as patch:
        patch.setattr(
            migration_steps,
            "STEPS",
            tuple(step for step in migration_steps.STEPS if step.name != migration_steps.ARCHIVE),
        )
        create_schema(server.connection, schema)
    location = f"{storage.rpartition('=')[0]}={schema}#s"
    fill(location, numbered(FEW))
    with closing(PostgresLog(location)) as log:
        append(log, FEW)
    with pytest.raises(ArchiveError, match="storage init --migrate"):
        archive_stored_log(location)
    with closing(PostgresLog(location)) as log:  # opened before the tables got it, and archived after
        log.follow()
        create_schema(server.connection, schema)
        with monkeypatch.context() as patch:
            patch.setattr("amplifier_module_context_persistent.log.postgres.server_connections._SERVERS", {})
            archive_stored_log(location)
        log.bytes._kept.clear()  # else the lines come from memory
        assert numbers(log) == list(range(FEW + 1))


def test_a_client_without_frames_refuses_an_archived_log(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As older ones do: it says that lines are not there, and stores nothing."""
    fill(location, numbered(FEW))
    archive_stored_log(location)
    with monkeypatch.context() as patch:
        patch.setattr(
            migration_steps,
            "STEPS",
            tuple(step for step in migration_steps.STEPS if step.name != migration_steps.ARCHIVE),
        )
        patch.setattr("amplifier_module_context_persistent.log.postgres.server_connections._SERVERS", {})
        with closing(PostgresLog(location)) as log:
            with pytest.raises(LogUnreadableError, match="line 1 is not in the database"):
                log.follow()
            with pytest.raises(LogUnreadableError, match="line 1 is not in the database"):
                append(log, FEW)
    assert bytes_of(location) == numbered(FEW)


def test_a_role_that_may_append_goes_on_in_an_archived_log(location: str, server: TestServer) -> None:
    """It needs no right of a purge for that; to archive it would."""
    storage, schema, role = location.partition("#")[0], parse_location(location).schema, "appender"
    fill(location, numbered(FEW))
    archive_stored_log(location)
    server.execute(f"drop role if exists {role}")
    server.execute(f"create role {role} login")
    from amplifier_module_context_persistent.log.postgres.role_rights import rights

    try:
        server.execute(rights(migration_steps.APPEND, schema, role))
        theirs = location_of(f"{storage}&user={role}", parse_location(location).name)
        with closing(PostgresLog(theirs)) as log:
            append(log, FEW)
            assert numbers(log) == list(range(FEW + 1))
        for change in (archive_stored_log, bring_back_stored_log):
            with pytest.raises(AppendError, match="--grant-purge"):
                change(theirs)
    finally:
        server.execute(f"drop owned by {role}")
        server.execute(f"drop role {role}")


def killed_at(number: int, operation: Callable[[], Any], *, sent: bool) -> bool:
    """Run an operation in a child that is killed at its n-th statement, before or after it is sent; whether it was."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    left = number

    def until(generator: Generator[Any, Any, Any], deadline: float) -> Generator[Any, Any, Any]:
        nonlocal left
        left -= 1
        if not left and sent:
            with suppress(StopIteration):
                next(generator)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return (yield from original(generator, deadline))

    original, connections.until = connections.until, until
    with suppress(BaseException):
        operation()
    os._exit(0)


@in_parts_too
@proof(quick=1)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
@pytest.mark.parametrize("sent", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("change", [archive_stored_log, bring_back_stored_log])
def test_a_killed_client_leaves_the_log_whole(
    change: Callable[[str], Any], location: str, server: TestServer, request: pytest.FixtureRequest, *, sent: bool
) -> None:
    """Whenever it is killed: all lines are rows, or all are in frames, and the next client does it."""
    tries_all = whole() and request.node.callspec.params["storage"] != IN_PARTS
    content = fill(location, numbered(FEW))
    if change is bring_back_stored_log:
        archive_stored_log(location)
    number, killed, done = 1, 0, 0
    while killed_at(number, lambda: change(location), sent=sent):
        killed += 1
        assert bytes_of(location) == content
        counts = len(rows_of(server, location)), len(rows_of(server, location, "frame")) > 0
        assert counts in ((FEW + 1, False), (0, True))
        if estimate_stored(location).is_archived == (change is archive_stored_log):
            done += 1
            (bring_back_stored_log if change is archive_stored_log else archive_stored_log)(location)
        number += 1 if tries_all else 10
    assert killed >= (5 if tries_all else 2)
    assert done <= 1  # the commit was sent


@in_parts_too
@proof
def test_killed_servers_and_cut_connections_leave_the_log_whole(location: str, server: TestServer) -> None:
    """A server that dies in the middle of it has rolled it back."""
    content = fill(location, numbered(FEW))
    for _ in range(3):
        server.kill()
        server.start()
        archive_stored_log(location)
        assert bytes_of(location) == content
        server.kill()
        server.start()
        bring_back_stored_log(location)
        assert bytes_of(location) == content
