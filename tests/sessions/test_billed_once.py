"""An answer that several sessions hold is billed once; what nobody reported is unknown."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.catalogue_file import switched_off
from amplifier_module_context_persistent.catalogue.kept_figures import figures_of
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.sessions.file_uses import files_of
from amplifier_module_context_persistent.sessions.gather_figures import gathered
from amplifier_module_context_persistent.sessions.prices import PriceList
from amplifier_module_context_persistent.sessions.request_costs import Bills, cost_of
from amplifier_module_context_persistent.sessions.sql_query import add_files, add_views, ask
from amplifier_module_context_persistent.sessions.totals import total_of, totals
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.toolbox.transfer.export_session import export_session
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.busy_homes import sessions_of_home
from tests.support.imports import write_jsonl
from tests.support.logs import sealed
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

SONNET = "claude-sonnet-4-5"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entry(kind: str, number: int, session: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An entry of a Claude Code session."""
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number > 1 else None,
        "sessionId": session,
        "timestamp": f"2026-10-01T10:00:{number:02}.000Z",
        "message": {"role": kind, **message},
        **more,
    }


def answer(number: int, session: str, response: str, request: str | None = "req", tokens: int = 1_000_000) -> Any:
    given = {"requestId": request} if request else {}
    usage = {"input_tokens": tokens, "output_tokens": 0}
    said = {"id": response, "model": SONNET, "content": [{"type": "text", "text": f"answer {number}"}], "usage": usage}
    return entry("assistant", number, session, said, **given)


def question(number: int, session: str) -> Any:
    return entry("user", number, session, {"content": f"question {number}"})


def told(by: str = "path") -> tuple[dict[str, Any], dict[str, Any]]:
    """The sum of all sessions, and of each part; the same by SQL."""
    with gathered(sessions_of_home(), EstimateCounter(), lambda _: nullcontext(FileSystem())) as found:
        total = total_of(found, PriceList()).to_json()
        parts = {key: one.to_json() for key, one in totals(found, PriceList(), by).items()}
        add_views(found, PriceList())
        query = "SELECT total(requests), total(input_tokens), total(cost) FROM requests_v1"
        ((requests, tokens, cost),) = ask(found, query, most_rows=9, timeout_s=9).rows
        (sums,) = ask(found, "SELECT sum(requests), total(cost) FROM sessions_v1", most_rows=9, timeout_s=9).rows
    assert (total["requests"], total["input_tokens"]) == (requests, tokens)
    assert total["cost"] == pytest.approx(cost) == pytest.approx(sums[1])
    assert total["requests"] == (sums[0] or 0)
    return total, parts


@proof(quick=1)
@pytest.mark.parametrize("request_id", ["req", None], ids=["with a request's id", "without"])
def test_a_resumed_session_pays_for_its_own_answers(home: Path, request_id: str | None) -> None:
    """Its copies of the answers before are shown there, and were paid for in the session that gave them."""
    first = [question(1, "one"), answer(2, "one", "msg_a", request_id)]
    copies = [{**copied, "sessionId": "two"} for copied in first]
    write_jsonl(home / "one.jsonl", first)
    write_jsonl(home / "two.jsonl", [*copies, question(3, "two"), answer(4, "two", "msg_b", request_id)])
    for name in ("two", "one"):
        import_session(home / f"{name}.jsonl")
    total, parts = told("session")
    assert (total["requests"], total["cost"]) == (2, pytest.approx(6.0))
    assert {key: part["requests"] for key, part in parts.items()} == {"one": 1, "two": 1}
    two = next(one.path for one in sessions_of_home() if one.id == "two")
    with Transcript(two) as transcript, figures_of(transcript.reader, EstimateCounter()) as figures:
        assert cost_of(figures, PriceList()).total.requests == 2


