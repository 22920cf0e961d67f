"""`context-persistent archive` on sessions in a database: what every command says of one is what it said before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.database_location import location_of, parse_location
from amplifier_module_context_persistent.log.postgres import archive_stored_log as module
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.paths import log_name
from fixtures.generate import generate_session
from tests.support.all_answers import answers
from tests.support.commands import run
from tests.support.messages import user
from tests.support.postgres import TestServer
from tests.support.recorded_sessions import Recorded
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
async def location(storage: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session with views, plans and a clear in a database, which commands ask."""
    session = Recorded(log_of("one"))
    messages = [*generate_session(5, 60)]
    for start in range(0, 60, 15):
        await session.add(*messages[start : start + 15])
        await session.view()
        if start == 15:
            await session.manager.clear()
    await session.manager.close()
    run("copy", "one", storage)
    monkeypatch.setenv("AMPLIFIER_CONTEXT_STORAGE", storage)
    monkeypatch.setattr(module, "FRAME_BYTES", 20_000)
    monkeypatch.setattr(module, "LEAST_FRAME_BYTES", 5_000)
    return location_of(storage, log_name("one", "."))


def counts(server: TestServer, location: str) -> tuple[int, int]:
    """How many rows and frames the database has."""
    schema = parse_location(location).schema
    return tuple(server.execute(f"select count(*) from {schema}.{table}")[0][0] for table in ("record", "frame"))  # type: ignore[return-value]


@proof
def test_every_command_says_the_same_of_an_archived_session(location: str, server: TestServer) -> None:
    """And the log comes back row for row."""
    schema = parse_location(location).schema
    rows, before = server.execute(f"select * from {schema}.record order by seq"), answers("one")
    run("archive", "one", "--yes")
    assert counts(server, location)[0] <= 1
    assert answers("one") == before
    run("archive", "--undo", "one", "--yes")
    assert server.execute(f"select * from {schema}.record order by seq") == rows
    assert answers("one") == before


def test_archive_says_what_it_did(location: str, server: TestServer) -> None:
    """The same as of files; a list says `archived`, and needs no frame for the text that it shows."""
    before = run("list", "--json").output
    assert "stays as it is" not in run("archive", "--everything", "--dry-run").output
    assert counts(server, location)[1] == 0
    told = json.loads(run("archive", "--everything", "--yes", "--json").stdout)
    assert told["archived"][0]["bytes_after"] < told["archived"][0]["bytes_before"]
    assert "no session to archive" in run("archive", "--everything").output
    server.execute(f"update {parse_location(location).schema}.frame set packed = 'damaged'")
    (one,) = json.loads(run("list", "--json").output)["sessions"]
    assert one["state"] == "archived"
    assert one["first_line"] == json.loads(before)["sessions"][0]["first_line"] != ""


@proof
async def test_a_session_goes_on_in_an_archived_log(location: str, storage: str, server: TestServer) -> None:
    """With the view that it would have had; it is archived with what it added the next time."""
    views = list[Any]()
    for is_archived in (False, True):
        if is_archived:
            run("archive", "one", "--yes")
        manager = PersistentContextManager(storage=storage, session_id="one", tokenizer="estimate", max_tokens=4_000)
        views.append((await manager.get_messages(), await manager.get_messages_for_request()))
        await manager.close()
    assert views[0] == views[1]
    manager = PersistentContextManager(storage=storage, session_id="one", tokenizer="estimate", max_tokens=4_000)
    await manager.add_message(user("go on"))
    assert "the session is open" in run("archive", "one", "--yes", code=2).output
    await manager.close()
    assert "go on" in run("show", "one", "--turn", "-1").output
    assert json.loads(run("list", "--json").output)["sessions"][0]["state"] != "archived"
    run("archive", "one", "--yes")
    assert counts(server, location)[0] <= 1
    assert json.loads(run("list", "--json").output)["sessions"][0]["state"] == "archived"
    run("verify", "one")


@proof
def test_du_counts_the_frames(location: str) -> None:
    """And says what archiving would free."""
    before = json.loads(run("du", "one", "--json").output)
    assert before["total"]["archive_frees_bytes"] > 0
    run("archive", "one", "--yes")
    after = json.loads(run("du", "one", "--json").output)
    assert after["total"]["log_bytes"] < before["total"]["log_bytes"] / 2
    assert after["total"]["unpacked_bytes"] == before["total"]["unpacked_bytes"]


@proof(quick=1)
@pytest.mark.parametrize("what", [("--redact", "error"), ("--cleared",)], ids=" ".join)
def test_what_a_purge_leaves_is_archived_again(what: tuple[str, ...], location: str, server: TestServer) -> None:
    """Nothing of what went is in a row or a frame."""
    run("archive", "one", "--yes")
    run("purge", "one", *what, "--yes")
    rows, frames = counts(server, location)
    assert rows <= 1
    assert frames > 0
    if what[0] == "--redact":
        run("search", "error", "one", "--hidden", code=1)
    assert "cleared" not in what or json.loads(run("list", "--json").output)["sessions"][0]["hidden"] == 0


@proof
def test_old_sessions_are_found_and_open_ones_stay(location: str, storage: str) -> None:
    """`--older` goes by the last message, as it does for files."""
    write(log_of("young"), [user("I am new")])
    run("copy", log_of("young"), storage)
    with_both = json.loads(run("archive", "--older", "1h", "--dry-run", "--json").output)
    assert [one["session"] for one in with_both["archived"]] == ["one"]
    log = PostgresLog(location, marks_open=True)
    try:
        log.follow()
        kept = json.loads(run("archive", "--older", "1h", "--yes", "--json", code=None).output)["kept"]
        assert "is open" in kept[0]["refused"]
    finally:
        log.close()
