"""`offload_threshold`: big tool results are shown as head and tail from their first view on, whatever comes later."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.plan_request import PlanRequest
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.messages.metadata import offload_cut
from amplifier_module_context_persistent.messages.offload import may_offload, offload
from amplifier_module_context_persistent.session.model_tools import RecallTool
from amplifier_module_context_persistent.view.entry import classify
from tests.support.checker import assert_valid, same
from tests.support.counters import count
from tests.support.messages import Message, user
from tests.support.recorded_sessions import Recorded, controls
from tests.support.sweeps import proof, spread
from tests.support.view_properties import goes_on

TEXT = "".join(f"line {number} of the file that was read\n" for number in range(2_000))


def result(text: Any, call_id: str = "c1", **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "read_file", "content": text, **more}


def calling(*call_ids: str, tool: str = "read_file") -> Message:
    calls = [{"id": call_id, "tool": tool, "arguments": {"path": call_id}} for call_id in call_ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def marked(message: Message, threshold: int = 1_000, preview: int = 200) -> Message:
    if not may_offload(message, threshold):
        return message
    return offload(message, count, threshold_tokens=threshold, preview_tokens=preview)


class Offloading(Recorded):
    """A session that offloads results of more than 1,000 tokens to 200."""

    def __init__(self, path: Path, **config: Any) -> None:
        options = {"max_tokens": 50_000, "offload_threshold": 1_000, "preview_tokens": 200, **config}
        super().__init__(path, **options)

    async def read(self, name: str, text: Any = TEXT) -> None:
        await self.add(calling(name), result(text, name))

    async def talk(self) -> None:
        for number in range(200):
            await self.add(
                user(f"question {number} " + "word " * 80), {"role": "assistant", "content": f"answer {number}"}
            )


@pytest.fixture
def session(tmp_path: Path) -> Offloading:
    return Offloading(tmp_path / "log.jsonl")


# -- the mark ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preview", [0, 1, 50, 200, 900])
@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        "x" * 40_000,
        "漢" * 9_000,
        [{"type": "text", "text": TEXT}, {"type": "text", "text": TEXT}],
        {"rows": [TEXT]},
    ],
)
def test_a_preview_has_about_so_many_tokens(content: Any, preview: int) -> None:
    """Not more, where the marker alone is not longer; most of them are used; the text itself is not altered."""
    given = result(content)
    before = copy.deepcopy(given)
    message = marked(given, preview=preview)
    assert given == before
    assert same({**message, "metadata": None}, {**given, "metadata": None})
    message["metadata"]["message_id"] = "m" + "0" * 16
    entry = classify(0, message, count)
    texts = 2 if isinstance(content, list) else 1
    assert entry.tokens <= max(preview, 45 * texts)
    assert preview < 200 or entry.tokens > preview / 3


@pytest.mark.parametrize(
    "message",
    [
        result("short"),
        user(TEXT),
        {"role": "assistant", "content": TEXT},
        result(TEXT, metadata={"pinned": True}),
        result(TEXT, metadata={"critical": True}),
        result(TEXT, name="recall"),
        result(f"[recall of m1, characters 0-9 of 9]\n{TEXT}", name=None),
        result([{"type": "image", "source": {"type": "base64", "data": "x" * 90_000}}]),
        result(TEXT, metadata={"offload": [10, 10]}),
        result(None),
    ],
)
def test_what_is_not_offloaded(message: Message) -> None:
    """The very message comes back."""
    assert marked(message) is message


def test_the_threshold_is_exact() -> None:
    """What has so many tokens is not offloaded, what has more is."""
    tokens = count(result(TEXT))
    assert marked(result(TEXT), threshold=tokens) == result(TEXT)
    assert marked(result(TEXT), threshold=tokens - 1) != result(TEXT)


@pytest.mark.parametrize("mark", [None, [1], [1, 2, 3], [1, -1], [True, 1], ["1", 2], {"head": 1}, "1,2", 7, [1.0, 2]])
def test_a_mark_of_another_shape_is_none(mark: Any) -> None:
    """Somebody else's key of that name changes no view."""
    assert offload_cut(result(TEXT, metadata={"offload": mark})) is None