@pytest.mark.parametrize("catalogue", [True, False], ids=["catalogue", "no catalogue"])
@pytest.mark.parametrize("before", [None, 1], ids=["without usage", "with less usage"])
@pytest.mark.parametrize("live", [True, False], ids=["live", "hidden"])
def test_an_answer_is_billed_by_its_last_version(home: Path, before: int | None, live: bool, catalogue: bool) -> None:
    """A source that was imported while it grew has the whole usage only in the version that came last."""
    said = {"role": "assistant", "content": "yes", "metadata": {"message_id": "a1", "model": SONNET}}
    said["metadata"] |= {"timestamp": "2026-10-01T10:00:02.000Z", "bill_id": "one answer"}
    old = {**said, "metadata": {**said["metadata"], **({"usage": {"input_tokens": before}} if before else {})}}
    new = {**said, "metadata": {**said["metadata"], "usage": {"input_tokens": 1000, "output_tokens": 20}}}
    rewinds = [
        {"_record": f"reset_{part}", "id": f"r{number}", "reason": "rewind", "upto": "q1", "count": 0, "live": 1}
        | {"keep": [{"position": 0, "count": 1, "first": ["q1"], "last": ["q1"]}]}
        for number in (1, 2)
        for part in ("begin", "commit")
    ]
    asked = {"role": "user", "content": "hello", "metadata": {"message_id": "q1"}}
    lines = [asked, old, *rewinds[:2], new, *([] if live else rewinds[2:])]
    for name in ("one", "two"):
        path = write(log_of(name))
        path.write_bytes(b"".join(sealed([json.dumps(line, separators=(",", ":")).encode()[:-1] for line in lines])))
    with switched_off() if not catalogue else nullcontext():
        for _ in range(2):
            total, _parts = told()
            assert (total["requests"], total["input_tokens"], total["output_tokens"]) == (1, 1000, 20)


def copilot_run() -> list[dict[str, Any]]:
    """A run of Copilot CLI: its answers report their output, and its end the usage of all requests of each model."""

    def event(number: int, kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "id": f"e{number}", "timestamp": f"2026-10-01T10:00:{number:02}.000Z", "data": data}

    small = {"usage": {"inputTokens": 200, "outputTokens": 30}, "requests": {"count": 2}}
    large = {"usage": {"inputTokens": 1000, "outputTokens": 70}, "requests": {"count": 2}}
    return [
        event(1, "session.start", sessionId="copilot"),
        event(2, "user.message", content="hello"),
        event(3, "assistant.message", content="one", model="small", outputTokens=10),
        event(4, "assistant.message", content="two", model="large", outputTokens=30),
        event(5, "assistant.message", content="three", model="small", outputTokens=20),
        event(6, "assistant.message", content="four", model="large", outputTokens=40),
        event(7, "session.shutdown", modelMetrics={"small": small, "large": large}),
        event(8, "user.message", content="and now?"),
    ]


@pytest.mark.parametrize("catalogue", [True, False], ids=["catalogue", "no catalogue"])
def test_a_sum_that_comes_later_takes_the_place_of_what_answers_reported(home: Path, catalogue: bool) -> None:
    """A run of Copilot CLI that was imported before its end is billed by the sum at its end."""
    events = copilot_run()
    with switched_off() if not catalogue else nullcontext():
        for end in range(2, len(events) + 1):
            import_session(write_jsonl(home / "events.jsonl", events[:end]))
            total, _ = told()
            expected = (4, 1200, 100) if end >= 7 else (end - 2, 0, sum((10, 30, 20, 40)[: end - 2]))
            assert (total["requests"], total["input_tokens"], total["output_tokens"]) == expected


