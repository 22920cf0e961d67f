"""The commands on sessions in a database: the same output as on a file, by the same names, without a password."""

import asyncio
import json
import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.database_location import location_of, parse_location, without_password
from amplifier_module_context_persistent.log.open_log import open_log
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.paths import log_name
from amplifier_module_context_persistent.sessions import transcript
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.cli import search as search_module
from fixtures.generate import generate_session
from tests.support.commands import run, shows
from tests.support.logs import append, append_bodies
from tests.support.postgres import TestServer
from tests.support.recorded_sessions import Recorded
from tests.support.sessions_of_a_home import log_of
from tests.support.sweeps import proof

SECRET = "hunter" + "2"


async def record(storage: str) -> None:
    """Record a session with views and plans, on disk and in a database."""
    session = Recorded(log_of("s1-long-enough"))
    messages = list(generate_session(5, 60))
    for start in range(0, len(messages), 20):
        await session.add(*messages[start : start + 20])
        await session.view()
    await session.manager.close()
    run("copy", "s1", storage)


@pytest.fixture
async def both(storage: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Such a session of this project, for tests that change it."""
    (home / "work").mkdir()
    monkeypatch.chdir(home / "work")
    await record(storage)
    return storage


@pytest.fixture(scope="module")
def recorded(server: TestServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with such a session, and the database; for tests that only read."""
    home, storage = tmp_path_factory.mktemp("recorded"), server.new_location()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.chdir(home)
        asyncio.run(record(storage))
    return home, storage


@pytest.fixture
def unchanged(recorded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The database of that session, whose home is this test's."""
    home, storage = recorded
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return storage


@proof(quick=1)
@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "s1"],
        ["show", "--last", "--json"],
        ["tail", "s1-long-enough", "-n", "3"],
        ["search", "the", "-i", "-l"],
        ["search", "the", "s1", "--json"],
        ["search", "the", "--all", "-c"],
        ["stats", "s1", "--json"],
        ["views", "s1"],
        ["view", "s1", "2"],
        ["export", "s1", "--format", "markdown"],
        ["verify", "--last"],
        ["verify", "s1", "--json"],
        ["rewind", "s1", "--to", "1", "--dry-run"],
        ["purge", "s1", "--everything", "--dry-run"],
    ],
    ids=" ".join,
)
def test_a_command_says_the_same(unchanged: str, arguments: list[str]) -> None:
    """By id, prefix, or --last, for a file and for its copy in a database."""
    here, there = run(*arguments, code=None), run(*arguments, "--storage", unchanged, code=None)
    location = location_of(unchanged, log_name("s1-long-enough", "."))
    assert there.output.replace(without_password(location), str(log_of("s1-long-enough"))) == here.output
    assert (there.exit_code, bool(there.output)) == (here.exit_code, True)


@proof
def test_policies_are_compared(unchanged: str) -> None:
    """With the same numbers, apart from times."""

    def measured(*arguments: str) -> list[dict[str, Any]]:
        compared = json.loads(run("compare", "s1", "--json", *arguments).output)
        rows = next(value for value in compared.values() if isinstance(value, list))
        return [{key: row[key] for key in row if not key.endswith("_ms") and key != "session"} for row in rows]

    assert measured("--storage", unchanged) == measured()


@proof
def test_sessions_are_listed(both: str) -> None:
    """With the columns that a file has; of other projects with --all."""
    with closing(open_log(location_of(both, "-other/s2"))) as log:
        append(log, 1)
    (here,) = json.loads(run("list", "--json", "--storage", both).output)["sessions"]
    (file,) = json.loads(run("list", "--json").output)["sessions"]
    own = ("path", "modified_s", "open", "state")
    assert {key: here[key] for key in here if key not in own} == {key: file[key] for key in file if key not in own}
    found = run("list", "--all", "--storage", both).output
    shows(found, "s1-long-enough", "s2", "-other")
    assert "either --storage" in run("list", ".", "--storage", both, code=2).output