@pytest.mark.parametrize("recall", [True, False])
async def test_a_shortened_result_names_recall_only_if_the_session_has_it(tmp_path: Path, *, recall: bool) -> None:
    """Before a plan and after one, and in a session that is opened again with the tool."""
    session = Offloading(tmp_path / "log.jsonl", recall=recall)
    await session.add(user("go"))
    await session.read("one")
    assert ("recall m" in json.dumps(await session.view())) is recall
    await session.manager.compact()
    assert ("recall m" in json.dumps(await session.view())) is recall
    session.config["recall"] = True
    await session.restart()
    assert ("recall m" in json.dumps(await session.view())) is recall
    await session.prove()


def test_planning_knows_what_is_hidden() -> None:
    """A name that only the part holds that is not shown is no reason to keep the result."""
    text = f"{TEXT}\nsrc/hidden_place.py\n{TEXT}\nsrc/shown_place.py"
    message = marked(result(text, metadata={"message_id": "m1"}))
    call, entry = classify(0, calling("c1"), count), classify(1, message, count)
    request = PlanRequest([call, entry], Config.load(), 0, 0, count, fetch=lambda _: [message], plan_id="p1")
    draft = Draft(request)
    assert draft.cuts == {"m1": entry.form.offload}
    assert draft.total_tokens - call.tokens == entry.tokens <= 200
    shown = draft.shown_terms(0)
    assert "shown_place" in shown
    assert "hidden_place" not in shown


# -- in sessions -------------------------------------------------------------------------------------------------------


async def test_a_big_result_is_short_from_its_first_view_on(session: Offloading) -> None:
    """Head, tail and reference stand in the view; history and `recall` have all of it."""
    await session.add(user("read"))
    await session.read("c1")
    (view_result,) = (await session.view())[2:]
    history = await session.manager.get_messages()
    stored = history[-1]
    reference = stored["metadata"]["message_id"]
    assert stored["content"] == TEXT
    assert count(view_result) <= 200
    assert f"characters elided; recall {reference} …]" in view_result["content"]
    assert view_result["content"].startswith("line 0 of")
    assert view_result["content"].endswith("line 1999 of the file that was read\n")
    pages, offset = [], 0
    while offset is not None:
        page = await session.manager.recall(reference, offset=offset)
        pages.append(page.text)
        offset = page.next_offset
    assert "".join(pages) == TEXT
    assert_valid(session.views[-1], history=history)


async def test_nothing_is_offloaded_by_default(tmp_path: Path) -> None:
    """Neither shown nor stored otherwise."""
    session = Recorded(tmp_path / "log.jsonl", max_tokens=50_000)
    await session.add(user("read"), calling("c1"), result(TEXT))
    assert (await session.view())[2]["content"] == TEXT
    assert "offload" not in (await session.manager.get_messages())[2]["metadata"]


async def test_views_go_on_whatever_is_configured_later(session: Offloading) -> None:
    """A restart with another threshold, preview or boundary, or none, shows what is there as before (I6)."""
    await session.add(user("read"))
    await session.read("c1")
    await session.view()
    for number, changed in enumerate(
        (
            {"offload_threshold": None},
            {"preview_tokens": 10},
            {"offload_threshold": 100_000},
            {"truncate_boundary": "char"},
        )
    ):
        await session.manager.close()
        session.manager = PersistentContextManager(session.path, **{**session.config, **changed})
        await session.add(user(f"and {number}?"))
        await session.view()
    assert all(goes_on(before, after) for before, after in itertools.pairwise(session.views))
    await session.prove()


@proof
@pytest.mark.parametrize("boundary", list(spread(["char", "line"], 2)))
async def test_compaction_shortens_them_further(tmp_path: Path, boundary: str) -> None:
    """Views over many plans and restarts are valid, in their budget, and proved; and no plan shows more than before."""
    session = Offloading(tmp_path / "log.jsonl", max_tokens=4_000, truncate_boundary=boundary, truncate_chars=300)
    for number in range(40):
        await session.add(user(f"read {number}"))
        await session.read(f"c{number}", TEXT[: 5_000 + 1_700 * (number % 7)])
        view = await session.view()
        assert_valid(view, history=await session.manager.get_messages(), budget_tokens=4_000, count=count)
        assert all(count(message) <= 210 for message in view if message["role"] == "tool")
        if number % 12 == 10:
            await session.restart()
    await session.prove()
    assert session.path.read_text(encoding="utf-8").count('"_record":"plan"') > 2


