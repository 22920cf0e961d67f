"""The commands of the pages for operators of PostgreSQL do what they say, by roles with the rights that they name."""

from __future__ import annotations

import re
import shlex
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.record_line import encode_message
from tests.support.commands import run
from tests.support.logs import append_bodies
from tests.support.places import DOCS
from tests.support.postgres import TestServer
from tests.support.sweeps import proof

PAGES = [DOCS / "postgres_operations.md", DOCS / "postgres_backup.md"]
TEXT = re.sub(r"\s+", " ", " ".join(page.read_text() for page in PAGES))
SCHEMA = "operated"


def written(program: str) -> list[str]:
    """The commands of the pages that begin so and have arguments."""
    return re.findall(f"`{program} ([^`]+)`", TEXT)


@proof
def test_the_commands_of_the_pages_run(server: TestServer, tmp_path: Path) -> None:
    """As they are printed, with the names of this test."""
    roles = {"agent": "--grant", "purger": "--grant-purge", "reader": "--grant-read"}
    for role in roles:
        server.execute(f"create role {role} login")
    uri = f"{server.server.get_uri()}&schema={SCHEMA}"
    by_role = {role: uri.replace("postgres:@", f"{role}:@", 1) for role in roles}
    for option in ("--print-sql", "--dry-run"):
        run("storage", "init", uri, option)
    run("storage", "init", uri, *(word for role, grant in roles.items() for word in (grant, role)))
    for session, days in (("old", 200), ("aging", 100), ("new", 0)):
        stamp = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        with closing(PostgresLog(f"{by_role['agent']}#-p/{session}")) as log:
            append_bodies(log, encode_message({"role": "user", "content": "x"}, message_id="m", timestamp=stamp))
        age = f"now() - interval '{days} days'"
        server.execute(f"update {SCHEMA}.log set changed = {age}, touched = {age} where name = '-p/{session}'")

    by_purger = [command for command in written("context-persistent") if command.startswith(("prune", "archive"))]
    assert len(by_purger) == 2
    for command in by_purger:
        run(*shlex.split(command.replace("URL", by_role["purger"])))
    (verify,) = (command for command in written("context-persistent") if command.startswith("verify "))
    assert server.execute(f"select name from {SCHEMA}.log order by name") == [("-p/aging",), ("-p/new",)]
    assert "sound" in run(*shlex.split(verify.replace("SESSION", "new").replace("URL", by_role["reader"]))).output

    dump = [command for command in written("pg_dump") if command.endswith("context_persistent")]
    place = ("-h", str(Path(server.socket_path).parent), "-U", "reader", "-d", "postgres", "-f", str(tmp_path / "dump"))
    for options in dump:
        words = shlex.split(options.replace("context_persistent", SCHEMA))
        subprocess.run([server.binaries / "pg_dump", *words, *place], check=True, timeout=60)
    assert len(dump) == 1
    run("storage", "init", uri, "--migrate", "--row-security")
    server.execute(f"drop schema {SCHEMA} cascade; drop role agent, purger, reader")
