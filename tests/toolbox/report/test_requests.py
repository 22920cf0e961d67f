"""What the model saw, as the page holds it, against the views themselves."""

import shutil
from itertools import pairwise

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.messages.metadata import given_id
from amplifier_module_context_persistent.messages.text import parts_of
from amplifier_module_context_persistent.sessions.request_costs import RequestBill
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.toolbox.replay import open_transcript, requests
from amplifier_module_context_persistent.toolbox.replay.visibility import ELIDED, KEPT, Marks
from amplifier_module_context_persistent.toolbox.report import report
from amplifier_module_context_persistent.toolbox.report import requests as report_requests
from amplifier_module_context_persistent.toolbox.report.history import History
from amplifier_module_context_persistent.toolbox.report.message_body import Bodies
from fixtures.generate import generate_session
from tests.support.pages import read_page
from tests.support.recorded_sessions import Recorded
from tests.support.sweeps import proof

LETTERS = {"k": "kept", "e": "elided", "d": "dropped", "s": "summarised"}


def count_view(view):
    return sum(count_message(message, EstimateCounter()) for message in view)


@pytest.fixture
def log(compacted, tmp_path):
    """A log of its own for each test that makes a report."""
    return shutil.copy(compacted, tmp_path / "log.jsonl")


@pytest.fixture(scope="module")
def seen(compacted):
    """What the requests saw."""
    with open_transcript(compacted) as transcript:
        return list(requests(transcript))


@pytest.fixture(scope="module")
def page(compacted):
    return read_page(compacted.with_suffix(".html"))


def page_of(log, **options):
    with open_transcript(log) as transcript:
        made = report(transcript, log.with_suffix(".html"), force=True, **options)
    return made, read_page(log.with_suffix(".html"))


def fates(page, request):
    """How each message fared, by the rule of the format."""
    columns = page.head["requests"]["columns"]
    runs = page.head["requests"]["epochs"][columns["epoch"][request]]["runs"]
    told = [letter for letter, count in runs for _ in range(count)]
    return told + ["k"] * (columns["place"][request] - len(told))


async def test_the_page_of_a_short_session_is_as_its_views(tmp_path):
    """Marks of each message, numbers of each compaction, and what a request had beyond its view by the provider."""
    log = tmp_path / "log.jsonl"
    async with Recorded(log, max_tokens=3_000) as session:
        for message in generate_session(7, 28, mean_bytes=0):
            if message["role"] == "assistant":
                tokens = count_view(await session.view())
                usage = {"input_tokens": tokens + 700, "output_tokens": 5}
                await session.manager.on_llm_response({"provider": "p", "model": "m", "usage": usage})
            await session.add(message)
    _, page = page_of(log, views="all")
    with open_transcript(log) as transcript:
        seen = list(requests(transcript))
        beyond = [transcript.book.tokens_beyond_view(noted.receipt) for noted in transcript.book.requests]
    columns, compactions = page.head["requests"]["columns"], page.head["requests"]["compactions"]
    for number, one in enumerate(seen):
        told = [LETTERS[letter] for letter in fates(page, number)]
        assert told == [one.marks.of(place) for place in range(one.place)], number
    assert columns["beyond"] == [-1 if tokens is None else tokens for tokens in beyond]
    assert 500 < max(columns["beyond"]) < 900
    assert columns["proved"] == ["y"] * len(seen)
    taken = {one.number: one.compaction for one in seen if one.compaction}
    newly = [(one["newly_elided"], one["newly_dropped"], one["newly_lacking"]) for one in compactions]
    lost = [taken.get(one["request"]) for one in compactions]
    assert newly == [(one.elided, one.dropped, one.lacking) if one else (0, 0, 0) for one in lost]
    assert all(map(sum, zip(*newly, strict=True)))