@proof
async def test_a_view_is_counted_as_it_is_shown(session: Offloading) -> None:
    """Neither the threshold nor the budget sees what is offloaded."""
    await session.add(user("read"))
    for number in range(30):
        await session.read(f"c{number}")
    view = await session.view()
    assert len(view) == 61
    await session.manager.close()
    (receipt,) = controls(session.path, "view")
    assert receipt["tokens"] == sum(map(count, view)) < 50_000 < sum(map(count, await session.manager.get_messages()))


async def test_what_recall_gives_is_not_offloaded(tmp_path: Path) -> None:
    """A page is what was asked for."""
    session = Offloading(tmp_path / "log.jsonl", offload_threshold=100, preview_tokens=50)
    await session.add(user("read"))
    await session.read("c1")
    reference = (await session.manager.get_messages())[-1]["metadata"]["message_id"]
    page = await RecallTool(session.manager).execute({"reference": reference, "offset": 5_000})
    await session.add(calling("c2", tool="recall"), result(page.output, "c2", name="recall"))
    assert (await session.view())[-1]["content"] == page.output


async def test_messages_that_are_set_are_offloaded_too(session: Offloading) -> None:
    """As a host restores a transcript into a fresh log."""
    await session.manager.set_messages([user("read"), calling("c1"), result(TEXT)])
    assert count((await session.view())[2]) <= 200
    assert (await session.manager.get_messages())[2]["content"] == TEXT


async def test_a_replayed_result_is_known(session: Offloading) -> None:
    """A host that hands the stored transcript back doubles nothing."""
    await session.add(user("read"))
    await session.read("c1")
    history = await session.manager.get_messages()
    await session.restart()
    await session.add(*history)
    bare = [{key: value for key, value in message.items() if key != "metadata"} for message in history]
    await session.add(
        *({**m, "metadata": {"message_id": h["metadata"]["message_id"]}} for m, h in zip(bare, history, strict=True))
    )
    assert await session.manager.get_messages() == history


@proof
async def test_a_pin_shows_it_whole(session: Offloading) -> None:
    """From the next plan on, also after a restart; and as a preview again once a plan has shortened it after that."""
    await session.add(user("read"))
    await session.read("c1", TEXT[:20_000])
    reference = (await session.manager.get_messages())[-1]["metadata"]["message_id"]
    await session.view()
    await session.manager.pin(reference)
    assert goes_on(session.views[-1], await session.view())
    session.config["max_tokens"] = 12_000
    await session.restart()
    await session.talk()
    assert TEXT[:20_000] in [message["content"] for message in await session.view()]
    await session.restart()
    assert TEXT[:20_000] in [message["content"] for message in await session.view()]
    assert sum(map(count, session.views[-1])) <= 12_000
    await session.manager.pin(reference, pinned=False)
    await session.talk()
    assert TEXT[:20_000] not in [message["content"] for message in await session.view()]
    await session.prove()


async def test_a_body_in_an_offloaded_result_is_shown(session: Offloading) -> None:
    """A request that has to hold it gets it whole, and nobody else does."""
    body = "<system-reminder>Ask first.</system-reminder>"
    await session.add(user("read"))
    await session.read("c1", TEXT[:20_000] + body + TEXT[:20_000])
    ordinary = await session.view()
    session.views.append(await session.manager.get_messages_for_request_retaining(retain_contents=[body]))
    assert session.views[-1][2]["content"] == TEXT[:20_000] + body + TEXT[:20_000]
    assert await session.view() == ordinary
    await session.prove()


async def test_the_mark_is_a_part_of_the_record(session: Offloading) -> None:
    """As `docs/format.md` has it: characters of the beginning and of the end."""
    await session.add(user("read"))
    await session.read("c1")
    record = json.loads(session.path.read_bytes().splitlines()[-1])
    head, tail = record["metadata"]["offload"]
    assert 0 < tail <= head < 800
    assert list(record["metadata"])[-2:] == ["timestamp", "message_id"]
