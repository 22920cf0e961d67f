"""Damage everywhere: a log cut at every byte, with any byte changed, and after a power cut at any call.

Whole records are read, damage is reported, the next append and the next opening work, nothing is glued or lost.
"""

import os
import random
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import LogError, LogFailedError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Damage
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.log.scanner import Scanner
from tests.support.fakefs import FakeFiles, choosers
from tests.support.logs import (
    STAMP,
    append,
    append_bodies,
    assert_sound,
    body,
    content_of,
    findings,
    giving,
    numbers,
    reset_bodies,
    saved_tails,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.sweeps import bits_of, proof, spread, whole

CALL = {"role": "assistant", "content": "message 5", "tool_calls": [{"id": "a", "arguments": {"n": 2**70, "t": "é\n"}}]}
KEEP = encode_control("keep", **{"from": "id-1", "to": "id-2"})
PLAIN = [encode_control("header", version=2), body(0), body(1, pinned=True), body(2)]
LOG = [*PLAIN, *reset_bodies("r", KEEP, body(3)), body(4), encode_message(CALL, message_id="id-5", timestamp=STAMP)]
LIVE = [1, 2, 3, 4, 5]
LINES = sealed(LOG)
CONTENT = b"".join(LINES)
ENDS = [sum(map(len, LINES[: n + 1])) for n in range(len(LINES))]


def live_after(lines: int) -> list[int]:
    """What is live once so many lines of `LINES` stand."""
    if lines < 6:
        return [number for number, at in ((0, 2), (1, 3), (2, 4)) if lines >= at]
    return LIVE[: 3 + max(0, lines - 7)]


def go_on(path: str, expected: list[int]) -> None:
    """The next append and the next opening work."""
    log = FileLog(path)
    assert numbers(log) == expected
    append(log, 90)
    append(log, 91)
    assert numbers(log) == [*expected, 90, 91]
    log.close()
    again = FileLog(path)
    assert numbers(again) == [*expected, 90, 91]
    assert again.index.damage == []
    again.close()


@proof
def test_a_log_cut_at_every_byte_goes_on(path: str) -> None:
    """Whatever whole lines are left are read, the rest is saved aside, and the chain stays sound."""
    cuts = {*spread(range(len(CONTENT) + 1), 4), *ENDS, *(end - 1 for end in ENDS)}
    for cut in cuts:
        write_file(path, CONTENT[:cut])
        whole = sum(cut >= end - 1 for end in ENDS)  # a line that lacks only its newline is whole
        go_on(path, live_after(whole))
        kept = [end for lines, end in enumerate(ENDS, 1) if lines <= whole]
        tails = saved_tails(path)
        assert b"".join(map(content_of, tails)) == CONTENT[max(kept, default=0) : cut]
        assert content_of(path).startswith(CONTENT[: min(max(kept, default=0), cut)])
        assert_sound(path)
        for tail in tails:
            os.remove(tail)
    print(f"cuts: {len(cuts)}")


def test_an_open_log_appends_behind_a_cut_at_every_byte_of_a_record(path: str, log: FileLog) -> None:
    """A process that has the log open appends soundly, wherever another one was stopped in its write."""
    line = sealed([body(0), body(1)])[1]
    append(log, 0)
    expected = [0]
    for cut in range(len(line) - 1):
        with open(path, "ab") as file:
            file.write(line[:cut])
        append(log, cut + 10)
        expected += [cut + 10]
    assert numbers(log) == stored_numbers(path) == expected
    assert findings(path) == []
    assert_sound(path)


def scan(content: bytes) -> tuple[list[Damage], set[int]]:
    """The findings, and the numbers of the undamaged messages that are read."""
    scanner = Scanner()
    whole = content.rfind(b"\n") + 1
    scanner.feed(content[:whole])
    index = scanner.index
    stored = [
        content[at : at + size - 1] for at, size in zip(index.columns.offsets, index.columns.lengths, strict=True)
    ]
    return index.damage, {n for n, own in enumerate(LINES) if own[:-1] in stored}


def check_change(at: int, value: int) -> None:
    """A changed byte is reported where it is, and every record that it is not in is read as it was."""
    content = CONTENT[:at] + bytes([value]) + CONTENT[at + 1 :]
    line = sum(at >= end for end in ENDS)
    start = ENDS[line - 1] if line else 0
    damage, read = scan(content)
    messages = {n for n, own in enumerate(LOG) if not own.startswith(b'{"_record')}
    assert read >= messages - {line}, (at, value, read)
    last = at == len(CONTENT) - 1
    if not last:  # the last newline gone is no damage: the line is whole
        assert damage, (at, value)
        assert damage[0].offset == start or (value == 10 and start < damage[0].offset <= at + 1), (at, value, damage)
        assert damage[0].line == line + 1 or value == 10


@proof
def test_a_flipped_bit_of_any_byte_is_reported_with_its_place() -> None:
    """It is a finding at its line, and no other record is lost."""
    flips = [(at, bit) for at in range(len(CONTENT)) for bit in bits_of(at)]
    for at, bit in flips:
        check_change(at, CONTENT[at] ^ 1 << bit)
    print(f"bits flipped: {len(flips)}")


@proof
def test_a_log_with_a_changed_byte_goes_on(path: str) -> None:
    """It is a finding at its line; behind it the next append and the next opening work, and nothing else changes."""
    rng = random.Random(7)
    for at in spread(range(0, len(CONTENT), 3), 3):
        value = rng.choice([byte for byte in (0, 10, 32, 34, 92, 125, 255, rng.randrange(256)) if byte != CONTENT[at]])
        check_change(at, value)
        content = CONTENT[:at] + bytes([value]) + CONTENT[at + 1 :]
        write_file(path, content)
        log = FileLog(path)
        log.follow()
        before = list(log.read(log.index.live))
        found = len(log.index.damage)
        described = log.describe()
        sound_bytes = described.size_bytes - described.torn_bytes
        append(log, 90)
        append(log, 91)
        log.close()
        again = FileLog(path)
        again.follow()
        after = list(again.read(again.index.live))
        assert after[: len(before)] == before
        assert [message["content"] for message in after[len(before) :]] == ["message 90", "message 91"]
        assert len(again.index.damage) == found
        assert content_of(path).startswith(content[:sound_bytes])
        again.close()
        for tail in saved_tails(path):
            os.remove(tail)


# -- power cuts --------------------------------------------------------------------------------------------------------


@proof(quick=1)
@pytest.mark.parametrize("part", range(2))
def test_a_power_cut_at_any_call_loses_nothing_acknowledged(tmp_path: Path, part: int) -> None:
    """With the power cut at each call of a log's life, in many states of the disk, what was acknowledged is there."""
    images = calls = 0
    for nth in range(1 + part, 400, 2):
        root = tmp_path / f"{nth}"
        root.mkdir()
        path = str(root / "a" / "log.jsonl")
        files = FakeFiles()
        files.fail(nth=nth, forever=True)
        acknowledged, begun = live(path, files)
        calls += 1
        for chooser in (None, *choosers(6)):
            target = tmp_path / f"{nth}-{images}"
            target.mkdir()
            files.power_cut(str(root), str(target), chooser)
            image = str(target / "a" / "log.jsonl")
            check_image(image, acknowledged, begun)
            images += 1
        if files.faults[0].seen < nth:
            break
    else:
        raise AssertionError("the log's life did not end")
    assert calls > 15
    print(f"power cuts: {calls}, crash images: {images}")


def live(path: str, files: FakeFiles) -> tuple[list[int], list[int]]:
    """Create, append, batch, reopen, repair a torn tail, append, until the power fails."""
    log = FileLog(path, files=files)
    acknowledged: list[int] = []
    begun: list[int] = []
    for batch in ([0], [1, 2], [3], [4, 5, 6]):
        begun += batch
        try:
            if batch == [3] and os.path.exists(path):
                log.close()
                with open(path, "ab") as file:
                    file.write(b'{"role":"user","content":"torn')
                files.tracked.pop(path, None)
            for outcome in log.append([giving(body(number)) for number in batch]):
                assert isinstance(outcome, range)
            acknowledged += batch
        except LogFailedError:
            break
        except LogError:
            continue
    return acknowledged, begun


def check_image(path: str, acknowledged: list[int], begun: list[int]) -> None:
    if not os.path.exists(path):
        assert acknowledged == []
        return
    stored = stored_numbers(path)
    assert set(acknowledged) <= set(stored) <= set(begun)
    assert stored == sorted(set(stored))
    log = FileLog(path)
    append_bodies(log, body(90))
    assert stored_numbers(path) == [*stored, 90]
    log.close()


@proof
def test_of_ten_unsynced_writes_whatever_the_disk_kept_is_read(tmp_path: Path, files: FakeFiles) -> None:
    """Of the 1,024 subsets: the records that are there, in order; the others leave a report or nothing."""
    path = tmp_path / "root" / "log.jsonl"
    path.parent.mkdir()
    append(FileLog(str(path)), 0)
    log = FileLog(str(path), files=files, durability="write")
    lengths = []
    for number in range(1, 11):
        before = path.stat().st_size
        append(log, number)
        lengths.append(path.stat().st_size - before)
    written, read, seen = content_of(str(path)), 0, set()
    for images, chooser in enumerate(choosers(50)):
        target = tmp_path / f"{images}"
        target.mkdir()
        files.power_cut(str(path.parent), str(target), chooser)
        image = str(target / "log.jsonl")
        left, offset, kept = content_of(image), len(written) - sum(lengths), [0]
        for number, length in enumerate(lengths, 1):
            kept += [number] if left[offset : offset + length] == written[offset : offset + length] else []
            offset += length
        seen.add(tuple(kept))
        if not whole() and images % 3:
            continue
        after = FileLog(image)
        stored = numbers(after)
        assert set(stored) >= set(kept)
        assert stored == sorted(stored)
        if stored != list(range(len(stored))):
            assert after.index.damage != []
        append(after, 90)
        after.close()
        assert stored_numbers(image) == [*stored, 90]
        read += 1
    assert len(seen) == 1024
    print(f"crash images of ten unsynced writes: {read}")


def test_without_a_sync_the_image_of_a_power_cut_lacks_the_records(tmp_path: Path, files: FakeFiles) -> None:
    """The tests above can fail: where nothing is synced, a power cut loses what was acknowledged."""
    root, target = tmp_path / "root", tmp_path / "target"
    root.mkdir()
    target.mkdir()
    append(FileLog(str(root / "log.jsonl"), files=files, durability="write"), 0)
    files.power_cut(str(root), str(target))
    assert os.listdir(target) == []
