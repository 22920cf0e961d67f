"""Lists that are too long to be parsed at once: entry by entry, with what is wrong with them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.importers import long_list, source_file
from amplifier_module_context_persistent.toolbox.transfer.importers.long_list import (
    LongListError,
    UnreadEntry,
    entries_in,
)
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.sweeps import proof

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def read(content: bytes, begin: int = 0, most_chars: int = 1_000_000) -> list[Any]:
    return list(entries_in(io.BytesIO(content), begin, most_chars))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_list, "_BLOCK_BYTES", 7)


@given(st.lists(VALUES, max_size=5), st.booleans(), st.sampled_from([None, 2]))
@example([12345678, "x" * 40, -1.5e-7], False, None)
def test_a_list_is_read_as_json_reads_it(values: list[Any], is_ascii: bool, indent: int | None) -> None:
    """Whatever is in it, however it is printed, and wherever a block ends."""
    content = b"said before " + json.dumps(values, ensure_ascii=is_ascii, indent=indent).encode() + b"\n"
    assert read(content, len(b"said before ")) == values


@given(st.lists(VALUES, min_size=1, max_size=3), st.data())
def test_a_list_that_is_cut_is_told(values: list[Any], data: st.DataObject) -> None:
    """At any byte: what is whole is given before."""
    content = json.dumps(values, ensure_ascii=False).encode()
    end = data.draw(st.integers(1, len(content) - 1))
    before = list[Any]()
    with pytest.raises(LongListError):
        before.extend(entries_in(io.BytesIO(content[:end]), 0, 1_000_000))
    whole = before[:-1]  # a number at the end may be cut
    assert whole == values[: len(whole)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[{"a": 1}, {"a": oops}, {}]', "entry 2 of the list: Expecting value"),
        (b'[{"a": 1} {"a": 2}]', "entry 1 of the list: a comma is missing"),
        (b'[{"a": 1}] more', "entry 1 of the list: something follows"),
        (b"[{}, " + b"1" * 2_000 + b"]", "entry 2 of the list: it is longer than 1,000 characters"),
        (b'[{}, {"long": "' + b"x" * 2_000, "entry 2 of the list: the file is cut in it"),
        (b'[{}, "\xff\xff"]', "no UTF-8"),
        (b'{"a": 1}', "it is no list"),
        (b"", "it is no list"),
    ],
)
def test_what_is_wrong_is_told_with_its_entry(content: bytes, said: str) -> None:
    """The first error ends the list."""
    with pytest.raises(LongListError, match=said):
        read(content, most_chars=1_000)


@pytest.mark.parametrize(
    "long",
    [
        {"long": 'x"y' * 1_000},
        ["\\" * 2_000, '"}]', "[" * 50],
        "\\" * 3_001,
        [{"deep": [[["x"]]]}] * 200,
    ],
    ids=["a text", "escapes and brackets", "no object", "many"],
)
@pytest.mark.parametrize("block_bytes", [7, 8, 64])
def test_an_entry_that_is_too_long_is_skipped(long: Any, block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a block ends: the entries before and after it are read, and it is told by its number."""
    monkeypatch.setattr(long_list, "_BLOCK_BYTES", block_bytes)
    content = json.dumps([{"a": 1}, long, {"b": 2}, long]).encode()
    first, second, third, fourth = read(content, most_chars=1_000)
    assert (first, third) == ({"a": 1}, {"b": 2})
    assert second == UnreadEntry("entry 2 of the list: it is longer than 1,000 characters")
    assert fourth.reason.startswith("entry 4")


@pytest.mark.parametrize("padding", range(16))
@pytest.mark.parametrize("backslashes", [1, 2, 3])
def test_a_block_that_ends_at_an_escape_in_a_skipped_entry_is_read_on(padding: int, backslashes: int) -> None:
    """The text may end right after the escape."""
    long = {"a": "x" * (100 + padding) + "\\" * backslashes}
    assert read(json.dumps([long, {"b": 1}]).encode(), most_chars=50)[1:] == [{"b": 1}]