@proof
def test_the_environment_names_the_database(both: str) -> None:
    """A file's path still names a file."""
    os.remove(path := log_of("s1-long-enough"))
    run("show", "s1", code=2)
    env = {"COLUMNS": "80", "NO_COLOR": "1", "AMPLIFIER_CONTEXT_STORAGE": both}
    run("show", "s1", env=env)
    run("copy", "s1", path, env=env)
    run("show", path, env=env)


def test_a_location_is_a_name(unchanged: str) -> None:
    """Wherever a session is asked for."""
    location = location_of(unchanged, log_name("s1-long-enough", "."))
    run("verify", location)
    assert run("show", location).output == run("show", "s1").output
    assert "after #" in run("show", unchanged, code=2).output


def with_password(storage: str) -> str:
    """The same database, with a password that it does not ask for."""
    return storage.replace("postgres:@", f"postgres:{SECRET}@", 1)


@proof
def test_a_password_is_not_shown(both: str) -> None:
    """Neither in what is printed nor in an error."""
    asked = (
        *("list", "show s1", "verify s1 --json", "search the --json", "show nobody", "list --json", "views s1 --json"),
        *("report s1 -o page.html", "rewind s1 --to 1 --yes", "purge s1 --everything --yes"),
    )
    for command in asked:
        done = run(*command.split(), "--storage", with_password(both), code=None)
        assert (bool(done.output), SECRET in done.output, done.exit_code in (0, 2)) == (True, False, True), command


