"""Backups: the role that may read dumps the tables, and what is restored is a log that goes on."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.postgres.log import PostgresLog
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.commands import run
from tests.support.logs import append, numbers
from tests.support.postgres import TestServer
from tests.support.sweeps import proof


@proof(quick=1)
@pytest.mark.parametrize("right", ["--grant-read", "--grant", "--grant-purge"])
def test_who_may_read_can_dump_and_the_dump_goes_on(right: str, server: TestServer, tmp_path: Path) -> None:
    """While a session runs; restored elsewhere, the log is opened, verified and resumed."""
    role = f"dumps{right.replace('-', '_')}"
    database, schema, uri = f"restored{right.replace('-', '_')}", role, server.server.get_uri()
    server.execute(f"create role {role} login")
    server.execute(f"create database {database}")
    run("storage", "init", f"{uri}&schema={schema}", right, role)
    file, place = tmp_path / "dump.sql", ("-h", str(Path(server.socket_path).parent))
    with closing(PostgresLog(f"{uri}&schema={schema}#s")) as log:
        append(log, 1, 2)
        append(log, 3)
        dump = [server.binaries / "pg_dump", *place, "-U", role, "postgres", f"--schema={schema}", "-f", file]
        subprocess.run(dump, check=True, timeout=60)
        append(log, 4)
    restore = [server.binaries / "psql", *place, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-q", "-f", file, database]
    subprocess.run(restore, check=True, timeout=60, stdout=subprocess.DEVNULL)
    location = f"{uri.replace('/postgres?', f'/{database}?')}&schema={schema}#s"
    assert verify_log(location).is_sound
    with closing(PostgresLog(location)) as restored:
        append(restored, 5)
        assert numbers(restored) == [1, 2, 3, 5]
    with closing(PostgresLog(f"{location}-new")) as another:
        append(another, 1)
        assert numbers(another) == [1]
    server.execute(f"drop database {database} with (force)")
