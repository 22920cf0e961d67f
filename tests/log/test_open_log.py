"""Choosing a log by its location."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import ConfigError
from amplifier_module_context_persistent.log.database_location import (
    LIBPQ_PARAMETERS,
    is_postgres,
    location_of,
    parse_location,
    split_location,
    why_no_place,
)
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.open_log import IN_MEMORY, new_log, open_log
from amplifier_module_context_persistent.log.open_reader import open_reader
from tests.support.logs import append, content_of, numbers


def test_a_path_is_a_file(tmp_path: Path) -> None:
    """And nothing is created before the first append."""
    path = tmp_path / "log.jsonl"
    log = open_log(str(path), durability="write")
    assert isinstance(log, FileLog)
    assert (log.waits_for_storage, path.exists()) == (False, False)
    append(log, 1)
    assert log.describe().size_bytes == len(content_of(str(path)))


def test_memory_is_asked_for_by_name() -> None:
    """No missing path means it."""
    log = open_log(IN_MEMORY)
    assert isinstance(log, MemoryLog)
    append(log, 1, 2)
    assert (numbers(log), log.describe().location) == ([1, 2], "")


async def test_a_manager_takes_a_log(tmp_path: Path) -> None:
    """A log that is given is used as it is, whatever the configuration says of files."""
    log = FileLog(tmp_path / "own.jsonl")
    async with PersistentContextManager(tmp_path / "unused.jsonl", log=log) as manager:
        await manager.add_message({"role": "user", "content": "hello"})
        assert manager.log_path == str(tmp_path / "own.jsonl")
    assert not (tmp_path / "unused.jsonl").exists()
    assert b"hello" in content_of(str(tmp_path / "own.jsonl"))


SECRET = "hunter" + "2"


@pytest.mark.parametrize(
    ("given", "conninfo", "name", "schema", "prepares"),
    [
        ("postgresql://h/db#p/s", "postgresql://h/db", "p/s", "context_persistent", True),
        ("postgres://u@h:5433/db?schema=team_a&prepare=off#s", "postgres://u@h:5433/db", "s", "team_a", False),
        ("postgresql:///db?host=/run/pg&sslmode=disable#s", "postgresql:///db?host=/run/pg&sslmode=disable", "s",
         "context_persistent", True),
        ("postgresql://u@a:1,b:2,[::1]:3/db?target_session_attrs=any&options=-c%20a=1+2&schema=s_1#n",
         "postgresql://u@a:1,b:2,[::1]:3/db?target_session_attrs=any&options=-c%20a=1+2", "n", "s_1", True),
        (r"service=logs options='-c a=\'x y\' #' schema='b'#p/s", r"service=logs options='-c a=\'x y\' #'", "p/s", "b",
         True),
        ("service=logs schema=b #p/s", "service=logs", "p/s", "b", True),
    ],
)  # fmt: skip
def test_a_location_is_taken_apart(given: str, conninfo: str, name: str, schema: str, prepares: bool) -> None:
    """Our own parameters and the log's name do not reach the driver."""
    found = parse_location(given)
    assert (found.conninfo, found.name, found.schema, found.prepares) == (conninfo, name, schema, prepares)
    storage, named = split_location(given)
    assert named == name
    assert parse_location(location_of(storage, name)) == found


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://u:{SECRET}@h/db#s",
        f"postgresql://u@h/db?password={SECRET}&sslpassword={SECRET}#s",
        f"postgresql://u:{SECRET}@[::1]:5432/db#s",
        f"service=logs password={SECRET} #s",
        f"service=logs password='x {SECRET}' sslpassword = {SECRET}#s",
        f"postgresql://u:{SECRET}@a:1,b:2/db#s",
        f"postgresql://u@h/db?pass%77ord={SECRET}#s",
    ],
)
def test_a_password_is_not_shown(given: str) -> None:
    """It reaches the driver, and nothing that is printed."""
    found = parse_location(given)
    assert SECRET in found.conninfo
    assert SECRET not in found.shown
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://u:{SECRET}@h:port/db",
        f"mysql://u:{SECRET}@h/db",
        f"postgresql://u:pa/{SECRET}@h/db",
        f"postgresql://u:1/{SECRET}@h/db",
        f"service=logs password='{SECRET}",
        f"service=logs {SECRET}",
        f"postgresql://u:{SECRET}@h/db?schema=a;drop",
        f"postgresql://u:{SECRET}@h/db?prepare=maybe",
        f"postgresql://u:p@{SECRET}@h:5432/db",
        f"postgresql://u:p@{SECRET}&3@db.example/db",
        f"postgresql://u:p%40x@{SECRET}%40h/db",
        f"postgresql://u:12#{SECRET}@h/db",
        f"postgresql://u:12?{SECRET}@h/db",
        f"postgresql://u@h:12/a%40{SECRET}",
        f"postgresql://u@h/db?host=p@{SECRET}",
        f"postgresql://u@h/db?port={SECRET}",
        f"postgresql://u@h/db?dbname=p%40{SECRET}",
        f"service=logs host='p@{SECRET}'",
        f"service=logs port={SECRET}",
        f"service=logs pass{SECRET}=x",
        f"postgresql://u@h/db?sslmode=disable&passwrod={SECRET}",
    ],
)
def test_a_wrong_location_is_refused_without_its_password(given: str) -> None:
    """The error says what is allowed."""
    with pytest.raises(ValueError, match=r"storage|schema") as refused:
        parse_location(given)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("name", ["pgbouncer", "connection_limit", "passwrod"])
