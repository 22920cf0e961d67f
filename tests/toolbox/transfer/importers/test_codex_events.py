"""Events of Codex rollouts that say more than the items: messages without an item, and usage before its answer."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.sessions.gather_figures import gathered
from amplifier_module_context_persistent.sessions.prices import PriceList
from amplifier_module_context_persistent.sessions.totals import total_of
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.busy_homes import sessions_of_home
from tests.support.imports import history_and_view, imported, imported_history, texts, write_jsonl
from tests.support.sweeps import proof

Entry = dict[str, Any]
META = {"timestamp": "2025-10-01T08:00:00Z", "type": "session_meta", "payload": {"id": "0199-a", "cwd": "/w"}}


def line(kind: str, **payload: Any) -> Entry:
    return {"timestamp": "2025-10-01T08:00:01.000Z", "type": kind, "payload": payload}


def event(kind: str, **payload: Any) -> Entry:
    return line("event_msg", type=kind, **payload)


def item(role: str, text: str) -> Entry:
    part = "output_text" if role == "assistant" else "input_text"
    return line("response_item", type="message", role=role, content=[{"type": part, "text": text}])


def thought(text: str) -> Entry:
    summary = [{"type": "summary_text", "text": text}]
    return line("response_item", type="reasoning", summary=summary, encrypted_content="E")


def call(name: str) -> Entry:
    return line("response_item", type="function_call", name="shell", arguments="{}", call_id=name)


def output(name: str) -> Entry:
    return line("response_item", type="function_call_output", call_id=name, output="done")


def count(total: int, last: int) -> Entry:
    """A report of usage: of the session so far, and of the last request."""
    return event(
        "token_count",
        info={"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": last}},
    )


def completed(kind: str, **given: Any) -> Entry:
    return event("item_completed", item={"type": kind, "id": "i", **given})


def said(kind: str, text: str) -> Entry:
    return completed(kind, content=[{"type": "Text", "text": text}])


ALONE = {
    "events": [
        event("user_message", message="question"),
        event("agent_reasoning", text="hm"),
        event("agent_message", message="answer"),
        count(10, 10),
        event("agent_message", message="more"),
        count(30, 20),
        event("task_complete", last_agent_message="more"),
    ],
    "completed items": [
        said("UserMessage", "question"),
        completed("Reasoning", summary_text=["hm"], raw_content=[]),
        said("AgentMessage", "answer"),
        count(10, 10),
        said("AgentMessage", "more"),
        count(30, 20),
    ],
}


@pytest.mark.parametrize("entries", ALONE.values(), ids=ALONE)
async def test_what_only_events_say_is_the_conversation(tmp_path: Path, entries: list[Entry]) -> None:
    """With the usage of each request."""
    report, history, _ = await imported_history(tmp_path / "r.jsonl", [META, *entries])
    assert texts(history) == ["user: question", "assistant: thinking answer", "assistant: more"]
    assert history[1]["content"][0]["thinking"] == "hm"
    assert [one["metadata"]["usage"]["input_tokens"] for one in history[1:]] == [10, 20]
    assert history[0]["metadata"].get("source") is None
    assert report.account.mapped.total() == 4


REPEATED = {
    "events first": [
        event("user_message", message="question"),
        item("user", "question"),
        event("agent_reasoning", text="hm"),
        event("agent_message", message="answer"),
        thought("hm"),
        item("assistant", "answer"),
    ],
    "items first": [
        item("user", "question"),
        event("user_message", message="question"),
        thought("hm"),
        event("agent_reasoning", text="hm"),
        item("assistant", "answer"),
        event("agent_message", message="answer"),
    ],
    "usage between": [
        item("user", "question"),
        event("user_message", message="question"),
        event("agent_reasoning", text="hm"),
        event("agent_message", message="answer"),
        count(10, 10),
        thought("hm"),
        item("assistant", "answer"),
    ],
    "usage between, items first": [
        item("user", "question"),
        event("user_message", message="question"),
        thought("hm"),
        item("assistant", "answer"),
        count(10, 10),
        event("agent_reasoning", text="hm"),
        event("agent_message", message="answer"),
        event("task_complete", last_agent_message="answer"),
    ],
    "more in the items": [
        event("user_message", message="question"),
        item("user", "# Context from my IDE setup:\nfile\n## My request for Codex:\nquestion"),
        event("agent_reasoning", text="hm"),
        event("agent_message", message="answer"),
        thought("hm"),
        item("assistant", "answer\n<citation>file</citation>"),
    ],
}


@proof(quick=2)
@pytest.mark.parametrize("entries", REPEATED.values(), ids=REPEATED)
async def test_what_an_item_says_too_is_told_once(tmp_path: Path, entries: list[Entry]) -> None:
    """Whichever comes first; a second import of a file that grows says each thing once as well."""
    source = tmp_path / "r.jsonl"
    context = item("user", "<environment_context>")
    for end in range(len(entries) + 1):
        write_jsonl(source, [META, context, *entries[:end]])
        report = import_session(source, path=tmp_path / "log")
        account = report.account
        assert account.lines == account.accounted
    history, _ = await history_and_view(report.path)
    assert [one["role"] for one in history] == ["user", "user", "assistant"]
    assert [block["type"] for block in history[2]["content"]] == ["thinking", "text"]
    assert history[1]["metadata"].get("source") is None
    assert (await history_and_view(imported(source, tmp_path / "whole").path))[0] == history


def test_words_at_the_beginning_of_another_answer_are_words_of_their_own(tmp_path: Path) -> None:
    """A short event repeats an item only if the item says just that."""
    entries = [
        META,
        item("user", "q"),
        item("assistant", "Done is what I said."),
        event("agent_message", message="Done"),
    ]
    assert imported(write_jsonl(tmp_path / "r.jsonl", entries)).account.mapped["event agent_message"] == 1


COUNTED = {
    "before the items": [
        event("agent_reasoning", text="hm"),
        count(10, 10),
        thought("hm"),
        call("c1"),
        output("c1"),
        count(30, 20),
        call("c2"),
        output("c2"),
        count(30, 20),
        event("agent_message", message="answer"),
        count(60, 30),
        item("assistant", "answer"),
    ],
    "before the first line": [
        count(10, 10),
        thought("hm"),
        call("c1"),
        output("c1"),
        count(30, 20),
        call("c2"),
        output("c2"),
        count(60, 30),
        item("assistant", "answer"),
    ],
    "before answers without a call": [
        count(10, 10),
        item("assistant", "one"),
        count(30, 20),
        item("assistant", "two"),
        count(60, 30),
        item("assistant", "answer"),
    ],
    "after the items": [
        event("agent_reasoning", text="hm"),
        thought("hm"),
        call("c1"),
        count(10, 10),
        output("c1"),
        count(10, 10),
        call("c2"),
        output("c2"),
        count(30, 20),
        item("assistant", "answer"),
        event("agent_message", message="answer"),
        count(60, 30),
        count(60, 30),
    ],
}


@pytest.mark.parametrize("entries", COUNTED.values(), ids=COUNTED)
async def test_usage_belongs_to_the_answer_of_its_request(tmp_path: Path, entries: list[Entry]) -> None:
    """Versions up to November 2025 report it before the items; limits that change repeat it."""
    asked = [META, item("user", "question"), event("user_message", message="question")]
    _, history, _ = await imported_history(tmp_path / "r.jsonl", [*asked, *entries])
    usage = [one["metadata"].get("usage") for one in history if one["role"] == "assistant"]
    assert usage == [{"input_tokens": 10}, {"input_tokens": 20}, {"input_tokens": 30}]


LOST_BILLS: dict[str, tuple[list[Entry], dict[int, str]]] = {
    "two before one answer": (
        [count(10, 10), count(30, 20), item("assistant", "answer")],
        {4: "the usage of a request: no answer of the rollout is its answer"},
    ),
    "two after one answer": (
        [item("assistant", "answer"), count(10, 10), count(30, 20)],
        {5: "the usage of a request: its answer has a later usage"},
    ),
    "two after words of an event": (
        [event("agent_message", message="answer"), count(10, 10), count(30, 20)],
        {5: "the usage of a request: no answer of the rollout is its answer"},
    ),
    "before and after words of an event": (
        [count(10, 10), event("agent_message", message="answer"), count(30, 20)],
        {4: "the usage of a request: no answer of the rollout is its answer"},
    ),
    "without an answer": (
        [count(10, 10), item("assistant", "answer"), count(30, 20)],
        {6: "the usage of a request: no answer of the rollout is its answer"},
    ),
}


@pytest.mark.parametrize(("entries", "lost"), LOST_BILLS.values(), ids=LOST_BILLS)
def test_usage_without_an_answer_is_lost_by_name(tmp_path: Path, entries: list[Entry], lost: dict[int, str]) -> None:
    """A request may have failed, or was made for something that the rollout does not have."""
    asked = [META, item("user", "question"), event("user_message", message="question")]
    report = imported(write_jsonl(tmp_path / "r.jsonl", [*asked, *entries]))
    assert {loss.line: loss.reason for loss in report.not_carried} == lost


@pytest.mark.parametrize("entries", COUNTED.values(), ids=COUNTED)
def test_a_rollout_that_grows_is_billed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: list[Entry]
) -> None:
    """However often it was imported meanwhile."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "r.jsonl"
    asked = [META, item("user", "question"), event("user_message", message="question")]
    for end in range(len(entries) + 1):
        import_session(write_jsonl(source, [*asked, *entries[:end]]))
    with gathered(sessions_of_home(), EstimateCounter(), lambda _: nullcontext(FileSystem())) as found:
        bill = total_of(found, PriceList()).bill
    assert (bill.requests, bill.input_tokens) == (3, 60)
