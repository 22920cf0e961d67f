"""Questions to sessions in a database: the order is that of files, from what the server keeps of their words."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue import ranked_words_in_postgres
from amplifier_module_context_persistent.catalogue.catalogue_file import only_read
from amplifier_module_context_persistent.catalogue.ranked_fill import RankedFill
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.postgres import ranked_rows
from amplifier_module_context_persistent.log.postgres.server_connections import ServerError
from amplifier_module_context_persistent.search import ranking
from amplifier_module_context_persistent.search.question import read_question
from amplifier_module_context_persistent.session.ranked_recall import SessionIndex
from amplifier_module_context_persistent.sessions import search
from amplifier_module_context_persistent.sessions.all_sessions_index import RankedAnswer, RankedSearch
from amplifier_module_context_persistent.sessions.session_files import SessionFile, session_files
from tests.support.commands import run
from tests.support.postgres import TestServer
from tests.support.ranked import NOW
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

WORDS = ["cache", "flushAll", "broke", "lunch", "index", "retry", "東京都", "parser"]
QUESTIONS = ("why did the cache break", "flush all", "東京", "what did the user say of the needle", "lunch")


@pytest.fixture
def ranked(storage: str) -> str:
    """A database with the tables for questions."""
    return storage


@pytest.fixture
def without_tables(storage: str, server: TestServer) -> str:
    """A database that lacks them."""
    schema = parse_location(storage).schema
    server.execute(f"drop table {schema}.ranked_message, {schema}.ranked_log")
    return storage


@pytest.fixture
def sessions(project: object, storage: str) -> None:
    """Sessions of this project on disk and in the database."""
    choose = random.Random(7)
    for name in ("s1", "s1-2", "s2"):
        said: list[dict[str, Any]] = [
            {"role": choose.choice(["user", "assistant"]), "content": " ".join(choose.choices(WORDS, k=9))}
            for _ in range(90)
        ]
        said[40]["content"] += " needle"
        write(log_of(name), said)
        run("copy", name, storage)


def ask(question: str, sessions: Iterable[SessionFile]) -> RankedAnswer:
    return RankedSearch(sessions).ask(read_question(question, now=NOW), most=15)


def told(answer: RankedAnswer) -> list[tuple[str, int, float]]:
    """The session, offset and score of each message."""
    assert not answer.errors
    return [(one.session.id, one.offset, round(one.ranked.score, 9)) for one in answer.found]


def rows(server: TestServer, storage: str, table: str) -> int:
    ((count,),) = server.execute(f"select count(*) from {parse_location(storage).schema}.{table}")
    return int(count)


@proof(quick=1)
@pytest.mark.parametrize("cut_off", [False, True])
@pytest.mark.usefixtures("sessions")
def test_the_order_is_that_of_files(
    ranked: str, server: TestServer, cut_off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While they are taken in, once they are, and where common words are looked up only near rarer ones."""
    monkeypatch.setattr(ranked_words_in_postgres, "CHUNK", 32)
    monkeypatch.setattr(ranked_rows, "CHUNK", 32)
    if cut_off:
        monkeypatch.setattr(ranking, "MOST_POSTINGS", 40)
        monkeypatch.setattr(ranking, "CANDIDATES", 10)
    for question in QUESTIONS:
        files = told(ask(question, session_files()))
        first, again = (ask(question, session_files(storage=ranked)) for _ in range(2))
        assert files
        assert told(first) == told(again) == files, question
        assert not first.advice
    assert rows(server, ranked, "ranked_message") == 270


