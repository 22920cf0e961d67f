"""Bits of every byte of logs with resets, flipped one by one, against what a plain list says is live.

A flip may cost the message in its line, or both messages beside a newline that it makes or removes. Nothing else
leaves the live history or changes its place there, nothing that a reset hid comes back, and the damage is reported.
"""

from bisect import bisect

import pytest

from amplifier_module_context_persistent.log.index import UNCHAINED
from amplifier_module_context_persistent.log.record_line import encode_control
from tests.support.logs import body, keep, kept, reset_bodies, sealed
from tests.support.scans import live_offsets, scan
from tests.support.sweeps import bits_of, proof

LOGS: dict[str, tuple[list[bytes], list[int]]] = {
    "a run and new messages": (
        [*map(body, range(5)), *reset_bodies("r", body(10), keep(1, 3), body(11), upto="id-4"), body(20)],
        [10, 1, 2, 3, 11, 20],
    ),
    "a clear, and a rewind": (
        [
            encode_control("header", version=2, log_id="l"),
            *map(body, range(3)),
            *reset_bodies("c", upto="id-2"),
            *map(body, range(20, 24)),
            *reset_bodies("w", keep(20, 22), upto="id-23"),
            body(30),
            encode_control("header", version=2),
            body(31),
        ],
        [20, 21, 22, 30, 31],
    ),
    "a reset of a reset": (
        [
            *map(body, range(3)),
            *reset_bodies("r", body(10), keep(0, 0), body(11), upto="id-2"),
            *reset_bodies("s", keep(10, 10), body(12), keep(11, 11), upto="id-11"),
            body(20),
        ],
        [10, 12, 11, 20],
    ),
    "a set_messages, a clear and a rewind": (
        [
            *map(body, range(6)),
            *reset_bodies("r", body(10), keep(2, 3), body(11), keep(5, 5), upto="id-5"),
            body(20),
            *reset_bodies("c", upto="id-20"),
            body(30),
            body(31),
            *reset_bodies("w", keep(30, 30), upto="id-31"),
            encode_control("header", version=2),
            body(32),
        ],
        [30, 32],
    ),
    "runs that begin or end with messages of an earlier reset": (
        [
            *map(body, range(6)),
            *reset_bodies("r", body(10), keep(0, 0), body(11), keep(2, 4), body(12), upto="id-5"),
            body(20),
            *reset_bodies("s", kept([10, 0]), body(13), kept([11, 2, 3, 4, 12, 20]), upto="id-20"),
            body(21),
            *reset_bodies("t", kept([0, 13]), body(14), kept([2, 3, 4, 12, 20, 21]), upto="id-21"),
            body(22),
        ],
        [0, 13, 14, 2, 3, 4, 12, 20, 21, 22],
    ),
    "a plan, a pin and receipts": (
        [
            encode_control("header", version=2, log_id="l"),
            *map(body, range(2)),
            encode_control("view", id="v", provider="p", model="m", hash="0"),
            encode_control("plan", id="p", upto="id-1", keep=[["id-0", "id-1"]], cuts={}, notice=""),
            encode_control("pin", id="x", message_id="id-1", pinned=True),
            *reset_bodies("r", keep(1, 1), body(10), upto="id-1"),
            encode_control("plan", id="q", upto="id-10", keep=[["id-1", "id-10"]], cuts={}, notice=""),
            encode_control("pin", id="y", message_id="id-10", pinned=True),
            body(20),
        ],
        [1, 10, 20],
    ),
}


@proof(quick=1)
@pytest.mark.parametrize("name", LOGS)
def test_no_flipped_bit_changes_more_than_its_own_message(name: str) -> None:
    """Its line's bytes and its newline; a plan or a pin with a flipped bit is not in force."""
    bodies, numbers = LOGS[name]
    lines = sealed(bodies)
    starts = [sum(map(len, lines[:at])) for at in range(len(lines) + 1)]
    found = {one: starts[at] for at, line in enumerate(lines) for one in range(40) if b'"message %d"' % one in line}
    expected, count = [found[number] for number in numbers], 0
    content = b"".join(lines)
    sound = scan([content]).index
    assert live_offsets(scan([content])) == expected
    for place in range(len(content) - 1):  # without its last newline the last line is a torn tail, and no damage
        at = bisect(starts, place) - 1
        at_newline = place == starts[at + 1] - 1
        own = {starts[at], starts[at + 1]} if at_newline else {starts[at]}
        for bit in bits_of(place, 3):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            scanner = scan([bytes(flipped)])
            live = [one for one in live_offsets(scanner) if not starts[at] <= one < starts[at + 1]]
            assert [one for one in live if one not in own] == [one for one in expected if one not in own], (place, bit)
            assert scanner.index.damage, (place, bit)
            assert not scanner.index.unknown_version
            count += 1
            if at_newline:
                continue  # both records in the line are sound
            if lines[at].startswith(b'{"_record":"plan"') and sound.session.plan and b'"id":"q"' in lines[at]:
                assert scanner.index.session.plan is None
            if lines[at].startswith(b'{"_record":"pin"') and b'"id":"y"' in lines[at]:
                assert scanner.index.session.pins == sound.session.pins - {sound.live[1]}
    print(f"bits flipped in logs with resets: {count}")
    assert sum(bool(flag & UNCHAINED) for flag in sound.columns.flags) == 0


@pytest.mark.parametrize("lost", [b'"_reset":["r",1]', b'"_reset":["r",0]'], ids=["the second", "the first"])
@pytest.mark.parametrize("mark", [b'"_resat":["r",1]', b'"_reset":["v",1]', b'"_reset":["r",3]', b'"_reset":["r",9]'])
def test_a_new_message_that_lost_its_mark_keeps_its_place(lost: bytes, mark: bytes) -> None:
    """The commit behind it says how many there are, and nothing else is written in between."""
    bodies = [*map(body, range(3)), *reset_bodies("r", body(10), keep(1, 1), body(11), upto="id-2"), body(20)]
    lines = sealed(bodies)
    (at,) = (number for number, line in enumerate(lines) if lost in line)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    lines[at] = lines[at].replace(lost, mark)
    scanner = scan([b"".join(lines)])
    assert live_offsets(scanner) == [starts[number] for number in (4, 1, 5, 7)]
    assert scanner.index.damage