@pytest.mark.parametrize("command", [["list"], ["show", "s1"], ["verify", "s1"], ["search", "x"], ["copy", "s1", "x"]])
def test_what_is_missing_is_said(
    server: Any, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, a server, the extra, or a location that is none: exit code 2, one line, no password."""
    uri = server.server.get_uri()
    for storage, said in (
        (f"{with_password(uri)}&schema=nothing_here", "storage init"),
        (f"postgresql://u:{SECRET}@localhost:1/db", "cannot"),
        (f"postgresql://u:{SECRET}@h:port/db", "cannot be read"),
        (f"mysql://u:{SECRET}@h/db", "postgresql://"),
    ):
        timeout_s = 0.2 if "localhost:1/" in storage else 60.0  # nobody listens there
        monkeypatch.setattr("amplifier_module_context_persistent.log.postgres.list_logs.TIMEOUT_S", timeout_s)
        done = run(*command, "--storage", storage, code=2)
        assert said in " ".join(done.output.split()), done.output
        assert SECRET not in done.output


def test_without_the_extra_the_commands_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And everything else works."""
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    assert "pip install" in run("list", "--storage", "postgresql://h/db", code=2).output
    run("list")


def test_a_session_can_be_followed(both: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tail -f` prints what is appended, and ends when it is interrupted."""
    location, looks = location_of(both, log_name("s1-long-enough", ".")), list[list[str]]()

    def appending(_storage: str, names: list[str]) -> dict[str, tuple[int, ...]]:
        looks.append(names)
        if len(looks) == 2:
            with closing(open_log(location)) as log:
                append(log, 77)
        if len(looks) == 4:
            raise KeyboardInterrupt
        return dict.fromkeys(names, (len(looks),))

    monkeypatch.setattr("amplifier_module_context_persistent.log.postgres.list_logs.stored_heads", appending)
    monkeypatch.setattr("amplifier_module_context_persistent.sessions.log_watch.DATABASES_S", 0.01)
    assert "77" in run("tail", "s1", "-f", "-n", "1", "--storage", both, code=130).output


@proof
def test_a_session_is_forked_and_rewound_there(both: str) -> None:
    """The fork lies beside it; a second one of the same name is refused."""
    done = json.loads(run("fork", "s1", "--at", "2", "--session", "other", "--json", "--storage", both).output)
    assert done["path"] == without_password(location_of(both, log_name("other", ".")))
    shown = run("show", "other", "--json", "--storage", both).output.splitlines()
    assert len(shown) >= done["messages"]
    assert "already" in run("fork", "s1", "--session", "other", "--storage", both, code=2).output
    done = run("rewind", "other", "--to", "1", "--yes", "--storage", both)
    assert len(run("show", "other", "--json", "--storage", both).output.splitlines()) < len(shown)
    run("verify", "other", "--storage", both)


@proof
def test_a_session_is_imported_into_it(both: str, tmp_path: Path) -> None:
    """A second import adds what is new; what is no earlier import is refused."""
    source = tmp_path / "messages.jsonl"
    lines = [json.dumps({"role": "user", "content": f"message {number}"}) + "\n" for number in range(4)]
    source.write_text("".join(lines[:2]))
    first = json.loads(run("import", source, "--session", "new", "--json", "--storage", both).output)
    assert first["path"] == without_password(location_of(both, log_name("new", ".")))
    source.write_text("".join(lines))
    assert json.loads(run("import", source, "--session", "new", "--json", "--storage", both).output)["added"] == 2
    assert "message 3" in run("show", "new", "--storage", both).output
    assert "already" in run("import", source, "--session", "s1-long-enough", "--storage", both, code=2).output


def test_a_purge_leaves_nothing_in_the_table(both: str, server: Any) -> None:
    """And says where bytes may still be."""
    assert "VACUUM" in run("purge", "s1", "--everything", "--yes", "--storage", both).output
    schema = both.rpartition("schema=")[2]
    assert server.execute(f"select count(*) from {schema}.record where line like '{{\"role\"%%'::bytea") == [(0,)]
    assert server.execute(f"select count(*) from {schema}.log") == [(1,)]
    run("verify", "s1", "--storage", both)


def calling(call_id: str, arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "tool": "run", "arguments": arguments}]}


TOLD: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "Why is Retry_Count wrong?"}],
    [{"role": "user", "content": "nothing of it"}],
    [
        calling("c1", {"max": 3, "of": "QUEUE"}),
        {"role": "tool", "tool_call_id": "c1", "content": "gr\u00fc\u00df dich"},
    ],
    [calling("c2", '{"say": "qu\\u0065ue"}')],
    [{"role": "user", "content": "\ud800 Queue, not ASCII"}],
]
SEARCHES = [
    ["retry_count"],
    ["Retry_Count", "--ignore-case"],
    ["queue", "-i"],
    ["queue"],
    ['"max": 3, "of": "QUEUE"', "--fixed"],
    ["gr\u00fc\u00df"],
    ["Que.e, not"],
    ["d+"],
    ["queue ascii", "--words"],
    ["absent_word"],
]


@proof
async def test_one_question_finds_which_sessions_to_search(
    storage: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a search of all says is the same as of files; what cannot match is not opened."""
    (home / "work").mkdir()
    monkeypatch.chdir(home / "work")
    for number, messages in enumerate(TOLD):
        session = Recorded(log_of(f"s{number}"))
        await session.add(*messages)
        await session.manager.close()
        run("copy", f"s{number}", storage)
    opened: list[str] = []
    opens = search_module.open_transcript
    monkeypatch.setattr(search_module, "open_transcript", lambda path, **how: opened.append(path) or opens(path, **how))
    for arguments in SEARCHES:
        here = run("search", *arguments, "--all", "--json", "--no-catalogue", code=None)
        opened.clear()
        there = run("search", *arguments, "--all", "--json", "--storage", storage, code=here.exit_code)
        lines = [[{**json.loads(line), "path": ""} for line in done.stdout.splitlines()] for done in (here, there)]
        assert sorted(lines[1], key=str) == sorted(lines[0], key=str), arguments
    assert len(opened) == 1  # of the absent word: a letter of its arguments is escaped
    looked_at: list[str] = []
    monkeypatch.setattr(transcript, "Transcript", lambda path, **how: looked_at.append(path) or Transcript(path, **how))
    (listed,) = json.loads(run("list", "--grep", "RETRY_count", "--json", "--storage", storage).stdout)["sessions"]
    assert (listed["session"], len(looked_at)) == ("s0", 2)  # two may match; what the list says was kept by a search


@proof
async def test_what_list_says_is_kept_in_the_database(storage: str, both: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next list opens no log that is as it was; what changed is looked at anew, and no text is kept."""
    opened: list[str] = []
    opens = transcript.Transcript

    def opening(path: Any, **how: Any) -> Any:
        opened.append(str(path))
        return opens(path, **how)

    monkeypatch.setattr(transcript, "Transcript", opening)

    def listed(*options: str) -> Any:
        opened.clear()
        (one,) = json.loads(run("list", "--all", "--json", "--storage", both, *options).stdout)["sessions"]
        return one

    first = listed()
    assert len(opened) == 1
    assert first["first_line"]
    again = listed()
    assert (again, opened) == (first, [])
    assert listed("--no-catalogue") == first
    assert len(opened) == 1
    with closing(open_log(location_of(both, log_name("s1-long-enough", ".")))) as log:
        append(log, 1_000)
    grown = listed()
    assert (len(opened), grown["messages"]) == (1, first["messages"] + 1)
    run("purge", "s1", "--everything", "--yes", "--storage", both)
    purged = listed()
    assert (len(opened), purged["messages"], purged["first_line"]) == (1, 0, "")


async def test_a_session_that_closes_keeps_what_list_says_of_it(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first list opens nothing, and says what one says that looks."""
    for session in ("one", "two"):
        async with PersistentContextManager(storage=storage, session_id=session) as manager:
            await manager.add_message({"role": "user", "content": f"Begin {session}."})
    opened: list[str] = []
    opens = transcript.Transcript
    monkeypatch.setattr(transcript, "Transcript", lambda path, **how: opened.append(str(path)) or opens(path, **how))
    kept = run("list", "--all", "--json", "--storage", storage).stdout
    assert ("Begin one." in kept, "Begin two." in kept, opened) == (True, True, [])
    assert run("list", "--all", "--json", "--no-catalogue", "--storage", storage).stdout == kept
    assert len(opened) == 2


@proof(quick=1)
@pytest.mark.parametrize(
    "told", ["", "[]", '{"glance": {}, "line": [0, 1, 2]}', '{"glance": {"messages": "x"}, "line": [0, 0, 0]}']
)
async def test_what_somebody_else_wrote_there_is_not_believed(server: TestServer, both: str, told: str) -> None:
    """Nor is a table that is missing an error."""
    expected = run("list", "--all", "--json", "--storage", both).stdout
    schema = parse_location(both).schema
    server.execute(f"update {schema}.glance set told = %s", told)
    assert run("list", "--all", "--json", "--storage", both).stdout == expected
    server.execute(f"drop table {schema}.glance")
    assert run("list", "--all", "--json", "--storage", both).stdout == expected


def test_old_sessions_are_pruned_there(both: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is younger stays; one that grew after it was looked at stays too, and is named."""
    with closing(open_log(location_of(both, log_name("young", ".")))) as young:
        message = {"role": "user", "content": "now"}
        append_bodies(young, encode_message(message, message_id="m", timestamp=datetime.now(UTC).isoformat()))
        old = open_log(location_of(both, log_name("old", ".")))
        append(old, 1)

        def asked(*_: Any, **__: Any) -> None:
            append(old, 2)

        monkeypatch.setattr("amplifier_module_context_persistent.toolbox.cli.delete_listed.ask", asked)
        assert "written to since" in run("prune", "--older", "1d", "--storage", both, code=1).output
        listed = json.loads(run("list", "--json", "--storage", both).output)["sessions"]
        assert {one["session"] for one in listed} == {"young", "old"}
    old.close()