@pytest.mark.usefixtures("sessions")
def test_what_is_kept_is_not_read_again(ranked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No log is opened then; a server that only reads gives the same answer."""
    answers = [told(ask(question, session_files(storage=ranked))) for question in QUESTIONS]
    monkeypatch.setattr("amplifier_module_context_persistent.sessions.indexed_log.open_reader", None)
    with only_read():
        assert [told(ask(question, session_files(storage=ranked))) for question in QUESTIONS] == answers


@proof
@pytest.mark.usefixtures("sessions")
def test_who_only_reads_goes_on_in_memory(ranked: str, server: TestServer) -> None:
    """A server of agents: each question indexes some more, and nothing is stored."""
    expected, fills = told(ask(QUESTIONS[0], session_files())), dict[str, RankedFill]()

    def ask_with(batches: int) -> RankedAnswer:
        goes = iter([True] * batches)
        search = RankedSearch(session_files(storage=ranked), may_go_on=lambda: next(goes, False), fills=fills)
        return search.ask(read_question(QUESTIONS[0], now=NOW), most=15)

    with only_read():
        answers = [ask_with(1) for _ in range(8)]
        assert [answer.indexed for answer in answers] == sorted(answer.indexed for answer in answers)
        assert [answer.share for answer in answers] == sorted(answer.share for answer in answers)
        assert 0 < answers[0].share < 1
        assert told(answers[-1]) == told(ask_with(0)) == expected
    assert not rows(server, ranked, "ranked_message")
    assert told(ask_with(9)) == told(ask(QUESTIONS[0], session_files(storage=ranked))) == expected


@proof
@pytest.mark.usefixtures("sessions")
def test_a_database_without_the_tables_works_and_says_so(without_tables: str, server: TestServer) -> None:
    """`storage init --migrate` makes them."""
    storage = without_tables
    files = told(ask(QUESTIONS[0], session_files()))
    found = ask(QUESTIONS[0], session_files(storage=storage))
    assert told(found) == files
    assert "storage init" in found.advice
    assert "storage init" in run("search", "--best", "1", "--storage", storage, QUESTIONS[0]).stderr
    run("storage", "init", "--migrate", storage)
    assert not ask(QUESTIONS[0], session_files(storage=storage)).advice
    assert rows(server, storage, "ranked_message") == 270


@pytest.mark.usefixtures("sessions")
def test_a_role_that_only_reads_asks_what_is_kept(ranked: str, server: TestServer) -> None:
    """What is not kept it ranks in memory."""
    schema = parse_location(ranked).schema
    server.execute(f"create role {schema}_reader login")
    run("storage", "init", ranked, "--grant-read", f"{schema}_reader")
    as_reader = ranked.replace("//postgres:", f"//{schema}_reader:")
    assert as_reader != ranked
    files = told(ask(QUESTIONS[0], session_files()))
    assert told(ask(QUESTIONS[0], session_files(storage=as_reader))) == files
    assert not rows(server, ranked, "ranked_message")
    ask(QUESTIONS[0], session_files(storage=ranked))
    assert told(ask(QUESTIONS[0], session_files(storage=as_reader))) == files


async def test_a_session_is_taken_in_as_it_closes(ranked: str, server: TestServer, project: object) -> None:
    """Not by an append; and it goes on where it ended."""
    for number in (1, 2):
        async with PersistentContextManager(storage=ranked, session_id="s1") as manager:
            await manager.add_message({"role": "user", "content": f"needle number {number}"})
            assert rows(server, ranked, "ranked_message") == number - 1
        assert rows(server, ranked, "ranked_message") == number
    assert len(search("needle", storage=ranked).messages) == 2


async def test_a_session_asks_what_the_server_keeps(
    ranked: str, project: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is new it takes in for itself; the answer is that of a session in a file, also if the server fails."""
    choose = random.Random(3)
    said = [{"role": "user", "content": " ".join(choose.choices(WORDS, k=9))} for _ in range(60)]
    places: dict[str, list[list[str]]] = {}
    for name, options in {
        "file": {},
        "server": {"storage": ranked, "session_id": "s9"},
        "failing": {"storage": ranked, "session_id": "s8"},
    }.items():
        for half in (said[:40], said[40:]):
            manager = PersistentContextManager(None if options else log_of("s9"), **options)  # type: ignore[arg-type]
            await manager.add_messages([{**one, "metadata": {"message_id": f"m{said.index(one)}"}} for one in half])
            if half[0] is said[0]:
                await manager.close()
        if name == "failing":
            monkeypatch.setattr(ranked_rows.RankedServer, "frequencies", refuse)
        taken: list[int] = []
        monkeypatch.setattr(SessionIndex, "take", counting(taken))
        places[name] = [[hit.reference for hit in (await manager.recall(query=one)).hits] for one in QUESTIONS]
        assert sum(taken) == {"file": 60, "server": 20, "failing": 80}[name]
        await manager.close()
    assert places["server"] == places["failing"] == places["file"]
    assert all(places["file"][:3])


def refuse(*_: object) -> None:
    """A server that does not answer."""
    raise ServerError("it went away")


_TAKE = SessionIndex.take


def counting(taken: list[int]) -> Any:
    """Take messages, and note how many."""

    def take(index: SessionIndex, found: Any) -> None:
        taken.append(sum(len(batch.messages) for batch in found))
        _TAKE(index, found)

    return take


async def test_a_session_in_a_database_without_the_tables_closes(without_tables: str, project: object) -> None:
    """Nothing is kept of its words."""
    async with PersistentContextManager(storage=without_tables, session_id="s1") as manager:
        await manager.add_message({"role": "user", "content": "needle"})
    assert [one.id for one in search("needle", storage=without_tables).messages]


@proof
@pytest.mark.usefixtures("sessions")
def test_what_a_purge_erased_is_in_no_row(ranked: str, server: TestServer) -> None:
    """The rows of a log go with it, and the log that takes its place is taken in anew."""
    assert search("needle", storage=ranked).messages
    run("purge", "s2", "--storage", ranked, "--redact", "needle", "--yes")
    assert rows(server, ranked, "ranked_message") == 180
    assert {one.session.id for one in search("needle", storage=ranked).messages} == {"s1", "s1-2"}
    assert rows(server, ranked, "ranked_message") == 270
    assert rows(server, ranked, "ranked_log") == 3


@proof
@pytest.mark.usefixtures("sessions")
def test_two_that_take_in_one_session_disturb_each_other_not(ranked: str) -> None:
    """Who comes second keeps nothing, and ranks what it took in memory."""
    (location,) = [str(one.path) for one in session_files(storage=ranked) if one.id == "s1"]
    known = ranked_words_in_postgres.kept_in_database(location)
    assert known is not None
    fill = ranked_words_in_postgres.ServerFill(location, known)
    files = told(ask(QUESTIONS[0], session_files()))
    assert told(ask(QUESTIONS[0], session_files(storage=ranked))) == files
    assert not fill.take(ranked_words_in_postgres.Batch([(0, {"role": "user", "content": "x"})], None), 10)
    assert told(ask(QUESTIONS[0], session_files(storage=ranked))) == files


def test_a_server_that_is_away_is_told(ranked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error says that the words cannot be reached."""
    with pytest.raises(LogUnreadableError, match="cannot be reached"), ranked_rows.ranked_server(ranked, 1) as asked:
        asked.frequencies([], [1 << 40])
