"""Ranked search over sessions: the answer is the same whatever happened to the catalogue and to the logs."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue import lock_wait, ranked_words
from amplifier_module_context_persistent.catalogue.catalogue_file import (
    Catalogue,
    CatalogueError,
    catalogue_of,
    switched_off,
)
from amplifier_module_context_persistent.catalogue.log_coverage import Stamp, name_of
from amplifier_module_context_persistent.catalogue.ranked_fill import FillTarget, RankedFill, lacking
from amplifier_module_context_persistent.catalogue.ranked_words import known_words
from amplifier_module_context_persistent.catalogue.schema import RANKED_TABLES
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.search import ranked_segment as segment
from amplifier_module_context_persistent.search.question import read_question
from amplifier_module_context_persistent.sessions.all_sessions_index import RankedSearch
from amplifier_module_context_persistent.sessions.session_files import session_files
from tests.support.commands import run
from tests.support.messages import fill
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

WORDS = [f"{a}{b}" for a in ("alpha", "beta", "gamma", "delta") for b in ("", "_one", "_two", "Three")]
QUESTIONS = ("Which needle was lost?", "gamma three", "alpha needles", "検索", "nothing has this word zzz")
NOW = datetime(2026, 3, 18, tzinfo=UTC)

Found = list[tuple[str, int, float]]


def messages(seed: int, *more: str, count: int = 60) -> list[dict[str, object]]:
    """Messages of random words, and some more."""
    choose = random.Random(seed)
    said: list[dict[str, object]] = [
        {"role": "user", "content": " ".join(choose.choices(WORDS, k=30))} for _ in range(count)
    ]
    for place, text in enumerate(more, 1):
        said.insert(place * 7, {"role": "user", "content": text})
    return said


def ask(question: str, *, read: list[int] | None = None) -> Found:
    """The session, offset and score of each message that is found; `read` gets how much of the logs was indexed."""
    progress = (lambda done, total: read.append(total)) if read is not None else (lambda done, total: None)
    answer = RankedSearch(session_files(), progress=progress).ask(read_question(question, now=NOW), most=20)
    assert not answer.errors
    return [(one.session.id, one.offset, round(one.ranked.score, 9)) for one in answer.found]


def without_catalogue(question: str) -> Found:
    with switched_off():
        return ask(question)


@pytest.fixture(autouse=True)
def catalogue(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with sessions in several segments each; gives its catalogue. In the end answers are right."""
    monkeypatch.setattr(segment, "MOST_MESSAGES", 20)
    write(log_of("one"), messages(1, "a needle was lost here"))
    write(log_of("two"), messages(2, "needles are found", "全文検索する", count=200))
    write(log_of("none"), messages(3))
    write(log_of("small"), messages(4, count=2))
    yield catalogue_of(log_of("one"))
    for question in QUESTIONS:
        assert ask(question) == without_catalogue(question) == ask(question), question


@proof
def test_a_filled_catalogue_is_asked_without_reading_logs(catalogue: Path) -> None:
    """The first question fills it."""
    first: list[int] = []
    answers = [ask(question, read=first) for question in QUESTIONS]
    assert first
    assert answers[0][0][0] == "one"
    again: list[int] = []
    assert [ask(question, read=again) for question in QUESTIONS] == answers
    assert not again
    catalogue.unlink()
    assert [ask(question) for question in QUESTIONS] == answers


async def test_a_fill_goes_on_where_it_ended(catalogue: Path) -> None:
    """Of a log that grew only what is new is read, and an older fill stays."""
    ask(QUESTIONS[0])
    with Catalogue(catalogue).reading() as connection:
        before = known_words(connection)[name_of(log_of("none"))].words
    async with PersistentContextManager(log_of("none")) as manager:
        await fill(manager, messages(5, "the last needle was lost"))
        assert ask("last lost needle")[0][0] == "none"
    with Catalogue(catalogue).reading() as connection:
        after = known_words(connection)[name_of(log_of("none"))].words
    assert after.segments[: len(before.segments)] == before.segments
    assert after.mark == before.mark
    assert after.end_offset > before.end_offset


