"""`context-persistent sql`: answers over all sessions; it writes nothing, reads nothing else, and ends."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.busy_homes import BusyHome
from tests.support.commands import PLAIN, run, without_colours
from tests.support.places import DOCS
from tests.support.sessions_of_a_home import COMMAND, TERMINAL, log_of
from tests.support.sweeps import proof

DOCUMENT = (DOCS / "catalogue.md").read_text("utf-8") + (DOCS / "sql_queries.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.DOTALL)
WITHOUT_END = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two projects, in whose sessions is something of everything; for tests that leave it as it is."""
    grown = tmp_path_factory.mktemp("grown")
    BusyHome(grown, 7, damage=0.1).grow()
    return grown


@pytest.fixture(autouse=True)
def home(grown: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(grown))
    return grown


@pytest.fixture
def own_home(grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy for tests that change it."""
    monkeypatch.setenv("HOME", str(shutil.copytree(grown, tmp_path / "home")))


ALL = ("sql", "--all", "--tokenizer", "estimate")


def told(*arguments: str) -> Any:
    return json.loads(run(*ALL, "--json", *arguments).stdout)


def tree(home: Path) -> dict[str, bytes]:
    """All files below the home directory but the catalogues."""
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file() and path.suffix == ".jsonl"}


def test_there_are_ten_queries() -> None:
    assert len(QUERIES) == 10


@proof(quick=2)
@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_a_query_of_the_docs_has_an_answer(query: str) -> None:
    """The same without a catalogue."""
    answer = told(query)
    assert answer["rows"]
    assert list(answer["rows"][0]) == answer["columns"]
    assert answer == told(query, "--no-catalogue")


def test_the_docs_list_the_columns() -> None:
    """All of them, in their order."""
    views = json.loads(run("sql", "--json").output)["views"]
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", DOCUMENT, re.MULTILINE))
    listed = {name: re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", cells)) for name, cells in rows.items()}
    assert listed == views
    assert run("sql").output.startswith("sessions: session, project, path, ")


def test_it_is_what_stats_says() -> None:
    """Sums of the views are the totals."""
    total = json.loads(run("stats", "--all", "--json", "--tokenizer", "estimate").output)["total"]
    (calls,) = told("SELECT count(message) AS calls, sum(failed) AS failed FROM calls")["rows"]
    (paid,) = told("SELECT count(*) AS requests, sum(input_tokens) AS input, sum(cost) AS cost FROM requests_v1")[
        "rows"
    ]
    (sessions,) = told("SELECT sum(turns) AS turns, sum(cost) AS cost, count(sub_agent_of) AS below FROM sessions")[
        "rows"
    ]
    assert (calls["calls"], calls["failed"]) == (total["calls"], total["failed_calls"])
    assert (paid["requests"], paid["input"]) == (total["requests"], total["input_tokens"])
    assert paid["cost"] == pytest.approx(total["cost"], abs=1e-6) == sessions["cost"]
    assert (sessions["turns"], sessions["below"]) == (total["turns"], 2)


def test_forms_of_an_answer() -> None:
    """A table, CSV, JSON; names that come twice, NULL, bytes, control characters and numbers that JSON lacks."""
    text = "'two' || char(10, 27) || 'lines'"
    query = f"SELECT 1 AS a, 'x' AS a, NULL AS n, x'00ff' AS b, {text} AS t, 9e999 AS i, 'é日' AS u"
    (row,) = told(query)["rows"]
    assert row == {"a": 1, "a:2": "x", "n": None, "b": "00ff", "t": "two\n\x1blines", "i": None, "u": "é日"}
    rows = list(csv.reader(io.StringIO(run(*ALL, "--csv", query).stdout)))
    assert rows == [["a", "a:2", "n", "b", "t", "i", "u"], ["1", "x", "", "00ff", "two\n\\u001blines", "inf", "é日"]]
    done = run(*ALL, query)
    assert done.stderr.startswith("from 10 sessions (2 of sub-agents), up to 2026-01-")
    run(*ALL, "SELECT CAST(x'ff' AS TEXT)")
    assert run(*ALL, "SELECT 1 WHERE 0").stdout == ""
    run("sql", "--all", "-", code=2)  # nothing stands in the standard input


def test_rows_are_limited() -> None:
    """It says that there are more."""
    answer = told(f"{WITHOUT_END} SELECT x FROM c", "--limit", "3")
    assert (answer["rows"], answer["is_cut"]) == ([{"x": 1}, {"x": 2}, {"x": 3}], True)
    assert "only the first 3 rows" in run(*ALL, f"{WITHOUT_END} SELECT x FROM c", "--limit", "3").stderr


REFUSED = [
    "INSERT INTO calls_v1 VALUES (1)",
    "DELETE FROM main.turns",
    "UPDATE main.logs SET name = 'x'",
    "DROP VIEW temp.calls",
    "CREATE TABLE x (y)",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE TEMP VIEW x AS SELECT * FROM main.logs",
    "ATTACH DATABASE '{home}/new.sqlite3' AS x",
    "ATTACH '{home}/.amplifier/projects/-here/context-catalogue.sqlite3' AS x",
    "VACUUM INTO '{home}/new.sqlite3'",
    "PRAGMA writable_schema = ON",
    "PRAGMA user_version = 3",
    "PRAGMA temp_store_directory = '{home}'",
    "PRAGMA hard_heap_limit = 0",
    "SELECT * FROM pragma_database_list",
    "SELECT count(*) FROM pragma_table_info('logs')",
    "WITH calls_v1 AS (SELECT * FROM pragma_function_list) SELECT * FROM calls_v1",
    "SELECT * FROM dbstat",
    "SELECT * FROM sqlite_dbpage",
    "CREATE VIRTUAL TABLE temp.x USING fts5(y)",
    "SELECT load_extension('{home}/x')",
    "SELECT writefile('{home}/new', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT fts3_tokenizer('simple')",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT x",
    "ANALYZE",
    "REINDEX",
    "EXPLAIN DELETE FROM main.turns",
    "SELECT 1; DELETE FROM main.turns",
    "SELECT 1; SELECT 2",
    "",
    "-- nothing",
    "\x00",
    "SELECT * FROM nowhere",
    "SELECT nothing FROM calls",
    "SELECT ?",
    "SELEC 1",
    "SELECT 'half",
    "SELECT zeroblob(1000000000)",
    "SELECT json_extract('{{', '$')",
    "SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1)",
    "\ud800",
]


@proof(quick=11)
@pytest.mark.parametrize("query", REFUSED)
def test_it_writes_nothing_and_reads_no_file(home: Path, query: str) -> None:
    """One line says why it is refused."""
    before = tree(home)
    done = run(*ALL, query.replace("{home}", str(home)), code=2)
    assert done.stderr.startswith(("Error: ", "Usage: "))
    assert done.stdout == ""
    assert tree(home) == before
    assert not list(home.glob("new*"))


@proof(quick=1)
@pytest.mark.parametrize(
    ("query", "given"), [("SELECT '\udcff'", None), ("-", b"SELECT '\xff'")], ids=["argument", "input"]
)
def test_a_query_that_is_not_utf_8_is_refused(query: str, given: bytes | None) -> None:
    """In a person's words, wherever it comes from."""
    done = subprocess.run([COMMAND, *ALL, query], input=given, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"Error: the query is not UTF-8 at character 9; give it in UTF-8\n"


@proof
def test_it_ends() -> None:
    """A query without end, and one that nothing can interrupt, in a process of its own."""
    done = run(*ALL, "--timeout", "0.2", f"{WITHOUT_END} SELECT count(*) FROM c", code=2)
    assert ("takes " in done.stderr, done.stdout) == (True, "")
    asked = [COMMAND, *ALL, "--timeout", "0.2", "SELECT instr(zeroblob(4000000), zeroblob(2000000) || x'01')"]
    ended = subprocess.run(asked, capture_output=True, timeout=120, env={**os.environ, **PLAIN}, check=False)
    assert (ended.returncode, b"takes " in ended.stderr, ended.stdout) == (2, True, b"")


@pytest.mark.parametrize(
    "query",
    [
        f"{WITHOUT_END} SELECT x, zeroblob(1000000) AS b FROM c ORDER BY b",
        f"{WITHOUT_END} SELECT zeroblob(4000000) FROM c",
    ],
    ids=["sorted", "given"],
)
@proof
def test_memory_is_limited(query: str) -> None:
    """What is sorted and what is given."""
    done = run(*ALL, "--timeout", "60", query, code=2)
    assert "memory" in done.stderr or "MB" in done.stderr


@pytest.mark.usefixtures("own_home")
def test_this_project_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --all; a project without sessions is an error."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    run("sql", "SELECT 1", code=2)
    log_of("s").parent.mkdir(parents=True)
    log_of("s").write_text('{"role":"user","content":"hello"}\n')
    done = run("sql", "SELECT session, turns FROM sessions", "--json", "--tokenizer", "estimate")
    assert json.loads(done.stdout)["rows"] == [{"session": "s", "turns": 1}]


@pytest.mark.usefixtures("own_home")
def test_a_log_that_cannot_be_read_is_said() -> None:
    log_of("broken", "/tmp").mkdir(parents=True)
    answer = told("SELECT count(*) AS n FROM sessions")
    assert (answer["rows"], answer["sessions"]) == ([{"n": 10}], 10)
    assert [Path(one["path"]).parent.name for one in answer["unreadable"]] == ["broken"]


def test_a_row_that_does_not_fit_is_shown_value_by_value() -> None:
    """No cell is folded: in a narrow terminal each value has a line, as in psql; in a pipe it is a table."""
    long = ("word " * 30).strip()
    query = f"SELECT 'a' AS short, '{long}' AS long, 7 AS number"
    narrow = without_colours(run(*ALL, query, env={**TERMINAL, "COLUMNS": "60"}).stdout)
    assert narrow.splitlines() == ["-[ 1 ]------", "short  | a", f"long   | {long}", "number | 7"]
    assert without_colours(run(*ALL, query, env={**TERMINAL, "COLUMNS": "300"}).stdout).startswith("short ")
    assert run(*ALL, query).stdout.startswith("short ")
