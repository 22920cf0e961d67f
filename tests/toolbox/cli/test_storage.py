"""`context-persistent storage init`: the tables, the rights of a role, and what is refused."""

import dataclasses
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import AppendError, LogUnreadableError
from amplifier_module_context_persistent.log.postgres import migration_steps
from amplifier_module_context_persistent.log.postgres.migration_steps import APPEND, READ, Step
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.toolbox.cli import storage as storage_command
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.commands import run
from tests.support.logs import STAMP, append, append_bodies, numbers
from tests.support.postgres import OLD_TABLES, TestServer
from tests.support.sweeps import proof

QUERIES = Path(__file__).parents[3] / "docs" / "postgres_queries.md"


def init(*arguments: str, code: int = 0) -> str:
    """Run the command; all that it printed."""
    return run("storage", "init", *arguments, code=code).output


def test_tables_are_made_once(server: TestServer) -> None:
    """A second call changes nothing."""
    url = f"{server.server.get_uri()}&schema=made"
    assert "created in the schema made" in init(url)
    with closing(PostgresLog(f"{url}#s")) as log:
        append(log, 1)
        assert "were there" in init(url)
        assert numbers(log) == [1]


def test_a_role_can_append_and_not_delete(server: TestServer) -> None:
    """It may not change what is stored, either."""
    server.execute("create role adder login")
    url = f"{server.server.get_uri()}&schema=granted"
    init(url, "--grant", "adder")
    as_adder = url.replace("postgres:@", "adder:@", 1)
    with closing(PostgresLog(f"{as_adder}#s")) as log:
        append(log, 1, 2)
        assert numbers(log) == [1, 2]
    for statement in (
        "delete from granted.record",
        "update granted.record set at = 0",
        "delete from granted.log",
        "update granted.log set name = 'another'",
        "update granted.log set generation = 9",
    ):
        with pytest.raises(Exception, match="permission denied"):
            server.execute(f"set role adder; {statement}")


def test_a_role_can_purge_and_not_change(server: TestServer) -> None:
    """It needs to delete rows, and to change none."""
    server.execute("create role cleaner login")
    url = f"{server.server.get_uri()}&schema=cleaned"
    assert "purge" in init(url, "--grant-purge", "cleaner")
    location = f"{url.replace('postgres:@', 'cleaner:@', 1)}#s"
    with closing(PostgresLog(location)) as log:
        append(log, 1, 2)
        purge_log(location, Purge(everything=True), now=lambda: STAMP)
        assert numbers(log) == []
    with pytest.raises(Exception, match="permission denied"):
        server.execute("set role cleaner; update cleaned.record set at = 0")


def test_a_role_can_read_and_nothing_else(server: TestServer) -> None:
    """For who looks at sessions, and for backups."""
    server.execute("create role reader login")
    url = f"{server.server.get_uri()}&schema=shared"
    assert "read sessions" in init(url, "--grant-read", "reader")
    with closing(PostgresLog(f"{url}#s")) as log:
        append(log, 1)
    with closing(PostgresLog(f"{url.replace('postgres:@', 'reader:@', 1)}#s")) as as_reader:
        assert numbers(as_reader) == [1]
        with pytest.raises(AppendError, match="permission denied"):
            append(as_reader, 2)


def test_the_statements_are_printed_for_another_to_run(server: TestServer) -> None:
    """Run by an owner, they make what `init` makes; the role then needs no right to create a schema."""
    server.execute("create role owner_of_tables login")
    url = f"{server.server.get_uri()}&schema=printed"
    output = init(url, "--print-sql", "--grant-read", "owner_of_tables")
    init(url.replace("postgres:@", "owner_of_tables:@", 1), code=2)  # nothing was made, and it may make nothing
    server.execute("create schema printed authorization owner_of_tables")
    server.execute(f"set role owner_of_tables; {output}")
    assert "were there in the schema printed" in init(url.replace("postgres:@", "owner_of_tables:@", 1))


