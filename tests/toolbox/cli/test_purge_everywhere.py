"""A leaked key: `search --hidden` finds it wherever a log holds it, and `purge --redact --all` removes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.commands import run, shows
from tests.support.logs import sealed
from tests.support.messages import fill
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")

KEY = "sk-leaked-0123456789"
SAID = [{"role": "user", "content": f"my key is {KEY}"}, {"role": "assistant", "content": "Thank you."}]
HARMLESS = [{"role": "user", "content": "nothing to see"}]


def searched(*arguments: Any) -> list[dict[str, Any]]:
    done = run("search", "-F", KEY, *arguments, "--json", code=None)
    assert done.exit_code in (0, 1), done.output
    assert (done.exit_code == 0) == bool(done.stdout)
    return [json.loads(line) for line in done.stdout.splitlines()]


def holders(home: Path) -> list[str]:
    """The files below the home directory that hold the key, in any form that a person would search for."""
    return sorted(str(path) for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes())


def records(*bodies: bytes) -> bytes:
    return b"".join(sealed([*bodies]))


def said(text: str, number: int, **more: Any) -> bytes:
    return encode_message({"role": "user", "content": text, **more}, message_id=f"m{number}", timestamp="")


HIDDEN_PLACES = {
    "header record": records(encode_control("header", version=2, source={"title": KEY}), said("x", 1)),
    "plan record": records(said("x", 1), encode_control("plan", id="p", upto="m1", keep=[], cuts={}, notice=KEY)),
    "side_plan record": records(
        said("x", 1), encode_control("side_plan", id="p", upto="m1", keep=[], cuts={"m1": KEY})
    ),
    "system record": records(said("x", 1), encode_control("system", hash="h", text=f"key: {KEY}")),
    "source record": records(said("x", 1), encode_control("source", entry={"deep": [{KEY: 1}]})),
    "other fields of a live user message": records(
        said("x", 1, metadata={"seen": KEY, "files": {KEY: 1}}), said("y", 2)
    ),
    "unreadable bytes": records(said("x", 1)) + f"no record, {KEY}\n".encode() + records(said("y", 2)),
    "torn tail": records(said("x", 1)) + f'{{"role":"user","content":"{KEY}'.encode(),
}


@proof(quick=4)
@pytest.mark.parametrize("what", HIDDEN_PLACES)
def test_a_key_is_found_wherever_a_log_holds_it_and_purged(what: str) -> None:
    """With --hidden, and told with what holds it, its line and its byte; nothing that a search finds is left then."""
    path = log_of("s1")
    path.parent.mkdir(parents=True)
    path.write_bytes(HIDDEN_PLACES[what])
    assert searched() == []
    (found,) = searched("--hidden")
    assert (found["number"], found["hidden"]) == (None, what)
    lines = path.read_bytes().splitlines()
    assert KEY.encode() in lines[found["log_line"] - 1]
    assert path.read_bytes().index(lines[found["log_line"] - 1]) == found["offset"]
    assert found["lines"][0]["spans"]
    assert f"[line {found['log_line']}, byte {found['offset']}: {what}]" in run("search", KEY, "--hidden").output
    run("purge", "s1", "--redact", KEY, "--torn", "--yes")
    assert holders(Path.home() / ".amplifier") == searched("--hidden") == []


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
@pytest.mark.parametrize("expression", ["José Müller", "José +M(?:ü|u)l{2}er"])
def test_a_text_with_accents_is_removed_in_both_unicode_forms(stored: Any, typed: Any, expression: str) -> None:
    """As a search finds it."""
    write(log_of("s1"), [{"role": "user", "content": "ask " + normalize(stored, "José Müller")}])
    run("purge", "--redact", normalize(typed, expression), "--all", "--yes")
    assert log_of("s1").read_bytes().count(b"ask [redacted]") == 1


def test_a_saved_torn_tail_is_searched() -> None:
    """It lies beside the log."""
    path = write(log_of("s1"), HARMLESS)
    path.with_name(f"{path.name}.torn-12-0123abcd").write_text(KEY)
    (found,) = searched("--hidden")
    assert found["hidden"] == f"saved torn tail {path.name}.torn-12-0123abcd"


async def test_what_a_clear_or_a_rewind_hid_is_searched() -> None:
    """Each once, beside the live messages; --role chooses among messages, --tool does not go with it."""
    async with PersistentContextManager(log_of("s1")) as manager:
        await fill(manager, SAID)
        await manager.clear()
        await manager.add_message({"role": "user", "content": f"again {KEY}"})
    found = searched("--hidden")
    assert [(one["number"], one.get("hidden")) for one in found] == [(1, None), (None, "hidden user message")]
    assert len(searched("--hidden", "--role", "user")) == 2
    assert searched("--hidden", "--role", "tool") == []
    assert run("search", KEY, "-c", "--hidden").stdout == "s1: 2\n"
    run("search", KEY, "--hidden", "--tool", "bash", code=2)


def leaked(tmp_path: Path) -> Path:
    """Sessions with the key: one of each project, a fork, an import; with copies of the host; and one without it."""
    write(log_of("talk"), SAID)
    write(log_of("far", "../other"), SAID)
    write(log_of("clean"), HARMLESS)
    log_of("far", "../other").with_name("transcript.jsonl").write_text(json.dumps(SAID[0]) + "\n")
    log_of("far", "../other").with_name("events.jsonl").write_text('{"event":"x"}\n')
    log_of("clean").with_name("transcript.jsonl").write_text(json.dumps(HARMLESS[0]) + "\n")
    fork_session(log_of("talk"), session_id="forked")
    source = tmp_path / "plain.jsonl"
    source.write_text("".join(json.dumps(message) + "\n" for message in SAID))
    import_session(source, session_id="imported")
    source.unlink()
    return Path.home() / ".amplifier"


def test_a_key_is_removed_from_all_sessions(tmp_path: Path) -> None:
    """The logs of all projects, and the transcripts that a fork and an import wrote; the host's copy is named."""
    home = leaked(tmp_path)
    before = holders(home)
    assert len(before) == 7
    copy = str(log_of("far", "../other").with_name("transcript.jsonl"))
    for arguments in (["--dry-run"], []):
        done = run("purge", "--redact", KEY, "--all", *arguments, code=0 if arguments else 2)
        assert "5 sessions looked at; something to purge in 4" in done.stdout
        assert done.stdout.count("  1 message redacted\n") == 4
        assert done.stdout.count("which an import or a fork wrote, is brought in step") == 2
        assert f"  {copy}: 1 line\n" in done.stdout
        assert "events.jsonl" not in done.stdout
        assert holders(home) == before
    done = run("purge", "--redact", KEY, "--all", "--yes", code=1)
    shows(done.stdout, "Done: 4 sessions purged, but files named above still hold what was to go")
    assert holders(home) == [copy]
    assert searched("--hidden", "--all") == []
    forked = log_of("forked").with_name("transcript.jsonl").read_text().splitlines()
    assert [json.loads(line)["content"] for line in forked] == ["my key is [redacted]", "Thank you."]
    again = run("purge", "--redact", KEY, "--all", "--yes", code=1)
    shows(again.stdout, "something to purge in 0", f"  {copy}: 1 line\n")


