"""Exports: what each format holds, and what never passes one."""

import json
import os
import re
import stat
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import ReplaceError
from amplifier_module_context_persistent.messages.host_form import same_content
from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.transfer.export_session import FORMATS, export_session
from tests.support.checker import same
from tests.support.commands import shows
from tests.support.exports import SESSION, exported, store
from tests.support.histories import messages as any_histories
from tests.support.messages import Message
from tests.support.secret_forms import LETTERS, SAMPLES
from tests.support.sweeps import proof, some, spread


def lines(path: Path, into: str, **options: Any) -> list[Message]:
    return [json.loads(line) for line in exported(path, into, **options).split("\n")[:-1]]


async def test_json_lines_hold_every_message_as_it_is(tmp_path: Path) -> None:
    """With its id and timestamp, without the log's own keys; only what prints stands in a line as it is."""
    stored = await store(tmp_path / "log", SESSION)
    assert lines(tmp_path / "log", "jsonl") == stored
    text = exported(tmp_path / "log", "jsonl")
    assert "_crc" not in text
    assert "_json" not in text
    assert all(line.isprintable() for line in text.split("\n"))


async def test_a_transcript_is_what_the_host_writes(tmp_path: Path) -> None:
    """No instructions, no thinking_block, no None at any depth; ids and timestamps stay."""
    stored = await store(tmp_path / "log", SESSION)
    written = lines(tmp_path / "log", "transcript")
    kept = [message for message in stored if message["role"] not in ("system", "developer")]
    assert [message["metadata"] for message in written] == [message["metadata"] for message in kept]
    assert "name" not in written[0]
    assert "thinking_block" not in written[1]
    assert written[1]["content"] == stored[2]["content"]
    assert written[1]["tool_calls"][0]["arguments"] == {"n": 2**70, "l": [1]}
    assert all(same_content(one, other) for one, other in zip(kept, written, strict=True))


async def test_reasoning_after_what_was_redacted_is_bound_to_nothing(tmp_path: Path) -> None:
    """A session that is made of the export must not show it; what stands before stays bound."""
    said = ("plain", "token ghp_" + "a1B2" * 9, "after")
    session = [{"role": "assistant", "content": text, "metadata": {"bound": "00"}} for text in said]
    await store(tmp_path / "log", session)
    bounds = [message["metadata"].get("bound") for message in lines(tmp_path / "log", "jsonl")]
    assert bounds == ["00", None, None]


async def test_a_part_is_exported_by_places(tmp_path: Path) -> None:
    """Markdown says which turns these are."""
    stored = await store(tmp_path / "log", SESSION)
    assert lines(tmp_path / "log", "jsonl", start=1, stop=3) == stored[1:3]
    whole = exported(tmp_path / "log", "markdown")
    assert whole.startswith("# Session said\n\n## Turn 1\n\n### System")
    assert whole.count("## Turn ") == 2
    part = exported(tmp_path / "log", "markdown", start=5)
    assert part.startswith("# Session said\n\n## Turn 2\n\n### User")
    assert part.count("## Turn ") == 1
    for start, stop in ((1, 3), (4, 5)):
        part = exported(tmp_path / "log", "markdown", start=start, stop=stop)
        assert part.startswith("# Session said\n\n## Turn 1\n\n### ")
        assert part.count("## Turn ") == part.count("\nTurn 1: ") == part.count("\nTurn ") == 1


def priced(position: int, text: str, **more: Any) -> Message:
    """An answer that says what its request read, wrote and by which model."""
    usage = {"input_tokens": 10_000, "cache_read_tokens": 8_000, "output_tokens": 500}
    said = {"model": "claude-opus-4-5", "usage": usage, "timestamp": f"2026-03-01T10:00:{position:02}Z"}
    return {"role": "assistant", "content": text, "metadata": said, **more}