def test_a_parameter_that_nobody_knows_is_named(name: str) -> None:
    """So that who took a URL from another program sees what to leave out."""
    for location in (f"postgresql://u@h/db?{name}=true&schema=s", f"service=logs {name}=true"):
        with pytest.raises(ValueError, match=f"'{name}'"):
            parse_location(location)


def test_all_parameters_of_libpq_are_known() -> None:
    """Those of the installed version are among them, and reach it."""
    psycopg = pytest.importorskip("psycopg")
    known = {default.keyword.decode() for default in psycopg.pq.Conninfo.get_defaults()}
    assert known <= LIBPQ_PARAMETERS


@given(
    password=st.text(st.sampled_from("abcXYZ0129@:/?#&=%,;[] '\\"), min_size=6),
    rest=st.sampled_from(["h/db", "h:5432/db?sslmode=disable", "a:1,b:2/db#p/s", "/db?host=/run/pg", "[::1]/db"]),
)
def test_a_password_of_any_characters_is_not_shown(password: str, rest: str) -> None:
    """Written as %XX or not: the location is refused or shown without it; no four characters of it are repeated.

    But for one that reads as a whole location, with a database and a log's name in it.
    """
    assume(not re.search(r"/.+#", password))
    for written in (password, quote(password, safe="")):
        try:
            told = parse_location(f"postgresql://agent:{written}@{rest}").shown
        except ValueError as error:
            told = str(error)
        known = f"postgresql://agent@{rest}; write postgresql://USER@HOST:PORT/DATABASE, with other characters as %XX"
        for at in range(len(password) - 3):
            part = password[at : at + 4]
            assert part not in told or part in known


def test_a_path_is_no_location_in_a_database() -> None:
    """Whatever is not one of the forms is a file."""
    assert not is_postgres("/home/u/postgresql")
    assert is_postgres("postgresql://h/db")
    assert is_postgres("service=x")


OTHER_URLS = {
    "mysql://u:secret@h/db": "mysql://",
    "sqlite:///a.db": "sqlite://",
    "s3://bucket/secret": "s3://",
    "file:///tmp/secret": "give the path",
    "postgresql+psycopg://u:secret@h/d": "begins with postgresql://",
    "POSTGRESQL://u:secret@h/d": "begins with postgresql://",
    str(Path("postgresql://u:secret@h/db")): "begins with postgresql://",
}


@pytest.mark.parametrize("url", OTHER_URLS)
def test_a_url_of_something_else_names_no_file(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be a directory `mysql:`; the error says what to give, and nothing of a password."""
    monkeypatch.chdir(tmp_path)
    for use in (open_log, open_reader, new_log):
        with pytest.raises(ConfigError, match=OTHER_URLS[url]) as caught:
            use(url)
        assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "place",
    ["a", "/a:b/c", "C:/x", "c:\\x", "a:b", "a:/b", "postgresql://h/d", "service=x", "", Path("a"), 5, b"mysql://"],
)
def test_a_path_is_no_url(place: object) -> None:
    """Also one with a colon, and a drive of Windows."""
    assert why_no_place(place) == ""