@pytest.mark.parametrize("live", [True, False], ids=["live", "hidden"])
def test_an_answer_with_another_id_is_billed_by_its_last_version(home: Path, live: bool) -> None:
    """An importer may name an answer after another line when its source has grown."""

    def version(message_id: str, tokens: int) -> dict[str, Any]:
        facts = {"message_id": message_id, "model": SONNET, "timestamp": "2026-10-01T10:00:02.000Z"}
        usage = {"input_tokens": tokens, "output_tokens": 2}
        return {"role": "assistant", "content": "yes", "metadata": {**facts, "bill_id": "b", "usage": usage}}

    keep = {"keep": [{"position": 0, "count": 1, "first": ["q1"], "last": ["q1"]}]}
    rewinds = [
        {"_record": f"reset_{part}", "id": f"r{number}", "reason": "rewind", "upto": "q1", "count": 0, "live": 1} | keep
        for number in (1, 2)
        for part in ("begin", "commit")
    ]
    asked = {"role": "user", "content": "hello", "metadata": {"message_id": "q1"}}
    lines = [asked, version("a8", 1), *rewinds[:2], version("a9", 1000), *([] if live else rewinds[2:])]
    path = write(log_of("one"))
    path.write_bytes(b"".join(sealed([json.dumps(line, separators=(",", ":")).encode()[:-1] for line in lines])))
    total, _ = told()
    assert (total["requests"], total["input_tokens"], total["output_tokens"]) == (1, 1000, 2)


def test_answers_with_one_id_of_a_gateway_are_two(home: Path) -> None:
    """A gateway gives one id to all answers; their times and usage tell them apart."""
    talk = [
        question(1, "one"),
        answer(2, "one", "gateway", None),
        question(3, "one"),
        answer(4, "one", "gateway", None),
    ]
    import_session(write_jsonl(home / "one.jsonl", talk))
    assert told()[0]["requests"] == 2


def test_a_fork_here_pays_nothing_again(home: Path) -> None:
    report = import_session(write_jsonl(home / "one.jsonl", [question(1, "one"), answer(2, "one", "msg_a")]))
    fork_session(report.path)
    total, parts = told("session")
    assert total["requests"] == 1
    assert {key: part["requests"] for key, part in parts.items() if part["requests"]} == {"one": 1}


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-10-02T09:00:00.000Z", "type": kind, "payload": payload}


def codex_answer(text: str, tokens: int) -> list[dict[str, Any]]:
    said = [{"type": "output_text", "text": text}]
    usage = {"last_token_usage": {"input_tokens": tokens, "output_tokens": 1}}
    return [
        codex("response_item", type="message", role="assistant", content=said),
        codex("event_msg", type="token_count", info=usage),
    ]


def codex_question(text: str) -> dict[str, Any]:
    return codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": text}])


def test_sub_agents_that_repeat_their_parent_pay_for_their_own(home: Path) -> None:
    """Their copies have no ids and other times; two sub-agents, and one of them started another."""
    root, child, other, grandchild = ({"id": one} for one in ("root", "child", "other", "grandchild"))
    start = [codex("session_meta", **root), codex_question("go"), *codex_answer("on it", 1_000)]
    of_root = {"parent_thread_id": "root", "forked_from_id": "root"}
    of_child = {"parent_thread_id": "child", "forked_from_id": "child"}
    in_child = [codex("session_meta", **child, **of_root), *start, codex_question("task"), *codex_answer("done", 500)]
    files = {
        "root": [*start, *codex_answer("after the children", 2_000)],
        "child": in_child,
        "other": [codex("session_meta", **other, **of_root), *start, codex_question("b"), *codex_answer("done b", 300)],
        "grandchild": [codex("session_meta", **grandchild, **of_child), *in_child, *codex_answer("deep", 70)],
    }
    for name, lines in files.items():
        import_session(write_jsonl(home / f"{name}.jsonl", lines))
    total, parts = told("session")
    assert total["input_tokens"] == 1_000 + 2_000 + 500 + 300 + 70
    assert parts["root"]["input_tokens"] == 1_000 + 2_000 + 500 + 300
    assert sum(part["input_tokens"] for part in parts.values()) == total["input_tokens"]


def copilot(kind: str, number: int, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"e{number}", "timestamp": f"2026-01-01T00:00:{number:02}Z"}


def metric(requests: int, tokens: int, cached: int) -> dict[str, Any]:
    usage = {"inputTokens": tokens, "outputTokens": 7, "cacheReadTokens": cached, "cacheWriteTokens": 0}
    return {"requests": {"count": requests, "cost": 1}, "usage": usage}


