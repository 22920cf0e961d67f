"""Who holds a lock is said as far as the server tells this role."""

from __future__ import annotations

import psycopg

from amplifier_module_context_persistent.log.postgres.lock_holders import blockers_of, named_processes
from tests.support.postgres import TestServer


def test_what_the_server_hides_is_left_out() -> None:
    """The state of a process, or all of it."""
    found = [(7, "backup", "idle in transaction"), (8, "psql", None), (9, None, None)]
    assert named_processes(found) == "process 7 (backup, idle in transaction), process 8 (psql), process 9"
    assert named_processes([]) == ""


def test_a_role_without_rights_gets_no_state(server: TestServer) -> None:
    """But the number and the name of the process that is in its way."""
    server.execute("create role blocked login; create table locked (); grant select on locked to blocked")
    uri = server.server.get_uri()
    of_role = uri.replace("postgres:@", "blocked:@", 1)
    with (
        psycopg.connect(uri, application_name="report") as holder,
        psycopg.connect(of_role, autocommit=True) as waiting,
        psycopg.connect(of_role, autocommit=True) as aside,
    ):
        holder.execute("lock table locked in access exclusive mode")
        waiting.pgconn.send_query(b"select from locked")
        pid = waiting.info.backend_pid
        said = ""
        while not said:  # until the statement waits
            said = blockers_of(aside, pid)
        assert said == f"process {holder.info.backend_pid} (report)"
        holder.rollback()
        waiting.pgconn.finish()
    server.execute("drop table locked; drop role blocked")
