"""What a role may not see or do in a database is said: an erasure that finds nothing must not be taken for done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.sqlstates import with_advice
from tests.support.commands import run
from tests.support.logs import append
from tests.support.postgres import TestServer

pytestmark = pytest.mark.usefixtures("project")

HIDDEN = "row-level security hides the sessions of others from this role"


@dataclass(frozen=True)
class Roles:
    """Locations of one database, for three roles; `maker` made the session `-p/s1`."""

    maker: str
    cleaner: str
    administrator: str


@pytest.fixture
def roles(server: TestServer, request: pytest.FixtureRequest) -> Iterator[Roles]:
    """A database with row-level security, and one session. With the parameter `open`, without row-level security."""
    url = f"{server.server.get_uri()}&schema=hidden"
    for role in ("hide_maker", "hide_cleaner", "hide_admin bypassrls"):
        if not server.execute("select rolname from pg_roles where rolname = %s", role.split()[0]):
            server.execute(f"create role {role.replace(' ', ' login ', 1) if ' ' in role else f'{role} login'}")
    security = [] if getattr(request, "param", "") == "open" else ["--row-security"]
    grants = ["--grant", "hide_maker", "--grant-purge", "hide_cleaner", "--grant-purge", "hide_admin"]
    run("storage", "init", url, *grants, *security)
    names = ("hide_maker", "hide_cleaner", "hide_admin")
    made = Roles(*(url.replace("postgres:@", f"{name}:@", 1) for name in names))
    with closing(PostgresLog(f"{made.maker}#-p/s1")) as log:
        append(log, 1, 2)
    yield made
    server.execute("drop schema hidden cascade")


ERASING = [
    ("prune", "--all", "--older", "1d", "--yes"),
    ("archive", "--all", "--older", "1d", "--yes"),
    ("purge", "--all", "--redact", "message", "--yes"),
]
READING = [("list", "--all"), ("stats", "--all"), ("search", "message", "--all"), ("list", "--all", "--name", "s1")]


@pytest.mark.parametrize("arguments", [*ERASING, *READING], ids=" ".join)
def test_hidden_sessions_are_said(arguments: tuple[str, ...], roles: Roles) -> None:
    """Once, to a role that finds nothing or erases; not to one that sees all."""
    assert run(*arguments, "--storage", roles.cleaner, code=None).output.count(HIDDEN) == 1
    assert HIDDEN not in run(*arguments, "--storage", roles.administrator, code=None).output


@pytest.mark.parametrize("roles", ["open"], indirect=True)
def test_nothing_is_hidden_without_row_security(roles: Roles) -> None:
    """And so nothing is said."""
    assert HIDDEN not in run("prune", "--all", "--older", "9y", "--yes", "--storage", roles.cleaner).output


@pytest.mark.parametrize("arguments", ERASING, ids=" ".join)
def test_a_role_without_rights_is_told_so_alone(arguments: tuple[str, ...], roles: Roles, server: TestServer) -> None:
    server.execute("revoke all on all tables in schema hidden from hide_cleaner")
    said = run(*arguments, "--storage", roles.cleaner, code=2).output
    assert "permission denied" in said
    assert HIDDEN not in said


def test_a_hidden_session_is_not_told_as_deleted(roles: Roles, storage: str) -> None:
    """Although this user deleted one of its id, in another database."""
    with closing(PostgresLog(f"{storage}#-p/s1")) as log:
        append(log, 1)
    run("delete", "s1", "--yes", "--storage", storage)
    assert "already deleted" in run("delete", "s1", "--yes", "--storage", storage).output
    said = run("delete", "s1", "--yes", "--storage", roles.cleaner, code=2).output
    assert "already deleted" not in said
    assert "there is no such" in said


def test_a_right_that_is_missing_is_said(roles: Roles) -> None:
    """With the option that gives it, and not as a server that cannot be reached."""
    said = run("delete", "s1", "--yes", "--storage", roles.maker, code=2).output
    assert "permission denied for table" in said
    assert "--grant-purge" in said
    assert "reached" not in said
    assert "look whether" not in said


def test_advice_is_added_to_known_errors() -> None:
    """By the error's code, or by libpq's words if it gives none."""
    assert "statement_timeout" in with_advice("canceling statement due to statement timeout", "57014")
    assert "start it" in with_advice('connection to server at "h", port 1 failed: Connection refused')
    assert ".pgpass" in with_advice("connection failed: fe_sendauth: no password supplied")
    assert with_advice("division by zero", "22012") == "division by zero"
    hidden_row = 'new row violates row-level security policy for table "record"'
    assert with_advice(hidden_row, "42501") == hidden_row
