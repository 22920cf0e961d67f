"""Claude Code sessions that continue another session, and begin with copies of its messages."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.sessions.gather_figures import gathered
from amplifier_module_context_persistent.sessions.prices import PriceList
from amplifier_module_context_persistent.sessions.totals import total_of, totals
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.transfer.imports.import_directory import import_all, session_paths
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.busy_homes import sessions_of_home
from tests.support.claude_entries import Entry, answers, says, text
from tests.support.imports import history_and_view, imported, records, texts, write_jsonl


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def talk(session: str) -> list[Entry]:
    return [
        says("u1", None, "one", sessionId=session),
        answers("a1", "u1", "m1", text("ONE"), sessionId=session, requestId="r1"),
    ]


def more(session: str, number: int, parent: str) -> list[Entry]:
    return [
        says(f"u{number}", parent, f"q{number}", sessionId=session),
        answers(
            f"a{number}", f"u{number}", f"m{number}", text(f"A{number}"), sessionId=session, requestId=f"r{number}"
        ),
    ]


def forked(entries: list[Entry], session: str, origin: str) -> list[Entry]:
    """Copies as `/branch` writes them: with the new session's id."""
    return [
        {**entry, "sessionId": session, "forkedFrom": {"sessionId": origin, "messageUuid": entry["uuid"]}}
        for entry in entries
    ]


RESUMED = {
    "older id": [*talk("old"), *more("new", 2, "a1")],
    "older id after a line of its own": [{"type": "mode", "sessionId": "new"}, *talk("old"), *more("new", 2, "a1")],
    "third session": [*talk("first"), *more("old", 5, "a1"), *more("new", 2, "a5")],
    "branch": [*forked(talk("old"), "new", "old"), *more("new", 2, "a1")],
}


@pytest.mark.parametrize("entries", RESUMED.values(), ids=RESUMED)
async def test_a_resumed_session_is_a_session_of_its_own(home: Path, entries: list[Entry]) -> None:
    """It has the id in its file's name, and names the session that it continues, and the last message from there."""
    write_jsonl(home / "old.jsonl", [*talk("old"), *more("old", 3, "a1")])
    write_jsonl(home / "new.jsonl", entries)
    for name in ("new", "old", "new"):
        import_session(home / f"{name}.jsonl")
    assert {one.id for one in sessions_of_home()} == {"old", "new"}
    paths = {one.id: str(one.path) for one in sessions_of_home()}
    assert texts((await history_and_view(paths["new"]))[0])[-2:] == ["user: q2", "assistant: A2"]
    assert texts((await history_and_view(paths["old"]))[0])[-2:] == ["user: q3", "assistant: A3"]
    (header,) = records(paths["new"], "header")
    copied = "a5" if entries is RESUMED["third session"] else "a1"
    assert (header["source"]["forked_from_session"], header["forked_from"]) == ("old", copied)
    (header,) = records(paths["old"], "header")
    assert "forked_from" not in header
    assert "forked_from_session" not in header["source"]


def test_both_sides_of_a_resume_are_imported_and_billed_once(home: Path) -> None:
    """Whatever comes first in the directory, and however often it is imported."""
    write_jsonl(home / "d" / "b-old.jsonl", [*talk("b-old"), *more("b-old", 3, "a1")])
    write_jsonl(home / "d" / "a-new.jsonl", [*talk("b-old"), *more("a-new", 2, "a1")])
    for expected in (8, 0):
        done = list(import_all(session_paths(home / "d"), working_dir=str(home)))
        assert [one.error for one in done] == ["", ""]
        assert sum(one.report.added for one in done if one.report) == expected
    with gathered(sessions_of_home(), EstimateCounter(), lambda _: nullcontext(FileSystem())) as found:
        assert total_of(found, PriceList()).bill.requests == 3
        by_session = totals(found, PriceList(), "session")
    assert {key: one.bill.requests for key, one in by_session.items()} == {"b-old": 2, "a-new": 1}


OWN = {
    "file of another name": ("copy", talk("old")),
    "older id goes on": ("new", [*talk("old"), *more("old", 2, "a1")]),
    "other session at the end": ("old", [*talk("old"), *more("other", 2, "a1")]),
    "no id": ("old", [{**entry, "sessionId": None} for entry in talk("old")]),
}


@pytest.mark.parametrize(("name", "entries"), OWN.values(), ids=OWN)
def test_a_session_that_began_in_its_file_continues_no_other(home: Path, name: str, entries: list[Entry]) -> None:
    """Also if the file has another name than the session, or if the program wrote another session's lines into it."""
    report = imported(write_jsonl(home / f"{name}.jsonl", entries), home / "log")
    (header,) = records(report.path, "header")
    assert "forked_from" not in header
    assert "forked_from_session" not in header["source"]
    assert header["source"]["session_id"] == entries[0]["sessionId"]


def test_a_session_that_goes_on_under_the_older_id_is_its_own_beside_the_older_file(home: Path) -> None:
    """Else the two files would take each other's messages back at each import."""
    old, new = f"{'0' * 8}-0000-0000-0000-{'0' * 11}1", f"{'0' * 8}-0000-0000-0000-{'0' * 11}2"
    write_jsonl(home / f"{old}.jsonl", [*talk(old), *more(old, 3, "a1")])
    write_jsonl(home / f"{new}.jsonl", [*talk(old), *more(old, 2, "a1")])
    assert [import_session(home / f"{name}.jsonl").added for name in (new, old, new, old)] == [4, 4, 0, 0]
    paths = {one.id: str(one.path) for one in sessions_of_home()}
    (header,) = records(paths[new], "header")
    assert header["source"]["forked_from_session"] == old
