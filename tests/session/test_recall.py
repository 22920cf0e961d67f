"""Recall from a session's log: by reference, by search, page after page, and what is not found."""

import asyncio
import itertools
import json
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager, RecallError
from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.search.recall_page import RecallQuery
from amplifier_module_context_persistent.session import recall as lookup
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from tests.support import histories
from tests.support.growth import gap_and_duration_s
from tests.support.messages import Message, fill, words_of
from tests.support.sweeps import proof
from tests.support.view_properties import examples

Manager = PersistentContextManager
REFERENCE = re.compile(r"characters elided; recall (\S+) …\]")


@pytest.fixture(params=["file", "memory", pytest.param("postgres", marks=proof)])
async def manager(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Manager]:
    if request.param == "postgres":
        async with start(storage=request.getfixturevalue("storage"), session_id="s") as stored:
            yield stored
    else:
        yield start(tmp_path / "log.jsonl" if request.param == "file" else None)


def start(path: Path | None = None, **config: Any) -> Manager:
    """A manager whose ids are m1, m2, … and whose clock shows a minute more for each message."""
    ids, minutes = itertools.count(0), itertools.count()
    options = {
        "tokenizer": "estimate",
        "new_id": lambda: f"m{next(ids)}",
        "now": lambda: f"2026-03-01T{(n := next(minutes)) // 60:02}:{n % 60:02}:00.000Z",
        **config,
    }
    if "storage" in config:
        return Manager(**options)
    return InMemoryContextManager(**options) if path is None else Manager(path, **options)


async def add(manager: Manager, *messages: Message | str) -> list[str]:
    """Add messages, texts as those of a user; their ids."""
    for message in messages:
        await manager.add_message({"role": "user", "content": message} if isinstance(message, str) else message)
    return [message["metadata"]["message_id"] for message in await manager.get_messages()][-len(messages) :]


def called(*calls: tuple[str, str, Message], text: str = "") -> Message:
    listed = [{"id": call_id, "tool": tool, "arguments": arguments} for call_id, tool, arguments in calls]
    return {"role": "assistant", "content": text, "tool_calls": listed}


def result(call_id: str, text: str, **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text, **more}


async def found(manager: Manager, query: str, **how: Any) -> list[str]:
    return [hit.reference for hit in (await manager.recall(query=query, **how)).hits]


async def whole(manager: Manager, reference: str) -> str:
    """The text of a message, page after page."""
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = await manager.recall(reference, offset=offset)
        pieces.append(page.text)
        offset = page.next_offset
    return "".join(pieces)


# -- by reference ------------------------------------------------------------------------------------------------------


async def test_a_message_is_had_again_by_its_id(manager: Manager) -> None:
    """The page names it and the messages beside it."""
    first, second, third = await add(manager, "one", "two", "three")
    page = await manager.recall(second)
    assert (page.reference, page.text, page.next_offset) == (second, "two", None)
    assert f"before it {first}, after it {third}]" in page.output
    assert (await manager.recall(third, offset=1, limit=3)).text == "hre"


@proof(quick=1)
@pytest.mark.parametrize("replaced", ["clear", "set_messages"])
async def test_what_a_reset_hides_is_not_found(manager: Manager, replaced: str) -> None:
    """By its id it is a clear error, by a search it is no hit."""
    hidden = (await add(manager, "old words"))[0]
    if replaced == "clear":
        await manager.clear()
    else:
        await manager.set_messages([{"role": "user", "content": "new"}])
    await add(manager, "new words")
    with pytest.raises(RecallError, match=f"{hidden} is not part of this session any more"):
        await manager.recall(hidden)
    assert len(await found(manager, "words")) == 1


async def test_messages_of_the_older_module_have_references_too(tmp_path: Path) -> None:
    """Lines without an id are had again by the one that the views show; whatever way their JSON is written."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"role":"user","content":"caf\\u00e9 n\\u0061med"}\n{"content":"second","role":"user"}\n')
    manager = start(path)
    ids = [message["metadata"]["message_id"] for message in await manager.get_messages()]
    assert [(await manager.recall(reference)).text for reference in ids] == ["café named", "second"]
    assert await found(manager, "named") == ids[:1]


@proof(quick=1)
@pytest.mark.parametrize(("budget", "tokens"), [(2_000, 200), (30_000, 3_000), (100_000, 4_000)])
async def test_a_page_has_a_tenth_of_the_last_budget(manager: Manager, budget: int, tokens: int) -> None:
    """4,000 tokens at most, counted with the session's counter; and it uses that room."""
    text = "".join(f"line {n} of some output, {n * n}\n" for n in range(2_000))
    reference, _ = await add(manager, text, "short")
    await manager.get_messages_for_request(token_budget=budget)
    output = (await manager.recall(reference)).output
    assert 0.9 * tokens < count_message({"role": "tool", "content": output}, EstimateCounter()) <= tokens


