"""`context-persistent replay`: what it plays, shows and refuses."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.cli.replay import compaction_text, strip
from amplifier_module_context_persistent.toolbox.replay.visibility import KEPT, Compacted, Marks
from tests.support.commands import run
from tests.support.messages import fill
from tests.support.replays import BUDGET, COUNTED, MESSAGES, plain, record
from tests.support.sweeps import proof, spread
from tests.support.terminals import Terminal, posix


def events(path: Any, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("replay", path, "--json", *arguments).output.splitlines()]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The log of a session of several compactions."""
    path = tmp_path_factory.mktemp("recorded") / "log.jsonl"
    asyncio.run(record(path, MESSAGES))
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, recorded: bytes) -> Path:
    """That log, to be done with what a test likes."""
    (tmp_path / "log.jsonl").write_bytes(recorded)
    return tmp_path / "log.jsonl"


@proof
def test_the_conversation_is_played(path: Path) -> None:
    """Each message in order with its number and role, as `show` prints it; in a pipe at once, without escape codes."""
    done = run("replay", path)
    assert done.output == run("show", path).output
    numbers = [int(number) for number in re.findall(r"^\[(\d+)\] (?:user|assistant|tool)", done.output, re.MULTILINE)]
    assert numbers == list(range(1, len(MESSAGES) + 1))
    assert MESSAGES[0]["content"].split()[0] in done.output
    assert "hash" not in done.output
    assert "--full shows them" in done.output
    assert "--full shows them" not in run("replay", path, "--full").output


@proof
def test_views_are_those_of_the_receipts(path: Path) -> None:
    """The hashes are those that `views` lists, all proved, with letters for what became of each message."""
    listed = json.loads(run("views", path, "--json").output)["requests"]
    played = events(path, "--views")
    seen = [event for event in played if event["event"] == "request"]
    assert [one["hash"] for one in seen] == [one["hash"] for one in listed]
    assert [(one["request"], one["tokens"], one["plan"]) for one in seen] == [
        (one["request"], one["tokens"], one["plan"]) for one in listed
    ]
    assert all(one["proved"] is True and one["lacks"] == [] for one in seen)
    assert all(sum(one["counts"].values()) == one["messages_before"] for one in seen)
    assert all(sum(stop - start for _, start, stop in one["marks"]) == one["messages_before"] for one in seen)
    assert any(event["event"] == "compaction" for event in played)
    done = run("replay", path, "--views")
    drawn = re.findall(r"^(?:──|\[[█░]|saw |    K|hash ).*$", done.output, re.MULTILINE)
    assert len(drawn) >= 5 * len(seen)
    assert max(map(len, drawn)) <= 80
    for one in seen:
        assert f"hash {one['hash']} proved" in done.output
    assert f"of {BUDGET:,} tokens" in done.output
    assert re.search(r"^saw K[KE]*D+", done.output, re.MULTILINE)
    assert re.search(r"compaction: [\d,]+ to [\d,]+ tokens; newly [1-9][\d,]* (?:elided|dropped)", done.output)
    assert "no receipts" not in done.output


@proof
def test_events_are_in_order(path: Path) -> None:
    """A request comes right before the assistant's message that answered it."""
    played = [event for event in events(path, "--views") if event["event"] != "compaction"]
    assert [event["message"]["role"] for event in played if event["event"] == "message"] == [
        message["role"] for message in MESSAGES
    ]
    for event, following in pairwise(played):
        if event["event"] == "request":
            assert following["message"]["role"] == "assistant"
            assert following["number"] == event["messages_before"] + 1


def test_it_starts_at_a_turn(path: Path) -> None:
    """What stands before the turn is left out, its requests too; a turn that is not there is an error."""
    whole = events(path, "--views")
    turns = {event["turn"] for event in whole}
    assert len(turns) > 1
    late = events(path, "--views", "--turn", "2")
    expected = [event for event in whole if event["turn"] >= 2 and event["event"] != "compaction"]
    assert [event for event in late if event["event"] != "compaction"] == expected
    assert "there is no turn" in run("replay", path, "--turn", str(max(turns) + 1), code=2).output


@proof(quick=1)
@pytest.mark.parametrize("arguments", [["--views"], ["--policy", "sliding_window"], ["--budget", "15000"]])
def test_a_session_without_receipts_is_played_under_a_policy(tmp_path: Path, arguments: list[str]) -> None:
    """It is said under which, with what budget; nothing is proved."""
    path = plain(tmp_path / "plain.jsonl", MESSAGES[:24])
    done = run("replay", path, *arguments, "--tokenizer", "estimate")
    policy = "the policy sliding_window" if "--policy" in arguments else "the default policy"
    budget = "15,000" if "--budget" in arguments else "200,000"
    said = f"no receipts: views are made under {policy}, with a budget of {budget} tokens"
    assert " ".join(said.split()) in " ".join(done.output.split())
    assert "proved" not in done.output
    seen = [e for e in events(path, *arguments, "--tokenizer", "estimate") if e["event"] == "request"]
    assert len(seen) == sum(message["role"] == "assistant" for message in MESSAGES[:24])
    assert {one["proved"] for one in seen} == {None}


@proof
def test_an_altered_log_is_told(path: Path) -> None:
    """Where a view is another one than was handed out, the exit code is 1."""
    first = MESSAGES[0]["content"].encode()[:12]
    path.write_bytes(path.read_bytes().replace(first, bytes(reversed(first)), 1))
    done = run("replay", path, "--views", code=1)
    assert "NOT proved: the log was altered since" in " ".join(done.output.split())