@proof
@pytest.mark.parametrize("makes_all", [False, True])
def test_marks_are_those_of_the_views(log, seen, page, monkeypatch, makes_all):
    """Of every request, also of those that were not made again for the page."""
    if not makes_all:
        monkeypatch.setattr(report_requests, "SOME_VIEWS", 3)
        _, page = page_of(log)
    columns = page.head["requests"]["columns"]
    assert len(seen) == len(columns["number"]) > 25
    assert len(page.head["requests"]["compactions"]) > 5
    for number, one in enumerate(seen):
        assert columns["place"][number] == one.place
        told = [LETTERS[letter] for letter in fates(page, number)]
        assert told == [one.marks.of(place) for place in range(one.place)], number
    assert {"elided", "dropped"} <= {one.marks.of(place) for one in seen for place in range(one.place)}
    assert (columns["proved"].count("-") == 0) == makes_all


@proof
def test_cut_texts_are_those_of_the_views(seen, page):
    """An original and its cut give, letter by letter, what the view said; what the view put in stands in its place."""
    told = page.head["requests"]
    compared = 0
    for number, one in enumerate(seen):
        epoch = told["columns"]["epoch"][number]
        shown = {given_id(message): message for message in one.view}
        for place, mark in one.marks.shown.items():
            if mark != "elided":
                continue
            cut = next(
                told["epochs"][at]["cuts"][str(place)]
                for at in range(epoch, -1, -1)
                if str(place) in told["epochs"][at]["cuts"]
            )
            texts = []
            for part, change in zip(page.bodies[place], cut, strict=True):
                if change is None:
                    texts.append(part[-1])
                elif change:
                    head, tail, between = change
                    texts.append(part[-1][:head] + between + (part[-1][-tail:] if tail else ""))
            view = [part.text for part in parts_of(shown[page.head["history"]["ids"][place]]) if part.text]
            assert texts == view
            compared += 1
        put_in = [
            text
            for message in one.view
            if given_id(message) not in page.head["history"]["ids"]
            for text in ["\n".join(part.text for part in parts_of(message))]
        ]
        assert [told["texts"][text] for _, _, text in told["epochs"][epoch]["inserted"]] == put_in
    assert compared > 30


@proof
def test_compactions_have_their_numbers(seen, page):
    """Tokens as the plan has them, in the order of the requests, and what was newly taken of what was shown before."""
    compactions = page.head["requests"]["compactions"]
    assert all(one["tokens_before"] > one["tokens_after"] > 0 for one in compactions)
    assert all(one["request"] < other["request"] for one, other in pairwise(compactions))
    taken = {one.number: one.compaction for one in seen if one.compaction}
    assert len(taken) > 5
    for one in compactions:
        newly = taken.get(one["request"])
        told = [one[f"newly_{name}"] for name in ("elided", "dropped", "lacking")]
        assert told == ([newly.elided, newly.dropped, newly.lacking] if newly else [0, 0, 0])
    assert 0 < sum(one["newly_lacking"] for one in compactions) < sum(one["newly_dropped"] for one in compactions)


@proof
def test_an_altered_log_is_not_proved(log):
    """The view of a message that was altered afterwards is another one, and the page says so."""
    content = b"".join(log.read_bytes().splitlines(keepends=True)[:60])
    log.write_bytes(content.replace(b'"role":"user","content":"', b'"role":"user","content":"Not ', 1))
    made, page = page_of(log, views="all")
    assert made.views_not_proved > 0
    not_proved = page.head["requests"]["columns"]["proved"].index("n")
    assert page.head["requests"]["reasons"][page.head["requests"]["columns"]["reason"][not_proved]]


@proof
async def test_a_history_that_was_cleared_is_told_apart(tmp_path):
    """Requests before a clear saw messages that the page does not show; nothing of them is marked."""
    path = tmp_path / "log.jsonl"
    messages = list(generate_session(7, 80, mean_bytes=0))
    session = Recorded(path, max_tokens=100_000)
    await session.converse(messages[:40])
    await session.manager.clear()
    await session.converse(messages[40:])
    await session.manager.close()
    made, page = page_of(path)
    assert (made.messages, made.views_not_proved) == (40, 0)
    columns = page.head["requests"]["columns"]
    assert columns["place"][0] == 0
    assert fates(page, 0) == []
    with open_transcript(path) as transcript:
        *_, last = requests(transcript)
    assert [LETTERS[letter] for letter in fates(page, -1)] == [last.marks.of(place) for place in range(last.place)]


