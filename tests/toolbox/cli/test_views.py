"""`context-persistent views` and `view`: what they show, prove and refuse."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.toolbox.cli import view as views
from amplifier_module_context_persistent.toolbox.cli.terminal import escaped
from amplifier_module_context_persistent.view.receipts import ReaderName, Receipt, RequestHashes
from tests.support.commands import run, shows, without_colours
from tests.support.logs import STAMP, append_bodies
from tests.support.messages import user
from tests.support.pages import read_page
from tests.support.recorded_sessions import Recorded, controls
from tests.support.sessions_of_a_home import TERMINAL
from tests.support.sweeps import proof

HOSTILE = "[bold]bold[/bold] [link=http://x]\x1b[31mred\x1b[0m \x9b5n \u202e\x07 \ud800 ü"
AFTERWARDS = "The request had more if the host added to it"


class Named:
    """A provider with a name."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.fixture
async def session(tmp_path: Path) -> Recorded:
    """Three requests: one of a hostile message, one with an ephemeral message, one more."""
    recorded = Recorded(tmp_path / "log.jsonl", max_tokens=100_000)
    await recorded.head("head " + HOSTILE)
    await recorded.add(user(HOSTILE))
    recorded.views.append(await recorded.manager.get_messages_for_request(provider=Named(HOSTILE)))
    await recorded.add(user("said aside", ephemeral=True), user("second word"))
    await recorded.view()
    await recorded.restart()
    await recorded.head("head " + HOSTILE)
    await recorded.add(user("third"))
    recorded.views.append(await recorded.manager.get_messages_for_request(provider=Named("[red]p")))
    await recorded.manager.close()
    return recorded


async def test_requests_are_listed(session: Recorded) -> None:
    """Each has its number, sizes, and whether it can be shown in full; what comes from the log is escaped."""
    done = run("views", session.path, env=TERMINAL)
    assert max(map(len, without_colours(done.output).splitlines())) <= 80
    done = run("views", session.path)
    assert "\x9b" not in done.output
    whole = " ".join(done.output.split())
    shows(whole, "whole", "[red]p")
    rows = [line for line in done.output.splitlines() if line[:7].strip().isdigit()]
    assert [line.rstrip().endswith("no") for line in rows] == [False, True, False]


