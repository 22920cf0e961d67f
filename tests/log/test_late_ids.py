"""The ids of lines without a checksum: derived when one is asked for, and what a scan that leaves out none finds."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.bare_line import message_id_of
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.index import Index, id_hash_of
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record import decode
from tests.support.checkpoints import always, is_used, make_checkpoint
from tests.support.logs import append, body, content_of, sealed, write_file
from tests.support.scans import scan

BARE = [b'{"role": "user", "content": "message %d"}\n' % number for number in range(12)]
ODD = b'{"role": "user", "content": "of its own", "metadata": {"message_id": "m-own"}}\n'


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.jsonl")


def log_of(path: str, *lines: bytes) -> LogReader:
    write_file(path, b"".join(lines))
    reader = LogReader(path)
    reader.follow()
    return reader


def ids_of(lines: list[bytes]) -> list[str]:
    offsets = scan(lines).index.offsets
    return [message_id_of(decode(line), line, offset) for line, offset in zip(lines, offsets, strict=True)]


ASKS: list[Callable[[Index, list[str]], list[int | None]]] = [
    lambda index, ids: [index.find(one) for one in ids],
    lambda index, ids: [index.find_live(one, index.live) for one in ids],
    lambda index, ids: [index.find_all(ids).get(one) for one in ids],
    lambda index, ids: [index.find_all([one]).get(one) for one in ids],
]


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("chained", [0, 3])
def test_a_message_is_found_by_an_id_that_was_not_derived_yet(
    path: str, chained: int, ask: Callable[[Index, list[str]], list[int | None]]
) -> None:
    """Alone and with others, before and after lines that carry their own."""
    lines = [*BARE[:6], ODD, *BARE[6:]]
    lines += sealed([body(number) for number in range(chained)], scan(lines).seed)
    reader = log_of(path, *lines)
    assert reader.index.unknown_end == 13
    ids = ids_of(lines)
    assert ask(reader.index, ids) == list(range(len(lines)))
    assert reader.index.id_hashes == scan(lines).index.id_hashes
    assert ask(reader.index, ["nobody"] * 9) == [None] * 9
    reader.close()


def test_the_last_of_two_messages_with_an_id_is_found(path: str) -> None:
    """Also where only the first one carries it, and the other one's is derived."""
    odd, other = ODD, ""
    while (known := message_id_of(decode(BARE[0]), BARE[0], len(odd))) != other:
        odd, other = ODD.replace(b"m-own", known.encode()), known
    reader = log_of(path, odd, BARE[0])
    assert reader.index.find(other) == 1
    reader.close()


def test_a_view_of_the_history_and_an_append_derive_none(path: str) -> None:
    """They cost a scan; the ids of messages that are read are derived one by one."""
    write_file(path, b"".join(BARE))
    log = FileLog(path)
    append(log, 100, 101)
    assert [str(message["metadata"]["message_id"]) for message in log.read(log.index.live)][:12] == ids_of(BARE)
    assert log.index.unknown_end == len(BARE)
    assert log.index.find("id-101") == 13
    assert log.index.unknown_end == len(BARE)
    log.close()


def test_lines_that_changed_since_are_an_error(path: str) -> None:
    """No id is derived from what was not scanned, and the next one who asks is told too."""
    reader = log_of(path, *BARE)
    write_file(path, b"".join(BARE).replace(b"message 3", b"message 4"))
    for _ in range(2):
        with pytest.raises(LogUnreadableError, match="was changed since it was read"):
            reader.index.find("m0123456789abcdef")
    reader.close()


def test_a_checkpoint_has_every_id(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who begins with it derives none again."""
    always(monkeypatch)
    log_of(path, *BARE).close()
    assert make_checkpoint(path)
    assert is_used(path)
    reader = LogReader(path)
    reader.follow()
    assert reader.index.id_hashes == scan(BARE).index.id_hashes
    assert not reader.index.unknown_end
    reader.close()


def test_a_doubtful_line_is_compared_with_ids_that_were_not_derived_yet(path: str) -> None:
    """A damaged line with the id of a bare one is never live."""
    last = sealed([body(5)], 77)[0].replace(b"id-5", ids_of(BARE)[3].encode())
    reader = log_of(path, *BARE, last)
    assert [found.kind for found in reader.index.damage] == ["checksum", "repeated"]
    assert len(reader.index.live) == len(BARE)
    reader.close()


@pytest.mark.parametrize("asked", ["before", "after", "never"])
@pytest.mark.parametrize(("kept", "lost"), [(12, 0), (9, 3)])
def test_messages_that_are_gone_are_counted_by_their_places(path: str, kept: int, lost: int, asked: str) -> None:
    """Another file takes the log's place, whose ids are known or not; those that carry an id are found by it."""
    reader = log_of(path, *BARE, *sealed([body(1)], scan(BARE).seed))
    if asked == "before":
        reader.index.know_ids()
    content = b"".join([*BARE[:kept], *sealed([body(1)], scan(BARE[:kept]).seed)])
    write_file(path + ".copy", content)
    os.replace(path + ".copy", path)
    reader.follow()
    if asked == "after":
        reader.index.know_ids()
    assert (reader.lost_messages, len(reader.index)) == (lost, kept + 1)
    shutil.copyfile(path, path + ".copy")
    os.replace(path + ".copy", path)
    reader.follow()
    assert reader.lost_messages == lost
    assert content_of(path) == content
    assert reader.index.find("id-1") == kept
    assert id_hash_of(b"id-1") == reader.index.id_hashes[kept]
    reader.close()