@proof
def test_only_requests_about_the_turns_that_are_shown(log, seen):
    """Their places are those on the page; runs begin with its first message."""
    with open_transcript(log) as transcript:
        turn = transcript.turns()[1]
        report(transcript, log.with_suffix(".html"), turns=[turn], views="all")
    page = read_page(log.with_suffix(".html"))
    columns = page.head["requests"]["columns"]
    for request, number in enumerate(columns["number"]):
        (one,) = [one for one in seen if one.number == number]
        whole = [one.marks.of(place) for place in range(one.place)]
        assert [LETTERS[letter] for letter in fates(page, request)] == whole[turn.start : turn.stop]


@proof
async def test_secrets_are_replaced_in_what_views_put_in(tmp_path):
    """A head text that a factory gives is redacted as messages are."""
    key = "gh" + "p_" + "a1B2" * 9

    async def instructions():
        return f"Use {key} for it."

    async with PersistentContextManager(tmp_path / "log.jsonl", durability="write") as manager:
        await manager.set_system_prompt_factory(instructions)
        await manager.add_message({"role": "user", "content": "hi"})
        await manager.get_messages_for_request()
        await manager.add_message({"role": "assistant", "content": "hello"})
    _, page = page_of(tmp_path / "log.jsonl")
    assert page.head["requests"]["texts"] == ["Use [REDACTED] for it."]


def test_a_request_that_read_nothing_is_shown():
    """Its provider says so; one that says nothing is left out beside it."""
    history = History(roles=["h", "a", "a"], times=[0, 0, 0], tokens=[5, 5, 5])
    history.billed[1] = RequestBill(input_tokens=0)
    assert [row["place"] for row in report_requests.supposed_requests(history).rows] == [1]


@pytest.mark.parametrize(
    ("original", "shown", "cut"),
    [
        ("abcabc", "abc", [3, 0, ""]),
        ("abcd", "a...d", [1, 1, "..."]),
        ("\U0001f41bxy\U0001f41b", "\U0001f41b...\U0001f41b", [2, 2, "..."]),
    ],
    ids=["its end is its beginning", "its middle", "in units of UTF-16, as scripts count"],
)
def test_a_cut_text_is_what_is_kept_at_both_ends(original, shown, cut):
    """No character counts for both."""
    message = {"role": "user", "content": original}
    view = [{"role": "user", "content": shown, "metadata": {"message_id": "m"}}]
    reader = report_requests.ViewTextReader(Bodies(redact=False), [])
    seen = reader.read(view, Marks(1, {0: ELIDED}), {"m": 0}.get, lambda _: [message])
    assert seen.cuts == {0: [cut]}


def test_what_a_view_put_in_is_told_once_at_its_places():
    """With its whole text and the message that it stands before; what it has of the history is no part of that."""
    said = {"role": "user", "content": "Go on.", "metadata": {"message_id": "m"}}
    head, note = ({"role": role, "content": f"{role} text"} for role in ("system", "user"))
    texts = []
    reader = report_requests.ViewTextReader(Bodies(redact=False), texts)
    seen = reader.read([head, said, note, head], Marks(1, {0: KEPT}), {"m": 0}.get, lambda _: [])
    assert texts == ["system text", "user text"]
    assert seen.inserted == [(0, "system", 0), (1, "user", 1), (1, "system", 0)]


def test_requests_are_written_as_columns():
    """Of as many values each; without a request there is none."""
    rows = [{"number": 1, "place": 3}, {"number": 2, "place": 5}]
    assert report_requests.Requests(rows=rows).to_json()["columns"] == {"number": [1, 2], "place": [3, 5]}
    assert report_requests.Requests(rows=[]).to_json()["columns"] == {}