# -- searches ----------------------------------------------------------------------------------------------------------


async def test_hits_come_newest_first_page_after_page(manager: Manager) -> None:
    """Each page says where the next one begins, and all of them together are all hits."""
    ids = await add(manager, *(f"needle {n}" if n % 3 else f"straw {n}" for n in range(60)))
    told, offset = [], 0
    while True:
        page = await manager.recall(query="NEEDLE", offset=offset, limit=7)
        told += [hit.reference for hit in page.hits]
        if page.next_offset is None:
            break
        assert page.next_offset == len(told)
        offset = page.next_offset
    assert told == [reference for n, reference in enumerate(ids) if n % 3][::-1]


async def test_what_is_written_alike_is_shown_first(manager: Manager) -> None:
    """A search does not mind capitals, but its excerpt is of the place that has them as they were asked for."""
    await add(manager, "see https://github.com " + "x " * 300 + "the GitHub client")
    (hit,) = (await manager.recall(query="GitHub")).hits
    assert "GitHub client" in hit.excerpt
    assert hit.places == (627, 12)


async def test_a_capital_letter_is_meant_where_something_is_found_so(manager: Manager) -> None:
    """A name is not lost among words; where nothing has it so, case does not matter, and other forms come last."""
    ids = await add(manager, "class Project", *(f"all projects, {n}" for n in range(20)), "a project-wide PROJECT")
    assert await found(manager, "Project") == ids[:1]
    assert (await manager.recall(query="Project")).next_offset is None
    assert await found(manager, "PROJECT") == ids[-1:]
    hits = await found(manager, "PROJects", limit=30)
    assert hits[:20] == ids[-2:0:-1]
    assert set(hits[20:]) == {ids[0], ids[-1]}


async def test_small_letters_stand_for_both_and_come_first(manager: Manager) -> None:
    """What is written as it was asked for is on the first page, however much differs in case; pages go on after it."""
    ids = await add(manager, "the config_path", "old config_path", *(f"CONFIG_PATH={n}" for n in range(20)))
    told, offset = [], 0
    while True:
        page = await manager.recall(query="config_path", offset=offset, limit=7)
        told += [hit.reference for hit in page.hits]
        assert "first as it is written, then in other case, newest first]" in page.output
        if page.next_offset is None:
            break
        offset = page.next_offset
    assert told == [*ids[1::-1], *ids[:1:-1]]
    assert await found(manager, "config_path", limit=1) == ids[1:2]


async def test_a_long_name_is_shown_whole(manager: Manager) -> None:
    """An excerpt holds paths and addresses as they are."""
    name = "src/" + "a_long_directory/" * 25 + "file.py"
    await add(manager, "x " * 300 + name + " y" * 300)
    (hit,) = (await manager.recall(query=name)).hits
    assert name in hit.excerpt


async def test_a_hit_leads_to_its_place(manager: Manager) -> None:
    """Recalled by reference and place, the match comes first."""
    (reference,) = await add(manager, f"{'straw ' * 900}needle in it")
    (hit,) = (await manager.recall(query="needle")).hits
    assert (await manager.recall(hit.reference, offset=hit.places[0])).text == "needle in it"
    assert hit.reference == reference


@proof(quick=2)
@pytest.mark.parametrize("query", ['say "needle"', "a\\b", "größe", "two\nlines"])
async def test_what_json_escapes_is_found(manager: Manager, query: str) -> None:
    """Quotes, backslashes, other alphabets and ends of lines."""
    ids = await add(manager, f"before {query} after", "nothing")
    assert await found(manager, query) == ids[:1]


async def test_an_expression_searches_all_that_messages_say(manager: Manager) -> None:
    """Texts, blocks, arguments of calls and results."""
    ids = await add(
        manager,
        "file a1.py",
        {"role": "user", "content": [{"type": "text", "text": "file b2.py"}]},
        called(("c1", "read", {"path": "c3.py"})),
        result("c1", "d4.py was read"),
    )
    assert await found(manager, r"\b[a-d]\d\.py\b", regex=True) == ids[::-1]


