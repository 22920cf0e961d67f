"""The snapshot of a log: with it, a reader knows exactly what it knows without it."""

import os
import random
import shutil
import sqlite3
from pathlib import Path
from zlib import crc32

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.catalogue import snapshot_data
from amplifier_module_context_persistent.catalogue.catalogue_file import SUFFIX
from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.log.message_columns import MessageColumns
from amplifier_module_context_persistent.log.reader import LogReader
from tests.support.busy_logs import lines, steps
from tests.support.logs import (
    append_to,
    body,
    content_of,
    sealed,
    write_file,
)
from tests.support.scans import scan
from tests.support.snapshots import (
    all_of,
    flips,
    is_used,
    known,
    make_snapshot,
    put,
    remove,
    some_log,
    stored,
)
from tests.support.sweeps import proof, some, spread

pytestmark = pytest.mark.usefixtures("snapshots_of_any_size")


@proof
@settings(max_examples=some(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 25), damage=st.sampled_from([0.0, 0.0, 0.05, 0.3]))
def test_with_a_snapshot_a_reader_knows_what_it_knows_without(
    tmp_path: Path, seed: int, count: int, damage: float
) -> None:
    """Made anywhere, and followed by anything, damage too."""
    rng, path = random.Random(seed), str(tmp_path / f"{seed}.jsonl")
    parts, chain = [], 0
    for bodies in steps(count, rng):
        written, chain = lines(bodies, chain, rng, damage)
        parts.append(written)
    content = b"".join(parts)
    at = (
        len(b"".join(parts[: rng.randrange(len(parts) + 1)])) if rng.random() < 0.7 else rng.randrange(len(content) + 1)
    )
    write_file(path, content[:at])
    make_snapshot(path)
    follower = LogReader(path, snapshots=CatalogueSnapshots())
    try:
        follower.follow()
        while True:
            expected = known(path, trusting=False)
            assert known(path, trusting=True) == expected
            if at == len(content):
                break
            end = min(len(content), at + rng.randrange(1, 2000))
            with open(path, "ab") as file:
                file.write(content[at:end])
            at = end
        follower.follow()
        found = all_of(follower)
        assert (found["live"], found["messages"]) == (expected["live"], expected["messages"])
    finally:
        follower.close()
        os.remove(path)
        remove(path)


@proof
def test_most_logs_can_have_one(path: str) -> None:
    """The comparison above is of snapshots that are used: of sound logs, wherever no reset is open."""
    used = sound = 0
    for seed in range(80):
        rng, chain, content = random.Random(seed), 0, b""
        for bodies in steps(12, rng):
            written, chain = lines(bodies, chain, rng, 0.0)
            content += written
        write_file(path, content)
        used += make_snapshot(path) and is_used(path)
        sound += not scan(content.splitlines(keepends=True)).index.damage  # else a reset keeps what is not there
    assert used == sound > 20


# -- a snapshot that is not what it was --------------------------------------------------------------------------------


def test_a_flipped_bit_of_a_snapshot_changes_nothing(path: str) -> None:
    """Every byte of it is covered by a checksum."""
    some_log(path)
    expected, sound = known(path, trusting=False), stored(path)
    for part, (number, check, content) in enumerate(sound):
        others = sound[:part] + sound[part + 1 :]
        for at in spread(range(0, len(content), 17), 3):
            put(
                path,
                [*others, (number, check, content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :])],
            )
            assert not is_used(path), f"byte {at} may be anything"
        put(path, [*others, (number, check ^ 1, content)] if number >= 0 else others)
        assert not is_used(path)
    assert known(path, trusting=True) == expected


@proof
def test_a_cut_or_longer_snapshot_changes_nothing(path: str) -> None:
    """Wherever a part ends; also where its checksum was made to fit."""
    some_log(path)
    expected, sound = known(path, trusting=False), stored(path)
    for part, (number, check, content) in enumerate(sound):
        for other in (*(content[:end] for end in spread(range(0, len(content), 37), 3)), content * 2, b""):
            for claimed in (check, crc32(other)):
                put(path, [*sound[:part], (number, claimed, other), *sound[part + 1 :]])
                assert not is_used(path)
    assert known(path, trusting=True) == expected


