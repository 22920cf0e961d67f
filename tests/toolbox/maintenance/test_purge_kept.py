"""What a purge leaves out and what it writes again, in older and damaged logs too."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import (
    append,
    append_bodies,
    append_to,
    assert_sound,
    body,
    content_of,
    findings,
    keep,
    kept,
    numbers,
    reset_bodies,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.purges import (
    CLEARED,
    EVERYTHING,
    HEADER,
    before,
    kinds,
    messages,
    plan,
    purged,
    redact,
    write_log,
)
from tests.support.sweeps import proof, some, spread


def test_before_a_message_all_that_stands_before_it_goes(path: str) -> None:
    """The message stays with all after it, byte for byte but for the checksums, and a `purge` record counts."""
    write_log(path, *map(body, range(5)))
    before_it = messages(path)
    counts = purged(path, before(3))
    assert (counts.messages_removed, counts.messages_kept) == (3, 2)
    assert kinds(path) == ["header", "3", "4", "purge"]
    assert messages(path) == before_it[3:]
    assert b"message 1" not in content_of(path)
    assert_sound(path)


def test_before_a_message_hidden_history_behind_it_stays_hidden(path: str) -> None:
    """Resets are fitted to what is left: their counts and their runs of kept records."""
    write_log(path, *map(body, range(6)), *reset_bodies("r", keep(0, 1), keep(2, 4), body(6)), body(7))
    purged(path, before(3))
    assert kinds(path) == ["header", "3", "4", "5", "6", "reset_begin", "reset_commit", "7", "purge"]
    assert stored_numbers(path) == [3, 4, 6, 7]
    assert findings(path) == []
    purged(path, before(7))
    assert kinds(path) == ["header", "7", "purge", "purge"]


def test_cleared_leaves_what_is_live_in_its_order(path: str) -> None:
    """Hidden messages and the resets that hid them go; the live order stays, whatever the order of the records."""
    write_log(path, *map(body, range(4)), *reset_bodies("r", body(8), keep(1, 2)), body(9))
    assert stored_numbers(path) == [8, 1, 2, 9]
    counts = purged(path, CLEARED)
    assert stored_numbers(path) == [8, 1, 2, 9]
    assert (counts.messages_removed, counts.controls_removed) == (2, 2)
    assert kinds(path) == ["header", "8", "1", "2", "9", "purge"]
    assert_sound(path)


def test_all_leaves_the_header(path: str) -> None:
    """Every message goes, with plans, usage and torn tails; the session's header stays, and the log goes on."""
    write_log(path, body(0), body(1), plan(1, (0, 1)), encode_control("usage", provider="p", model="m"))
    with open(path, "ab") as file:
        file.write(b"torn")
    append_to(path, 2)
    with open(path, "ab") as file:
        file.write(b"torn again")
    counts = purged(path, Purge(everything=True, torn=True))
    assert kinds(path) == ["header", "purge"]
    assert (counts.messages_removed, counts.controls_removed, counts.saved_tails, counts.torn_bytes) == (3, 2, 1, 10)
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    append_to(path, 5)
    assert stored_numbers(path) == [5]
    assert_sound(path)


def test_a_plan_goes_with_the_messages_that_it_names(path: str) -> None:
    """A plan that keeps or covers up to what goes is void; one that names only what stays stays in force."""
    write_log(path, *map(body, range(5)), plan(4, (0, 0), (3, 4)), body(5), plan(5, (4, 5)))
    purged(path, before(2))
    assert kinds(path) == ["header", "2", "3", "4", "5", "plan", "purge"]
    purged(path, before(5))
    assert kinds(path) == ["header", "5", "purge", "purge"]


def test_cleared_never_puts_a_void_plan_in_force(path: str, log: FileLog) -> None:
    """A plan from before a reset is void although all that it names is live; the one in force stays."""
    bodies = [*map(body, range(3)), plan(2, (0, 2)), *reset_bodies("r", keep(0, 2))]
    write_log(path, *bodies)
    purged(path, CLEARED)
    assert "plan" not in kinds(path)
    append_bodies(FileLog(path), plan(2, (1, 2)), *reset_bodies("e", keep(1, 2)), plan(2, (2, 2)))
    purged(path, CLEARED)
    assert kinds(path).count("plan") == 1
    log.follow()
    assert log.index.session.plan["keep"] == [["id-2", "id-2"]]


def test_receipts_of_views_go_with_what_they_stand_for(path: str) -> None:
    """A `view` record's hash stands for messages that it does not name, so it goes with them."""
    view = encode_control("view", hash="ab", upto="id-2")
    write_log(path, body(0), view, body(1), body(2), view)
    purged(path, redact("message 1"))
    assert kinds(path) == ["header", "0", "view", "1", "2", "purge"]
    purged(path, before(1))
    assert "view" not in kinds(path)