@proof(quick=1)
async def test_role_tool_and_time_narrow_a_search(manager: Manager) -> None:
    """A tool's name stands for its calls and its results, also where a result does not say it."""
    ids = await add(
        manager,
        "needle",
        called(("c1", "bash", {"command": "needle"}), ("c2", "grep", {"pattern": "x"})),
        result("c1", "needle", name="bash"),
        result("c2", "needle"),
        {"role": "assistant", "content": "needle"},
    )
    human, call, named, unnamed, answer = ids
    assert await found(manager, "needle", role="user") == [human]
    assert await found(manager, "needle", role="tool") == [unnamed, named]
    assert await found(manager, "needle", tool="bash") == [named, call]
    assert await found(manager, "needle", tool="grep") == [unnamed, call]
    assert await found(manager, "needle", tool="none") == []
    times = [message["metadata"]["timestamp"] for message in await manager.get_messages()]
    assert await found(manager, "needle", since=times[3]) == [answer, unnamed]
    assert await found(manager, "needle", until=times[1]) == [call, human]


async def test_what_recall_gave_and_was_asked_is_not_searched(manager: Manager) -> None:
    """Neither its calls nor its results, named or not; else each search would find the ones before it."""
    ids = await add(
        manager,
        "the needle",
        called(("c1", "recall", {"query": "needle"}), ("c2", "recall", {"query": "needle"})),
        result("c1", "[search for 'needle': …]", name="recall"),
        result("c2", "[search for 'needle': …]"),
        called(("c3", "recall", {"query": "needle"}), text="is there no needle?"),
    )
    assert await found(manager, "needle") == [ids[4], ids[0]]
    assert (await manager.recall(ids[2])).text == "[search for 'needle': …]"


async def stepwise(
    manager: Manager, monkeypatch: pytest.MonkeyPatch, between: Callable[[], Awaitable[Any]]
) -> list[str]:
    """Search for needles in many steps, doing something else after the first one; the hits."""
    begun = threading.Event()
    steps, done, seconds = 0, False, itertools.count(0.0, 2 * lookup.STEP_S)

    class Stepwise(lookup.RecallSearch):
        def __init__(self, wanted: RecallQuery, **how: Any) -> None:
            super().__init__(wanted, **{**how, "clock": lambda: next(seconds)})

        def step(self, log: Log) -> bool:
            nonlocal steps
            if steps == 1 and not done:
                return False
            steps += 1
            begun.set()
            return super().step(log)

    async def after_the_first() -> None:
        nonlocal done
        assert await asyncio.to_thread(begun.wait, 10)
        await between()
        done = True

    monkeypatch.setattr(lookup, "RecallSearch", Stepwise)
    page, _ = await asyncio.gather(manager.recall(query="needle", limit=30), after_the_first())
    assert steps > 1
    return [hit.reference for hit in page.hits]