async def test_markdown_says_what_failed_what_it_cost_and_how_long_it_took(tmp_path: Path) -> None:
    """Of each result, each answer, each turn, and of the whole session."""
    calls = [{"id": f"c{n}", "tool": "bash", "arguments": {"command": "make"}} for n in (1, 2)]

    def result(number: int, text: str) -> Message:
        time = {"timestamp": f"2026-03-01T10:00:0{2 + 2 * number}Z"}
        return {"role": "tool", "tool_call_id": f"c{number}", "content": text, "metadata": time}

    session = [
        {"role": "user", "content": "Go.", "metadata": {"timestamp": "2026-03-01T10:00:00Z"}},
        priced(2, "Yes.", tool_calls=calls),
        result(1, "Exit code 2\nno rule"),
        result(2, "made"),
        priced(8, "Done."),
        {"role": "user", "content": "More.", "metadata": {"timestamp": "2026-03-01T10:01:00Z"}},
        {**priced(0, "No."), "metadata": {"timestamp": "2026-03-01T10:01:05Z"}},
    ]
    await store(tmp_path / "log", session)
    text = exported(tmp_path / "log", "markdown")
    bill = "10,000 tokens read (80 % cached), 500 written, $0.0265"
    assert text.count(f"### Assistant · claude-opus-4-5 · {bill} · 2026-03-01 10:00:0") == 2
    shows(
        text,
        "### Tool · failed · 2.0 s · 2026-03-01 10:00:04",
        "<summary>Result of <code>bash</code>, failed, 2.0 s, 19 characters</summary>",
        "<summary>Result of <code>bash</code>, 4.0 s, 4 characters</summary>",
    )
    spent = "20,000 tokens read (80 % cached), 1,000 written, $0.0530"
    shows(
        text,
        f"Turn 1: 5 messages · 2 calls, 1 failed · 8.0 s · claude-opus-4-5 · {spent}\n\n## Turn 2",
        "Turn 2: 2 messages · 5.0 s\n\n---",
        f"---\n\n7 messages · 2 calls, 1 failed · 1 min · claude-opus-4-5 · {spent}\n\nCosts are",
    )


@pytest.mark.parametrize("name", ["</summary><b>", "`x`](y)", "![i](j)\n# Turn 9"])
async def test_no_model_and_no_tool_gets_out_of_its_place(tmp_path: Path, name: str) -> None:
    """Their names are text wherever they stand."""
    call = {"id": "c1", "tool": name, "arguments": {"command": name, name: f"{name}\n{name}"}}
    said = {"metadata": {"model": name, "usage": {"input_tokens": 5}}}
    session = [{"role": "assistant", "content": "", "tool_calls": [call], **said}]
    await store(tmp_path / "log", [*session, {"role": "tool", "tool_call_id": "c1", "content": name}])
    outside = re.sub(r"(?s)(`{3,})[^\n]*\n.*?\n\1", "", exported(tmp_path / "log", "markdown"))
    assert not re.search(r"<(?!/?(?:details|summary|code)>)|!\[|\]\(|^# Turn", outside, re.MULTILINE)


async def test_what_is_hidden_is_not_exported(tmp_path: Path) -> None:
    """An export is of the live history."""
    async with PersistentContextManager(tmp_path / "log") as manager:
        await manager.add_message({"role": "user", "content": "secretly"})
        await manager.clear()
        await manager.add_message({"role": "user", "content": "openly"})
    for into in FORMATS:
        shown = exported(tmp_path / "log", into)
        assert "openly" in shown
        assert "secretly" not in shown


def secretive(secret: str) -> list[Message]:
    """A session that has a secret in every place that a message has."""
    blocks = [
        {"type": "text", "text": f"use {secret} now"},
        {"type": "thinking", "thinking": f"so {secret}", "signature": "s"},
        {"type": "tool_call", "id": "c1", "name": "bash", "input": {"command": f"export T={secret}"}},
    ]
    call = {"id": "c1", "tool": "bash", "arguments": {"command": f"export T={secret}", "password": "hunter-two"}}
    other = {"id": "c2", "type": "function", "function": {"name": "f", "arguments": json.dumps({"k": secret})}}
    return [
        {"role": "system", "content": f"key: {secret}"},
        {"role": "user", "content": secret, "metadata": {"note": secret}},
        {
            "role": "assistant",
            "content": blocks,
            "thinking_block": {"type": "thinking", "thinking": secret, "signature": "s"},
            "tool_calls": [call, other],
        },
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"out": secret})},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": secret}]},
    ]


@proof(quick=4)
@pytest.mark.parametrize(("name", "into"), list(spread(product(sorted(SAMPLES), FORMATS), 3)))
async def test_secrets_do_not_pass(tmp_path: Path, into: str, name: str) -> None:
    """From no place of a message, into no format, to no file; it is counted how many there were."""
    await store(tmp_path / "log", secretive(SAMPLES[name]))
    done = export_session(tmp_path / "log", tmp_path / "out", into)
    written = (tmp_path / "out").read_text()
    assert done.redacted >= 7
    assert REDACTED in written or "&#91;REDACTED" in written
    pieces = [piece for piece in SAMPLES[name].split("\n") if piece and "PRIVATE" not in piece]
    for piece in [*pieces, SAMPLES[name][8:40], LETTERS[:12], "hunter-two"]:
        assert piece not in written
        assert json.dumps(piece)[1:-1] not in written


