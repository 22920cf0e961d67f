"""The statement of a single append: how it is prepared, and that it waits for the disk whatever the server says."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace

import pytest

from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.server_connections import using
from tests.support.logs import append, append_bodies, body, numbers
from tests.support.postgres import TestServer, every_kind
from tests.support.sweeps import proof


@pytest.fixture
def noted(server: TestServer, storage: str) -> str:
    """A schema that notes for each line how its transaction is committed."""
    schema = parse_location(storage).schema
    server.execute(f"""
        create table {schema}.noted (seq bigint, level text);
        create function {schema}.note() returns trigger language plpgsql as $$ begin
            insert into {schema}.noted values (new.seq, pg_catalog.current_setting('synchronous_commit'));
            return new;
        end $$;
        create trigger note after insert on {schema}.record for each row execute function {schema}.note()
    """)
    return schema


def levels(server: TestServer, schema: str) -> list[str]:
    return [level for (level,) in server.execute(f"select level from {schema}.noted order by seq")]


@proof
def test_a_durable_append_waits_whatever_the_server_says(server: TestServer, storage: str, noted: str) -> None:
    """The setting is `off` for the role, or turned off and on again under an open connection."""
    with closing(PostgresLog(f"{storage}#s")) as log:
        append(log, 0)
        append(log, 1)
        for place, setting in ((2, "off"), (4, "on")):
            server.execute(f"alter system set synchronous_commit = {setting}")
            server.execute("select pg_reload_conf()")
            with using(log.location) as own, own.connected(time.monotonic() + 10) as connection:
                while connection.execute("show synchronous_commit").fetchone() != (setting,):
                    time.sleep(0.01)
            append(log, place)
            append(log, place + 1)
        assert numbers(log) == [0, 1, 2, 3, 4, 5]
    server.execute("alter system reset synchronous_commit")
    server.execute("select pg_reload_conf()")
    assert levels(server, noted) == ["on"] * 6
    with closing(PostgresLog(f"{storage}&options=-csynchronous_commit%3Doff#t")) as log:
        append(log, 0)
        append(log, 1)
    assert levels(server, noted) == ["on"] * 8


def test_an_append_that_need_not_wait_does_not(server: TestServer, storage: str, noted: str) -> None:
    """`durability: write` leaves the disk to the server."""
    with closing(PostgresLog(f"{storage}#s", durability="write")) as log:
        append(log, 0)
        append(log, 1)
    assert levels(server, noted) == ["off"] * 2


def test_appends_of_all_sizes_are_one_prepared_statement(storage: str) -> None:
    """Its numbers grow; the server plans it once, and behind a pooler without prepared statements not at all."""
    for options, expected in (("", 1), ("&prepare=off", 0)):
        with closing(PostgresLog(f"{storage}{options}#s")) as log:
            for number in range(20 * expected, 20 * expected + 20):
                append_bodies(log, body(number, text="x" * 3**number if number < 10 else ""))
            with using(log.location) as own, own.connected(time.monotonic() + 10) as connection:
                asked = "select count(*) from pg_prepared_statements where statement like '%insert into%record%'"
                assert connection.execute(asked).fetchone() == (expected,)


@every_kind
def test_an_append_finds_the_logs_row_by_its_place(storage: str) -> None:
    """So it passes no old versions of the row, which the server keeps as long as another transaction is open."""
    with closing(PostgresLog(f"{storage}#s")) as log:
        for number in range(4):
            append(log, number)
        assert log.head is not None
        with using(log.location) as own, own.connected(time.monotonic() + 10) as connection:
            asked = "select name, parameter_types::text from pg_prepared_statements where statement like %s"
            ((name, types),) = connection.execute(asked, ["%insert into%record%"]).fetchall()
            connection.execute("set plan_cache_mode = force_generic_plan")
            values = f"'{log.head.log_id}'" + ", null" * types.count(",")
            plan = connection.execute(f'explain execute "{name}" ({values})'.encode()).fetchall()
    read = [line for (line,) in plan if "Scan" in line and " log" in line]
    assert read
    assert all("Tid Scan" in line for line in read)


def test_an_append_whose_row_was_moved_is_stored_once(server: TestServer, storage: str) -> None:
    """The table is written anew, or another log's row is at the place; the next appends go by the new place."""
    schema = parse_location(storage).schema
    with closing(PostgresLog(f"{storage}#a")) as log, closing(PostgresLog(f"{storage}#b")) as other:
        append(log, 0, 1)
        append(other, 0)
        server.execute(f"vacuum full {schema}.log")
        append(log, 2)
        append_bodies(log, body(3), body(4))
        assert log.head is not None
        assert log.head.place == place_of(server, schema, "a")
        log.head = replace(log.head, place=place_of(server, schema, "b"))
        append(log, 5)
        log.head = replace(log.head, place=place_of(server, schema, "b"))
        append_bodies(log, body(6), body(7))
        append(log, 8)
        assert log.head.place == place_of(server, schema, "a")
        assert numbers(log) == list(range(9))
        assert numbers(other) == [0]


def place_of(server: TestServer, schema: str, name: str) -> str:
    ((place,),) = server.execute(f"select ctid::text from {schema}.log where name = %s", name)
    return str(place)


def test_a_server_without_places_of_rows_stores_as_well(server: TestServer, storage: str) -> None:
    """As engines that store rows by their keys; here the table is a view, which has none either."""
    schema = parse_location(storage).schema
    server.execute(f"alter table {schema}.log rename to kept; create view {schema}.log as select * from {schema}.kept")
    with closing(PostgresLog(f"{storage}#a")) as log, closing(PostgresLog(f"{storage}#a")) as other:
        append(log, 0, 1)
        append(other, 2)
        append_bodies(log, body(3), body(4))
        append(log, 5)
        assert log.head is not None
        assert log.head.place == ""
        assert numbers(log) == list(range(6))
