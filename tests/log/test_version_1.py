"""Logs of version 1 in every state that a killed writer leaves: version 2 goes on with them, and nothing is lost."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.record import encode_control
from amplifier_module_context_persistent.log.reset_writer import upgrade
from amplifier_module_context_persistent.maintenance.purge import purge_log
from amplifier_module_context_persistent.maintenance.purge_options import Purge
from amplifier_module_context_persistent.maintenance.verify import verify_log
from tests.support.logs import (
    STAMP,
    append_bodies,
    body,
    content_of,
    keep,
    number_of,
    numbers,
    old_reset_bodies,
    saved_tails,
    sealed,
    stored_numbers,
    write_file,
)

pytestmark = pytest.mark.usefixtures("without_and_with_checkpoints")

PLAN = encode_control("plan", id="p", upto="id-40", keep=[["id-40", "id-40"]], cuts={}, notice="")
BODIES = [
    encode_control("header", version=1, log_id="l", session_id="s"),
    *map(body, range(4)),
    *old_reset_bodies("a", keep(1, 2), body(10), keep(3, 3), body(11), reason="set_messages"),
    body(20),
    *old_reset_bodies("b"),
    *map(body, range(40, 44)),
    PLAN,
    encode_control("side_plan", id="q", upto="id-40", keep=[], cuts={}),
    encode_control("view", id="v", hash="ab", upto="id-40"),
    encode_control("system", hash="h", text="head"),
    encode_control("usage", provider="p", model="m"),
    encode_control("pin", id="x", message_id="id-40", pinned=True),
    encode_control("purge", mode="cleared"),
    *old_reset_bodies("c", keep(40, 41), reason="rewind"),
    body(50),
]
LINES = sealed(BODIES)
LOG = b"".join(LINES)


def allowed(content: bytes) -> list[list[int]]:
    """What may be live of a log of version 1, by its whole lines; two lists where a reset lacks its commit alone."""
    live: list[int] = []
    reset: dict[str, Any] | None = None
    count, new = 0, list[int]()
    for line in content.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            break
        kind = record.get("_record")
        if kind == "reset":
            reset, count, new = record, 0, []
        elif kind == "commit":
            live, reset = new, None
        elif kind == "keep":
            count += 1
            new += live[live.index(int(record["from"][3:])) : live.index(int(record["to"][3:])) + 1]
        elif kind is None:
            count += reset is not None
            (live if reset is None else new).append(number_of(record))
    return [live, new] if reset is not None and count == reset["count"] else [live]


def cuts() -> list[int]:
    """Every place at a line's ends, and every seventh byte between."""
    ends = [sum(map(len, LINES[:count])) for count in range(len(LINES) + 1)]
    near = {end + by for end in ends for by in (-2, -1, 0, 1, 2) if 0 < end + by <= len(LOG)}
    return sorted(near | set(range(1, len(LOG), 7)))


def append_as_version_2(log: FileLog, *new: bytes) -> None:
    """What a session appends first: a header where the log is older."""

    def prepare(index: Index) -> list[bytes]:
        header = upgrade(index, created=STAMP) or [encode_control("header", version=2, log_id="l")] * (
            not index.headers
        )
        return [*header, *new]

    (outcome,) = log.append([prepare])
    assert isinstance(outcome, range), outcome


@pytest.mark.parametrize("use", ["append", "purge"])
def test_a_log_cut_at_any_place_goes_on(tmp_path: Path, use: str) -> None:
    """Whole lines stay where they are, what was live stays live, and what is appended follows it."""
    path = str(tmp_path / "log.jsonl")
    for cut in cuts() if use == "append" else cuts()[::5]:
        write_file(path, LOG[:cut])
        log = FileLog(path)
        before = numbers(log)
        assert before in allowed(LOG[:cut]), cut
        append_as_version_2(log, body(60))
        assert numbers(log) == stored_numbers(path) == [*before, 60], cut
        whole = LOG[: LOG.rfind(b"\n", 0, cut) + 1]
        assert content_of(path).startswith(whole), cut
        torn = LOG[len(whole) : cut]
        saved = b"".join(content_of(name) for name in saved_tails(path))
        assert saved == torn or content_of(path).startswith(LOG[:cut] + b"\n"), cut
        if use == "purge":
            purge_log(
                path, Purge(redact=lambda text: text.replace("message 10", "redacted 10"), torn=True), now=lambda: STAMP
            )
            assert stored_numbers(path) == [*before, 60], cut
        append_bodies(log, body(61))
        assert numbers(log)[-2:] == [60, 61]
        log.close()
        for name in saved_tails(path):
            os.remove(name)
        kinds = {found.kind for found in verify_log(path).damage}
        assert kinds <= {"reset", "unchained"}, cut  # a purge keeps the finding by a record without a checksum
        assert use == "purge" or kinds <= {"reset"}, cut
    print(f"cuts: {len(cuts())}")


async def test_a_session_goes_on_with_a_log_cut_at_any_line(tmp_path: Path) -> None:
    """A manager reads what was live, adds to it, and resets it; the next one reads the same."""
    for number in range(1, len(LINES) + 1):
        path = tmp_path / f"{number}.jsonl"
        whole = b"".join(LINES[:number])
        for content in (whole, whole[:-1], whole + b'{"role":"us'):
            path.write_bytes(content)
            async with PersistentContextManager(transcript_path=path, durability="write") as manager:
                before = [number_of(message) for message in await manager.get_messages()]
                assert before in allowed(whole), (number, content)
                await manager.add_message({"role": "user", "content": "message 60"})
                await manager.get_messages_for_request()
            async with PersistentContextManager(transcript_path=path, durability="write") as manager:
                assert [number_of(message) for message in await manager.get_messages()] == [*before, 60]
                await manager.clear()
                await manager.add_message({"role": "user", "content": "message 61"})
            assert stored_numbers(str(path)) == [61]
            assert path.read_bytes().startswith(whole[:-1])
            for name in saved_tails(str(path)):
                os.remove(name)
