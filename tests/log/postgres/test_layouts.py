"""The layouts of the tables: one log for each name, sessions that move between layouts, and what a purge leaves."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from amplifier_module_context_persistent import LogUnreadableError
from amplifier_module_context_persistent.log.postgres import archive_frames, ranked_rows, server_connections
from amplifier_module_context_persistent.log.postgres.archive_stored_log import archive_stored_log
from amplifier_module_context_persistent.log.postgres.layout import LAYOUTS, id_of
from amplifier_module_context_persistent.log.postgres.list_logs import delete_stored_log
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.copy_log import copy_log
from tests.support.logs import STAMP, append, append_bodies, numbers, reset_bodies
from tests.support.logs import body as message
from tests.support.postgres import IN_PARTS, NEW, OLD, TestServer, every_kind, id_in_sql
from tests.support.sweeps import proof, some

STARTER = """
import sys, time
from contextlib import closing
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from tests.support.logs import append
storage, number = sys.argv[1], int(sys.argv[2])
with closing(PostgresLog(f"{storage}#started")) as kept:  # it keeps the connection
    append(kept, number)
    print("ready", flush=True)
    for line in sys.stdin:
        name, begin = line.split()
        with closing(PostgresLog(f"{storage}#{name}")) as log:
            while time.time() < float(begin):
                pass
            append(log, number)
        print("done", flush=True)
