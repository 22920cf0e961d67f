"""A purge also removes a text, or the whole name, from a `metadata.json` that this package wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.commands import run, shows
from tests.support.sessions_of_a_home import log_of, write

pytestmark = pytest.mark.usefixtures("project")

KEY = "sk-leaked-0123456789"
SAID = [{"role": "user", "content": f"my key is {KEY}"}, {"role": "assistant", "content": "Thank you."}]


def forked(**fields: Any) -> Path:
    """Return the `metadata.json` of a fork of a session that has these fields in its own."""
    write(log_of("talk"), SAID)
    log_of("talk").with_name("metadata.json").write_text(json.dumps({"session_id": "talk", **fields}))
    fork_session(log_of("talk"), session_id="forked")
    return log_of("forked").with_name("metadata.json")


@pytest.mark.parametrize("has_transcript", [True, False])
def test_a_text_is_replaced_in_the_name_with_and_without_a_transcript(has_transcript: bool) -> None:
    metadata = forked(name=f"about {KEY}", description=f"{KEY} leaked", working_dir=f"/at/{KEY}")
    if not has_transcript:
        metadata.with_name("transcript.jsonl").unlink()
    shows(run("purge", "forked", "--redact", KEY, "--yes").stdout, "Done.")
    fields = json.loads(metadata.read_text())
    assert fields["name"] == "about [redacted] (fork)"
    assert (fields["description"], fields["working_dir"]) == ("[redacted] leaked", "/at/[redacted]")
    assert "nothing to purge" in run("purge", "forked", "--redact", KEY, "--yes").stdout


def test_a_text_is_replaced_in_the_name_on_a_stick(tmp_path: Path) -> None:
    forked(name=f"about {KEY}")
    stick = tmp_path / "stick"
    stick.mkdir()
    run("sync", stick, "--all", "--yes")
    [metadata] = stick.glob("*/sessions/forked/metadata.json")
    assert KEY in metadata.read_text()
    assert not metadata.with_name("transcript.jsonl").exists()
    run("purge", "--in", stick, "--redact", KEY, "--yes")
    assert json.loads(metadata.read_text())["name"] == "about [redacted] (fork)"


def test_a_text_left_in_a_field_that_stays_is_named() -> None:
    metadata = forked(model=f"model-{KEY}")
    done = run("purge", "forked", "--redact", KEY, "--yes", code=1)
    shows(done.stdout, f"or not to be written: {metadata}: 1 text", "still hold what was to go")


@pytest.mark.parametrize("has_transcript", [True, False])
def test_a_purge_of_every_message_takes_the_name_along(has_transcript: bool) -> None:
    metadata = forked(name=f"about {KEY}", description=KEY, working_dir="/at")
    if not has_transcript:
        metadata.with_name("transcript.jsonl").unlink()
    run("purge", "forked", "--everything", "--yes")
    fields = json.loads(metadata.read_text())
    assert not fields.keys() & {"name", "description"}
    assert (fields["working_dir"], fields["turn_count"]) == ("/at", 0)
    assert "nothing to purge" in run("purge", "forked", "--everything", "--yes").stdout


def test_a_purge_of_every_message_takes_the_name_of_a_copy_along_at_the_next_sync(tmp_path: Path) -> None:
    forked(name=f"about {KEY}")
    stick = tmp_path / "stick"
    stick.mkdir()
    run("sync", stick, "--all", "--yes")
    run("purge", "forked", "--everything", "--yes")
    run("sync", stick, "--all", "--yes")
    [metadata] = stick.glob("*/sessions/forked/metadata.json")
    assert KEY not in metadata.read_text()


def test_an_expression_purges_the_lines_that_a_search_finds() -> None:
    """`^` and `$` match at the ends of lines in both."""
    write(log_of("talk"), [{"role": "user", "content": f"note\n{KEY}\nend"}])
    shows(run("search", f"^{KEY}$", "--all").stdout, KEY)
    shows(run("purge", "talk", "--redact", f"^{KEY}$", "--yes").stdout, "Done.")
    assert KEY not in log_of("talk").read_text()


def test_a_purge_of_secrets_holds_for_an_import(tmp_path: Path) -> None:
    """A value that only its key names is replaced in the source, too, when that is imported again."""
    arguments = {"password": "Sommer2024!", "passcode": 736251}
    call = {"id": "c1", "type": "function", "function": {"name": "login", "arguments": json.dumps(arguments)}}
    source = tmp_path / "talk.jsonl"
    lines = [{"role": "user", "content": "log in"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run("import", source, "--session", "talk")
    shows(run("purge", "talk", "--secrets", "--yes").stdout, "Done.")
    run("import", source, "--session", "other")
    for name in ("talk", "other"):
        assert "Sommer2024!" not in log_of(name).read_text()
        assert "736251" not in log_of(name).read_text()


def test_a_purge_of_secrets_holds_for_a_fork_of_an_old_copy(tmp_path: Path) -> None:
    """The copy was taken before the purge, and holds a value that only its key names."""
    call = {"id": "c1", "tool": "login", "arguments": {"password": "Sommer2024!"}}
    write(
        log_of("talk"),
        [{"role": "user", "content": "log in"}, {"role": "assistant", "content": "", "tool_calls": [call]}],
    )
    old = tmp_path / "old.jsonl"
    old.write_bytes(log_of("talk").read_bytes())
    shows(run("purge", "talk", "--secrets", "--yes").stdout, "Done.")
    run("fork", old, "--session", "forked")
    assert "Sommer2024!" not in log_of("forked").read_text()