@pytest.mark.parametrize("name", ["offsets", "lengths", "roles", "flags", "answered_by", "plain_users"])
def test_a_number_out_of_bounds_is_refused(path: str, name: str) -> None:
    """Whoever wrote it, with checksums that fit: a code that is none, a record far beyond the end, or far too long."""
    some_log(path)
    expected = known(path, trusting=False)
    (_, _, described), (_, _, chunk) = stored(path)
    columns = MessageColumns()
    sizes = [getattr(getattr(columns, other), "itemsize", 1) for other in snapshot_data.COLUMNS]
    count, place = len(chunk) // sum(sizes), snapshot_data.COLUMNS.index(name)
    at, size = count * sum(sizes[:place]), sizes[place]
    other = chunk[:at] + b"\xff" * size + chunk[at + size :]
    told = orjson.dumps(orjson.loads(described) | {"chunks": [crc32(other)]})
    put(path, [(-1, crc32(told), told), (0, crc32(other), other)])
    assert not is_used(path)
    assert known(path, trusting=True) == expected


def test_the_snapshot_of_another_log_changes_nothing(path: str, tmp_path: Path) -> None:
    """Two logs whose catalogues were swapped are read as they are."""
    other = str(tmp_path / "other.jsonl")
    some_log(path)
    some_log(other, text=" elsewhere")
    expected = [known(one, trusting=False) for one in (path, other)]
    for one, its in ((path, other), (other, path)):
        shutil.copy(one + SUFFIX, its + ".aside")
        with sqlite3.connect(its + ".aside") as connection:
            connection.execute("UPDATE sessions SET path = ?", (os.path.basename(its),))
        connection.close()
    for one in (path, other):
        os.replace(one + ".aside", one + SUFFIX)
        assert not is_used(one)
    assert [known(one, trusting=True) for one in (path, other)] == expected


def test_a_later_version_of_it_is_not_used(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is an earlier one."""
    some_log(path)
    expected = known(path, trusting=False)
    monkeypatch.setattr("amplifier_module_context_persistent.catalogue.snapshot_data.VERSION", 99)
    assert not is_used(path)
    assert known(path, trusting=True) == expected


def test_only_chunks_that_changed_are_written(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append changes the last one; a reset that hides something changes the flags of those before it."""
    monkeypatch.setattr(snapshot_data, "CHUNK_RECORDS", 4)
    append_to(path, *range(18))
    assert make_snapshot(path)
    before = dict.fromkeys(stored(path))
    append_to(path, 18)
    assert make_snapshot(path)
    assert [number for number, *_ in stored(path)] == [-1, 0, 1, 2, 3, 4]
    assert [row[0] for row in stored(path) if row not in before] == [-1, 4]
    assert known(path, trusting=True) == known(path, trusting=False)


# -- a log that is not what it was -------------------------------------------------------------------------------------


@proof
def test_an_edited_log_is_scanned_in_full(path: str) -> None:
    """The same size and another time."""
    some_log(path)
    kept = os.stat(path)
    for number, content in enumerate(flips(path)):
        write_file(path, content)
        os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns + 1 + number))
        assert not is_used(path)
        assert known(path, trusting=True) == known(path, trusting=False)


def test_a_log_that_was_cut_and_grew_again_is_scanned_in_full(path: str) -> None:
    """What stands before the offset is no longer what it was."""
    some_log(path)
    content = content_of(path)
    lines = content.splitlines(keepends=True)
    write_file(path, b"".join(lines[:-4]))
    append_to(path, *range(50, 60))
    assert known(path, trusting=True) == known(path, trusting=False)
    write_file(path, b"".join(lines[:3]))
    assert not is_used(path)
    assert known(path, trusting=True) == known(path, trusting=False)


@pytest.mark.parametrize("grows", [False, True])
def test_none_is_taken_of_a_log_with_findings(path: str, grows: bool) -> None:
    """So one that is restored from a backup, with the time and the size of before or longer, is read as it is."""
    some_log(path)
    sound, kept = content_of(path), os.stat(path)
    more = sealed([body(90)], int(sound[-11:-3], 16))[0] if grows else b""
    for damaged in (sound[:700] + bytes(300) + sound[1_000:], sound.replace(b"_begin", b"_begun"), b"x" + sound[1:]):
        write_file(path, damaged)
        os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
        remove(path)
        assert not make_snapshot(path)
        write_file(path, sound + more)
        os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
        assert not is_used(path)
        assert known(path, trusting=True) == known(path, trusting=False)
        assert "id-3" in [message["metadata"]["message_id"] for message in known(path, trusting=True)["messages"]]


def test_one_that_was_taken_before_the_damage_is_used_up_to_its_end(path: str) -> None:
    """What comes after it is scanned each time."""
    some_log(path)
    with open(path, "ab") as file:
        file.write(b"no json\n" + sealed([body(90)])[0])
    assert is_used(path)
    assert not make_snapshot(path)
    assert is_used(path)
    assert known(path, trusting=True) == known(path, trusting=False)
