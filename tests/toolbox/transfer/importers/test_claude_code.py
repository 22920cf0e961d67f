"""Claude Code sessions: answers of several records, trees, compactions, sub-agents, copies, damage."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.cli import main
from amplifier_module_context_persistent.toolbox.transfer.imports.drafts import ImportConflictError
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.claude_entries import answers, calls, entry, results, says, text
from tests.support.commands import shows
from tests.support.imports import contents, history_and_view, imported, imported_history, records, texts, write_jsonl
from tests.support.sweeps import proof


@proof
async def test_the_records_of_one_answer_are_one_message(tmp_path: Path) -> None:
    """Thinking with its signature, text and parallel calls; their results are siblings and stay."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "s1"}
    report, history, view = await imported_history(
        tmp_path / "s.jsonl",
        [
            says("u1", None, "Read both"),
            answers("a1", "u1", "msg1", thought),
            answers("a2", "a1", "msg1", text("Reading")),
            answers("a3", "a2", "msg1", calls("c1")),
            answers("a4", "a3", "msg1", calls("c2"), stop="tool_use"),
            results("r1", "a3", ("c1", "one")),
            results("r2", "a4", ("c2", "two")),
            answers("a5", "r2", "msg2", text("Done"), stop="end_turn"),
        ],
    )
    assert texts(history) == [
        "user: Read both",
        "assistant: thinking Reading Read Read",
        "tool: one",
        "tool: two",
        "assistant: Done",
    ]
    assert [message["role"] for message in view] == ["user", "assistant", "tool", "tool", "assistant"]
    first = history[1]
    assert first["content"][0] == thought
    assert first["metadata"]["usage"] == {
        "input_tokens": 903, "output_tokens": 5, "cache_read_tokens": 900, "cache_write_tokens": 97,
    }  # fmt: skip
    assert (first["metadata"]["model"], first["metadata"]["stop_reason"]) == ("claude-opus-4-5", "tool_use")
    assert [message.get("name") for message in history if message["role"] == "tool"] == ["Read", "Read"]
    assert report.account.mapped == {"user": 3, "assistant": 5}
    (header,) = records(report.path, "header")
    told = header["source"]
    assert (told["cwd"], told["git_branch"], told["session_id"]) == ("/home/u/app", "main", "5f0e-1")
    assert told["account"]["mapped"] == {"user": 3, "assistant": 5}


@proof
async def test_several_results_and_a_persons_text_in_one_message(tmp_path: Path) -> None:
    """Each result is one message, with its error mark; the text beside them is a person's."""
    both = results("r", "a1", ("c1", "one"), ("c2", "two"))
    both["message"]["content"][1]["is_error"] = True
    both["message"]["content"].append(text("and stop"))
    history, _ = await history_and_view(
        imported(
            write_jsonl(
                tmp_path / "s", [says("u", None, "go"), answers("a1", "u", "m", calls("c1"), calls("c2")), both]
            )
        ).path
    )
    assert texts(history)[2:] == ["tool: one", "tool: two", "user: and stop"]
    assert [message["metadata"].get("is_error") for message in history[2:]] == [None, True, None]
    assert len({message["metadata"]["message_id"] for message in history}) == 5


@proof
async def test_a_branch_becomes_a_fork(tmp_path: Path) -> None:
    """Where two texts of a person answer one message, the one that went on furthest is the session."""
    report = imported(
        write_jsonl(
            tmp_path / "s.jsonl",
            [
                says("u1", None, "start"),
                answers("a1", "u1", "m1", text("ready")),
                entry("progress", "p1", "a1", data={}),
                says("u2", "p1", "first way"),
                answers("a2", "u2", "m2", text("one")),
                says("u3", "a1", "second way"),
                answers("a3", "u3", "m3", text("two")),
            ],
        )
    )
    assert [(session.kind, session.messages) for session in report.sessions] == [("session", 4), ("branch", 4)]
    live, left = [(await history_and_view(session.path))[0] for session in report.sessions]
    assert texts(live) == ["user: start", "assistant: ready", "user: second way", "assistant: two"]
    assert texts(left) == ["user: start", "assistant: ready", "user: first way", "assistant: one"]
    (header,) = records(report.sessions[1].path, "header")
    assert header["forked_from"] == "a1"
    assert records(report.path, "header")[0]["source"]["branches"]


