"""The statement of a single append: how it is prepared, and that it waits for the disk whatever the server says."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.postgres.log import PostgresLog
from amplifier_module_context_persistent.log.postgres.server import using
from tests.support.logs import append, append_bodies, body, numbers
from tests.support.postgres import TestServer
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
