"""Natural guesses of a new user: what is given wrongly is answered with the right command, in the user's own words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.record_line import encode_message
from tests.support.commands import refused, run, shows
from tests.support.imports import write_jsonl
from tests.support.logs import sealed
from tests.support.sessions_of_a_home import log_of, write


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write(log_of("one"))
    write(log_of("two"))
    return tmp_path


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("fork", "one", "3"), "context-persistent fork one --at 3"),
        (("show", "one", "-2"), "-2"),
        (("show", "one", "2"), "context-persistent show one --turn 2"),
        (("view", "one", "2"), "context-persistent view one --request 2"),
        (("purge", "hunter2.x"), r"context-persistent purge --redact 'hunter2\.x' --all"),
        (("stats", "--by", "model", "--spend-limit", "50/week"), "give it without --by"),
        (("show", "nobody"), "search -w WORD --all -l"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_the_right_command_is_named(given: tuple[str, ...], told: str) -> None:
    assert told in refused(*given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("tag", "{}", "release", "merge conflict"), "'merge conflict' is no tag"),
        (("tag", "{}", ""), "'' is no tag"),
        (("hide", "{}", "999"), "there is no turn 999"),
        (("hide", "{}", "m-none"), "'m-none'"),
        (("fork", "{}", "--at", "400"), "there is no turn 400"),
        (("fork", "{}", "--at", "m-none"), "'m-none'"),
        (("fork", "{}", "--to", "codex", "--at", "400"), "there is no turn 400"),
        (("rewind", "{}", "--to", "400", "--yes"), "there is no turn 400"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
@pytest.mark.parametrize(
    ("session_id", "short"),
    [
        ("f81db0aa-1111-4222-8333-444455556666", "f81db0aa"),
        ("f81db0aa-1111-4222-8333-444455556666-0a1b2c3d4e5f6a7b_explorer", "f81db0aa_explorer"),
        ("a-name-of-its-own", "a-name-of-its-own"),
    ],
    ids=("uuid", "sub-agent", "name"),
)
def test_a_wrong_place_or_tag_is_named_after_the_short_id(
    given: tuple[str, ...], told: str, session_id: str, short: str
) -> None:
    """And not after the path of the log, which is long."""
    write(log_of(session_id))
    error = refused(*(session_id if part == "{}" else part for part in given))
    assert error.startswith(f"Error: {short}: ")
    assert told in error
    assert ".jsonl" not in error


def test_a_session_is_found_by_words_anywhere_in_its_name() -> None:
    """If several have them, they are listed."""
    run("rename", "one", "The rounding bug")
    run("rename", "two", "A second bug")
    shows(run("show", "rounding").stdout, "Why is the total wrong?")
    shows(refused("show", "bug"), "one (The rounding bug)", "two (A second bug)")


def untimed(path: Path) -> None:
    path.parent.mkdir(parents=True)
    message = {"role": "user", "content": "Without a time."}
    path.write_bytes(b"".join(sealed([encode_message(message, message_id="m", timestamp="")])))


def test_a_session_without_times_is_of_no_time() -> None:
    """Its file was written when it was imported: `--since` does not match it, and says so."""
    untimed(log_of("untimed"))
    shows(run("list").stdout, "   ?  ")
    for command in (["list", "--json"], ["list"], ["stats"], ["files"], ["search", "time"]):
        done = run(*command, "--since", "2y", code=None)
        assert "untimed" not in done.stdout
        assert "left out: 1 session whose messages have no times" in done.stderr
    assert {one["session"] for one in json.loads(run("list", "--json").stdout)["sessions"]} == {"one", "two", "untimed"}


def test_which_models_have_no_price_is_named() -> None:
    usage = {"input_tokens": 10, "output_tokens": 1}
    said = {"role": "assistant", "content": "ok", "metadata": {"model": "acme-9", "usage": usage}}
    priced = {"role": "assistant", "content": "ok", "metadata": {"model": "claude-sonnet-4-5", "usage": usage}}
    write(log_of("paid"), [said, priced])
    for by in ("day", "project", "session", "model"):
        shows(run("stats", "--by", by).stdout, "no price for 1 request of acme-9")
    shows(run("stats", "--spend-limit", "5/month", "--all").stderr, "1 session" if now_is_2026_01() else "")
    for command in (["stats", "--by", "day"], ["stats", "paid"]):
        told = json.loads(run(*command, "--json").stdout)
        told = told.get("cost", told)
        assert told["unpriced_models"] == ["acme-9"]
        assert told["prices"]["claude-sonnet-4-5"] | {"table": "", "day": ""} == {
            "table": "", "day": "", "input": 3.0, "output": 15.0, "cached": 0.3, "write": 3.75, "write_1h": 6.0,
        }  # fmt: skip


def now_is_2026_01() -> bool:
    return datetime.now(UTC).strftime("%Y-%m") == "2026-01"


def test_errors_until_a_time_name_no_later_one() -> None:
    call = {"id": "c", "tool": "bash", "arguments": {}}
    failed = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "Error: no"},
    ]
    stamps = ["2026-01-05T09:00:00Z"] * 3 + ["2026-02-05T09:00:00Z"] * 3
    bodies = [
        encode_message(message, message_id=f"m{at}", timestamp=stamp)
        for at, (message, stamp) in enumerate(zip(failed * 2, stamps, strict=True))
    ]
    log_of("long").parent.mkdir(parents=True)
    log_of("long").write_bytes(b"".join(sealed(bodies)))
    said = run("show", "--errors", "--name", "long", "--until", "2026-01-20").stderr
    shows(said, "1 message in 1 of 1 session, up to 2026-01-20")


def test_an_import_counts_sub_agents_apart_and_says_how_to_go_on(home: Path) -> None:
    def entry(kind: str, number: int, text: str, **more: object) -> dict[str, object]:
        base = {"type": kind, "uuid": f"u{number}", "sessionId": "s1", "timestamp": f"2026-10-01T10:00:{number:02}Z"}
        return {**base, "message": {"role": kind, "content": [{"type": "text", "text": text}]}, **more}

    lines = [
        entry("user", 1, "Go.", parentUuid=None),
        entry("assistant", 2, "Yes.", parentUuid="u1"),
        entry("user", 3, "Look.", parentUuid=None, isSidechain=True, agentId="a1"),
        entry("assistant", 4, "Seen.", parentUuid="u3", isSidechain=True, agentId="a1"),
    ]
    (home / "given").mkdir()
    write_jsonl(home / "given" / "s1.jsonl", lines)
    write_jsonl(
        home / "given" / "s2.jsonl", [{**one, "sessionId": "s2", "uuid": f"v{at}"} for at, one in enumerate(lines[:1])]
    )
    said = run("import", "given").stdout
    shows(
        said,
        "s1: 4 messages added (2 of them in 1 sub-agent)",
        "2 sessions and 1 sub-agent, 5 messages added",
        "to go on in claude-code: context-persistent fork SESSION --to claude-code",
    )
