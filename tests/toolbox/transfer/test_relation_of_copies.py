"""Two copies of one log: which of them goes on from the other, and where they part."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier_module_context_persistent.clock import utc_now
from amplifier_module_context_persistent.log.archive_log import archive_log
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.relation_of_copies import (
    Relation,
    compare_logs,
)
from tests.support.archives import small_frames
from tests.support.logs import sealed

STAMP = "2026-01-05T09:00:00.000Z"
SAID = [("m1", "my key is KEY"), ("m2", "thanks"), ("m3", "and now?")]


def write(path: Path, said: list[tuple[str, str]]) -> str:
    header = encode_control("header", version=2, log_id=said[0][0], session_id="s")
    messages = [
        encode_message({"role": "user", "content": text}, message_id=message_id, timestamp=STAMP)
        for message_id, text in said
    ]
    path.write_bytes(b"".join(sealed([header, *messages])))
    return str(path)


def imported(path: Path, said: list[tuple[str, str]], *, pins: int) -> str:
    """An import of a source, in which a person pinned the first messages."""
    header = encode_control("header", version=2, log_id=path.name, session_id="s", source={"key": "k"})
    messages = [
        encode_message({"role": "user", "content": text}, message_id=message_id, timestamp=STAMP)
        for message_id, text in said
    ]
    pinned = [encode_control("pin", id=message_id, time=STAMP) for message_id, _ in said[:pins]]
    path.write_bytes(b"".join(sealed([header, *messages, *pinned])))
    return str(path)


def purged(path: Path, said: list[tuple[str, str]], purge: Purge) -> str:
    write(path, said)
    purge_log(str(path), purge, now=utc_now)
    return str(path)


def redacted(text: str) -> str:
    return text.replace("KEY", "[redacted]")


def test_the_longer_log_goes_on_from_the_shorter_one(tmp_path: Path) -> None:
    """By the new bytes; a torn tail counts for nothing."""
    one, two = write(tmp_path / "one", SAID), write(tmp_path / "two", SAID[:2])
    found = compare_logs(one, two)
    new_bytes = (tmp_path / "one").stat().st_size - (tmp_path / "two").stat().st_size
    assert (found.relation, found.new_bytes) == (Relation.LONGER, new_bytes)
    assert compare_logs(two, one).relation is Relation.SHORTER
    assert compare_logs(one, one).relation is Relation.SAME
    with (tmp_path / "two").open("ab") as file:
        file.write(b'{"role":"user","con')
    assert compare_logs(one, two).relation is Relation.LONGER


def test_they_part_at_the_first_record_that_differs(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", [*SAID, ("m4", "a")]), write(tmp_path / "two", [*SAID, ("m5", "b")])
    found = compare_logs(one, two)
    assert found.relation is Relation.PARTED
    assert str(found.parting) == f"they part at record 5 (turn 4, after {STAMP})"


def test_logs_of_two_sessions_are_no_copies(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", SAID), write(tmp_path / "two", [("x1", "something else")])
    assert compare_logs(one, two).relation is Relation.OTHER


def test_a_purged_log_goes_on_from_a_copy_from_before(tmp_path: Path) -> None:
    """Whether texts or messages went; not from one that went on."""
    for purge in (Purge(redact=redacted), Purge(before="m3")):
        one = purged(tmp_path / "one", SAID, purge)
        assert compare_logs(one, write(tmp_path / "two", SAID)).relation is Relation.PURGED
        assert compare_logs(str(tmp_path / "two"), one).relation is Relation.PURGED_OTHER
        two = write(tmp_path / "two", [*SAID, ("m4", "on")])
        assert compare_logs(one, two).relation is Relation.PARTED


def test_a_copy_with_a_message_that_the_purge_did_not_see_is_not_replaced(tmp_path: Path) -> None:
    """Though its last message has an id that the purged log knows, as after a rewind that brings it again."""
    one = purged(tmp_path / "one", SAID, Purge(redact=redacted))
    two = write(tmp_path / "two", [*SAID, ("m4", "on"), ("m3", "and now? again")])
    assert compare_logs(one, two).relation is Relation.PARTED


@pytest.mark.parametrize("more", [[], [("m4", "more")]], ids=["the same messages", "one has more"])
def test_two_imports_that_sessions_continued_say_what_they_have(tmp_path: Path, more: list[tuple[str, str]]) -> None:
    """They are not said to have the same messages, since what differs besides is not known."""
    one = imported(tmp_path / "one", SAID, pins=2)
    two = imported(tmp_path / "two", [*SAID, *more], pins=1)
    for first, second in ((one, two), (two, one)):
        found = compare_logs(first, second)
        assert found.relation is Relation.PARTED
        assert found.parting is not None
        assert found.parting.is_of_conversation


@pytest.mark.parametrize("line", [0, 1, 3], ids=["in its header", "in a message", "in its last message"])
@pytest.mark.parametrize("more", [[], [("m4", "more")]], ids=["all of it", "a part"])
def test_a_damaged_log_is_neither_another_session_nor_one_that_went_on(
    tmp_path: Path, line: int, more: list[tuple[str, str]]
) -> None:
    """It is told which of the two is damaged; also if it was cut to nothing, or is archived."""
    one, two = write(tmp_path / "one", [*SAID, *more]), write(tmp_path / "two", SAID)
    lines = (tmp_path / "two").read_bytes().splitlines(keepends=True)
    cut = lines[line][: len(lines[line]) // 2]
    (tmp_path / "two").write_bytes(b"".join([*lines[:line], cut, b"\n", *lines[line + 1 :], b"\n"]))
    assert compare_logs(one, two).relation is Relation.DAMAGED_OTHER
    assert compare_logs(two, one).relation is Relation.DAMAGED
    (tmp_path / "two").write_bytes(b"")
    assert compare_logs(one, two).relation is Relation.DAMAGED_OTHER
    assert compare_logs(two, one).relation is Relation.DAMAGED


def test_of_an_archive_with_a_damaged_frame_the_same_is_told(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", SAID), write(tmp_path / "two", SAID)
    with small_frames(200, 100):
        archive_log(two)
    content = bytearray((tmp_path / "two").read_bytes())
    content[content.index(b"\x28\xb5\x2f\xfd", 4) + 12] ^= 255
    (tmp_path / "two").write_bytes(content)
    assert compare_logs(one, two).relation is Relation.DAMAGED_OTHER
    assert compare_logs(two, one).relation is Relation.DAMAGED