@proof
async def test_views_go_on_from_the_compaction(tmp_path: Path) -> None:
    """The history keeps what was compacted; the view has the summary in its place, as the model was given it."""
    report = imported(
        write_jsonl(
            tmp_path / "s.jsonl",
            [
                says("u1", None, "long ago"),
                answers("a1", "u1", "m1", text("yes")),
                entry(
                    "system",
                    "b",
                    None,
                    subtype="compact_boundary",
                    logicalParentUuid="a1",
                    compactMetadata={"preTokens": 777},
                ),
                says("c", "b", "What was said: yes", isCompactSummary=True),
                says("u2", "c", "go on"),
                answers("a2", "u2", "m2", text("going")),
            ],
        )
    )
    assert report.sessions[0].compactions == 1
    history, view = await history_and_view(report.path)
    assert texts(history) == ["user: long ago", "assistant: yes", "user: go on", "assistant: going"]
    assert [message["role"] for message in view] == ["user", "user", "assistant"]
    assert view[0]["content"] == "<summary>\nWhat was said: yes\n</summary>"
    (plan,) = records(report.path, "plan")
    assert (plan["strategy"], plan["tokens_before"], plan["dropped"], plan["upto"]) == ("imported", 777, 2, "a1")
    assert report.account.metadata == {"system": 1}


def test_show_and_replay_show_what_the_source_compacted(tmp_path: Path) -> None:
    """Where it was, with its summary; in replay as a JSON event too. Messages that are chosen stand alone."""
    report = imported(
        write_jsonl(
            tmp_path / "s.jsonl",
            [
                says("u1", None, "long ago"),
                says("c", "u1", "What was said: \x1b[31mlittle", isCompactSummary=True),
                says("u2", "c", "go on"),
            ],
        )
    )
    for command in ("replay", "show"):
        done = CliRunner().invoke(main, [command, report.path])
        assert "the source compacted here: 1 message left out, 0 kept" in done.stdout
        assert done.stdout.index("long ago") < done.stdout.index("What was said") < done.stdout.index("go on")
        assert "\x1b[31m" not in done.stdout
    for chosen in (["--role", "user"], ["--range", "2:"], ["--json"]):
        assert "compacted" not in CliRunner().invoke(main, ["show", report.path, *chosen]).stdout
    events = [
        json.loads(line) for line in CliRunner().invoke(main, ["replay", report.path, "--json"]).stdout.splitlines()
    ]
    assert [event["event"] for event in events] == ["message", "source_compaction", "message"]
    assert events[1]["dropped"] == 1


def test_view_shows_what_the_source_gave_its_model(tmp_path: Path) -> None:
    """The history before each answer, under the source's own compactions; it is said that nothing proves it."""
    path = imported(
        write_jsonl(
            tmp_path / "s.jsonl",
            [
                says("u1", None, "long ago"),
                answers("a1", "u1", "m1", text("yes")),
                says("c", "a1", "What was said: yes", isCompactSummary=True),
                says("u2", "c", "go on"),
                answers("a2", "u2", "m2", text("going")),
            ],
        )
    ).path

    def view(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["view", path, *arguments])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    code, shown = view()
    assert code == 1
    assert shown.startswith("request 2 of 2 of the source, ")
    shows(shown, "What was said: yes", "2 messages summarised: [1] to [2]", "go on")
    assert "going" not in shown
    assert "Imported: `replay --views` shows it under a policy." in shown
    told = json.loads(view("--request", "1", "--json")[1])
    assert (told["request"], told["receipt"], told["proved"]) == (1, None, False)
    assert [message["content"] for message in told["messages"]] == ["long ago"]
    assert "newly summarised: 1 message, [1]" in view("--diff")[1]
    for number in ("3", "-3", "0"):
        code, shown = view("--request", number)
        assert code == 2
        assert f"there is no request {number}: the source made one before each answer" in shown
    assert "`view` shows what the source" in CliRunner().invoke(main, ["views", path]).output


def stats_of(path: str) -> dict[str, Any]:
    return dict(json.loads(CliRunner().invoke(main, ["stats", path, "--json"]).stdout))