@proof(quick=1)
@pytest.mark.parametrize("in_parts", [False, pytest.param(True, marks=proof)], ids=["whole", "in parts"])
@pytest.mark.parametrize("is_printed", [True, False], ids=["printed", "done"])
def test_policies_keep_each_role_to_its_own_logs(is_printed: bool, in_parts: bool, server: TestServer) -> None:
    """In every table that has rows of logs, by the option or by the statements that it prints."""
    url = f"{server.server.get_uri()}&schema=context_persistent"
    for role in ("ann", "bob"):
        if not server.execute("select rolname from pg_roles where rolname = %s", role):
            server.execute(f"create role {role} login")
    parts = ["--partitioned"] if in_parts else []
    options = ["--grant", "ann", "--grant", "bob", "--row-security", *parts]
    if is_printed:
        server.execute(run("storage", "init", url, "--print-sql", *options).output)
    else:
        init(url, *parts)
        assert "only the logs that it made" in init(url, *options)
        with ExitStack() as held:
            for table in ("version", "log", "record", "glance"):
                held.enter_context(looking(server, f"context_persistent.{table}"))
            init(url, *options)  # touches nothing
    unsecured = """
        select relname from pg_class join pg_attribute on attrelid = pg_class.oid
         where relnamespace = 'context_persistent'::regnamespace and attname = 'log_id' and relkind in ('r', 'p')
           and not relrowsecurity"""
    assert server.execute(unsecured) == []
    logs = {}
    for role in ("ann", "bob"):
        logs[role] = PostgresLog(f"{url.replace('postgres:@', f'{role}:@', 1)}#of-{role}")
        append(logs[role], 1, 2)
        append(logs[role], 3)
        assert numbers(logs[role]) == [1, 2, 3]
        logs[role].close()
        seen = server.execute(f"set role {role}; select name from context_persistent.log")
        lines = server.execute(f"set role {role}; select count(*) from context_persistent.record")
        assert (seen, lines) == ([(f"of-{role}",)], [(3,)])
        as_role = url.replace("postgres:@", f"{role}:@", 1)
        for _ in range(2):  # the second time what the first one kept
            assert f"of-{role}" in run("list", "--all", "--storage", as_role).output
        assert server.execute(f"set role {role}; select count(*) from context_persistent.glance") == [(1,)]
    server.execute("drop schema context_persistent cascade")


def test_a_name_that_another_role_has_is_said(server: TestServer) -> None:
    """The role cannot see that log, so the word says why there is none for it."""
    url = f"{server.server.get_uri()}&schema=taken"
    server.execute("create role erin login; create role finn login")
    init(url, "--grant", "erin", "--grant", "finn", "--row-security")
    with closing(PostgresLog(f"{url.replace('postgres:@', 'erin:@', 1)}#p/s")) as log:
        append(log, 1)
    with closing(PostgresLog(f"{url.replace('postgres:@', 'finn:@', 1)}#p/s")) as log:
        log.follow()
        for _ in range(2):
            with pytest.raises(LogUnreadableError, match="another role has a log of this name"):
                append(log, 2)