"""
"""Starts each session that it is told of at the moment that it is told, and appends its own number."""


@contextmanager
def starters(storage: str, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that start sessions."""
    with ExitStack() as stack:
        found = list[subprocess.Popen[str]]()
        for number in range(count):
            command = [sys.executable, "-c", STARTER, storage, str(number)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            found.append(process)
        yield found
        for process in found:
            assert process.stdin is not None
            process.stdin.close()


def answers(processes: list[subprocess.Popen[str]]) -> set[str]:
    """A line of each."""
    return {process.stdout.readline() for process in processes if process.stdout is not None}


def race(server: TestServer, *, processes: int, rounds: int) -> None:
    """Let processes start the same sessions at the same moments: each session has one log with a message of each."""
    storage = server.new_location()
    with starters(storage, processes) as racers:
        assert answers(racers) == {"ready\n"}
        for number in range(rounds):
            begin = time.time() + 0.01
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write(f"p/s{number} {begin}\n")
                racer.stdin.flush()
            assert answers(racers) == {"done\n"}
    schema = storage.rpartition("=")[2]
    made = server.execute(f"select name, count(*) from {schema}.log where name like 'p/%%' group by name")
    assert sorted(made) == sorted((f"p/s{number}", 1) for number in range(rounds))
    for number in range(rounds):
        with closing(PostgresLog(f"{storage}#p/s{number}", trusting=False)) as log:
            log.follow()
            assert sorted(numbers(log)) == list(range(processes))
            assert log.index.damage == []


@proof
def test_two_processes_that_start_one_session_make_one_log(server: TestServer) -> None:
    """The primary key decides who comes first."""
    race(server, processes=2, rounds=some(10))


@proof
def test_eight_processes_that_start_one_session_make_one_log(server: TestServer) -> None:
    """200 times."""
    race(server, processes=8, rounds=200)


def test_the_id_of_a_log_can_be_computed_in_sql(server: TestServer) -> None:
    """From its name, whatever characters it has."""
    for name in ("-home-u/s1", "größer 中文", ""):
        assert server.execute(f"select {id_in_sql('%s::text')}", name) == [(UUID(id_of(name)),)]


def test_a_session_moves_between_all_layouts(server: TestServer, tmp_path: Path) -> None:
    """Byte for byte, and it goes on there."""
    places = [f"{server.new_location(tables)}#p/s" for tables in (OLD, NEW, IN_PARTS, OLD)]
    with closing(PostgresLog(places[0])) as log:
        append(log, *range(100))
        append_bodies(log, *reset_bodies("r", message(3)))
        append(log, 101)
        expected = numbers(log)
    for source, target in pairwise(places):
        copy_log(source, target)
        assert verify_log(target).is_sound
    for number, place in enumerate(places):
        copy_log(place, str(tmp_path / f"{number}.jsonl"))
        with closing(PostgresLog(place)) as log:
            append(log, 102)
            assert numbers(log) == [*expected, 102]
    assert len({(tmp_path / f"{number}.jsonl").read_bytes() for number in range(len(places))}) == 1


def test_a_client_that_knows_no_derived_ids_refuses_new_tables(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so as it connects, and nothing is written."""
    storage = server.new_location(NEW)
    monkeypatch.setattr(server_connections, "LAYOUTS", {2: LAYOUTS[2]})
    monkeypatch.setattr(server_connections, "SCHEMA_VERSION", 2)
    with closing(PostgresLog(f"{storage}#s")) as log, pytest.raises(LogUnreadableError, match="newer: update"):
        append(log, 1)
    assert server.execute(f"select name from {storage.rpartition('=')[2]}.log") == []


@every_kind
def test_a_log_that_is_deleted_and_begun_anew_is_another_one(storage: str) -> None:
    """Who has it open reads the new one, reports no loss, and goes on in it."""
    location = f"{storage}#p/s"
    with closing(PostgresLog(location)) as log, closing(PostgresLog(f"{storage}&application_name=b#p/s")) as other:
        append(log, 1, 2)
        log.follow()
        delete_stored_log(location, log.describe().size_bytes)
        append(other, 3)
        log.follow()
        assert numbers(log) == [3]
        append(log, 4)
        assert numbers(log) == [3, 4]
        assert log.describe().lost_messages == 0
    assert verify_log(location).is_sound


@every_kind
def test_words_of_a_purged_message_are_not_kept_for_what_the_purge_left(server: TestServer, storage: str) -> None:
    """A process that read the log before keeps nothing, though the log still has its name."""
    location, schema = f"{storage}#p/s", storage.rpartition("=")[2]
    with closing(PostgresLog(location)) as log, ranked_rows.ranked_server(storage, 1) as ranked:
        append(log, *range(5))
        append_bodies(log, *reset_bodies("r", message(7)))
        known = ranked.logs(["p/s"])["p/s"]
        purge_log(location, Purge(cleared=True), now=lambda: STAMP)
        assert ranked.keep(known, [ranked_rows.RankedRow(0, 0, 0, [5], b"x")], 10) is None
        assert server.execute(f"select count(*) from {schema}.ranked_message") == [(0,)]
        assert ranked.keep(ranked.logs(["p/s"])["p/s"], [ranked_rows.RankedRow(0, 0, 0, [5], b"x")], 10) is not None


@every_kind
def test_a_purge_leaves_nothing_of_what_was_kept(server: TestServer, storage: str) -> None:
    """Neither an entry of a list nor figures nor words nor frames, nor lines of an earlier generation."""
    location, schema = f"{storage}#p/s", storage.rpartition("=")[2]
    with closing(PostgresLog(location)) as log:
        append(log, *range(50))
        append_bodies(log, *reset_bodies("r", message(99)))
    archive_stored_log(location)
    with ranked_rows.ranked_server(storage, 1) as ranked:
        ranked.keep(ranked.logs(["p/s"])["p/s"], [ranked_rows.RankedRow(0, 0, 0, [5], b"x")], 10)
    server.execute(f"insert into {schema}.glance select log_id, size, 'x', 0 from {schema}.log")
    server.execute(f"insert into {schema}.figures select log_id, size, 'x', ''::bytea from {schema}.log")
    purge_log(location, Purge(cleared=True), now=lambda: STAMP)
    for table in ("glance", "figures", "ranked_log", "ranked_message", "frame"):
        assert server.execute(f"select count(*) from {schema}.{table}") == [(0,)]
    ((names, lines, head),) = server.execute(
        f"select array_agg(name), (select count(*) from {schema}.record), sum(head)::int from {schema}.log"
    )
    assert (names, lines) == (["p/s"], head)


@every_kind
def test_frames_of_a_later_generation_are_no_damage(
    storage: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A reader for which the log was purged and archived again in the middle of its reading reads it anew."""
    location = f"{storage}#p/s"
    with closing(PostgresLog(location)) as log:
        append(log, *range(50))
        append_bodies(log, *reset_bodies("r", message(99)))
    archive_stored_log(location)
    really, changed = archive_frames.read_packed, list[bool]()

    def purging(*arguments: object) -> bytes | None:
        if not changed:
            changed.append(True)
            purge_log(location, Purge(cleared=True), now=lambda: STAMP)
            archive_stored_log(location)
        return really(*arguments)  # type: ignore[arg-type]  # what it was called with

    with closing(PostgresLog(f"{storage}&application_name=b#p/s", trusting=False)) as reader:
        monkeypatch.setattr(archive_frames, "read_packed", purging)
        reader.follow()
        assert numbers(reader) == [99]
        assert reader.damaged_frames() == []
    assert changed
    assert "damaged" not in caplog.text
