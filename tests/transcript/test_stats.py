"""Where a session's tokens are, and the command that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.cli.main import main
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.transcript.stats import collect
from amplifier_module_context_persistent.transcript.transcript import Transcript

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You are brief."},
    {"role": "user", "content": "first question"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "tool": "read_file", "arguments": {"path": "a.py"}},
            {"id": "c2", "tool": "grep", "arguments": {"pattern": "x"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "line of code\n" * 400},
    {"role": "tool", "tool_call_id": "c2", "content": "a.py:1: x"},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": "second [bold]question[/bold] \x1b[31m"},
]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A session with two compactions' worth of tools and two reports of a provider."""
    where = tmp_path / "context-messages.jsonl"
    manager = PersistentContextManager(where, tokenizer="estimate", max_tokens=1_500)
    for message in MESSAGES:
        await manager.add_message(message)
    for actual, read in ((2_000, 0), (2_010, 1_500)):
        await manager.get_messages_for_request()
        usage = {"input_tokens": actual, "cache_read_tokens": read}
        await manager.on_llm_response({"provider": "p", "model": "[m]", "usage": usage})
    await manager.close()
    return where


def collected(path: Path):
    reader = LogReader(path)
    reader.follow()
    return collect(reader, EstimateCounter())


def run(*arguments: str):
    return CliRunner().invoke(main, ["stats", *arguments], env={"COLUMNS": "80", "NO_COLOR": "1"})


async def test_tokens_are_counted_by_role_tool_and_turn(path):
    """Each message counts once, with its role, its tool and its turn, and they add up."""
    found = collected(path)
    sizes = [count_message(message, EstimateCounter()) for message in MESSAGES]
    assert found.total.messages == len(MESSAGES)
    assert found.total.tokens == pytest.approx(sum(sizes), abs=10)  # the stored results have no name to count
    assert {role: part.messages for role, part in found.roles.items()} == {
        "system": 1,
        "user": 2,
        "assistant": 2,
        "tool": 2,
    }
    assert {name: (tool.calls, tool.results) for name, tool in found.tools.items()} == {
        "read_file": (1, 1),
        "grep": (1, 1),
    }
    assert [turn.messages for turn in found.turns] == [6, 1]
    assert sum(turn.tokens for turn in found.turns) == found.total.tokens
    assert (found.largest[0].place, found.largest[0].role) == (4, "tool")


async def test_plans_and_reports_are_listed(path):
    """Every compaction is there with its sizes; predictions are compared with what the provider counted."""
    found = collected(path)
    assert found.plans
    assert all(plan["tokens_after"] < plan["tokens_before"] for plan in found.plans)
    assert found.usage.reports == 2
    assert found.usage.cached_share == pytest.approx(1_500 / 4_010)
    assert found.usage.error_median is not None


async def test_receipts_tell_what_a_cache_could_hold(tmp_path):
    """A view that follows the same plan holds the one before it; one behind another head text begins anew."""
    manager = PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate")
    head = "first"

    async def factory() -> str:
        return head

    await manager.set_system_prompt_factory(factory)
    for number in range(3):
        await manager.add_message({"role": "user", "content": f"question {number}"})
        await manager.get_messages_for_request()
        if number == 1:
            head = "second"
    await manager.close()
    first, second, third = (receipt.receipt.tokens for receipt in Transcript(tmp_path / "log.jsonl").requests())
    views = collected(tmp_path / "log.jsonl").views
    assert (views.requests, views.breaks) == (3, 2)
    assert (views.tokens, views.shared_tokens) == (first + second + third, first)
    done = run(str(tmp_path / "log.jsonl"), "--tokenizer", "estimate")
    assert "3 views of" in done.output
    assert "2 views started a new prefix" in " ".join(done.output.split())


async def test_the_json_is_the_statistics(path):
    """--json prints one object with all figures, and exits with 0."""
    done = run(str(path), "--json", "--tokenizer", "estimate")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == json.loads(json.dumps(collected(path).to_json()))


async def test_the_text_fits_and_shows_no_content(path):
    """At 80 columns nothing is wider; markup in names is shown as it is, and nothing that was said is shown."""
    done = run(str(path), "--tokenizer", "estimate")
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 80
    assert "read_file" in done.output
    assert "[m]" in done.output
    assert "question" not in done.output
    assert "\x1b" not in done.output


@pytest.mark.parametrize("kind", ["missing", "directory", "link"])
def test_what_is_no_log_is_an_error_that_says_what_to_do(tmp_path, kind):
    """A missing file, a directory and a link end with a message and a non-zero status, never a traceback."""
    target = tmp_path / kind
    if kind == "directory":
        target.mkdir()
    elif kind == "link":
        target.symlink_to(tmp_path / "elsewhere")
    done = run(str(target))
    assert done.exit_code == 2
    assert "Error:" in done.output
    assert "Traceback" not in done.output


def test_an_empty_log_has_no_tokens(tmp_path):
    """An empty file is a session without messages."""
    (tmp_path / "log.jsonl").touch()
    done = run(str(tmp_path / "log.jsonl"), "--tokenizer", "estimate")
    assert done.exit_code == 0
    assert "0 messages, 0 tokens" in done.output


async def test_names_of_tools_are_shown_and_never_executed(tmp_path):
    """Markup in a tool's name is printed as it is, and a control sequence in it does not reach the terminal."""
    manager = PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate")
    call = {"id": "c1", "tool": "[bold]grep[/bold]\x1b[31m", "arguments": {}}
    await manager.add_message({"role": "user", "content": "go"})
    await manager.add_message({"role": "assistant", "content": "", "tool_calls": [call]})
    await manager.close()
    done = run(str(tmp_path / "log.jsonl"), "--tokenizer", "estimate")
    assert "[bold]grep[/bold]?[31m" in done.output
    assert "\x1b" not in done.output


async def test_damage_is_said(path):
    """A damaged line is passed over and counted."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:40] + b"#" + lines[3][41:]
    path.write_bytes(b"".join(lines))
    done = run(str(path), "--tokenizer", "estimate")
    assert done.exit_code == 0
    assert "1 finding of damage" in done.output