def test_each_answer_is_billed_once(tmp_path: Path) -> None:
    """By what it says itself; nothing was predicted for it, so no prediction was wrong."""
    answered = [answers(f"a{n}", f"u{n}", f"m{n}", text("x")) for n in range(3)]
    asked = [says(f"u{n}", f"a{n - 1}" if n else None, "y") for n in range(3)]
    report = imported(
        write_jsonl(tmp_path / "s", [entry for pair in zip(asked, answered, strict=True) for entry in pair])
    )
    told = stats_of(report.path)
    assert told["cost"]["requests"] == report.sessions[0].usage_reports == 3
    assert (told["usage"]["reports"], told["usage"]["error_median"]) == (0, None)
    assert "predictions" not in CliRunner().invoke(main, ["stats", report.path]).stdout


@proof
def test_an_answer_that_grows_is_one_request(tmp_path: Path) -> None:
    """However often it is imported while its records are written."""
    records_of_it = [answers(f"a{n}", f"a{n - 1}" if n > 1 else "u1", "m1", text(f"part {n}")) for n in range(1, 6)]
    entries = [says("u1", None, "go"), *records_of_it]
    for stop in range(1, len(entries) + 1):
        report = imported(write_jsonl(tmp_path / "s.jsonl", entries[:stop]))
    told = stats_of(report.path)
    assert (told["cost"]["requests"], told["cost"]["cached_tokens"], told["usage"]["reports"]) == (1, 900, 0)


@proof
async def test_the_kinds_of_cache_writes_are_kept(tmp_path: Path) -> None:
    """For five minutes and for an hour: they have different prices."""
    answer = answers("a1", "u1", "m1", text("x"))
    answer["message"]["usage"]["cache_creation"] = {"ephemeral_5m_input_tokens": 90, "ephemeral_1h_input_tokens": 7}
    report = imported(write_jsonl(tmp_path / "s", [says("u1", None, "y"), answer]))
    usage = (await history_and_view(report.path))[0][1]["metadata"]["usage"]
    assert (usage["cache_write_5m_tokens"], usage["cache_write_1h_tokens"], usage["cache_write_tokens"]) == (90, 7, 97)