@proof(quick=1)
async def test_a_search_goes_in_steps_and_lets_appends_in_between(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is appended meanwhile is not part of the search, and nothing that was there is missed."""
    monkeypatch.setattr(lookup, "BATCH_MESSAGES", 7)
    ids = await add(manager, *(f"needle {n}" for n in range(30)))
    assert await stepwise(manager, monkeypatch, lambda: add(manager, "needle, later")) == ids[::-1]


@proof(quick=1)
async def test_a_history_that_is_replaced_meanwhile_is_searched_anew(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hit is of the history before it."""
    monkeypatch.setattr(lookup, "BATCH_MESSAGES", 7)
    await add(manager, *(f"needle {n}" for n in range(30)))
    anew: list[str] = []

    async def replace() -> None:
        await manager.clear()
        anew.extend(await add(manager, *(f"needle {n}" for n in range(10))))

    assert await stepwise(manager, monkeypatch, replace) == anew[::-1]


async def test_a_search_stops_when_its_time_is_over(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says where, and the search goes on from there."""
    monkeypatch.setattr(lookup, "BATCH_MESSAGES", 1)
    ids = await add(manager, *(f"needle {n}" for n in range(30)))
    seconds = itertools.count(0.0, lookup.SEARCH_S / 20)

    class Slow(lookup.RecallSearch):
        def __init__(self, wanted: RecallQuery, **how: Any) -> None:
            super().__init__(wanted, **{**how, "clock": lambda: next(seconds)})

    with monkeypatch.context() as patch:
        patch.setattr(lookup, "RecallSearch", Slow)
        page = await manager.recall(query="needle", regex=True, limit=30)
    assert 0 < len(page.hits) < 30
    until = re.search(r"go on with until=(\S+)\]", page.output)
    assert until
    others = await found(manager, "needle", regex=True, limit=30, until=until[1])
    assert {*others, *(hit.reference for hit in page.hits)} == set(ids)


@proof
async def test_a_search_does_not_hold_up_the_event_loop(tmp_path: Path) -> None:
    """A large log is searched on the log's thread."""
    path = tmp_path / "log.jsonl"
    line = json.dumps({"role": "user", "content": "straw and hay; " * 700}).encode() + b"\n"
    path.write_bytes(line * 2_000)
    manager = start(path)
    await manager.initialize()
    for query in ({"query": "needle"}, {"query": "nee.*dle", "regex": True}):
        gap_s, _ = await gap_and_duration_s(found(manager, **query))
        assert gap_s < 0.25  # 20 ms on a machine that does nothing else


@proof(quick=1)
@pytest.mark.usefixtures("impatient")
async def test_an_expression_that_runs_away_holds_up_neither_appends_nor_its_answer(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append that begins during the search is stored before it ends; the page says what was given up."""
    begun, stored = threading.Event(), threading.Event()

    class Watched(lookup.RecallSearch):
        """A search whose time is over once the append is stored, and else after 60 messages that take too long."""

        def __init__(self, wanted: RecallQuery, **how: Any) -> None:
            super().__init__(wanted, **{**how, "clock": lambda: lookup.SEARCH_S + 1 if stored.is_set() else 0.0})

        def match(self) -> None:
            if next(matches):  # the first one found the needle, and gave a message up
                begun.set()
            super().match()

    matches = itertools.count()
    monkeypatch.setattr(lookup, "BATCH_MESSAGES", 2)
    monkeypatch.setattr(lookup, "RecallSearch", Watched)
    ids = await add(manager, "needle", *("needle" + "a" * 40_000 + "b" for _ in range(60)), "needle")
    searching = asyncio.ensure_future(manager.recall(query=r"needle$|(?:a+)+$", regex=True))
    assert await asyncio.to_thread(begun.wait, 60)
    await manager.add_message({"role": "user", "content": "appended meanwhile"})
    assert not searching.done()
    stored.set()
    page = await searching
    assert [hit.reference for hit in page.hits] == ids[-1:]
    assert re.search(r"\[time ran out: what is older was not searched; go on with until=\S+\]", page.output)
    assert re.search(r"\[\d+ messages? took too long and may hold more", page.output)


@proof(quick=1)
@pytest.mark.usefixtures("impatient")
async def test_a_search_that_is_cancelled_leaves_its_thread(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not go on with messages for which nobody waits."""
    searches: list[lookup.RecallSearch] = []
    begun = threading.Event()

    class Watched(lookup.RecallSearch):
        def match(self) -> None:
            searches.append(self)
            begun.set()
            super().match()

    monkeypatch.setattr(lookup, "RecallSearch", Watched)
    await add(manager, *("a" * 40_000 + "b" for _ in range(9)))
    searching = asyncio.ensure_future(manager.recall(query="(?:a+)+$", regex=True))
    assert await asyncio.to_thread(begun.wait, 10)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    await asyncio.get_running_loop().shutdown_default_executor()
    assert len(searches) == 1


# -- I7 ----------------------------------------------------------------------------------------------------------------


@proof
@examples(18)
@given(history=histories.messages(), budget=st.integers(3_000, 20_000), cut=st.integers(0, 400))
def test_i7_what_a_view_leaves_out_is_had_again(history: list[Message], budget: int, cut: int) -> None:
    """Each live message that does not stand in a view as it is can be recalled, and elisions name live messages."""

    async def check() -> None:
        manager = start(truncate_chars=cut, compact_threshold=0.5, target_usage=0.3)
        await fill(manager, history)
        try:
            view = await manager.get_messages_for_request(token_budget=budget)
        except ContextLengthError:
            return
        live = {message["metadata"]["message_id"]: message for message in await manager.get_messages()}
        shown = {(m.get("metadata") or {}).get("message_id"): m for m in view}
        for reference, message in live.items():
            if shown.get(reference) != message:
                text = await whole(manager, reference)
                assert [said for said in words_of(message) if said not in text] == []
        for reference in REFERENCE.findall(json.dumps(view, ensure_ascii=False)):
            assert reference in live

    asyncio.run(check())