def test_an_entry_that_is_nested_too_deeply_is_skipped() -> None:
    """The parser's limit is no reason to refuse the other entries."""
    deep = b"[" * 100_000 + b"]" * 100_000
    found = read(b"[1, " + deep + b", 2]")
    assert (found[0], found[2]) == (1, 2)
    assert found[1].reason == "entry 2 of the list: nested too deeply"


def conversation(number: int) -> dict[str, Any]:
    messages = [
        {"uuid": f"{number}-{at}", "sender": sender, "text": f"{sender} says {at} in {number}"}
        for at, sender in enumerate(("human", "assistant"))
    ]
    return {"uuid": f"conversation-{number}", "name": f"name {number}", "chat_messages": messages}


def claude_line(number: int) -> dict[str, Any]:
    parent = f"u{number - 1}" if number else None
    message = {"role": "user", "content": f"said {number}"}
    return {"type": "user", "uuid": f"u{number}", "parentUuid": parent, "sessionId": "s", "message": message}


@proof(quick=1)
@pytest.mark.parametrize("entry", [conversation, claude_line], ids=["claude-ai", "claude-code"])
def test_a_long_document_is_imported_as_a_short_one(
    entry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export of chats, and entries of a file of lines."""
    source = tmp_path / "conversations.json"
    source.write_text("\ufeff" + json.dumps([*map(entry, range(40)), "stray"], indent=1))
    said: list[Any] = []
    for name, most in (("short", 1 << 20), ("long", 1_000)):
        monkeypatch.setattr(source_file, "MOST_DOCUMENT_BYTES", most)
        monkeypatch.setenv("HOME", str(tmp_path / name))
        report = import_session(source, working_dir=str(tmp_path))
        logs = sorted((tmp_path / name).rglob("context-messages.jsonl"))
        texts = []
        for path in logs:
            with Transcript(path) as transcript:
                texts.append([message["content"] for message in transcript.messages()])
        told = report.to_json()
        said.append((texts, told["account"], [one["session_id"] for one in told["sessions"]]))
    assert said[0] == said[1]
    assert sum(map(len, said[0][0])) in (40, 80)


@pytest.mark.parametrize("entry", [conversation, claude_line], ids=["claude-ai", "claude-code"])
def test_an_entry_over_the_limit_is_lost_by_name(entry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other conversations of an export, or entries of a session, are imported."""
    monkeypatch.setattr(source_file, "MOST_DOCUMENT_BYTES", 3_000)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    source = tmp_path / "conversations.json"
    entries = [*map(entry, range(40))]
    entries[20] = {**entries[20], "name": "x" * 20_000}
    source.write_text(json.dumps(entries, indent=1))
    report = import_session(source, working_dir=str(tmp_path))
    assert [loss.reason for loss in report.not_carried] == ["entry 21 of the list: it is longer than 3,000 characters"]
    assert report.account.lines == report.account.accounted
    assert sum(session.messages for session in report.sessions) in (78, 39)


def test_a_long_document_of_another_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is imported, whatever format is asked for; the error says its size or the damaged entry."""
    monkeypatch.setattr(source_file, "MOST_DOCUMENT_BYTES", 1_000)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    source = tmp_path / "long.json"
    messages = [{"role": "user", "content": f"said {number}"} for number in range(100)]
    for document in ({"messages": messages}, messages):
        source.write_text(json.dumps(document, indent=1))
        for source_format in ("auto", "anthropic", "openai", "atif", "chatgpt"):
            with pytest.raises(ImportRefusedError):
                import_session(source, working_dir=str(tmp_path), source_format=source_format)
    cut = json.dumps([conversation(number) for number in range(40)], indent=1)
    source.write_text(cut[:-300])
    with pytest.raises(ImportRefusedError, match=r"entry \d\d of the list: the file is cut"):
        import_session(source, working_dir=str(tmp_path))
    assert not list((tmp_path / "home").rglob("*.jsonl"))