@proof
async def test_what_the_program_says_itself_is_no_request(tmp_path: Path) -> None:
    """No model was asked for a `<synthetic>` answer: it has no usage and no model, and is kept as what it is."""
    answer = answers("a1", "u1", "m1", text("API Error: overloaded"))
    answer["message"]["model"] = "<synthetic>"
    answer["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    report = imported(write_jsonl(tmp_path / "s", [says("u1", None, "y"), answer]))
    metadata = (await history_and_view(report.path))[0][1]["metadata"]
    assert not {"usage", "model", "provider"} & metadata.keys()
    assert metadata["imported"]["model"] == "<synthetic>"
    assert stats_of(report.path)["cost"]["requests"] == 0


@proof
async def test_a_compaction_at_the_end_or_at_the_beginning(tmp_path: Path) -> None:
    """The view is the summary and what the person said last; where nothing stands before it, it is a message."""
    summary = says("c", "b", "in short", isCompactSummary=True)
    _, _, view = await imported_history(tmp_path / "end", [says("u1", None, "x"), summary])
    assert texts(view) == ["user: <summary>\nin short\n</summary>", "user: x"]
    _, history, view = await imported_history(tmp_path / "begin", [summary, says("u1", "c", "x")])
    assert texts(history) == texts(view) == ["user: in short", "user: x"]
    assert history[0]["metadata"]["source"] == "context-compaction"


@proof
async def test_sub_agents_are_sessions_beside_their_parent(tmp_path: Path) -> None:
    """From files of their own and from side chains; ids name the parent, the header the call."""
    source = write_jsonl(
        tmp_path / "s.jsonl",
        [
            says("u1", None, "explore"),
            answers("a1", "u1", "m1", calls("task1", "Task")),
            says("k1", None, "look around", isSidechain=True),
            answers("k2", "k1", "mk", text("seen"), isSidechain=True),
            results("r1", "a1", ("task1", "seen"), toolUseResult={"agentId": "abc"}),
        ],
    )
    beside = tmp_path / "s" / "subagents"
    write_jsonl(beside / "agent-abc.jsonl", [says("s1", None, "prompt", isSidechain=True, agentId="abc"), "broken"])
    report = import_session(source, session_id="p1", working_dir=str(tmp_path))
    assert [session.session_id for session in report.sessions] == ["p1", "p1_k1", "p1_abc"]
    assert [session.messages for session in report.sessions] == [3, 2, 1]
    (header,) = records(report.sessions[2].path, "header")
    assert (header["parent_id"], header["source"]["spawned_by"]) == ("p1", "task1")
    assert records(report.path, "header")[0]["source"]["subagents"] == ["p1_k1", "p1_abc"]
    (loss,) = report.not_carried
    assert (loss.file, loss.line) == ("s/subagents/agent-abc.jsonl", 2)
    for session in report.sessions:
        await history_and_view(session.path)


@proof
async def test_damage_copies_circles_and_strangers(tmp_path: Path) -> None:
    """Copies are passed over, other content under a known uuid is lost, circles end, a cut end is told."""
    report, history, _ = await imported_history(
        tmp_path / "s.jsonl",
        [
            says("u1", "a1", "one"),
            answers("a1", "u1", "m1", text("two")),
            says("u1", "a1", "one", sessionId="other"),
            says("u1", "a1", "forged"),
            "[1]",
            {"type": "user", "uuid": "x"},
            entry("from-the-future", "f", "a1", payloadless=True),
            "",
            says("u2", "u2", "own parent"),
            '{"type":"user","message":{"content":"cu',
        ],
        end="",
    )
    assert texts(history) == ["user: one", "assistant: two", "user: own parent"]
    assert [loss.line for loss in report.not_carried] == [4, 5, 6, 10]
    assert "ends within this line" in report.not_carried[-1].reason
    assert report.account.metadata == {"from-the-future": 1}
    assert report.account.not_conversational == {"copy of an earlier entry": 1, "blank line": 1}
    (kept,) = records(report.path, "source")
    assert (kept["line"], kept["type"], kept["entry"]["payloadless"]) == (7, "from-the-future", True)


@proof
async def test_a_session_that_went_on_is_added_to(tmp_path: Path) -> None:
    """Only what is new is appended, wherever the first import ended, also in the middle of an answer."""
    entries = [
        says("u1", None, "go"),
        answers("a1", "u1", "m1", text("calling")),
        answers("a2", "a1", "m1", calls("c1")),
        results("r1", "a2", ("c1", "one")),
        says("c", "r1", "in short", isCompactSummary=True),
        says("u2", "c", "more"),
        answers("a3", "u2", "m2", text("done")),
    ]
    whole = imported(write_jsonl(tmp_path / "whole.jsonl", entries))
    expected = await history_and_view(whole.path)
    for stop in range(1, len(entries)):
        source = write_jsonl(tmp_path / f"{stop}.jsonl", entries[:stop])
        target = tmp_path / f"log{stop}.jsonl"
        before = imported(source, target)
        write_jsonl(source, entries)
        after = imported(source, target)
        assert await history_and_view(after.path) == expected, f"after {stop} entries"
        assert after.messages == whole.messages
        assert after.added >= whole.messages - before.messages


@proof
async def test_a_session_that_went_on_here_keeps_what_was_added(tmp_path: Path) -> None:
    """It is left alone while its source does not change; if both went on, nothing is mixed."""
    entries = [says("u1", None, "go"), answers("a1", "u1", "m1", text("gone"))]
    source = write_jsonl(tmp_path / "s.jsonl", entries)
    report = imported(source, tmp_path / "log")
    async with PersistentContextManager(report.path) as manager:
        await manager.add_message({"role": "user", "content": "here"})
    assert import_session(source, path=tmp_path / "log").added == 0
    assert texts((await history_and_view(report.path))[0])[-1] == "user: here"
    write_jsonl(source, [*entries, says("u2", "a1", "there")])
    before = contents(report.path)
    with pytest.raises(ImportConflictError, match="went on"):
        import_session(source, path=tmp_path / "log")
    assert contents(report.path) == before


@proof
async def test_answers_of_one_id_stay_apart(tmp_path: Path) -> None:
    """Some gateways give one id to every answer: the request's id and a person's message tell them apart."""
    entries = [says("u1", None, "one")]
    for number in range(3):
        said = {"type": "text", "text": f"answer {number}"}
        called = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
        entries.append(answers(f"a{number}", entries[-1]["uuid"], "same", said, requestId=f"r{number}"))
        entries.append(answers(f"b{number}", f"a{number}", "same", called, requestId=f"r{number}"))
        result = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"result {number}"}]
        entries.append(says(f"c{number}", f"b{number}", result))
    entries += [answers("a8", "c2", "same", {"type": "text", "text": "done"}), says("u2", "a8", "two")]
    entries.append(answers("a9", "u2", "same", {"type": "text", "text": "again"}))
    _, history, _ = await imported_history(tmp_path / "s.jsonl", entries)
    told = [line for number in range(3) for line in (f"assistant: answer {number} Bash", f"tool: result {number}")]
    assert texts(history) == ["user: one", *told, "assistant: done", "user: two", "assistant: again"]


