"""A connection speaks UTF-8, whatever a role, a location or a database says."""

from __future__ import annotations

import os
from contextlib import closing

import pytest

from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.commands import run
from tests.support.logs import append, numbers
from tests.support.postgres import TestServer, every_kind
from tests.support.sweeps import proof


@every_kind
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_the_encoding_of_a_role_does_not_count(server: TestServer, storage: str, encoding: str) -> None:
    """With SQL_ASCII the driver would give bytes for texts; in LATIN1 most characters cannot be asked for."""
    role = f"{storage.rpartition('=')[2]}_{encoding.lower()}"
    server.execute(f"create role {role} superuser login")
    server.execute(f"alter role {role} set client_encoding to '{encoding}'")
    check_log(f"{storage.replace('postgres:@', f'{role}:@', 1)}#-home-日本/s")


@every_kind
def test_the_encoding_of_a_location_does_not_count(storage: str) -> None:
    """As a location that another client uses may give one."""
    check_log(f"{storage.replace('?', '?client_encoding=LATIN1&', 1)}#-home-日本/s")


@proof
def test_the_encoding_of_a_database_does_not_count(server: TestServer) -> None:
    """SQL_ASCII is what a server under the locale C makes."""
    name = f"ascii_{os.getpid()}"
    server.execute(f"create database {name} encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'")
    uri = server.server.get_uri().replace("/postgres?", f"/{name}?", 1)
    run("storage", "init", uri)
    check_log(f"{uri}#-home-日本/s")


def check_log(location: str) -> None:
    """Append to a log, open it again, append once more, and verify it."""
    with closing(PostgresLog(location)) as log:
        append(log, 1, 2)
    with closing(PostgresLog(location)) as log:
        append(log, 3)
        assert numbers(log) == [1, 2, 3]
    assert verify_log(location).is_sound