async def test_what_stood_in_no_log_is_told(tmp_path: Path) -> None:
    """A view with an ephemeral message is shown as far as it goes, and why it is not proved."""
    async with PersistentContextManager(tmp_path / "log.jsonl", **COUNTED) as manager:
        await fill(
            manager,
            [
                {"role": "user", "content": "hello"},
                {"role": "user", "content": "aside", "metadata": {"ephemeral": True}},
            ],
        )
        await manager.get_messages_for_request()
        await manager.add_message({"role": "assistant", "content": "yes"})
    done = run("replay", tmp_path / "log.jsonl", "--views")
    assert "NOT proved: 1 of its messages stood in no log" in " ".join(done.output.split())


@pytest.mark.parametrize("arguments", [[], ["--views"]])
def test_an_empty_session_is_no_error(tmp_path: Path, arguments: list[str]) -> None:
    """It is said to be empty; as JSON there is nothing."""
    path = plain(tmp_path / "plain.jsonl", [])
    assert run("replay", path, *arguments).output == "no messages: the session is empty\n"
    assert events(path, *arguments) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "bogus"], "known: none, default"),
        (["--policy", "truncate:x=1"], "is no option"),
        (["--views", "--budget", "0"], "budget"),
        (["--turn", "0"], "turn"),
        (["--speed", "0"], "speed"),
        (["--budget", "9000", "--tokenizer", "bogus"], "bogus"),
    ],
)
def test_what_makes_no_sense_is_unusable(tmp_path: Path, arguments: list[str], said: str) -> None:
    """The message says what is allowed."""
    assert said in run("replay", plain(tmp_path / "plain.jsonl", MESSAGES[:5]), *arguments, code=2).output


@pytest.mark.parametrize("total", [36, 37, 1_000])
def test_a_history_that_is_longer_than_the_line_fills_it(total: int) -> None:
    """And one that just fits has a letter for each message."""
    drawn = strip(Marks(total, {total - 1: KEPT}), 40).plain
    assert len(drawn) == 40
    assert (drawn[-1] == "K") == (total < 40)


@proof
def test_a_long_history_is_drawn_on_one_line(tmp_path: Path) -> None:
    """Neighbours share a letter, and the counts are exact."""
    filler = [{"role": "user", "content": f"word {number}"} for number in range(1_000)]
    path = plain(tmp_path / "plain.jsonl", [*filler, {"role": "assistant", "content": "yes"}])
    done = run("replay", path, "--budget", "1000", "--tokenizer", "estimate")
    (drawn,) = re.findall(r"^saw ([KEDS]+)$", done.output, re.MULTILINE)
    assert len(drawn) == 76
    kept, dropped = (int(re.search(rf"{letter} ([\d,]+) ", done.output)[1].replace(",", "")) for letter in "KD")
    assert kept + dropped == 1_000
    assert abs(drawn.count("K") - 76 * kept / 1_000) <= 1


ESTIMATE = ("--tokenizer", "estimate")
TURNS = [
    {"role": role, "content": f"{role} {turn}", "metadata": {"timestamp": f"2026-01-05T{8 + turn:02}:00:00Z"}}
    for turn in range(1, 10)
    for role in ("user", "assistant")
]


@proof
@posix
def test_enter_shows_the_next_message(tmp_path: Path) -> None:
    """Ctrl-D ends it, and so does Ctrl-C. Hours between the messages are not waited for."""
    path = str(plain(tmp_path / "plain.jsonl", TURNS))
    terminal = Terminal("replay", path, "--step", "--views", *ESTIMATE)
    terminal.until("user 1")
    for shown in ("assistant 1", "user 2", "assistant 2"):
        assert shown not in terminal.shown
        terminal.press("\r")
        terminal.until(shown)
    terminal.press("\x04")
    assert terminal.end() == 0
    assert "user 3" not in terminal.shown
    terminal = Terminal("replay", path, "--step", "--turn", "9")
    terminal.until("user 9")
    terminal.interrupt()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown


@proof
@posix
def test_the_real_timing_is_kept(tmp_path: Path) -> None:
    """An hour's pause is announced, with what shortens it; Ctrl-C ends it all quietly."""
    terminal = Terminal("replay", str(plain(tmp_path / "plain.jsonl", TURNS)))
    terminal.until("(1 h; --max-pause and --speed shorten it)")
    assert "assistant 1" in terminal.shown
    assert "user 2" not in terminal.shown
    terminal.interrupt()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown
    assert "\x1b[2K" not in terminal.shown


@proof
@posix
@pytest.mark.parametrize("arguments", list(spread([["--max-pause", "0"], ["--speed", "1e9"]], 2, 1)), ids=" ".join)
def test_no_pause_is_longer_than_wanted(tmp_path: Path, arguments: list[str]) -> None:
    """With a limit, and at a great speed, nine hours pass at once; what is kept is green unless colours are off."""
    path, off = str(plain(tmp_path / "plain.jsonl", TURNS)), "--speed" in arguments
    terminal = Terminal("replay", path, "--views", *ESTIMATE, *arguments, **({"NO_COLOR": "1"} if off else {}))
    assert terminal.end() == 0
    assert "assistant 9" in terminal.shown
    assert ("\x1b[32mK" not in terminal.shown) == off
    assert not (off and re.search(r"\x1b\[[\d;]*3[0-7]", terminal.shown))


def test_a_compaction_says_what_the_view_lacks() -> None:
    """Only if it lacks something; kinds of losses that there were none of are left out."""
    lost = Compacted(elided=0, dropped=12, summarised=3, tokens_before=9000, tokens_after=4000)
    plainly = "compaction: 9,000 to 4,000 tokens; newly 12 dropped, 3 summarised"
    assert compaction_text(lost) == plainly
    assert compaction_text(replace(lost, lacking=2)) == f"{plainly}\n   2 of the dropped name what the view lacks"
