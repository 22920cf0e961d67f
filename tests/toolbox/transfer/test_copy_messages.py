"""Copying messages from one log to another: what stays, what is renamed, what is left after and why."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import decode, encode_object
from amplifier_module_context_persistent.toolbox.transfer import copy_log
from amplifier_module_context_persistent.toolbox.transfer.copy_log import (
    carry,
    refused_messages,
    write_new_log,
)
from tests.support.logs import assert_sound, body, sealed, stored_numbers, write_file


@contextlib.contextmanager
def opened(path: Path, content: bytes) -> Iterator[LogReader]:
    write_file(str(path), content)
    reader = LogReader(path)
    try:
        reader.follow()
        yield reader
    finally:
        reader.close()


def test_a_message_keeps_its_id_and_an_id_used_twice_is_replaced(tmp_path: Path) -> None:
    """The later message gets the new one; which it had is told."""
    with opened(tmp_path / "log", b"".join(sealed([body(0), body(1), body(0)]))) as reader:
        carried = list(carry(reader, range(3), rename=lambda given: f"new-{given}", refused={}))
    assert [one.message_id for one in carried] == ["id-0", "id-1", "new-id-0"]
    assert [one.renamed_from for one in carried] == [None, None, "id-0"]
    for one in carried:
        assert json.loads(seal(one.body, 0)[0])["metadata"]["message_id"] == one.message_id


OWN_KEYS = [5, None, ["r"], ["r", "0"], {"r": 0}, ["r", 0, 0], [["r", 0]], 1 << 70]


@pytest.mark.parametrize("own", OWN_KEYS, ids=str)
def test_a_key_like_that_of_a_reset_stays_in_a_message(tmp_path: Path, own: object) -> None:
    """It is no membership, in the log and in a copy of the copy."""
    content = b"".join(sealed([encode_object({**json.loads(body(0) + b"}"), "_reset": own})]))
    for name in ("log", "copy"):
        refused = dict[int, str]()
        with opened(tmp_path / name, content) as reader:
            assert [message.get("_reset", "none") for message in reader.read(range(1))] == [own]
            (carried,) = carry(reader, range(1), rename=str, refused=refused)
        assert not refused
        content = b"".join(sealed([carried.body]))
    line = content.removesuffix(b"\n")
    assert decode(line) == {**json.loads(body(0) + b"}"), "_reset": own}


def test_a_membership_that_was_written_by_hand_stays_in_a_message(tmp_path: Path) -> None:
    """A copy of a line without a checksum does not make it one of a reset."""
    by_hand = b'{"role":"user","content":"message 0","metadata":{"message_id":"id-0"},"_reset":["r",0]}\n'
    with opened(tmp_path / "log", by_hand) as reader:
        (carried,) = carry(reader, range(1), rename=str, refused={})
    with opened(tmp_path / "copy", b"".join(sealed([carried.body]))) as reader:
        assert [message["_reset"] for message in reader.read(reader.index.live)] == [["r", 0]]


def test_what_is_too_large_is_refused_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cut in silence."""
    monkeypatch.setattr(copy_log, "MOST_BODY_BYTES", 500)
    lines, refused = sealed([body(0), body(1, text="x" * 900), body(2)]), dict[int, str]()
    with opened(tmp_path / "log", b"".join(lines)) as reader:
        carried = list(carry(reader, range(3), rename=str, refused=refused))
        assert [one.message_id for one in carried] == ["id-0", "id-2"]
        (loss,) = refused_messages(reader, refused)
        assert (loss.line, loss.offset) == (2, len(lines[0]))
        assert "at most" in loss.reason


def test_a_new_log_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    """Not before, and not after an error."""
    path = tmp_path / "new" / "log.jsonl"

    def bodies(place: Path, *, fails: bool) -> Iterator[bytes]:
        yield body(0)
        assert not place.exists()
        if fails:
            raise KeyError
        yield body(1)

    write_new_log(str(path), bodies(path, fails=False))
    assert stored_numbers(str(path)) == [0, 1]
    assert_sound(str(path))
    with contextlib.suppress(KeyError):
        write_new_log(str(tmp_path / "other"), bodies(tmp_path / "other", fails=True))
    assert os.listdir(tmp_path) == ["new"]