@proof
async def test_many_small_segments_become_one(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a session that is searched while it grows."""
    monkeypatch.setattr(segment, "MOST_MESSAGES", 1_000)
    most = 0
    async with PersistentContextManager(log_of("grows")) as manager:
        for number in range(3 * ranked_words.MOST_SMALL):
            await manager.add_message({"role": "user", "content": f"needle {number} grows"})
            assert ask(f"needle {number}")[0][0] == "grows"
            with Catalogue(catalogue).reading() as connection:
                most = max(most, len(known_words(connection)[name_of(log_of("grows"))].words.segments))
    assert most == ranked_words.MOST_SMALL


@proof(quick=1)
@pytest.mark.parametrize("table", [*RANKED_TABLES, "ranked"])
@pytest.mark.parametrize("statement", ["DELETE FROM {} WHERE rowid % 2", "UPDATE {} SET {} = {} || x'00'"])
def test_rows_that_are_missing_or_altered_change_no_answer(catalogue: Path, table: str, statement: str) -> None:
    """The catalogue is made anew."""
    answers = [ask(question) for question in QUESTIONS]
    column = "segments" if table == "ranked" else "content"
    with closing(sqlite3.connect(catalogue)) as connection, connection:
        connection.execute(statement.format(table, column, column))
    assert [ask(question) for question in QUESTIONS] == answers
    read: list[int] = []
    ask(QUESTIONS[0], read=read)
    assert not read


@proof
def test_rows_of_another_session_count_for_nothing(catalogue: Path) -> None:
    """Each is checked with the session's mark and its own place."""
    answers = [ask(question) for question in QUESTIONS]
    with closing(sqlite3.connect(catalogue)) as connection, connection:
        rows = connection.execute("SELECT id, content, crc32 FROM ranked_terms ORDER BY id").fetchall()
        for (row_id, _, _), (_, content, check) in zip(rows, [*rows[1:], rows[0]], strict=True):
            connection.execute("UPDATE ranked_terms SET content = ?, crc32 = ? WHERE id = ?", (content, check, row_id))
    assert [ask(question) for question in QUESTIONS] == answers


@proof
def test_a_catalogue_that_is_being_filled_is_waited_for(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a process that has waited for its share already; what is indexed counts."""
    ask(QUESTIONS[0])
    monkeypatch.setattr(lock_wait.WAIT_BUDGET, "left_s", lambda: 0.0)
    writer = sqlite3.connect(catalogue, check_same_thread=False)
    writer.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.05, writer.rollback).start()
    search = RankedSearch(session_files(), may_go_on=lambda: False)
    answer = search.ask(read_question(QUESTIONS[0], now=NOW), most=20)
    assert (answer.indexed, answer.sessions) == (4, 4)
    assert answer.found[0].session.id == "one"
    writer.close()


def test_the_newest_session_is_indexed_first() -> None:
    """Whoever may not take long answers from it."""
    for age, name in enumerate(("two", "none", "one", "small")):
        os.utime(log_of(name), (2_000_000_000 - age, 2_000_000_000 - age))
    goes = iter([True, True, False, False, False, False, False, False])
    answer = RankedSearch(session_files(), may_go_on=lambda: next(goes, False)).ask(
        read_question("needle", now=NOW), most=20
    )
    assert {one.session.id for one in answer.found} == {"two"}


@proof
def test_a_log_that_is_replaced_is_read_anew() -> None:
    """By another one with the same name, longer or shorter."""
    ask(QUESTIONS[0])
    write(log_of("one"), messages(8, "another needle", count=90))
    assert ask("another needle")[0][0] == "one"
    write(log_of("one"), messages(9, "the third needle", count=5))
    assert ask("third needle")[0][0] == "one"


@proof
def test_what_a_purge_erased_is_found_by_no_question(catalogue: Path) -> None:
    """Nor by its stems; and nothing of it is left in the project's directory."""
    write(log_of("key"), messages(7, "The password is flyingpigs and zebrastripes."))
    assert ask("flying pig password zebrastripe")[0][0] == "key"
    run("purge", log_of("key"), "--redact", "flyingpigs|zebrastripes", "--yes")
    for question in ("zebrastripes", "flyingpigs", "zebrastripe"):
        assert not ask(question)
        assert not without_catalogue(question)


@proof
def test_a_fill_that_began_before_a_purge_writes_nothing(catalogue: Path) -> None:
    """What was read before is of another file."""
    path = log_of("key")
    write(path, messages(7, "The password is flyingpigs."))
    target = FillTarget(Catalogue(catalogue), name_of(path), path)
    fill = RankedFill(target, None, None)
    with closing(LogReader(path)) as reader:
        reader.follow()
        read = list(lacking(reader, 0, Stamp.of(reader.file.status())))
    run("purge", path, "--redact", "flyingpigs", "--yes")
    for batch in read:
        fill.take(batch)
    fill.finish()
    assert fill.stored is None
    with contextlib.suppress(CatalogueError), Catalogue(catalogue).reading() as connection:
        assert name_of(path) not in known_words(connection)


def test_a_session_that_is_gone_is_forgotten() -> None:
    """It is not found, and nothing fails."""
    assert {name for name, _, _ in ask("needle lost")} == {"one", "two"}
    log_of("two").unlink()
    assert {name for name, _, _ in ask("needle lost")} == {"one"}