@proof(quick=2)
@pytest.mark.parametrize("into", FORMATS)
async def test_redaction_can_be_switched_off(tmp_path: Path, into: str) -> None:
    """Then everything is as it was."""
    await store(tmp_path / "log", secretive(SAMPLES["GitHub"]))
    done = export_session(tmp_path / "log", tmp_path / "out", into, redact=False)
    assert done.redacted == 0
    assert (tmp_path / "out").read_text().count(SAMPLES["GitHub"]) >= 6


@pytest.mark.parametrize("into", ["jsonl", "transcript"])
async def test_thinking_that_was_altered_is_left_out(tmp_path: Path, into: str) -> None:
    """A provider refuses a signature that does not fit; other thinking stays."""
    secret = SAMPLES["OpenAI"]
    mixed = [{"type": "thinking", "thinking": "plain", "signature": "s"}, *secretive(secret)[2]["content"]]
    only = [{"type": "thinking", "thinking": secret, "signature": "s"}]
    await store(tmp_path / "log", [{"role": "assistant", "content": mixed}, {"role": "assistant", "content": only}])
    first, second = lines(tmp_path / "log", into)
    assert [block["type"] for block in first["content"]] == ["thinking", "text", "tool_call"]
    assert first["content"][0]["thinking"] == "plain"
    assert second["content"] == [{"type": "text", "text": REDACTED}]


async def test_a_file_is_private_and_never_replaced_unasked(tmp_path: Path) -> None:
    """Mode 0600; the session's log itself is replaced in no case, by no name."""
    await store(tmp_path / "log", SESSION)
    old = os.umask(0)
    try:
        export_session(tmp_path / "log", tmp_path / "out", "atif")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        export_session(tmp_path / "log", tmp_path / "out", "markdown")
    export_session(tmp_path / "log", tmp_path / "out", "markdown", force=True)
    assert (tmp_path / "out").read_text().startswith("# Session said")
    (tmp_path / "other").hardlink_to(tmp_path / "log")
    before = (tmp_path / "log").read_bytes()
    for name in ("log", "other"):
        with pytest.raises(ReplaceError):
            export_session(tmp_path / "log", tmp_path / name, force=True)
    assert (tmp_path / "log").read_bytes() == before


async def test_no_export_takes_the_place_of_another_log(tmp_path: Path) -> None:
    """Messages alone, with no checksums, give way to messages alone: they may be an earlier export."""
    await store(tmp_path / "log", SESSION)
    await store(tmp_path / "other", SESSION)
    (tmp_path / LOG_NAME).write_text('{"role":"user","content":"by hand"}\n')
    for into, name in product(FORMATS, ("other", LOG_NAME)):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(ReplaceError):
            export_session(tmp_path / "log", tmp_path / name, into, force=True)
        assert (tmp_path / name).read_bytes() == before
    for into in FORMATS:
        for _ in range(2):
            export_session(tmp_path / "log", tmp_path / into, into, force=True)
    export_session(tmp_path / "log", tmp_path / "jsonl", "transcript", force=True)
    with pytest.raises(ReplaceError, match="messages"):
        export_session(tmp_path / "log", tmp_path / "jsonl", "markdown", force=True)


async def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    """The error names those that there are."""
    await store(tmp_path / "log", SESSION)
    with pytest.raises(ValueError, match="markdown, jsonl, transcript"):
        exported(tmp_path / "log", "html")


@proof
@settings(deadline=None, max_examples=some(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_histories(), st.sampled_from(FORMATS))
async def test_any_history_can_be_exported(
    tmp_path_factory: pytest.TempPathFactory, history: list[Message], into: str
) -> None:
    """Whatever is in it; JSON Lines give it back."""
    path = tmp_path_factory.mktemp("any") / "log"
    stored = await store(path, history)
    try:
        shown = exported(path, into, redact=False) if path.exists() else ""
    except ValueError as refused:  # a request's body needs a message of a user
        if into not in ("openai", "anthropic") or "no message can be sent" not in str(refused):
            raise
        return
    assert all(line.replace("\t", "").isprintable() or into == "markdown" for line in shown.split("\n"))
    if into == "jsonl" and history:
        assert same([json.loads(line) for line in shown.split("\n")[:-1]], stored)