@pytest.mark.parametrize("told", ["stop reason", "text", "no usage", "zero usage"])
async def test_answers_of_one_id_and_one_request_stay_apart(tmp_path: Path, told: str) -> None:
    """A gateway may give every answer the same ids: why an answer stopped, or what the next one begins with, tells."""
    entries = [says("u1", None, "one")]
    for number in range(3):
        blocks = [text(f"answer {number}")] * (told == "text") + [calls(f"t{number}")]
        answer = answers(f"a{number}", entries[-1]["uuid"], "same", *blocks)
        if told == "stop reason":
            answer |= {"requestId": "same", "message": answer["message"] | {"stop_reason": "tool_use"}}
        if "usage" in told:
            answer["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0} if told == "zero usage" else None
        entries += [answer, results(f"c{number}", f"a{number}", (f"t{number}", f"result {number}"))]
    _, history, _ = await imported_history(tmp_path / "s.jsonl", entries)
    assert [message["role"] for message in history] == ["user", *["assistant", "tool"] * 3]


@proof
async def test_the_last_record_of_an_answer_says_what_it_cost(tmp_path: Path) -> None:
    """The records before it were written while the answer came, and count what had come by then."""
    records_of_one = [answers(f"a{number}", f"a{number - 1}", "msg1", text(f"part {number}")) for number in (1, 2, 3)]
    for record, output in zip(records_of_one, (1, 40, 417), strict=True):
        record["message"]["usage"]["output_tokens"] = output
    entries = [says("a0", None, "Go on"), *records_of_one]
    _, history, _ = await imported_history(tmp_path / "s.jsonl", entries)
    assert [message["metadata"]["usage"]["output_tokens"] for message in history[1:]] == [417]


async def test_calls_and_results_without_ids_belong_together(tmp_path: Path) -> None:
    """A call gets an id of its record; a result without one answers the next call that has no result yet."""
    call = {"type": "tool_use", "name": "Read", "input": {"path": "a"}}
    result = {"type": "tool_result", "content": "of a"}
    report, history, view = await imported_history(
        tmp_path / "s.jsonl",
        [
            says("u1", None, "Read them"),
            answers("a1", "u1", "msg1", call, calls("c2"), calls("c3")),
            says("r1", "a1", [{**result, "tool_use_id": "c2"}, result, {**result, "tool_use_id": "", "content": "c"}]),
            answers("a2", "r1", "msg2", text("Done")),
        ],
    )
    assert [one["id"] for one in history[1]["tool_calls"]] == ["a1-call1", "c2", "c3"]
    assert [one.get("tool_call_id") for one in history[2:5]] == ["c2", "a1-call1", "c3"]
    assert [message["role"] for message in view] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert not report.lost


@pytest.mark.parametrize(
    ("titles", "title"),
    [
        ([("summary", "summary", "Old"), ("ai-title", "aiTitle", "New"), ("ai-title", "aiTitle", "Newer")], "Newer"),
        ([("custom-title", "customTitle", "Mine"), ("ai-title", "aiTitle", "Later")], "Mine"),
        ([("custom-title", "customTitle", "Mine"), ("custom-title", "customTitle", "Renamed")], "Renamed"),
        ([("ai-title", "aiTitle", "Model's"), ("agent-name", "agentName", "builder")], "builder"),
        ([("ai-title", "aiTitle", "Kept"), ("custom-title", "customTitle", " ")], "Kept"),
    ],
)
def test_a_persons_title_outranks_a_models(tmp_path: Path, titles: list[tuple[str, str, str]], title: str) -> None:
    entries = [{"type": kind, key: said, "sessionId": "5f0e-1"} for kind, key, said in titles]
    report = imported(write_jsonl(tmp_path / "s.jsonl", [says("u1", None, "Hello"), *entries]))
    [header, *_] = records(report.path, "header")
    assert header["source"]["title"] == title
