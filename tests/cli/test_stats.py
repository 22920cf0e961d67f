"""`context-persistent stats`: the figures as JSON and as text, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.cli.main import main
from tests.support.counted_sessions import collected, counted_session


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await counted_session(tmp_path / "context-messages.jsonl")


def run(*arguments: str):
    return CliRunner().invoke(main, ["stats", *arguments], env={"COLUMNS": "80", "NO_COLOR": "1"})


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
