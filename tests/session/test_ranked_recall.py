"""Recall by a question: the best answers, in a file, in memory and in a database, and what exact matches do to them."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager
from amplifier_module_context_persistent.catalogue.catalogue_file import catalogue_of
from amplifier_module_context_persistent.session import ranked_recall
from tests.support.messages import Message
from tests.support.sweeps import proof

Manager = PersistentContextManager
OTHERS = [f"We talked about the weather, number {number}, and about lunch." for number in range(12)]
ANSWER = "The index was corrupt because git gc ran in another worktree."


@pytest.fixture(params=["file", "memory", pytest.param("postgres", marks=proof)])
async def manager(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Manager]:
    if request.param == "postgres":
        async with Manager(storage=request.getfixturevalue("storage"), session_id="s") as stored:
            yield stored
    elif request.param == "memory":
        yield InMemoryContextManager()
    else:
        async with Manager(tmp_path / "log.jsonl") as stored:
            yield stored


async def add(manager: Manager, *messages: Message | str) -> list[str]:
    """Add messages, texts as those of a user; their ids."""
    given = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
    await manager.add_messages(given)
    return [message["metadata"]["message_id"] for message in await manager.get_messages()][-len(messages) :]


async def found(manager: Manager, query: str, **how: object) -> list[str]:
    return [hit.reference for hit in (await manager.recall(query=query, **how)).hits]


async def test_a_question_finds_its_answer(manager: Manager) -> None:
    """In other forms of its words; the page says how it is ordered, and shows the part that answers."""
    ids = await add(manager, *OTHERS, "x " * 2_000 + ANSWER + " y" * 2_000, *OTHERS)
    page = await manager.recall(query="Why did the indexes become corrupted?")
    assert page.hits[0].reference == ids[12]
    assert "best answers first" in page.output
    assert ANSWER[:40] in page.hits[0].excerpt
    assert page.hits[0].places[0] == 4_000 + ANSWER.index("index")


@pytest.mark.parametrize(
    "query", ["What did André say about the index?", "is the index corrupt ö", "índex git gc worktree"]
)
async def test_a_question_with_accents_finds_its_answer(manager: Manager, query: str) -> None:
    """It was taken for an expression, which is matched as a whole, and found nothing."""
    ids = await add(manager, *OTHERS, ANSWER, *OTHERS)
    assert (await found(manager, query))[0] == ids[12]


@pytest.mark.parametrize(
    "written", ["Zo\u00eb met Andr\u00e9", "Zoe\u0308 met Andre\u0301"], ids=["composed", "decomposed"]
)
async def test_an_accented_text_is_exact_in_both_forms(manager: Manager, written: str) -> None:
    """With a capital letter, only texts of this case are given."""
    ids = await add(manager, written, written.lower())
    assert await found(manager, "Andr\u00e9") == ids[:1]


@proof
async def test_what_is_appended_is_found_at_once(manager: Manager) -> None:
    """Also after many recalls, and what a clear took away is not."""
    await add(manager, *OTHERS)
    for number in range(40):
        (added,) = await add(manager, f"Zebra {number} was seen in the garden.")
        assert (await found(manager, f"where was zebra {number} seen?"))[0] == added
    await manager.clear()
    assert await found(manager, "where was a zebra seen?") == []
    (added,) = await add(manager, "A zebra was seen again.")
    assert await found(manager, "where was a zebra seen?") == [added]


async def test_exact_matches_come_first(manager: Manager) -> None:
    """Then the best answers, page after page, none twice."""
    ids = await add(manager, "corrupt index here", ANSWER, *OTHERS, "it has a CORRUPT INDEX", "the index")
    assert await found(manager, "corrupt index") == [ids[0], ids[14], ids[1], ids[15]]
    pages = [await found(manager, "corrupt index", limit=1, offset=at) for at in range(5)]
    assert pages == [[ids[0]], [ids[14]], [ids[1]], [ids[15]], []]


async def test_role_tool_and_time_narrow_a_question(manager: Manager) -> None:
    """As they narrow a search for a text."""
    call: Message = {
        "role": "assistant",
        "content": "I look at the corrupt index.",
        "tool_calls": [{"id": "c1", "tool": "bash", "arguments": {"command": "git fsck the index"}}],
    }
    result: Message = {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "corrupt index file"}
    ids = await add(manager, ANSWER, call, result, *OTHERS)
    question = "which indexes were corrupted"
    assert set(await found(manager, question)) == set(ids[:3])
    assert await found(manager, question, role="user") == ids[:1]
    assert set(await found(manager, question, tool="bash")) == set(ids[1:3])
    assert await found(manager, question, until="2020-01-01T00:00:00Z") == []


async def test_earlier_recalls_are_no_answers(manager: Manager) -> None:
    """Neither a call of the tool nor what it gave, named or not."""
    asked: Message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "tool": "recall", "arguments": {"query": "why was the index corrupt"}}],
    }
    given: Message = {"role": "tool", "tool_call_id": "c1", "content": "[search for 'why was the index corrupt': …"}
    ids = await add(manager, ANSWER, *OTHERS, asked, given)
    assert await found(manager, "why is an index corrupted?") == ids[:1]


@proof(quick=2)
@pytest.mark.parametrize("query", ["flush all the caches", "all the", "the caches, which", "flush ALL the", "a b c d"])
async def test_the_index_rules_out_no_exact_match(manager: Manager, query: str) -> None:
    """A text is found as it is whatever words its ends are a part of."""
    rng = random.Random(5)
    words = ["flush", "all", "the", "caches", "which", "were", "reflushed", "wall", "thecaches", "a", "b", "c", "d"]
    texts = [" ".join(rng.choices(words, k=12)) for _ in range(60)]
    ids = await add(manager, *texts, "we reflush all the caches: {", "Xall theY", "the caches, whichever")
    texts += ["we reflush all the caches: {", "Xall theY", "the caches, whichever"]
    folded = query.lower() if query == query.lower() else query
    exact = [one for one, text in zip(ids, texts, strict=True) if folded in (text.lower() if folded == query else text)]
    hits = await found(manager, query, limit=100)
    if query == "flush ALL the":
        assert hits
    else:
        assert set(exact) == set(hits[: len(exact)])


async def test_several_questions_at_once(manager: Manager) -> None:
    """Each gets its answer."""
    ids = await add(manager, *OTHERS, ANSWER, "The zebra was in the garden.")
    asked = [
        found(manager, "why corrupt index") if at % 2 else found(manager, "where was the zebra") for at in range(8)
    ]
    answers = await asyncio.gather(*asked)
    assert {answer[0] for answer in answers[::2]} == {ids[13]}
    assert {answer[0] for answer in answers[1::2]} == {ids[12]}


@proof(quick=1)
async def test_an_answer_in_time_says_what_is_lacking(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history that is not indexed within the time is ranked as far as it is; the next recall goes on."""
    await add(manager, *(f"A zebra number {number}." for number in range(400)))
    monkeypatch.setattr(ranked_recall, "FILL_S", -1.0)
    monkeypatch.setattr(ranked_recall, "STEP_S", 0.0)
    page = await manager.recall(query="which zebras are there")
    assert "messages are ranked so far; ask again for the rest]" in page.output
    for _ in range(10):
        page = await manager.recall(query="which zebras are there")
    assert "ranked so far" not in page.output


