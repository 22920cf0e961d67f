"""The catalogue's file: who may have made it, what is put in its place, and how it goes."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from amplifier_module_context_persistent.catalogue import catalogue_file
from amplifier_module_context_persistent.catalogue.catalogue_file import (
    NAME,
    SIDE_FILES,
    Catalogue,
    CatalogueError,
    catalogue_of,
    remove_catalogue,
)
from tests.support.sweeps import proof

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes and owners of this kind")


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """One with a session in it."""
    made = Catalogue(tmp_path / NAME, wait_s=0.05)
    add(made, "one")
    return made


def add(catalogue: Catalogue, path: str) -> None:
    with catalogue.writing() as connection:
        connection.execute("INSERT INTO sessions(path) VALUES (?)", (path,))


def paths(catalogue: Catalogue) -> list[str]:
    with catalogue.reading() as connection:
        return [path for (path,) in connection.execute("SELECT path FROM sessions ORDER BY path")]


def test_it_lies_beside_the_sessions_of_a_project_or_beside_the_log(tmp_path: Path) -> None:
    assert catalogue_of(tmp_path / "p" / "sessions" / "a" / "log.jsonl") == tmp_path / "p" / NAME
    assert catalogue_of(tmp_path / "log.jsonl") == tmp_path / "log.jsonl.catalogue"


def test_what_is_written_is_read_by_the_next_transaction(catalogue: Catalogue) -> None:
    add(catalogue, "two")
    assert paths(catalogue) == ["one", "two"]
    assert not os.path.exists(f"{catalogue.path}-journal")


@POSIX
def test_it_is_private(catalogue: Catalogue) -> None:
    assert stat.S_IMODE(catalogue.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("failing", ["INSERT INTO nothing VALUES (1)", "SELECT json('{')"])
def test_what_fails_within_a_transaction_changes_nothing(catalogue: Catalogue, failing: str) -> None:
    def write() -> None:
        with catalogue.writing() as connection:
            connection.execute("DELETE FROM sessions")
            connection.execute(failing)

    with pytest.raises(CatalogueError):
        write()
    assert paths(catalogue) == ["one"]


def test_there_is_nothing_to_read_where_no_file_is(tmp_path: Path) -> None:
    absent = Catalogue(tmp_path / NAME)
    with pytest.raises(CatalogueError), absent.reading():
        pass
    absent.remove()
    assert list(tmp_path.iterdir()) == []


@POSIX
def test_a_file_that_others_may_have_written_is_neither_read_nor_replaced(catalogue: Catalogue, tmp_path: Path) -> None:
    catalogue.path.chmod(0o620)
    for use in (catalogue.reading, catalogue.writing):
        with pytest.raises(CatalogueError, match="somebody else"), use():
            pass
    catalogue.path.chmod(0o600)
    link = Catalogue(tmp_path / "link")
    link.path.symlink_to(catalogue.path)
    for use in (link.reading, link.writing):
        with pytest.raises(CatalogueError, match="no regular file"), use():
            pass
    assert paths(catalogue) == ["one"]


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE more (a)"],
        ["CREATE VIEW sessions_2 AS SELECT 1"],
        ["CREATE TRIGGER later AFTER INSERT ON sessions BEGIN DELETE FROM sessions; END"],
        ["DROP INDEX turns_of_sessions"],
    ],
    ids=["a table more", "a view", "a trigger", "an index less"],
)
def test_another_schema_is_not_read_and_is_replaced_by_a_writer(catalogue: Catalogue, statements: list[str]) -> None:
    connection = sqlite3.connect(catalogue.path)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    with pytest.raises(CatalogueError), catalogue.reading():
        pass
    add(catalogue, "two")
    assert paths(catalogue) == ["two"]


@pytest.mark.parametrize(
    ("offset", "content"), [(47, 5), (59, 2), (18, 3)], ids=["format", "encoding", "write version"]
)
def test_another_file_format_is_replaced_by_a_writer(catalogue: Catalogue, offset: int, content: int) -> None:
    """A bit of the header that flips amounts to one (https://sqlite.org/fileformat2.html)."""
    changed = bytearray(catalogue.path.read_bytes())
    changed[offset] = content
    catalogue.path.write_bytes(changed)
    with pytest.raises(CatalogueError), catalogue.writing():  # it may be found out in the transaction
        raise CatalogueError("written")
    add(catalogue, "two")
    assert "two" in paths(catalogue)


def test_a_file_that_is_no_database_is_replaced_by_a_writer(catalogue: Catalogue) -> None:
    for content in (b"x" * 10_000, catalogue.path.read_bytes()[:6_000], b""):
        catalogue.path.write_bytes(content)
        with pytest.raises(CatalogueError), catalogue.reading():
            pass
        add(catalogue, "two")
        assert paths(catalogue) == ["two"]


def test_who_finds_it_busy_does_without_it(catalogue: Catalogue) -> None:
    with catalogue.writing() as connection:
        connection.execute("DELETE FROM sessions")
        with pytest.raises(CatalogueError, match="locked"), catalogue.writing():
            pass
        with pytest.raises(CatalogueError, match="another process uses it"):
            catalogue.remove(wait_s=0)
    assert paths(catalogue) == []
    catalogue.remove()
    assert not catalogue.path.exists()


def test_a_connection_of_before_its_removal_writes_nothing(catalogue: Catalogue) -> None:
    """SQLite sees that its file was unlinked; the next catalogue is another file."""
    before = sqlite3.connect(catalogue.path, isolation_level=None)
    assert before.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
    catalogue.remove()
    add(catalogue, "two")
    with pytest.raises(sqlite3.OperationalError):
        before.execute("INSERT INTO sessions(path) VALUES ('late')")
    before.close()
    assert paths(catalogue) == ["two"]


USE_IT = """
import sys
from amplifier_module_context_persistent.catalogue.catalogue_file import Catalogue, CatalogueError
catalogue = Catalogue(sys.argv[1])
for use in (catalogue.reading, catalogue.writing):
    try:
        with use():
            print("used")
    except CatalogueError as error:
        print(error)
catalogue.remove()
"""


@proof(quick=3)
@POSIX
@pytest.mark.parametrize("suffix", ["", *SIDE_FILES])
@pytest.mark.parametrize("kind", ["fifo", "directory", "link", "loop", "socket", "of everybody"])
def test_nothing_odd_in_its_place_or_beside_it_hangs_anybody(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, suffix: str, kind: str
) -> None:
    """SQLite would open a FIFO and wait for a writer. A directory stays; all else goes with the catalogue."""
    monkeypatch.chdir(catalogue.path.parent)  # the name of a socket is short
    odd = Path(f"{catalogue.path}{suffix}")
    odd.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(odd)
    elif kind == "directory":
        odd.mkdir()
    elif kind == "link":
        odd.symlink_to(catalogue.path.with_name("other"))
    elif kind == "loop":
        odd.symlink_to(odd)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(odd.name)
    else:
        odd.touch()
        odd.chmod(0o666)
    done = subprocess.run(
        [sys.executable, "-c", USE_IT, str(catalogue.path)], capture_output=True, text=True, check=True, timeout=60
    )
    reasons = done.stdout.splitlines()
    assert len(reasons) == 2
    assert all(f"{odd}: " in reason for reason in reasons)
    assert [path.name for path in catalogue.path.parent.iterdir()] == ([odd.name] if kind == "directory" else [])


def test_one_that_another_program_changed_to_a_write_ahead_log_is_replaced(catalogue: Catalogue) -> None:
    """Words could stay in the `-wal` file, and a map of the `-shm` file that is cut ends the process."""
    other = sqlite3.connect(catalogue.path)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("INSERT INTO sessions(path) VALUES ('late')")
    other.commit()
    assert os.path.exists(f"{catalogue.path}-wal")
    with pytest.raises(CatalogueError, match="-wal"), catalogue.reading():
        pass
    other.close()  # SQLite takes the two files away, and the mode stays in the database
    with pytest.raises(CatalogueError), catalogue.reading():
        pass
    add(catalogue, "two")
    assert paths(catalogue) == ["two"]


def test_its_removal_takes_a_write_ahead_log_too(catalogue: Catalogue) -> None:
    for suffix in SIDE_FILES:
        Path(f"{catalogue.path}{suffix}").write_bytes(b"words")
    catalogue.remove()
    assert list(catalogue.path.parent.iterdir()) == []


def test_its_removal_takes_the_journal_and_what_earlier_versions_kept(tmp_path: Path) -> None:
    log = tmp_path / "sessions" / "a" / "context-messages.jsonl"
    log.parent.mkdir(parents=True)
    add(Catalogue(catalogue_of(log)), "one")
    for name in (f"{NAME}-journal", "context-search.sqlite3", "context-search.sqlite3.ab12cd34.part", "other"):
        (tmp_path / name).touch()
    for _ in range(2):
        remove_catalogue(log)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "sessions"]


def test_a_journal_that_was_left_alone_is_removed_too(tmp_path: Path) -> None:
    """What it holds is pages of the file of before."""
    (tmp_path / f"{NAME}-journal").touch()
    Catalogue(tmp_path / NAME).remove()
    assert list(tmp_path.iterdir()) == []


def test_a_statement_that_does_not_end_is_ended(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a forged file may make one."""
    monkeypatch.setattr(catalogue_file, "_MOST_S", 0.0)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(CatalogueError, match="interrupted"), catalogue.reading() as connection:
        connection.execute(endless).fetchone()


@pytest.mark.parametrize("missing", ["module", "version"])
def test_without_a_fit_sqlite_there_is_no_catalogue(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "module":
        monkeypatch.setattr(catalogue_file, "sqlite3", None)
    else:
        monkeypatch.setattr(catalogue_file, "LEAST_SQLITE", (99,))
    for use in (catalogue.reading, catalogue.writing):
        with pytest.raises(CatalogueError, match="SQLite"), use():
            pass
    catalogue.remove()
    assert not catalogue.path.exists()