def test_usage_of_a_copilot_session_is_what_its_runs_say(home: Path) -> None:
    """By model, at its last answer; each run says its own; a price that depends on a request's size takes the mean."""
    lines = [
        copilot("session.start", 1, sessionId="cop", selectedModel=SONNET),
        copilot("user.message", 2, content="go"),
        copilot("assistant.message", 3, content="a", outputTokens=3),
        copilot("assistant.message", 4, content="b", outputTokens=4, model="gpt-5"),
        copilot("assistant.message", 5, content="c", outputTokens=4),
        copilot(
            "session.shutdown", 6, modelMetrics={SONNET: metric(20, 1_000_000, 900_000), "gpt-5": metric(2, 50, 0)}
        ),
        copilot("assistant.message", 7, content="d", outputTokens=9),
        copilot("session.shutdown", 8, modelMetrics={SONNET: metric(3, 100_000, 0), "lost": metric(1, 5, 0)}),
        copilot("session.shutdown", 9, modelMetrics={}),
    ]
    report = import_session(write_jsonl(home / "events.jsonl", lines))
    total, parts = told("model")
    assert (total["requests"], total["input_tokens"], total["cached_tokens"]) == (25, 1_100_050, 900_000)
    assert parts[SONNET]["requests"] == 23
    assert parts[SONNET]["cost"] == pytest.approx((200_000 * 3 + 900_000 * 0.3 + 14 * 15) / 1e6)
    assert (total["unreported_requests"], total["output_tokens"]) == (0, 21)
    assert [loss.reason for loss in report.account.lost] == ["the usage of 'lost': no answer of this run can be its"]


def test_what_a_killed_run_read_is_unknown(home: Path) -> None:
    """Its answers tell their output; nothing is said of the input, and no cost."""
    lines = [
        copilot("session.start", 1, sessionId="cop", selectedModel=SONNET),
        copilot("user.message", 2, content="go"),
        copilot("assistant.message", 3, content="a", outputTokens=3),
    ]
    report = import_session(write_jsonl(home / "events.jsonl", lines))
    total, _ = told()
    expected = {"requests": 1, "unreported_requests": 1, "unpriced_requests": 0, "output_tokens": 3, "cost": 0}
    assert {key: total[key] for key in expected} == expected
    with Transcript(report.path) as transcript:
        bills = Bills(transcript.reader, PriceList(), lambda message: count_message(message, EstimateCounter()))
        billed = bills.of(list(transcript.messages())[1])
    assert (billed.input_tokens, billed.output_tokens, billed.cost) == (-1, 3, -1.0)


async def test_what_a_fork_copied_counts_in_its_origin(home: Path) -> None:
    """Turns, calls, failed calls and uses of files of the common history count once; the fork's own count there."""
    call = {"id": "c1", "tool": "read_file", "arguments": {"path": "src/a.py"}}
    failing = {"id": "c2", "tool": "bash", "arguments": {"command": "false"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "I try.", "tool_calls": [call, failing]},
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: exit code 1"},
        {"role": "assistant", "content": "It failed."},
    ]
    forked = log_of("forked")
    fork_session(write(log_of("origin"), messages), path=forked)
    total, parts = told("session")
    assert (total["sessions"], total["turns"], total["calls"], total["failed_calls"]) == (2, 1, 2, 1)
    assert (parts["origin"]["calls"], parts["forked"]["calls"], parts["forked"]["sessions"]) == (2, 0, 1)
    assert [(use.session, use.counts["read"]) for use in files_of(sessions_of_home())[0]] == [("origin", 1)]
    manager = PersistentContextManager(forked)
    for message in messages:
        await manager.add_message(message)
    await manager.close()
    total, parts = told("session")
    assert (total["turns"], total["calls"], total["failed_calls"]) == (2, 4, 2)
    assert (parts["origin"]["calls"], parts["forked"]["calls"]) == (2, 2)
    uses = files_of(sessions_of_home())[0]
    assert sorted((use.session, use.counts["read"]) for use in uses) == [("forked", 1), ("origin", 1)]
    with gathered(sessions_of_home(), EstimateCounter(), lambda _: nullcontext(FileSystem())) as found:
        add_files(found)
        add_views(found, PriceList())
        counts = (
            "SELECT (SELECT count(*) FROM calls), (SELECT count(*) FROM turns), (SELECT count(*) FROM files),"
            " sum(calls), sum(turns), sum(failed_calls), sum(messages) FROM sessions"
        )
        assert list(ask(found, counts, most_rows=9, timeout_s=9).rows[0]) == [4, 2, 2, 4, 2, 2, 15]