def test_a_table_that_a_step_adds_is_kept_to_owners_too(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the others are."""
    url = f"{server.server.get_uri()}&schema=secured"
    init(url, "--row-security")
    made = "create table if not exists {s}.extra (\n    log_id {id} primary key references {s}.log on delete cascade\n)"
    step = Step("extra", "more", "pg_catalog.to_regclass('{s}.extra') is not null", (made,))
    monkeypatch.setattr(migration_steps, "STEPS", (*migration_steps.STEPS, step))
    init(url, "--migrate")
    assert server.execute("select relrowsecurity from pg_class where oid = 'secured.extra'::regclass") == [(True,)]


@proof
def test_a_role_that_reads_parts_themselves_sees_its_own_rows(server: TestServer) -> None:
    """A backup reads each part; so the policies cover the parts of every table."""
    for role in ("cara", "dave"):
        server.execute(f"create role {role} login")
    url = f"{server.server.get_uri()}&schema=parted"
    init(url, "--partitioned", "--grant", "cara", "--grant", "dave", "--row-security")
    for role in ("cara", "dave"):
        with closing(PostgresLog(f"{url.replace('postgres:@', f'{role}:@', 1)}#of-{role}")) as log:
            append(log, 1, 2)
    of_parts = "select relname from pg_class where relnamespace = 'parted'::regnamespace and relispartition"
    parts = [name for (name,) in server.execute(f"{of_parts} and relkind = 'r'")]
    assert len(parts) == 7 * 16
    for table, count in (("log", 1), ("record", 2)):
        asked = " union all ".join(
            f"select log_id from parted.{part}" for part in parts if part.startswith(f"{table}_")
        )
        assert len(server.execute(f"set role cara; {asked}")) == count
        assert len(server.execute(asked)) == 2 * count


@proof
def test_tables_that_are_there_are_not_divided(server: TestServer) -> None:
    """The command says what to do instead; tables in parts are left as they are by a call without the option."""
    url = f"{server.server.get_uri()}&schema=whole"
    init(url)
    for option in ([], ["--dry-run"], ["--migrate"]):
        assert "stay so" in " ".join(init(url, "--partitioned", *option, code=2).split())
    init(f"{url}_2", "--partitioned")
    for option in ([], ["--migrate"], ["--partitioned"], ["--partitioned", "--dry-run"]):
        assert "of version 3, in parts," in init(f"{url}_2", *option)


def test_an_old_server_gets_no_tables_in_parts(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says which version it takes."""
    monkeypatch.setattr(storage_command, "LEAST_SERVER", 99)
    url = f"{server.server.get_uri()}&schema=too_old"
    for option in ([], ["--dry-run"]):
        assert "PostgreSQL 99" in init(url, "--partitioned", *option, code=2)
    assert "created" in init(url)


@proof(quick=1)
@pytest.mark.parametrize("in_parts", [True, False], ids=["in parts", "whole"])
def test_steps_that_are_missing_are_added_to_new_tables(in_parts: bool, server: TestServer) -> None:
    """A table comes back with its parts and its rights, an index on every part, also one that was left half made."""
    server.execute(f"create role adds_{in_parts} login")
    schema = f"adding_{in_parts}".lower()
    url = f"{server.server.get_uri()}&schema={schema}"
    init(url, "--grant", f"adds_{in_parts}".lower(), *(["--partitioned"] if in_parts else []))
    before = tables_in(server, schema)
    server.execute(f"drop table {schema}.figures, {schema}.ranked_message; drop index {schema}.log_by_id")
    if in_parts:
        half_made = f"{schema}.log_part_3_log_by_id"
        server.execute(f"create index log_part_3_log_by_id on {schema}.log_part_3 (({migration_steps.ID}))")
        server.execute(f"update pg_index set indisvalid = false where indexrelid = '{half_made}'::regclass")
    said = " ".join(init(url, "--migrate").split())
    assert "got the tables of ranked words" in said
    assert "an index of logs by the ids of sessions" in said
    rights = [{row[:2] for row in rows if row[1] is not None} for rows in (before, tables_in(server, schema))]
    assert rights[0] == rights[1]
    assert "lack" not in init(url)
    with closing(PostgresLog(f"{url}#p/s")) as log:
        append(log, 1, 2)
        assert numbers(log) == [1, 2]
    invalid = "select indexrelid::regclass from pg_index where not indisvalid and indrelid::regclass::text like %s"
    assert server.execute(invalid, f"{schema}.%") == []


def test_the_questions_of_the_page_are_answered(server: TestServer) -> None:
    """As they are printed in `docs/postgres_queries.md`, whatever characters stand in messages."""
    url = f"{server.server.get_uri()}&schema=context_persistent"
    init(url)
    odd = ["plain \x00", "lone \ud800", "中文 größer" * 30, 'a "quote" \\u0000 \\']
    messages: list[dict[str, Any]] = [{"role": "user", "content": text} for text in odd]
    messages += [{"role": "assistant", "content": "", "tool_calls": calls} for calls in (
        [{"id": "a", "tool": "bash", "arguments": {}}, {"id": "b", "name": "bash", "arguments": {}}],
        [{"id": "c", "type": "function", "function": {"name": "grep", "arguments": "{}"}}], [])]  # fmt: skip
    with closing(PostgresLog(f"{url}#-home-u-app/s1")) as log:
        append_bodies(
            log,
            *(encode_message(each, message_id=f"m{n}", timestamp=STAMP) for n, each in enumerate(messages)),
            encode_control("usage", provider="p", model="m", actual_tokens=70, output_tokens=7),
            encode_control("usage", provider="p", model="m", actual_tokens=30, output_tokens=None),
        )
    parts = QUERIES.read_text().split("```")
    answers = [server.execute(part.removeprefix("sql")) for part in parts if part.startswith("sql")]
    by_project, by_day, tables, _connected, _old, by_role, tools, tokens = answers
    assert by_project[0][:3] == ("-home-u-app", 1, 7)
    assert by_day[0][1:] == ("postgres", 1, 9)
    expected = {"log", "record", "frame", "erasure", "glance", "figures", "ranked_log", "ranked_message", "version"}
    assert {row[0] for row in tables} == expected
    assert by_role == [(STAMP[:10], "assistant", 3), (STAMP[:10], "user", 4)]
    assert tools == [("bash", 2), ("grep", 1)]
    assert tokens == [("-home-u-app", 2, 100, 7)]
    server.execute("drop schema context_persistent cascade")


def test_older_tables_are_brought_to_this_version_under_a_running_session(server: TestServer) -> None:
    """What is stored stays; a session that is connected goes on."""
    url = f"{server.server.get_uri()}&schema=older"
    make_tables_of_version_1(server, "older")
    with closing(PostgresLog(f"{url}#s", lock_timeout_s=30)) as log:
        with pytest.raises(LogUnreadableError, match="older: run storage init"):
            log.follow()
        server.execute("update older.version set number = 2")
        append(log, 1)
        server.execute("update older.version set number = 1")
        assert "storage init --migrate" in init(url, code=2)
        assert "from version 1 to 2" in init(url, "--migrate")
        assert "were there" in init(url, "--migrate")
        append(log, 2)
        assert numbers(log) == [1, 2]
        assert server.execute("select owner, number from older.log, older.version") == [("postgres", 2)]


def make_tables_of_version_1(server: TestServer, schema: str) -> None:
    """What version 2 has more is missing in them."""
    server.execute(f"drop schema if exists {schema} cascade")
    server.execute(OLD_TABLES.read_text("utf-8").replace("SCHEMA", schema))
    server.execute(f"alter table {schema}.log drop column owner; drop table {schema}.glance")
    server.execute(f"update {schema}.version set number = 1")


@contextmanager
def looking(server: TestServer, table: str, mode: str = "access share") -> Iterator[None]:
    """Hold a table as somebody who reads it does for long, a backup or a report."""
    import psycopg

    with psycopg.connect(server.server.get_uri(), application_name="backup") as connection:
        connection.execute(f"lock table {table} in {mode} mode".encode())
        yield


def test_tables_of_this_version_are_not_touched(server: TestServer) -> None:
    """Neither by a second call nor for a grant: both are done at once, whoever holds the tables."""
    server.execute("create role helper login")
    url = f"{server.server.get_uri()}&schema=untouched"
    init(url)
    with ExitStack() as held:
        for table in ("version", "log", "record", "glance"):
            held.enter_context(looking(server, f"untouched.{table}"))
        assert "were there" in init(url, "--migrate")
        assert "helper may run sessions" in init(url, "--grant", "helper", "--grant-read", "helper")


A_STEP = Step(
    "color",
    "a color for each log",
    "exists (select from pg_attribute where attrelid = to_regclass('{s}.log') and attname = 'color')",
    (
        "alter table {s}.log add column if not exists color text",
        "create index if not exists by_color on {s}.log (color)",
    ),
    {READ: "grant select (color) on {s}.log to {role}", APPEND: "grant update (color) on {s}.log to {role}"},
)


def test_a_step_is_added_under_running_sessions(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that lack it are used without; who may run sessions gets what it needs; others go on meanwhile."""
    server.execute("create role runner login")
    url = f"{server.server.get_uri()}&schema=stepped"
    init(url, "--grant", "runner")
    location = f"{url.replace('postgres:@', 'runner:@', 1)}#s"
    with closing(PostgresLog(location)) as log:
        append(log, 1)
        monkeypatch.setattr(migration_steps, "STEPS", (*migration_steps.STEPS, A_STEP))
        with closing(PostgresLog(f"{location}-2")) as newer:
            append(newer, 1)
        assert "lack a color for each log" in " ".join(init(url).split())
        assert "got a color for each log" in init(url, "--migrate")
        assert "lack" not in init(url)
        append(log, 2)
        assert numbers(log) == [1, 2]
    assert server.execute("set role runner; update stepped.log set color = 'red' returning color") == [("red",)] * 2
    assert server.execute("select indisvalid from pg_index where indexrelid = 'stepped.by_color'::regclass") == [
        (True,)
    ]


@proof
def test_a_step_that_somebody_stands_in_the_way_of_is_given_up(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a word on who it is; sessions wait a second at most; the next call goes on."""
    assert migration_steps.LOCK_TIMEOUT_S <= 1
    url = f"{server.server.get_uri()}&schema=waiting"
    init(url)
    monkeypatch.setattr(migration_steps, "STEPS", (*migration_steps.STEPS, A_STEP))
    monkeypatch.setattr(migration_steps, "ATTEMPTS", 2)
    with closing(PostgresLog(f"{url}#s", lock_timeout_s=15)) as log:
        append(log, 1)
        with looking(server, "waiting.log"), ThreadPoolExecutor() as threads:
            given_up = threads.submit(init, url, "--migrate", code=2)
            for number in range(2, 40):
                append(log, number)  # an error after the log's own time-out
                time.sleep(0.05)
            said = " ".join(given_up.result().split())
        assert "a color for each log waits for process" in said
        assert "(backup, idle in transaction)" in said
    assert "got a color" in init(url, "--migrate")


def test_an_index_that_was_left_half_made_is_made_anew(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that was ended leaves one that no question may use."""
    url = f"{server.server.get_uri()}&schema=halfmade"
    init(url)
    server.execute("alter table halfmade.log add column color text; create index by_color on halfmade.log (color)")
    server.execute("update pg_index set indisvalid = false where indexrelid = 'halfmade.by_color'::regclass")
    step = dataclasses.replace(
        A_STEP, is_done="exists (select from pg_index where indexrelid = to_regclass('{s}.by_color') and indisvalid)"
    )
    monkeypatch.setattr(migration_steps, "STEPS", (*migration_steps.STEPS, step))
    init(url, "--migrate")
    assert server.execute("select indisvalid from pg_index where indexrelid = 'halfmade.by_color'::regclass") == [
        (True,)
    ]


def test_what_cannot_be_done_is_said(server: TestServer) -> None:
    """In one line, with exit code 2, without a password."""
    secret = "hunter" + "2"
    for url in (
        f"mysql://u:{secret}@h/db",
        f"postgresql://u:{secret}@127.0.0.1:1/db",
        f"{server.server.get_uri()}&schema=A",
    ):
        output = init(url, code=2)
        assert (secret in output, output.count("Error")) == (False, 1)


def test_newer_tables_are_left_alone(server: TestServer) -> None:
    """An older package does not touch them."""
    url = f"{server.server.get_uri()}&schema=newer"
    init(url)
    server.execute("update newer.version set number = 99")
    assert "newer" in init(url, code=2)


def tables_in(server: TestServer, schema: str) -> list[tuple[Any, ...]]:
    """Everything that `init` could change: columns, rights, row-level security."""
    return server.execute(
        "select relname, relacl::text, relrowsecurity, attname from pg_class"
        " join pg_attribute on attrelid = pg_class.oid where relnamespace = to_regnamespace(%s) order by 1, 4",
        schema,
    )


def foreseen(*arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a dry run says of the work, and what the work then says, without the field in which they differ."""
    told = [json.loads(init(*arguments, *more, "--json")) for more in (["--dry-run"], [])]
    assert [one.pop("dry_run") for one in told] == [True, False]
    return told[0], told[1]


def test_a_dry_run_says_what_is_done_and_changes_nothing(server: TestServer) -> None:
    """For tables that are not there, for older ones and for complete ones; then exactly that is done."""
    server.execute("create role dry login")
    url = f"{server.server.get_uri()}&schema=dry"
    grants = ["--grant", "dry", "--row-security"]
    said = init(url, *grants, "--dry-run")
    assert "would be created in the schema dry" in said
    assert "dry could then run sessions" in said
    assert said.endswith("Nothing was done (--dry-run).\n")
    assert server.execute("select to_regnamespace('dry')") == [(None,)]
    would, done = foreseen(url, *grants)
    assert would == done
    assert len(done["secured"]) > 3


def test_a_dry_run_of_a_migration_changes_nothing(server: TestServer) -> None:
    """It holds no table for which others wait, and names what would be added."""
    url = f"{server.server.get_uri()}&schema=foreseen"
    make_tables_of_version_1(server, "foreseen")
    before = tables_in(server, "foreseen")
    assert "--migrate" in init(url, "--dry-run", code=2)
    with ExitStack() as held:
        for table in ("version", "log", "record"):
            held.enter_context(looking(server, f"foreseen.{table}"))
        said = init(url, "--migrate", "--dry-run")
    assert "would be brought from version 1 to 2, with the owner of each log, the table glance" in said
    assert tables_in(server, "foreseen") == before
    assert json.loads(init(url, "--migrate", "--dry-run", "--json"))["added"] == ["owner", "glance"]
    init(url, "--migrate")
    assert "are there in the schema foreseen" in init(url, "--migrate", "--dry-run")
    would, done = foreseen(url, "--migrate")
    assert would == done


def test_a_dry_run_fails_where_the_work_would(server: TestServer) -> None:
    """It exits with 2, and says the same reason as the server or a clearer one."""
    server.execute("create role stranger login")
    url = f"{server.server.get_uri()}&schema=strange"
    as_stranger = url.replace("postgres:@", "stranger:@", 1)
    assert "stranger may not create tables" in init(as_stranger, "--dry-run", code=2)
    init(as_stranger, code=2)
    assert "there is no role nobody-1" in init(url, "--grant", "nobody-1", "--dry-run", code=2)
    init(url, "--grant", "nobody-1", code=2)
    init(url, "--grant-read", "stranger")
    assert "only the owner of the tables, postgres" in init(as_stranger, "--grant", "stranger", "--dry-run", code=2)
    init(as_stranger, "--grant", "stranger", code=2)
    assert "were there" in init(as_stranger)
    assert "are there" in init(as_stranger, "--dry-run")
    server.execute("update strange.version set number = 99")
    assert "newer" in init(url, "--dry-run", code=2)
    assert "give it without --dry-run" in init(url, "--dry-run", "--print-sql", code=2)
