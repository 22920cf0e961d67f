"""What many sessions come to is the same with and without their catalogues."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue import catalogue_file
from amplifier_module_context_persistent.catalogue.catalogue_file import catalogue_of, switched_off
from amplifier_module_context_persistent.catalogue.kept_figures import Figures
from amplifier_module_context_persistent.catalogue.lock_wait import COMMAND_WAIT_S, LockWait, WaitBudget
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.sessions import gather_figures as gathered_module
from amplifier_module_context_persistent.sessions.gather_figures import gathered
from amplifier_module_context_persistent.sessions.prices import PriceList
from amplifier_module_context_persistent.sessions.totals import BY, Period, slowest_calls, total_of, totals
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.busy_homes import BusyHome, sessions_of_home
from tests.support.sweeps import proof, whole

TABLES = ("logs", "turns", "calls", "requests", "plans")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def all_told(*, keeps: bool = True, opened: list[str] | None = None) -> Any:
    """All rows in their order, and all that is added up of them."""

    def watch(paths: Any) -> Any:
        if opened is not None:
            opened.extend(paths)
        return nullcontext(FileSystem())

    with nullcontext() if keeps else switched_off(), gathered(sessions_of_home(), EstimateCounter(), watch) as found:
        rows = {table: found.connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}
        sums = {by: {key: one.to_json() for key, one in totals(found, PriceList(), by).items()} for by in BY}
        since = total_of(found, PriceList(), Period(1_767_700_000.0)).to_json()
        return rows, sums, since, slowest_calls(found), found.unreadable, found.sessions, found.up_to_us


@proof(quick=1)
@pytest.mark.parametrize("seed", range(3 if whole() else 2))
def test_catalogues_change_no_answer(home: Path, seed: int) -> None:
    """Whatever is in the logs, while they grow, and whichever was added up before."""
    busy = BusyHome(home, seed)
    for _ in range(3):
        busy.grow()
        expected = all_told(keeps=False)
        for told, of in zip(all_told(), expected, strict=True):
            assert told == of
    assert all_told() == expected


def test_only_what_changed_is_opened(home: Path) -> None:
    busy = BusyHome(home, 1, damage=0.0)
    busy.grow()
    first: list[str] = []
    expected = all_told(opened=first)
    assert len(first) == 10
    again: list[str] = []
    assert all_told(opened=again) == expected
    assert again == []
    changed = sessions_of_home()[2].path
    with open(changed, "ab") as file:
        file.write(b'{"role":"user","content":"more"}\n')
    assert all_told(opened=again) != expected
    assert again == [str(changed)]


def test_sub_agents_count_with_the_session_that_started_them(home: Path) -> None:
    """By their ids; what only looks so, and a fork, is a session of its own."""
    BusyHome(home, 2, damage=0.0).grow()
    rows = all_told()[0]["logs"]
    assert {(name, root) for _, name, _, _, is_fork, root in rows if not is_fork} >= {
        ("one-0a_helper", "one"),
        ("three_x", "three_x"),
    }


def test_a_log_that_cannot_be_read_is_named(home: Path) -> None:
    """The others are added up."""
    BusyHome(home, 3).grow()
    broken = home / ".amplifier" / "projects" / "-here" / "sessions" / "odd"
    broken.mkdir()
    (broken / "context-messages.jsonl").write_bytes(b"\0\1\2 no record\n" * 9)
    (broken.with_name("gone") / "context-messages.jsonl").mkdir(parents=True)
    for keeps in (True, False):
        told = all_told(keeps=keeps)
        assert sorted(Path(path).parent.name for path in told[4]) == ["gone", "odd"]
        assert told[5] == 10


@proof
def test_catalogues_in_use_delay_all_sessions_together_by_no_more_than_one_budget(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then all its sessions are added up from their logs."""
    BusyHome(home, 4).grow()
    all_told()
    for one in sessions_of_home():
        with open(one.path, "ab") as file:
            file.write(b'{"role":"user","content":"more"}\n')
    expected = all_told(keeps=False)
    places = {catalogue_of(one.path) for one in sessions_of_home()}
    pauses: list[float] = []
    patient = partial(LockWait, budget=WaitBudget(COMMAND_WAIT_S, clock=lambda: 0.0), sleep=pauses.append)
    monkeypatch.setattr(catalogue_file, "LockWait", patient)
    with ExitStack() as holders:
        for place in places:
            held = holders.enter_context(closing(sqlite3.connect(place, isolation_level=None)))
            held.execute("BEGIN EXCLUSIVE")
        assert all_told() == expected
    assert 0 < sum(pauses) <= COMMAND_WAIT_S + 1e-6


def test_a_directory_that_cannot_be_written_changes_no_answer(home: Path) -> None:
    """Nothing is written there."""
    BusyHome(home, 5).grow()
    expected = all_told(keeps=False)

    places = {catalogue_of(one.path) for one in sessions_of_home()}
    for place in places:
        place.mkdir()  # no file can take its place
    assert all_told() == expected


@proof
def test_a_catalogue_that_is_cut_while_it_is_copied_changes_no_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite may take tables that are gone for empty ones; the logs are added up anew, without them."""
    BusyHome(home, 4).grow()
    expected = all_told(keeps=False)
    assert all_told() == expected
    copied, cuts = gathered_module._copy, 0

    def copy(source: Figures, *rest: Any) -> None:
        nonlocal cuts
        path = source.connection.execute("PRAGMA database_list").fetchone()[2]
        if path and os.stat(path).st_size > 4096:
            cuts += 1
            os.truncate(path, 4096)
        copied(source, *rest)

    monkeypatch.setattr(gathered_module, "_copy", copy)
    assert all_told() == expected
    assert cuts


def test_a_fork_counts_for_itself_whatever_its_id_looks_like(home: Path) -> None:
    """With an id as a sub-agent of its origin would have it."""
    sessions = home / ".amplifier" / "projects" / "-here" / "sessions"
    for name, header in (("one", {}), ("one-0a_helper", {}), ("one-0b_again", {"forked_from": "m1"})):
        (sessions / name).mkdir(parents=True)
        head = {"_record": "header", "format": 1, "session_id": name, "parent_id": "one", **header}
        lines = [head, {"role": "user", "content": "hello"}]
        (sessions / name / "context-messages.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for keeps in (True, False):
        rows = all_told(keeps=keeps)[0]["logs"]
        roots = {name: root for _, name, _, _, _, root in rows}
        assert roots == {"one": "one", "one-0a_helper": "one", "one-0b_again": "one-0b_again"}