@pytest.mark.parametrize("most", [1_000, 1])
async def test_in_a_pipe_no_id_is_broken(session: Recorded, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is one line, with all of its plan and its provider, also in a long list, which is no table."""
    whole = run("views", session.path).output
    monkeypatch.setattr(views, "_MOST_IN_A_TABLE", most)
    lines = run("views", session.path).output.splitlines()
    assert len(lines) == 4
    assert escaped(HOSTILE.replace("\n", " ")) in lines[1]
    assert [line.split() for line in lines] == [line.split() for line in whole.splitlines()]


async def test_what_views_lack_of_reasoning_is_said(tmp_path: Path) -> None:
    """By the list, by `view`, `replay`, `stats` and the report: the receipt of each request counts it."""
    with closing(FileLog(str(tmp_path / "log.jsonl"))) as log:
        message = encode_message(user("go"), message_id="m1", timestamp=STAMP)
        hashes = [RequestHashes(f"{number:032x}") for number in (0, 3)]
        receipts = [
            Receipt("r0", STAMP, "", "m1", 1, 9, 99, ReaderName("p"), hashes[0]).encode(),
            Receipt("r3", STAMP, "", "m1", 1, 9, 99, ReaderName("p"), hashes[1], unbound=3).encode(),
        ]
        append_bodies(log, message, *receipts)
    said = [row.split()[-2:] for row in run("views", tmp_path / "log.jsonl").output.splitlines()[1:]]
    assert (said[0], said[1]) == (["valid", "yes"], ["out", "yes"])
    told = "3 answers without reasoning, as what stood before it had changed"
    assert told in run("view", tmp_path / "log.jsonl", "--request", "2", code=1).output
    assert told in " ".join(
        run("replay", tmp_path / "log.jsonl", "--views", "--speed", "100000", code=1).output.split()
    )
    assert "1 view left out reasoning" in run("stats", tmp_path / "log.jsonl").output
    page = tmp_path / "page.html"
    run("report", tmp_path / "log.jsonl", "-o", page, code=1)
    assert read_page(page).head["requests"]["columns"]["unbound"] == [0, 3]


async def test_the_list_as_json(session: Recorded) -> None:
    """One object with every receipt and what the log lacks for it."""
    listed = json.loads(run("views", session.path, "--json").output)
    stored = controls(session.path, "view")
    assert [one["request"] for one in listed["requests"]] == [1, 2, 3]
    assert [one["hash"] for one in listed["requests"]] == [one["hash"] for one in stored]
    assert [one["lacks"] for one in listed["requests"]] == [[], ["1 of its messages stood in no log"], []]


async def test_a_view_is_shown_and_proved(session: Recorded) -> None:
    """The JSON holds the very messages that were handed out; the text says that they are, and what it cannot know."""
    for number in (1, 3):
        shown = json.loads(run("view", session.path, "--request", str(number), "--json").output)
        assert (shown["proved"], shown["messages"]) == (True, session.views[number - 1])
        done = run("view", session.path, "--request", str(number))
        assert "Proved: its hash equals that of the receipt" in done.output
        assert AFTERWARDS in done.output


async def test_content_is_escaped(session: Recorded) -> None:
    """Control sequences, bidirectional marks and lone surrogates are shown as JSON writes them, markup as it is."""
    done = run("view", session.path, "--request", "1")
    for character in "\x1b\x9b\x07\u202e":
        assert character not in done.output
        assert json.dumps(character)[1:-1] in done.output
    shows(done.output, "\\ud800", "[bold]bold[/bold] [link=http://x]", " ü")
    assert run("view", session.path, "--request", "1", "--json").output.isascii()
    for asked in (["views", session.path], ["view", session.path, "--request", "1"]):
        assert run(*asked, charset="ascii").stdout_bytes.isascii()


async def test_a_view_in_part_is_not_proved(session: Recorded) -> None:
    """What the log has is shown, and what it lacks is said; the exit code is 1."""
    done = run("view", session.path, "--request", "2", code=1)
    shows(done.output, "Not proved and incomplete: 1 of its messages stood in no log.", "second word")
    assert "said aside" not in done.output


async def test_an_altered_view_is_not_proved(session: Recorded) -> None:
    """It is shown as it is now, the lines that fail their checksums are named, and the exit code is 1."""
    session.path.write_bytes(session.path.read_bytes().replace(b"second word", b"second ward"))
    done = run("view", session.path, "--request", "3", code=1)
    assert "NOT the view of that request" in done.output
    (altered,) = [message["metadata"] for message in session.views[2] if message["content"] == "second word"]
    assert f"These messages fail their checksums: {altered['message_id']}" in done.output
    run("view", session.path, "--request", "1")


@pytest.mark.parametrize(("kind", "gone"), [("system", "head text"), ("message", "the message")])
async def test_what_the_log_lacks_is_named(session: Recorded, kind: str, gone: str) -> None:
    """Without its head text a view is shown in part; without its last message not at all."""
    lines = session.path.read_bytes().splitlines(keepends=True)
    left = [line for line in lines if (b'"system"' if kind == "system" else b'"third"') not in line]
    session.path.write_bytes(b"".join(left))
    done = run("view", session.path, "--request", "3", code=1)
    assert f"the log lacks {'its ' if kind == 'system' else ''}{gone}" in done.output
    assert ("second word" in done.output) == (kind == "system")


@pytest.mark.parametrize("number", ["0", "-4", "4", "99999999999999999999999", "x", ""])
async def test_a_request_that_is_not_there_is_unusable(session: Recorded, number: str) -> None:
    """It says how many there are, or what is allowed."""
    run("view", session.path, f"--request={number}", code=2)


async def test_the_last_request_is_the_default(session: Recorded) -> None:
    """Negative numbers count from the end."""
    last = run("view", session.path, "--request", "3").output
    assert run("view", session.path).output == last
    assert run("view", session.path, "--request", "-1").output == last
    assert "request 1 of 3" in run("view", session.path, "--request", "-3").output


async def test_a_difference_is_for_people(session: Recorded) -> None:
    """Not with --json."""
    run("view", session.path, "--diff", "--json", code=2)


async def test_a_log_without_receipts(tmp_path: Path) -> None:
    """The list says why there may be none, and no view can be shown."""
    async with PersistentContextManager(tmp_path / "log.jsonl", receipts=False) as manager:
        await manager.add_message(user("hello"))
        await manager.add_message({"role": "assistant", "content": "Hello."})
    assert "no receipts" in run("views", tmp_path / "log.jsonl").output
    run("view", tmp_path / "log.jsonl", "--request", "1", code=2)


@proof(quick=4)
@pytest.mark.parametrize(
    "record",
    [
        {"_record": "view"},
        {"_record": "view", "id": "x", "hash": "0"},
        {"_record": "view", "id": 3, "hash": "0"},
        {"_record": "view", "id": "x", "hash": "0", "plan": "p"},
        {"_record": "view", "id": "x", "hash": "0", "plan": "p", "upto": "\ud800"},
        {"_record": "view", "id": "x", "hash": "0", "messages": -1},
        {"_record": "view", "id": "x", "hash": "0", "messages": 1e999},
        {"_record": "view", "id": "x", "hash": "0", "render": {"truncate_boundary": "word"}},
        {"_record": "view", "id": "x", "hash": "0", "render": {"tokenizer": "x"}},
        {"_record": "view", "id": "x", "hash": "0", "upto": "nothing"},
        {"_record": "view", "id": "x", "hash": "0", "head": "nothing"},
        {"_record": "system", "hash": [], "text": {}},
        {"_record": "system", "hash": "x", "text": "y"},
        {"_record": "plan", "id": "p", "upto": 3, "keep": [[1, 2]], "cuts": []},
        {"_record": "plan", "id": "p", "keep": "x"},
        {"_record": "side_plan"},
    ],
)
async def test_hostile_records_do_no_harm(session: Recorded, record: dict[str, Any]) -> None:
    """Whatever control records somebody wrote, the commands end with a verdict."""
    with session.path.open("ab") as file:
        file.writelines(
            json.dumps(one).encode() + b"\n"
            for one in (record, {"_record": "view", "id": "x", "hash": "0", "plan": "p"}, record)
        )
    done = run("views", session.path, "--json")
    for number in range(1, len(json.loads(done.output)["requests"]) + 1):
        done = run("view", session.path, "--request", str(number), code=0 if number in (1, 3) else 1)
    run("views", session.path)