def unrelated(name: str, asked: str, said: str, call: str) -> list[dict[str, Any]]:
    """A Codex session: neither its messages nor its answers have ids, so an importer numbers them."""
    arguments = {"cmd": ["cat", f"{name}.py"]}
    asking = {"name": "shell", "arguments": json.dumps(arguments), "call_id": call}
    return [
        codex("session_meta", id=name),
        codex_question(asked),
        codex("response_item", type="function_call", **asking),
        codex("response_item", type="function_call_output", call_id=call, output="text"),
        *codex_answer(said, 1_000),
    ]


@pytest.mark.parametrize("asked", [("Tidy it.", "Name it."), ("Go on.", "Go on.")], ids=["other words", "same words"])
def test_unrelated_sessions_with_the_same_numbers_and_times_count_apart(home: Path, asked: tuple[str, str]) -> None:
    """An importer numbers messages without ids, so numbers and whole seconds meet; what was said and done does not."""
    for name, words, said in zip(("one", "two"), asked, ("tidied", "named"), strict=True):
        import_session(write_jsonl(home / f"{name}.jsonl", unrelated(name, words, said, f"call-{name}")))
    total, parts = told("session")
    assert (total["sessions"], total["turns"], total["calls"], total["requests"]) == (2, 2, 2, 2)
    assert {key: (part["turns"], part["calls"]) for key, part in parts.items()} == {"one": (1, 1), "two": (1, 1)}
    forked = log_of("forked")
    fork_session(next(one.path for one in sessions_of_home() if one.id == "one"), path=forked)
    total, parts = told("session")
    assert (total["sessions"], total["turns"], total["calls"], total["requests"]) == (3, 2, 2, 2)
    assert (parts["forked"]["turns"], parts["forked"]["calls"]) == (0, 0)


def test_answers_with_the_same_numbers_times_and_usage_are_billed_apart(home: Path) -> None:
    """Their ids were derived, and both took as many tokens; a copy of one says the same and is billed once."""
    for name in ("one", "two"):
        usage = {"input_tokens": 1_000, "output_tokens": 5}
        metadata = {"message_id": "abc-2", "timestamp": "2026-10-02T09:00:00+00:00", "usage": usage, "model": SONNET}
        messages = [
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": f"I am {name}.", "metadata": metadata},
        ]
        write(log_of(name), messages)
    assert told()[0]["requests"] == 2
    fork_session(log_of("one"), path=log_of("forked"))
    assert told()[0]["requests"] == 2


def test_an_export_that_is_imported_again_counts_as_the_copy(home: Path) -> None:
    """It has the same times and answers; which of the two files was written last does not matter."""
    usage = {"input_tokens": 1_000, "output_tokens": 5}
    answer = {"timestamp": "2026-10-02T09:00:01+00:00", "usage": usage, "model": SONNET, "message_id": "abc-2"}
    asked = {"timestamp": "2026-10-02T09:00:00+00:00", "message_id": "abc-1"}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Go on.", "metadata": asked},
        {"role": "assistant", "content": "Done.", "metadata": answer},
    ]
    origin = import_session(write_jsonl(home / "origin.jsonl", messages)).session_id
    exported = home / "exported.jsonl"
    export_session(log_of(origin), exported, "transcript")
    copy = import_session(exported).session_id
    assert copy != origin
    for last_written in (copy, origin):
        os.utime(log_of(last_written))
        parts = told("session")[1]
        assert (parts[origin]["requests"], parts[origin]["turns"]) == (1, 1)
        assert (parts[copy]["requests"], parts[copy]["turns"]) == (0, 0)
