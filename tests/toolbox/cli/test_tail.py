"""`context-persistent tail`: the end of a session, and what comes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.sessions.follow_session import SessionFollower
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.cli.message_printer import MessagePrinter
from amplifier_module_context_persistent.toolbox.cli.tail import PrintedMessages
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.commands import run
from tests.support.logs import append, append_bodies, body, reset_bodies, sealed
from tests.support.messages import fill, user
from tests.support.sessions_of_a_home import lines_of, start, write
from tests.support.sweeps import proof


class Followed:
    """A log that is followed: each look gives what is printed of it, as the texts of messages and notes."""

    def __init__(self, path: Path) -> None:
        self.transcript = Transcript(path)
        self.end = PrintedMessages(self.transcript, MessagePrinter())
        self.follower = SessionFollower(self.transcript)

    def look(self) -> list[str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            for new in self.follower.read_new():
                self.end.print_one(new)
        return [line for line in output.getvalue().splitlines() if line and not line.startswith("[")]


@pytest.fixture
async def session(tmp_path: Path) -> Any:
    """A session of one message, in this process."""
    manager = PersistentContextManager(tmp_path / "log.jsonl")
    await manager.add_message(user("first"))
    yield manager
    await manager.close()


@pytest.fixture
def followed(session: Any, tmp_path: Path) -> Iterator[Followed]:
    """That session, followed from its first message on."""
    followed = Followed(tmp_path / "log.jsonl")
    yield followed
    followed.transcript.close()


def test_the_last_messages_are_shown(tmp_path: Path) -> None:
    """Ten, or as many as are asked for."""
    path = write(tmp_path / "log.jsonl", [user(f"word {n}") for n in range(1, 31)])

    def shown(*arguments: str) -> list[int]:
        return [json.loads(line)["number"] for line in run("tail", path, "--json", *arguments).output.splitlines()]

    assert shown() == list(range(21, 31))
    assert shown("-n", "2") == [29, 30]
    assert shown("-n", "99") == list(range(1, 31))
    assert shown("-n", "0") == []
    assert "[30] user" in run("tail", path).output
    run("tail", path, "-n", "-1", code=2)


async def test_messages_are_printed_as_they_come(session: Any, followed: Followed) -> None:
    """Each once, whoever appended it."""
    assert followed.look() == []
    await fill(session, [user("second"), user("third")])
    assert followed.look() == ["second", "third"]
    assert followed.look() == []
    await session.add_message(user("fourth"))
    assert followed.look() == ["fourth"]


async def test_a_clear_is_told(session: Any, followed: Followed) -> None:
    """A line says that the history was replaced; what was said after it is printed."""
    await session.clear()
    await session.add_message(user("anew"))
    assert followed.look() == ["--- the history was cleared; live messages: 1 ---", "anew"]
    assert followed.look() == []


async def test_what_a_reset_brings_is_printed_and_what_it_keeps_is_not(session: Any, followed: Followed) -> None:
    """New messages are, wherever the reset puts them."""
    await session.set_messages([user("brought"), *await session.get_messages(), user("after")])
    assert [line for line in followed.look() if not line.startswith("---")] == ["brought", "after"]


async def test_a_reset_in_the_midst_of_being_written_is_waited_for(tmp_path: Path) -> None:
    """Its messages are printed when all of it is there."""
    lines = sealed([body(1), *reset_bodies("r", body(2))])
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0])
    followed = Followed(path)
    with path.open("ab") as file:
        for piece in (lines[1], lines[2][:-9]):
            file.write(piece)
            file.flush()
            assert followed.look() == []
        file.write(lines[2][-9:] + lines[3])
    assert followed.look() == ["--- the history was cleared; live messages: 1 ---", "message 2"]
    followed.transcript.close()


@pytest.mark.parametrize(
    ("what", "live"), [(Purge(everything=True), 0), (Purge(before="id-3"), 1), (Purge(cleared=True), 2)]
)
def test_a_purge_is_survived(tmp_path: Path, what: Purge, live: int) -> None:
    """A line tells of the new file; what comes after is printed, and nothing twice."""
    path = tmp_path / "log.jsonl"
    with closing(FileLog(path)) as log:
        append(log, 1)
        append_bodies(log, *reset_bodies("r"))
        append(log, 2, 3)
        followed = Followed(path)
        purge_log(str(path), what, now=lambda: "2026-01-05T10:00:00.000Z")
        assert followed.look() == [f"--- the log was purged; live messages: {live} ---"]
        append(log, 4)
    assert followed.look() == ["message 4"]
    followed.transcript.close()


def test_a_torn_tail_is_waited_for(tmp_path: Path) -> None:
    """Half a record is printed when it is whole."""
    lines = lines_of([user("first"), user("second")])
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0] + lines[1][:40])
    followed = Followed(path)
    assert followed.look() == []
    with path.open("ab") as file:
        file.write(lines[1][40:])
    assert followed.look() == ["second"]
    followed.transcript.close()


@proof
def test_following_ends_with_an_interrupt(tmp_path: Path) -> None:
    """It prints what comes at once, and an interrupt ends it with 130, as the docs say, and without a word."""
    lines = lines_of([user("first"), user("second")])
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0])
    followed = start("tail", "-f", path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert followed.stdout is not None
    while followed.stdout.readline() != b"first\n":
        pass
    with path.open("ab") as file:
        file.write(lines[1])
    while followed.stdout.readline() != b"second\n":
        pass
    os.kill(followed.pid, signal.SIGINT)
    output, errors = followed.communicate(timeout=60)
    assert (output, errors, followed.returncode) == (b"", b"", 130)


@proof
def test_a_log_that_is_removed_ends_it(tmp_path: Path) -> None:
    """It says so, and exits with 2."""
    path = write(tmp_path / "log.jsonl", [user("first")])
    followed = start("tail", "-f", path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert followed.stdout is not None
    while followed.stdout.readline() != b"first\n":
        pass
    path.unlink()
    output, errors = followed.communicate(timeout=60)
    assert (output, followed.returncode) == (b"", 2)
    assert b"the log was removed while it was open" in errors
