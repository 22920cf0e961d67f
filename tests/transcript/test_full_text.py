"""The file of the search index: what is trusted, and what is not."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent.transcript.full_text import Block, Covered, Stamp, open_index, write_index

STAMP = Stamp(1, 2, 3, 4, 5)


class New:
    """Blocks to add, and what the index then knows of their sessions."""

    def __init__(self, *blocks: Block, **covered: Covered) -> None:
        self.blocks, self.covered = blocks, covered

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of two sessions, of which one has a dense block."""
    path = tmp_path / "index"
    first = Block({"abc", "bcd"}, {"a": (0, 10)})
    second = Block({"bcd", "cde"}, {"a": (20, 30), "b": (0, 5)})
    dense = Block(set(), {"b": (9, 9)})
    new = New(first, second, dense, a=Covered(STAMP, 40, b"tail"), b=Covered(STAMP, 10, b""))
    assert write_index(path, None, new, ())
    return path


def found(path: Path, *alternatives: list[str]) -> dict[str, list[tuple[int, int]]]:
    """Where an index says that something may be."""
    opened = open_index(path)
    assert opened is not None
    with opened:
        return opened.find(alternatives)


def test_blocks_are_found_by_their_words(index: Path) -> None:
    """All words of one alternative; dense blocks always."""
    always = [(9, 9)]
    assert found(index, ["abc"]) == {"a": [(0, 10)], "b": always}
    assert found(index, ["bcd"]) == {"a": [(0, 10), (20, 30)], "b": [(0, 5), *always]}
    assert found(index, ["abc", "cde"]) == {"b": always}
    assert found(index, ["abc", "bcd"], ["cde"]) == {"a": [(0, 10), (20, 30)], "b": [(0, 5), *always]}
    assert found(index, ["xyz"]) == {"b": always}


def test_it_knows_what_it_covers(index: Path) -> None:
    """Of each session its file's stamp, and up to where."""
    opened = open_index(index)
    assert opened is not None
    with opened:
        assert opened.sessions == {"a": Covered(STAMP, 40, b"tail"), "b": Covered(STAMP, 10, b"")}
        assert (opened.blocks, opened.blocks_made) == (3, 3)


def test_it_grows_and_forgets(index: Path) -> None:
    """What a session had is gone when it is forgotten; its blocks are counted as made all the same."""
    base = open_index(index)
    assert base is not None
    with base:
        later = New(Block({"abc"}, {"c": (7, 8)}), c=Covered(STAMP, 9, b"x"))
        assert write_index(index, base, later, ["b", "unknown"])
    assert found(index, ["abc"]) == {"a": [(0, 10)], "c": [(7, 8)]}
    opened = open_index(index)
    assert opened is not None
    with opened:
        assert set(opened.sessions) == {"a", "c"}
        assert (opened.blocks, opened.blocks_made) == (3, 4)


def test_only_its_owner_may_read_it(index: Path) -> None:
    """And nothing is left beside it."""
    if sys.platform != "win32":
        assert stat.S_IMODE(index.stat().st_mode) == 0o600
    assert os.listdir(index.parent) == ["index"]


def test_no_flipped_bit_is_taken_for_an_index(index: Path) -> None:
    """Wherever it is; nor is a file that was cut, or that is something else."""
    content = index.read_bytes()
    choose = random.Random(1)
    for at in [*range(110), *choose.sample(range(len(content)), 200)]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << choose.randrange(8)
        index.write_bytes(damaged)
        assert open_index(index) is None, f"byte {at}"
    for other in (b"", b"no index", content[:-1], content[:1024], content + b"\0"):
        index.write_bytes(other)
        assert open_index(index) is None
    index.write_bytes(content)
    assert found(index, ["abc", "bcd"])["a"] == [(0, 10)]


def test_what_is_no_file_of_ours_is_no_index(index: Path, tmp_path: Path) -> None:
    """A link, a directory, a database of another format, nothing."""
    link = tmp_path / "link"
    link.symlink_to(index)
    other = tmp_path / "other"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE session(name)")
    database.close()
    for path in (link, tmp_path, other, tmp_path / "none"):
        assert open_index(path) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no users")
def test_the_file_of_another_user_is_no_index(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could hide what is there."""
    monkeypatch.setattr(os, "geteuid", lambda: index.stat().st_uid + 1)
    assert open_index(index) is None


def test_an_index_that_was_removed_meanwhile_does_not_come_back(index: Path) -> None:
    """A purge removes it, and what was purged may be in the one that is being written."""
    base = open_index(index)
    assert base is not None
    with base:
        os.remove(index)
        assert not write_index(index, base, New(Block({"abc"}, {"a": (0, 1)})), ())
    assert os.listdir(index.parent) == []


def test_nothing_is_written_where_that_cannot_be_done(tmp_path: Path) -> None:
    """The search goes on without an index."""
    assert not write_index(tmp_path / "absent" / "index", None, New(), ())


def test_what_killed_processes_left_is_removed(index: Path) -> None:
    """After an hour: another process may be writing."""
    old, new = (Path(f"{index}.{name}.part") for name in ("0ld", "new"))
    for path in (old, new):
        path.touch()
    os.utime(old, (time.time() - 4_000, time.time() - 4_000))
    assert write_index(index, None, New(), ())
    assert sorted(os.listdir(index.parent)) == ["index", f"{index.name}.new.part"]