@proof
async def test_a_large_log_is_indexed_in_its_catalogue(tmp_path: Path) -> None:
    """Once: the next process goes on there, also where the catalogue was damaged."""
    path = tmp_path / "log.jsonl"
    async with Manager(path) as manager:
        ids = await add(manager, *OTHERS * 200, ANSWER, *OTHERS)
        assert (await found(manager, "why did indexes become corrupt"))[0] == ids[2_400]
    catalogue = catalogue_of(path)
    for statement in ("SELECT 1", "DELETE FROM ranked_terms WHERE id % 3 = 0", "UPDATE ranked SET mark = mark + 1"):
        with closing(sqlite3.connect(catalogue)) as connection, connection:
            assert connection.execute("SELECT count(*) FROM ranked_terms").fetchone()[0] > 10
            connection.execute(statement)
        async with Manager(path) as manager:
            assert (await found(manager, "why did indexes become corrupt"))[0] == ids[2_400]


@proof
async def test_an_append_does_not_touch_the_index(tmp_path: Path) -> None:
    """Nor does a request; the catalogue gets ranked words when a question is asked."""
    path = tmp_path / "log.jsonl"
    async with Manager(path) as manager:
        await add(manager, *OTHERS * 200)
        await manager.get_messages_for_request()
        assert manager._recalls.index is None
    with closing(sqlite3.connect(catalogue_of(path))) as connection:
        assert connection.execute("SELECT count(*) FROM ranked_terms").fetchone()[0] == 0


@proof
async def test_the_order_is_the_same_wherever_a_session_is_kept(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """In a file, in memory and in a database: the same terms, weights and ties."""
    rng = random.Random(11)
    words = "cart total refund index cache flushAll retry timeout worktree corrupt lunch 東京"
    texts = [" ".join(rng.choices(words.split(), k=rng.randint(3, 30))) for _ in range(150)]
    answers = []
    stored = Manager(storage=request.getfixturevalue("storage"), session_id="same")
    for manager in (Manager(tmp_path / "log.jsonl"), InMemoryContextManager(), stored):
        ids = await add(manager, *texts)
        numbers = {one: number for number, one in enumerate(ids)}
        asked = [
            await found(manager, question, limit=30) for question in ("corrupt cache refunds", "flush all retries")
        ]
        answers.append([[numbers[one] for one in hits] for hits in asked])
        await manager.close()
    assert answers[0] == answers[1] == answers[2]
    assert all(answers[0])
