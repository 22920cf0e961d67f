"""Shapes that other programs give their files: one id for all answers, numbers as ids, lists in lists, an array."""

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.imports import imported, write_jsonl
from tests.support.sweeps import proof

Entry = dict[str, Any]


def said(number: Any, parent: Any, content: Any, **more: Any) -> Entry:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": number, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def answered(number: Any, parent: Any, content: Any, **more: Any) -> Entry:
    message = {"role": "assistant", "model": "m", "content": content, **more}
    return {"type": "assistant", "uuid": number, "parentUuid": parent, "sessionId": "s", "message": message}


def called(call_id: Any) -> Entry:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}


def output(call_id: Any, text: Any) -> list[Entry]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": text}]


def shape(path: Path) -> list[tuple[str, Any, list[str], str]]:
    """Of each message its role, its text, the ids of its calls, and the call that it answers."""
    read = imported(path)
    with Transcript(read.path) as transcript:
        return [
            (one["role"], _text(one["content"]), [call["id"] for call in one.get("tool_calls", ())], _answered(one))
            for one in transcript.messages()
        ]


def _answered(message: Entry) -> str:
    return str(message.get("tool_call_id", ""))


def _text(content: Any) -> Any:
    return content if content and isinstance(content, str) else ""


LOOP = [
    said("1", None, "list"),
    answered("2", "1", [called("a")], id="x"),
    said("3", "2", output("a", "first")),
    answered("4", "3", [called("b")], id="x"),
    said("5", "4", output("b", "second")),
    answered("6", "5", [{"type": "text", "text": "done"}], id="x"),
]


def test_an_answer_to_a_result_is_another_one_under_the_same_id(tmp_path: Path) -> None:
    """Gateways give one id to all answers of a loop: each stays behind the result that it answers."""
    assert shape(write_jsonl(tmp_path / "s.jsonl", LOOP)) == [
        ("user", "list", [], ""),
        ("assistant", "", ["a"], ""),
        ("tool", "first", [], "a"),
        ("assistant", "", ["b"], ""),
        ("tool", "second", [], "b"),
        ("assistant", "done", [], ""),
    ]


def test_calls_that_ran_while_the_answer_was_given_are_one_answer(tmp_path: Path) -> None:
    """If the records say the same usage, a result between them ends no answer."""
    usage = {"input_tokens": 7, "output_tokens": 9}
    entries = [dict(entry) for entry in LOOP[:5]]
    for entry in (entries[1], entries[3]):
        entry["message"] = {**entry["message"], "usage": usage}
    found = shape(write_jsonl(tmp_path / "s.jsonl", entries))
    assert [calls for role, _, calls, _ in found if role == "assistant"] == [["a", "b"]]


def test_numbers_are_ids(tmp_path: Path) -> None:
    """Entries hang below their parents, and results answer their calls, if all ids are numbers."""
    entries = [said(1, None, "list"), answered(2, 1, [called(5)], id=9), said(3, 2, output(5, "out"))]
    assert shape(write_jsonl(tmp_path / "s.jsonl", entries)) == [
        ("user", "list", [], ""),
        ("assistant", "", ["5"], ""),
        ("tool", "out", [], "5"),
    ]


@proof(quick=1)
@pytest.mark.parametrize(
    "content",
    [[[{"type": "text", "text": "hello"}]], {"type": "text", "text": "hello"}, [[["hello"]]]],
    ids=["list in list", "block alone", "text in lists"],
)
def test_content_is_read_whatever_is_around_it(content: Any, tmp_path: Path) -> None:
    """Lists in lists and a block without a list are the blocks that they hold."""
    entries = [said("1", None, content), answered("2", "1", content), said("3", "2", output("t", content))]
    found = shape(write_jsonl(tmp_path / "s.jsonl", entries))
    assert [(role, text) for role, text, _, _ in found] == [
        ("user", "hello"),
        ("assistant", "hello"),
        ("tool", "hello"),
    ]


@proof
@pytest.mark.parametrize("indent", [None, 1], ids=["array", "pretty array"])
def test_an_array_of_entries_is_read_as_its_lines(indent: int | None, tmp_path: Path) -> None:
    """A file of lines that somebody wrote as one JSON array is the same session; its entries are counted."""
    (tmp_path / "s.json").write_text(json.dumps(LOOP, indent=indent))
    assert shape(tmp_path / "s.json") == shape(write_jsonl(tmp_path / "t.jsonl", LOOP))
    account = import_session(tmp_path / "s.json", path=tmp_path / "u.jsonl").account
    assert (account.unit, account.lines) == ("entry", len(LOOP))


def test_objects_on_several_lines_each_are_read(tmp_path: Path) -> None:
    """What `jq` prints of a file of lines: objects one after the other, each on several lines."""
    (tmp_path / "s.json").write_text("\n".join(json.dumps(entry, indent=2) for entry in LOOP))
    assert shape(tmp_path / "s.json") == shape(write_jsonl(tmp_path / "t.jsonl", LOOP))


def test_a_byte_order_mark_on_each_line_is_no_loss(tmp_path: Path) -> None:
    """Files that a shell joined have such marks in the middle, some two."""
    lines = [f"\ufeff\ufeff{json.dumps(entry)}" for entry in LOOP]
    report = imported(write_jsonl(tmp_path / "s.jsonl", lines))
    assert (report.messages, report.lost) == (6, 0)


def test_a_branch_is_found_by_numbers(tmp_path: Path) -> None:
    """Two entries with the same number as their parent are two branches, and not one talk."""
    talk = [said(1, None, "a"), answered(2, 1, "b"), said(3, 2, "left"), answered(4, 3, "c"), said(5, 2, "live")]
    report = imported(write_jsonl(tmp_path / "s.jsonl", [*talk, answered(6, 5, "d")]))
    assert [(one.kind, one.messages) for one in report.sessions] == [("session", 4), ("branch", 4)]


def test_parts_of_an_answer_that_follow_each_other_are_one(tmp_path: Path) -> None:
    """Under one id, though their usage differs: it grows while an answer is given."""
    parts = [{"type": "text", "text": "I look"}], [called("a")]
    answers = [
        answered(f"{at}", f"{at - 1}", part, id="x", usage={"output_tokens": at}) for at, part in enumerate(parts, 2)
    ]
    found = shape(
        write_jsonl(tmp_path / "s.jsonl", [said("1", None, "list"), *answers, said("4", "3", output("a", "x"))])
    )
    assert [(role, calls) for role, _, calls, _ in found] == [("user", []), ("assistant", ["a"]), ("tool", [])]
