"""Codex threads that belong together: what agents tell each other, and forks that name the history of their origin."""

from __future__ import annotations

import json
from collections import Counter
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

Entry = dict[str, Any]


def line(kind: str, **payload: Any) -> Entry:
    return {"timestamp": "2026-09-01T08:00:00.000Z", "type": kind, "payload": payload}


def item(role: str, text: str) -> Entry:
    part = "output_text" if role == "assistant" else "input_text"
    return line("response_item", type="message", role=role, content=[{"type": part, "text": text}])


def meta(thread: str, **more: Any) -> Entry:
    return line("session_meta", id=thread, cwd="/w", timestamp="2026-09-01T08:00:00Z", **more)


def tokens(count: int) -> Entry:
    return line("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": count}})


async def test_a_count_of_a_context_that_was_estimated_bills_nothing(tmp_path: Path) -> None:
    """After a compaction the sum of all requests is as before; the answer keeps the usage of its request."""

    def count(in_all: int, last: int) -> Entry:
        info = {"total_token_usage": {"input_tokens": in_all}, "last_token_usage": {"input_tokens": last}}
        return line("event_msg", type="token_count", info=info)

    _, history, _ = await imported_history(
        tmp_path / "r.jsonl",
        [meta("t"), item("user", "Go."), item("assistant", "Done."), count(70, 70), count(70, 0), count(70, 12)],
    )
    assert history[-1]["metadata"]["usage"] == {"input_tokens": 70}


async def test_what_agents_tell_each_other_is_part_of_the_history(tmp_path: Path) -> None:
    """As a line of its own, or as an item; what only the provider can read is kept as it is."""
    between = {"author": "/root/worker", "recipient": "/root"}
    secret = {"type": "encrypted_content", "encrypted_content": "E"}
    report, history, _ = await imported_history(
        tmp_path / "r.jsonl",
        [
            meta("t"),
            item("user", "Go."),
            line("inter_agent_communication", **between, content="Half is done.", trigger_turn=True),
            line("response_item", type="agent_message", **between, content=[{"type": "input_text", "text": "All is."}]),
            line("response_item", type="agent_message", **between, content=[secret]),
            line("inter_agent_communication", **between, content="", encrypted_content="E"),
            item("assistant", "Good."),
        ],
    )
    assert texts(history) == ["user: Go.", "user: Half is done.", "user: All is.", "assistant: Good."]
    assert [one["metadata"].get("source") for one in history] == [None, "codex:agent", "codex:agent", None]
    assert history[1]["metadata"]["imported"] == between
    assert report.account.metadata["agent_message"] == report.account.metadata["inter_agent_communication"] == 1


async def test_items_that_were_completed_tell_who_wrote_a_message(tmp_path: Path) -> None:
    """In rollouts that have no `user_message`: a person may begin with a tag, and a program may not."""

    def completed(text: str) -> Entry:
        said = {"type": "UserMessage", "id": "i", "content": [{"type": "text", "text": text}]}
        return line("event_msg", type="item_completed", item=said)

    _, history, _ = await imported_history(
        tmp_path / "r.jsonl",
        [
            meta("t"),
            item("user", "the program says"),
            item("user", "<b> is a tag"),
            completed("<b> is a tag"),
            line("event_msg", type="item_completed", item={"type": "AgentMessage", "content": []}),
            item("assistant", "Yes."),
        ],
    )
    assert [one["metadata"].get("source") for one in history] == ["codex:context", None, None]


ORIGIN = [meta("origin"), item("user", "one"), item("assistant", "ONE"), tokens(7), item("user", "not in the fork")]


def write_fork(place: Path, name: str, thread: str, base: str, end: int, said: str) -> Path:
    known = meta(thread, forked_from_id=base, history_base={"thread_id": base, "end_byte_offset": end})
    return write_jsonl(place / f"rollout-{name}-{thread}.jsonl", [known, item("user", said), item("assistant", "A.")])


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "sessions" / "2026" / "09"
    write_jsonl(place / "01" / "rollout-a-origin.jsonl", ORIGIN)
    return place


def end_of(entries: list[Entry]) -> int:
    return sum(len(json.dumps(entry)) + 1 for entry in entries)


async def test_a_fork_has_the_history_of_its_origin(sessions: Path) -> None:
    """Of its origin's beginning, which may be a fork as well, on another day; billed once, with the same ids."""
    first = write_fork(sessions / "01", "b", "fork", "origin", end_of(ORIGIN[:4]), "two")
    end = end_of([json.loads(entry) for entry in first.read_text().splitlines()[:2]])
    second = write_fork(sessions / "02", "c", "again", "fork", end, "three")
    report = import_session(second)
    history, _ = await history_and_view(report.path)
    assert texts(history) == ["user: one", "assistant: ONE", "user: two", "user: three", "assistant: A."]
    assert not report.account.lost
    account = report.account
    assert account.lines == account.accounted == 3 + 2 + 4
    assert import_session(second).added == 0
    assert import_session(first).messages == 4
    origin = import_session(sessions / "01" / "rollout-a-origin.jsonl")
    copied, _ = await history_and_view(origin.path)
    ids = [[one["metadata"]["message_id"] for one in some] for some in (history, copied)]
    assert ids[0][:2] == ids[1][:2]
    assert max(Counter(ids[0]).values()) == 1
    with gathered(sessions_of_home(), EstimateCounter(), lambda _: nullcontext(FileSystem())) as found:
        assert total_of(found, PriceList()).bill.requests == 1


@pytest.mark.parametrize("base", ["gone", "../../etc/passwd", "*", "self", "linked"])
async def test_a_history_that_is_not_there_is_lost_by_name(sessions: Path, base: str) -> None:
    """Another file than a rollout of that name is never read, nor is a link, nor the fork itself."""
    fork = write_fork(sessions / "01", "b", "self", base, 1_000, "two")
    (sessions / "01" / "rollout-x-linked.jsonl").symlink_to(sessions / "01" / "rollout-a-origin.jsonl")
    report = imported(fork, sessions / "log.jsonl")
    history, _ = await history_and_view(report.path)
    assert texts(history) == ["user: two", "assistant: A."]
    (loss,) = report.account.lost
    assert f"the rollout of thread {base} is not there" in loss.reason