def test_a_purge_of_one_session_takes_its_own_transcript_along(tmp_path: Path) -> None:
    """In every form; once the host has written to that file, it is the host's, and is named."""
    leaked(tmp_path)
    transcript = log_of("forked").with_name("transcript.jsonl")
    log_of("forked").with_name("context-messages.jsonl.torn-1-0123abcd").write_bytes(b"torn")
    before = transcript.stat().st_mtime_ns
    assert "brought in step" not in run("purge", "forked", "--torn", "--yes").stdout
    assert transcript.stat().st_mtime_ns == before  # no message was purged
    run("purge", "forked", "--before", last_id("forked"), "--yes")
    assert [json.loads(line)["content"] for line in transcript.read_text().splitlines()] == ["Thank you."]
    assert json.loads(transcript.with_name("metadata.json").read_text())["turn_count"] == 0
    run("purge", "forked", "--everything", "--yes")
    assert transcript.read_text() == ""
    assert sorted(path.name for path in transcript.parent.iterdir()) == [
        "context-messages.jsonl",
        "context-messages.jsonl.written",
        "metadata.json",
        "transcript.jsonl",
    ]
    theirs = log_of("imported").with_name("transcript.jsonl")
    theirs.write_text(theirs.read_text() + json.dumps({"role": "user", "content": "the host's"}) + "\n")
    before = theirs.read_text()
    assert f"  {theirs}: 1 line\n" in run("purge", "imported", "--redact", KEY, "--yes", code=1).stdout
    assert theirs.read_text() == before


def test_a_session_whose_id_holds_the_text_is_named() -> None:
    """Its id stays, so the exit code says that the text is left; without another match nothing is done."""
    write(log_of(KEY), SAID)
    done = run("purge", "--redact", KEY, "--all", "--yes", code=1)
    assert "the session's id holds it, and stays; only delete removes it" in done.output
    again = run("purge", "--redact", KEY, "--all", "--yes", code=1)
    assert "the session's id holds it" in again.output
    run("delete", KEY, "--yes")
    assert holders(Path.home()) == []


def last_id(session: str) -> str:
    *_, last = run("show", session, "--json").stdout.splitlines()
    return str(json.loads(last)["message"]["metadata"]["message_id"])


def test_a_session_that_cannot_be_read_is_named_and_hides_no_other(tmp_path: Path) -> None:
    """The others are purged, and the exit code is 2."""
    home = leaked(tmp_path)
    log_of("broken").parent.mkdir()
    log_of("broken").write_bytes(b"\xff\n" * 10)
    done = run("purge", "--redact", KEY, "--all", "--yes", code=2)
    shows(done.stderr, "NOT READ: ", str(log_of("broken")))
    assert len(holders(home)) == 1


@proof(quick=1)
@pytest.mark.parametrize(
    "arguments",
    [["--everything", "--all"], ["--redact", "x", "--all", "talk"], ["--redact", "x"], ["--torn"]],
    ids=" ".join,
)
def test_all_sessions_is_about_a_text(tmp_path: Path, arguments: list[str]) -> None:
    """No option removes the history of all sessions at once, and one of them is not named beside all."""
    leaked(tmp_path)
    run("purge", *arguments, "--yes", code=2)


def test_a_text_in_other_capitals_is_counted() -> None:
    """Messages that hold it in both ways are redacted, and hold it still; the hint says how to take all."""
    said = ["ZebraKey9", "zebrakey9", "ZebraKey9 and ZEBRAKEY9", "nothing"]
    write(log_of("talk"), [{"role": "user", "content": text} for text in said])
    shown = run("purge", "--redact", "ZebraKey9", "--all", "--dry-run").stdout
    assert "2 messages hold it in other capitals, and keep it; to take all: --redact '(?i)ZebraKey9'" in shown
    done = json.loads(run("purge", "talk", "--redact", "ZebraKey9", "--yes", "--json").stdout)
    assert (done["purged"][0]["messages_redacted"], done["other_capitals"]) == (2, 2)
    for expression in ("(?i)ZebraKey9", "nothing", r"\\d{7}"):
        assert "other capitals" not in run("purge", "--redact", expression, "--all", "--yes").output
    assert "zebrakey9" not in log_of("talk").read_text().lower()