def test_messages_of_the_older_module_keep_their_ids(path: str) -> None:
    """An id that was derived from a message's place is written down, since its place changes."""
    write_file(path, b"".join(b'{"role":"user","content":"message %d"}\n' % number for number in range(3)))
    old = messages(path)
    purged(path, Purge(before=old[1]["metadata"]["message_id"]))
    assert messages(path) == old[1:]
    assert_sound(path)


def test_bytes_that_are_no_record_stay_and_damage_is_counted(path: str) -> None:
    """What cannot be read stays; an altered message is kept and still reported; the one after garbage is sound."""
    lines = sealed([HEADER, *map(body, range(5))])
    lines[4] = lines[4].replace(b"message 3", b"message 8")
    content = [*lines[:3], b"no json\n", *lines[3:5], b'{"role":"us' + lines[5]]
    write_file(path, b"".join(content))
    counts = purged(path, before(1))
    assert (counts.messages_removed, counts.unreadable_kept, counts.altered_kept) == (1, 2, 1)
    assert stored_numbers(path) == [1, 2, 8, 4]
    assert sorted(found.kind for found in findings(path)) == ["checksum", "unreadable", "unreadable"]
    counts = purged(path, before(3))
    assert (counts.unreadable_removed, counts.unreadable_kept) == (1, 1)
    purged(path, EVERYTHING)
    assert_sound(path)


FLIPPED_HEADERS = {
    "redact": (redact("message"), [0, 2, 7]),
    "before": (before(2), [2, 7]),
    "cleared": (CLEARED, [0, 2, 7]),
    "everything": (EVERYTHING, [7]),
}


@proof(quick=1)
@pytest.mark.parametrize("mode", FLIPPED_HEADERS)
def test_a_purge_makes_no_flipped_bit_of_a_header_another_version(path: str, mode: str) -> None:
    """The log goes on after each purge, and what is kept of the damage is still reported."""
    lines = sealed([HEADER, *map(body, range(3)), *reset_bodies("r", keep(0, 0), keep(2, 2))])
    purge, left = FLIPPED_HEADERS[mode]
    version = 8 * lines[0].index(b"2,", lines[0].index(b"version"))
    for bit in sorted({*range(version, version + 8), *spread(range(8 * len(lines[0])), 71)}):
        flipped = bytearray(b"".join(lines))
        flipped[bit // 8] ^= 1 << bit % 8
        write_file(path, bytes(flipped))
        purged(path, purge)
        append_to(path, 7)
        assert stored_numbers(path) == left, flipped
        assert bit // 8 == len(lines[0]) - 1 or findings(path) or b"header" not in content_of(path), flipped


def test_a_damaged_reset_is_written_anew_and_still_reported(path: str) -> None:
    """What it made live is known by its other half; that a line of it was damaged is not forgotten."""
    lines = sealed([HEADER, *map(body, range(3)), *reset_bodies("r", keep(0, 1)), body(3), body(4)])
    lines[5] = lines[5].replace(b"commit", b"comnit")[:-30] + b"\n"
    write_file(path, b"".join(lines))
    assert stored_numbers(path) == [0, 1, 3, 4]
    for purge, left in ((redact("nothing"), [0, 1, 3, 4]), (before(1), [1, 3, 4]), (CLEARED, [1, 3, 4])):
        purged(path, purge)
        assert stored_numbers(path) == left
        assert findings(path)


@settings(max_examples=some(60), deadline=None)
@given(st.data())
def test_any_history_is_purged_to_what_a_list_says(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Through appends and resets, each purge leaves live what a plain list says, in a sound log."""
    path = str(tmp_path_factory.mktemp("purge") / "log.jsonl")
    log, live, number = FileLog(path), [0], 1
    append(log, 0)
    for _ in range(data.draw(st.integers(1, 6))):
        action = data.draw(st.sampled_from(["append", "reset", "before", "cleared", "redact"]))
        if action == "append":
            append(log, number)
            live.append(number)
        elif action == "reset" and live:
            start = data.draw(st.integers(0, len(live) - 1))
            stop = data.draw(st.integers(start, len(live) - 1))
            append_bodies(log, *reset_bodies(f"r{number}", body(number), kept(live[start : stop + 1])))
            live = [number, *live[start : stop + 1]]
        elif action == "before":
            place = data.draw(st.integers(0, len(live) - 1))
            purged(path, before(live[place]))
            live = live[place:]
        else:
            purged(path, CLEARED if action == "cleared" else redact("zzz"))
        number += 1
        assert numbers(log) == stored_numbers(path) == live
        assert_sound(path)
    log.close()
