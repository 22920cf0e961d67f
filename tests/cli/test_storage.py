"""`context-persistent storage init`: the tables, the rights of a role, and what is refused."""

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.cli import main
from amplifier_module_context_persistent.log.postgres.log import PostgresLog
from amplifier_module_context_persistent.maintenance.purge import purge_log
from amplifier_module_context_persistent.maintenance.purge_options import Purge
from tests.support.logs import STAMP, append, numbers
from tests.support.postgres import TestServer


def init(*arguments: str) -> tuple[int, str]:
    """Run the command; its exit code, and all that it printed."""
    result = CliRunner().invoke(main, ["storage", "init", *arguments])
    return result.exit_code, result.output


def test_tables_are_made_once(server: TestServer) -> None:
    """A second call changes nothing."""
    url = f"{server.server.get_uri()}&schema=made"
    code, output = init(url)
    assert (code, "created in the schema made" in output) == (0, True)
    log = PostgresLog(f"{url}#s")
    append(log, 1)
    code, output = init(url)
    assert (code, "were there" in output) == (0, True)
    assert numbers(log) == [1]
    log.close()


def test_a_role_can_append_and_not_delete(server: TestServer) -> None:
    """It may not change what is stored, either."""
    server.execute("create role agent login")
    url = f"{server.server.get_uri()}&schema=granted"
    assert init(url, "--grant", "agent")[0] == 0
    as_agent = url.replace("postgres:@", "agent:@", 1)
    log = PostgresLog(f"{as_agent}#s")
    append(log, 1, 2)
    assert numbers(log) == [1, 2]
    log.close()
    for statement in ("delete from granted.record", "update granted.record set at = 0", "delete from granted.log"):
        with pytest.raises(Exception, match="permission denied"):
            server.execute(f"set role agent; {statement}")


def test_a_role_can_purge_and_not_change(server: TestServer) -> None:
    """It needs to delete rows, and to change none."""
    server.execute("create role cleaner login")
    url = f"{server.server.get_uri()}&schema=cleaned"
    code, output = init(url, "--grant-purge", "cleaner")
    assert (code, "purge" in output) == (0, True)
    location = f"{url.replace('postgres:@', 'cleaner:@', 1)}#s"
    log = PostgresLog(location)
    append(log, 1, 2)
    purge_log(location, Purge(everything=True), now=lambda: STAMP)
    assert numbers(log) == []
    log.close()
    with pytest.raises(Exception, match="permission denied"):
        server.execute("set role cleaner; update cleaned.record set at = 0")


def test_what_cannot_be_done_is_said(server: TestServer) -> None:
    """In one line, with exit code 2, without a password."""
    secret = "hunter" + "2"
    for url in (
        f"mysql://u:{secret}@h/db",
        f"postgresql://u:{secret}@127.0.0.1:1/db",
        f"{server.server.get_uri()}&schema=A",
    ):
        code, output = init(url)
        assert (code, secret in output, output.count("Error")) == (2, False, 1)


def test_newer_tables_are_left_alone(server: TestServer) -> None:
    """An older package does not touch them."""
    url = f"{server.server.get_uri()}&schema=newer"
    init(url)
    server.execute("update newer.version set number = 99")
    code, output = init(url)
    assert (code, "newer" in output) == (2, True)
