"""One fault in one line of a log with every kind of record, and then further use.

Whatever happens to a line (a flipped bit, its loss, a copy of it, a line put in): no undamaged message leaves the live
history, none that was cleared comes back, the log is never sound, and appending, rewinding and purging something else
change none of this. Of two lines that are exchanged this holds for all other messages.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError, PurgeError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.record_line import Message, encode_control
from amplifier_module_context_persistent.log.reset_record import ids_in, reset_bodies
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.logs import STAMP, append, body, keep, sealed, write_file
from tests.support.logs import reset_bodies as new_reset_bodies
from tests.support.snapshot_faults import SnapshotFaults
from tests.support.sweeps import proof, spread, whole

MEMBERS = [body(30), body(31)]


def records() -> list[bytes]:
    """Every kind of record, with a `set_messages`, a clear and a rewind."""
    return [
        encode_control("header", version=2, log_id="l", session_id="s"),
        *map(body, range(10, 16)),
        *new_reset_bodies("a", keep(11, 13), *MEMBERS, upto="id-15"),
        body(20),
        *new_reset_bodies("b", upto="id-20"),
        *map(body, range(40, 45)),
        encode_control("plan", id="p", upto="id-40", keep=[["id-40", "id-40"]], cuts={}, notice=""),
        encode_control("side_plan", id="q", upto="id-40", keep=[], cuts={}),
        encode_control("view", id="v", hash="ab", upto="id-40"),
        encode_control("system", hash="h", text="head"),
        encode_control("usage", provider="p", model="m"),
        encode_control("pin", id="x", message_id="id-40", pinned=True),
        encode_control("purge", mode="cleared"),
        *new_reset_bodies("c", keep(40, 42), upto="id-44"),
        body(50),
        body(51),
    ]


LIVE = [40, 41, 42, 50, 51]
FOREIGN = [
    b'{"role":"user","content":"message 77"}\n',
    *sealed([body(77)], 12345),
    *sealed(new_reset_bodies("z", upto="id-99"), 12345),
    *sealed([encode_control("keep", **{"from": "id-40", "to": "id-41"})], 12345),
    b'{"_record":"later"}\n',
    b"no json\n",
    b"\n",
]

Fault = tuple[str, list[bytes], frozenset[int]]
"""What was done, the lines, and the numbers of the messages that it damaged."""


def faults(lines: list[bytes], rng: random.Random, flips_each: int) -> Iterator[Fault]:
    def own(*places: int) -> frozenset[int]:
        found = (re.search(rb'"content":"message (\d+)', lines[place]) for place in places)
        return frozenset(int(match[1]) for match in found if match)

    for at, line in enumerate(lines):
        bits = rng.sample(range(8 * (len(line) - 1)), min(flips_each, 8 * (len(line) - 1)))
        for bit in bits:
            flipped = bytearray(line)
            flipped[bit // 8] ^= 1 << bit % 8
            if flipped[bit // 8] != ord("\n"):
                yield f"flip {at}.{bit}", [*lines[:at], bytes(flipped), *lines[at + 1 :]], own(at)
        if at < len(lines) - 1:  # whole records missing at the end cannot be seen
            yield f"delete {at}", [*lines[:at], *lines[at + 1 :]], own(at)
        for place in {at, at + 1, rng.randrange(len(lines)), len(lines)}:
            yield f"copy {at} to {place}", [*lines[:place], line, *lines[place:]], frozenset()
        for other in {min(at + 1, len(lines) - 1), rng.randrange(len(lines))} - {at}:
            changed = list(lines)
            changed[at], changed[other] = lines[other], line
            yield f"exchange {at} and {other}", changed, own(at, other)
        for foreign in FOREIGN:
            yield f"insert {foreign[:20]!r} at {at}", [*lines[:at], foreign, *lines[at:]], frozenset({77})


def read(log: FileLog) -> list[Message]:
    """The live messages; a snapshot that described them wrongly is given up by the second try."""
    log.follow()
    try:
        return list(log.read(log.index.live))
    except LogUnreadableError:
        log.follow()
        return list(log.read(log.index.live))


def live(log: FileLog) -> list[int]:
    """The numbers of the live messages; -1 for one whose text or id is no longer what it was."""
    shown = []
    for message in read(log):
        text = re.fullmatch(r"message (\d+)\.?", str(message.get("content")))
        own = str(message["metadata"].get("message_id")) == f"id-{text[1]}" if text else False
        shown.append(int(text[1]) if text and (own or text[1] == "77") else -1)
    return shown


def check(log: FileLog, expected: list[int], damaged: frozenset[int], what: str) -> None:
    """What is undamaged is live, in its order, nothing else is, and the log says that it is damaged."""
    shown = [number for number in live(log) if number not in damaged]
    assert [number for number in shown if number in (*LIVE, 60)] == [n for n in expected if n not in damaged], what
    cleared = {10, 11, 12, 13, 14, 15, 20, 30, 31, 43, 44}
    assert not cleared.intersection(shown), what
    assert not verify_log(str(log.path)).is_sound, what


def use_further(path: str, damaged: frozenset[int], what: str, use: str) -> None:
    log, expected = FileLog(path), list(LIVE)
    if use == "append":
        append(log, 60)
        expected.append(60)
    elif use == "rewind":

        def rewind(index: Index) -> list[bytes]:
            rest = index.live[:-1]
            return reset_bodies(index.live, rest, ids_in(log.read), reset_id="w", reason="rewind", time=STAMP)

        before = live(log)
        log.append([rewind])
        expected = [number for number in LIVE if number in before[:-1]]
    elif use == "purge":
        try:
            purge_log(path, Purge(redact=lambda text: text.replace("message 41", "message 41.")), now=lambda: STAMP)
        except PurgeError:
            assert what.startswith("exchange"), what
    check(log, expected, damaged, f"{what}, then {use}")
    log.close()


@proof
@pytest.mark.parametrize("snapshots", [False, True])
@pytest.mark.parametrize("seed", [1, 2] if whole() else [1])
def test_one_fault_costs_no_other_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, snapshots: bool
) -> None:
    """Each fault by itself, followed by no use, an append, a rewind or a purge in turn; also with any snapshot."""
    if snapshots:
        SnapshotFaults(seed, monkeypatch)
    rng, path, bodies = random.Random(seed), str(tmp_path / "log.jsonl"), records()
    lines = sealed(bodies)
    write_file(path, b"".join(lines))
    assert live(FileLog(path)) == LIVE
    assert verify_log(path).is_sound
    flips_each = 5 if not whole() else 12 if snapshots else 24  # bits of every byte are those of test_flips
    for number, (what, changed, damaged) in enumerate(spread(faults(lines, rng, flips_each), 8, int(snapshots))):
        write_file(path, b"".join(changed))
        log = FileLog(path)
        check(log, LIVE, damaged, what)
        log.close()
        use_further(path, damaged, what, ("append", "rewind", "purge")[number % 3])
    print(f"faults in one line: {number + 1}")
