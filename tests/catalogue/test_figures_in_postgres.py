"""What sessions in a database add up to is kept there: totals over many open none of which that is known."""

from __future__ import annotations

import asyncio
import zlib
from contextlib import closing

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue import figures_in_postgres
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from tests.support.commands import run
from tests.support.logs import append
from tests.support.postgres import TestServer
from tests.support.sweeps import proof

ASKED = (
    ("stats", "--all", "--json"),
    ("stats", "--all", "--by", "day", "--json", "--since", "2026-01-01"),
    ("sql", "select * from turns order by session, turn", "--all"),
)


@pytest.fixture
def schema(storage: str) -> str:
    """The schema of a storage with sessions that were written without keeping anything."""
    for number in range(5):
        with closing(PostgresLog(f"{storage}#-p{number % 2}/s{number}")) as log:
            append(log, *range(number + 1))
    return storage.rpartition("=")[2]


def answers(storage: str) -> list[str]:
    return [run(*asked, "--storage", storage).output for asked in ASKED]


def test_totals_open_no_session_that_is_known(server: TestServer, storage: str, schema: str) -> None:
    """The second time the lines are not read, and every answer is the same."""
    before = answers(storage)
    server.execute(f"create table {schema}.aside as select * from {schema}.record")
    server.execute(f"delete from {schema}.record")
    assert answers(storage) == before
    server.execute(f"insert into {schema}.record select * from {schema}.aside")
    with closing(PostgresLog(f"{storage}#-p0/s0")) as log:
        append(log, 7)
    assert answers(storage) != before  # that one has changed


def test_what_is_stopped_goes_on_where_it_was(
    server: TestServer, storage: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures are kept as they are added up, some at a time."""
    monkeypatch.setattr(figures_in_postgres, "_KEPT_AT_ONCE", 2)
    server.execute(
        f"delete from {schema}.record where log_id = (select log_id from {schema}.log where name = '-p1/s3')"
    )
    assert "could not be read" in run("stats", "--all", "--storage", storage).output
    assert server.execute(f"select count(*) from {schema}.figures") == [(4,)]


STRANGE = zlib.compress(b'{"is_fork":0,"rows":{"turns":[[1]],"calls":[],"requests":[],"plans":[]}}')


@proof(quick=1)
@pytest.mark.parametrize("told", [b"", b"x", STRANGE], ids=["empty", "other bytes", "other rows"])
def test_what_somebody_else_wrote_is_added_up_anew(told: bytes, server: TestServer, storage: str, schema: str) -> None:
    """Nor does a total break by it."""
    before = answers(storage)
    server.execute(f"update {schema}.figures set told = %b::bytea", told)
    assert answers(storage) == before


def test_a_session_is_added_up_as_it_closes(server: TestServer, storage: str) -> None:
    """A short one, and with a right to do so; tables of an older version go on without."""
    schema = storage.rpartition("=")[2]

    async def say(name: str) -> None:
        async with PersistentContextManager(storage=storage, session_id=name) as manager:
            await manager.add_message({"role": "user", "content": "hello"})

    asyncio.run(say("one"))
    assert server.execute(f"select count(*) from {schema}.figures") == [(1,)]
    assert server.execute(f"select octet_length(told) < 200 from {schema}.figures") == [(True,)]
    server.execute(f"drop table {schema}.figures")
    asyncio.run(say("two"))
    assert "2 sessions" in run("stats", "--all", "--storage", storage).output
