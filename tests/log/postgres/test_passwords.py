"""A password in a location is told nowhere: not by errors, nor by what caused them, nor by log records."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from tests.support.commands import run
from tests.support.logs import append
from tests.support.postgres import TestServer
from tests.support.sweeps import spread

SECRET = "tr0ub4" + "dor"
BEGINNING = "p@"
"""Of a password whose `@` was not written as %40."""


WRITTEN = [
    f"postgresql://agent:{SECRET}@127.0.0.1:1/agents",
    f"postgresql://agent:{BEGINNING}{SECRET}@127.0.0.1:1/agents",
    f"postgresql://agent:{SECRET}/x@127.0.0.1:1/agents",
    f"postgresql://agent:12/{SECRET}#x@127.0.0.1:1/agents",
    f"postgresql://agent:12/x#{SECRET}@127.0.0.1:1/agents",
    f"postgresql://agent:12#{SECRET}@127.0.0.1:1/agents",
    f"postgresql://agent:12,3/{SECRET}#x@127.0.0.1:1",
    f"postgresql://agent:12?{SECRET.replace('0', 'o').replace('4', 'a')}=x@127.0.0.1:1/agents",
    f"postgresql://agent:{SECRET}@127.0.0.1:1/agents?pgbouncer=true",
    f"postgresql://agent:{SECRET}@127.0.0.1:1/agents?sslmode=bogus",
    f"postgresql://agent:{SECRET}%zz@127.0.0.1:1/agents",
    f"postgresql://127.0.0.1:1/agents?user=agent&password={SECRET}",
    f"service=nosuch password={SECRET}",
]


@pytest.mark.parametrize("written", list(spread(WRITTEN, 3)))
def test_no_command_and_no_session_tells_a_password(written: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is wrong with the location or the server."""
    caplog.set_level(logging.DEBUG)
    for command in (("list", "--all", "--storage", written), ("storage", "init", written), ("sync", written)):
        assert not _tells(run(*command, code=2).output)
    with (
        pytest.raises((OSError, ValueError)) as raised,
        closing(PostgresLog(f"{written}#s", lock_timeout_s=0.3)) as log,
    ):
        append(log, 1)
    assert not _tells("".join(traceback.format_exception(raised.value)))
    assert not _tells(repr(raised.value))
    assert not _tells(caplog.text)


def _tells(text: str) -> bool:
    return SECRET in text or SECRET.replace("0", "o").replace("4", "a") in text


def test_a_log_in_a_server_with_a_password_can_be_opened_by_what_is_shown() -> None:
    """In this process: what a session keeps for lists as it closes goes to the same server."""
    written = f"postgresql://agent:{SECRET}@127.0.0.1:1/agents#s"
    with closing(PostgresLog(written)) as log:
        shown = log.describe().location
    assert SECRET not in shown
    assert parse_location(shown).conninfo == parse_location(written).conninfo


def test_a_parameter_of_another_program_is_named(server: TestServer) -> None:
    """By the command and for a session, as an error of ours."""
    url = f"{server.server.get_uri()}&schema=named&pgbouncer=true"
    for command in (("list", "--all", "--storage", url), ("storage", "init", url)):
        assert "'pgbouncer'" in run(*command, code=2).output
    with pytest.raises(ValueError, match="'pgbouncer'"):
        PostgresLog(f"{url}#s")


def test_a_warning_about_a_server_names_the_server(
    server: TestServer, storage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not the log that was opened first: it is true of all logs there."""
    with without_fsync(server), closing(PostgresLog(f"{storage}#p/first")) as log:
        append(log, 1)
    (said,) = {record.getMessage() for record in caplog.records if "fsync" in record.getMessage()}
    assert said.startswith(f"{parse_location(storage).shown} runs with fsync=off")


@contextmanager
def without_fsync(server: TestServer) -> Iterator[None]:
    """Let the server wait for no disk."""
    import psycopg

    server.execute("alter system set fsync = off")
    server.execute("select pg_reload_conf()")
    try:
        for _ in range(500):  # it reads its settings a little later
            with psycopg.connect(server.server.get_uri()) as connection:
                if connection.execute("show fsync").fetchone() == ("off",):
                    break
        yield
    finally:
        server.execute("alter system reset fsync")
        server.execute("select pg_reload_conf()")
