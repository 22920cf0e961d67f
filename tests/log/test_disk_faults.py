"""A disk that lies: writes that are lost or land elsewhere, blocks that come back as they were, lines that were edited.

Nothing of this can be prevented. What was damaged is reported or counted as lost, never served, and everything else is
there, also after the log went on.
"""

import re
from collections.abc import Iterator

import pytest

from amplifier_module_context_persistent.errors import LogError, LogFailedError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.log.reset_record import ids_in, reset_bodies
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.fakefs import FakeFiles
from tests.support.logs import (
    STAMP,
    append,
    append_bodies,
    body,
    content_of,
    keep,
    numbers,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.logs import reset_bodies as given_reset
from tests.support.sweeps import proof, spread

pytestmark = pytest.mark.usefixtures("without_and_with_snapshots")

BLOCK = 512


def start() -> bytes:
    """A log with a reset that keeps some messages and hides others."""
    header = encode_control("header", version=2, log_id="l")
    reset = given_reset("a", keep(1, 3), body(10), upto="id-5")
    return b"".join(sealed([header, *map(body, range(6)), *reset, *map(body, range(20, 26))]))


LIVE = [1, 2, 3, 10, *range(20, 26)]


def named_in(content: bytes) -> set[int]:
    return {int(number) for number in re.findall(rb'"content":"message (\d+)', content)}


def check(path: str, expected: list[int], damaged: set[int]) -> None:
    """What is undamaged is live, in its order; nothing that was hidden is; the damage shows."""
    found = [number for number in stored_numbers(path) if number not in damaged]
    assert found == [number for number in expected if number not in damaged]
    assert not verify_log(path).is_sound


@proof(quick=12)
@pytest.mark.parametrize("where", ["nowhere", "over a record", "over two records", "over the last one"])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_write_that_goes_astray_costs_itself_and_what_it_hit(
    path: str, files: FakeFiles, log: FileLog, where: str, nth: int
) -> None:
    """The writer is told that all is well. What it wrote is never served as something else; its loss is told."""
    write_file(path, start())
    offsets = [match.start() for match in re.finditer(rb"(?m)^", content_of(path))][:-1]
    place = {"over a record": offsets[11], "over two records": offsets[12] - 30, "over the last one": offsets[-1]}
    files.go_astray(nth=nth, to=lambda _: place.get(where))
    lost = {29 + nth}
    for number in range(30, 33):
        before = content_of(path)
        append(log, number)
        if number in lost:
            lost |= {one for one in named_in(before) if body(one) not in content_of(path)}
    files.heal()
    append(log, 40)
    expected = [*LIVE, *range(30, 33), 40]
    assert [number for number in numbers(log) if number not in lost] == [n for n in expected if n not in lost]
    assert log.describe().lost_messages > 0 or not verify_log(path).is_sound
    found = [number for number in stored_numbers(path) if number not in lost]
    assert found == [number for number in expected if number not in lost]


@proof(quick=1)
def test_a_block_that_comes_back_as_it_was_costs_what_stood_in_it(path: str, log: FileLog) -> None:
    """An old state of a block: what was appended since into it is NUL bytes; what stands in later blocks is there."""
    write_file(path, start())
    for number in range(30, 42):
        before = content_of(path)
        append(log, number, *range(100 * number, 100 * number + 9))
        log.close()
        after = content_of(path)
        end = (len(before) // BLOCK + 1) * BLOCK
        write_file(path, before[: end - BLOCK] + before[end - BLOCK :].ljust(BLOCK, b"\0") + after[end:])
        damaged = named_in(after) - {one for one in named_in(after) if body(one) in content_of(path)}
        assert damaged
        expected = [*LIVE, *(n for a in range(30, number + 1) for n in (a, *range(100 * a, 100 * a + 9)))]
        check(path, expected, damaged)
        append(log, 90)
        check(path, [*expected, 90], damaged)
        log.close()
        write_file(path, after)
    print(f"old blocks: {number - 29}")


@proof(quick=1)
@pytest.mark.parametrize("of", [2, 10, 22, 25])
def test_an_edited_copy_of_a_line_takes_nobodys_place(path: str, of: int) -> None:
    """A line with another text and an id that the log holds is reported and not live, wherever it stands."""
    lines = start().splitlines(keepends=True)
    (line,) = [line for line in lines if body(of) in line]
    count = 0
    for edited in (line.replace(b"message ", b"massage "), line[:-20] + b"}\n"):
        for at in spread(range(1, len(lines) + 1), 3, of % 3):
            changed = edited if edited.endswith(b'"}\n') else edited.replace(b"message ", b"massage ")
            write_file(path, b"".join([*lines[:at], changed, *lines[at:]]))
            log = FileLog(path)
            log.follow()
            shown = [str(message["content"]) for message in log.read(log.index.live)]
            assert [text for text in shown if "message" in text] == [f"message {number}" for number in LIVE], at
            assert shown.count(f"massage {of}") <= (lines.index(line) >= at)
            assert not verify_log(path).is_sound
            append(log, 50)
            log.close()
            assert not verify_log(path).is_sound
            count += 1
    print(f"edited copies: {count}")


def rewinds() -> Iterator[tuple[int, bool]]:
    return ((nth, forever) for forever in (False, True) for nth in range(1, 14))


@proof(quick=1)
def test_a_rewind_of_which_any_call_fails_is_in_force_or_not(path: str) -> None:
    """As a whole; the caller is told which, or that nobody knows; and the next one works."""
    seen = set()
    tried = list(spread(rewinds(), 2))
    for nth, forever in tried:
        write_file(path, start())
        files = FakeFiles()
        log = FileLog(path, files=files)

        def rewind(index: Index, log: FileLog = log) -> list[bytes]:
            ids = ids_in(log.read)
            return reset_bodies(index.live, index.live[:-2], ids, reset_id="w", reason="rewind", time=STAMP)

        files.fail(nth=nth, forever=forever)
        try:
            (outcome,) = log.append([rewind])
            allowed = [LIVE] if isinstance(outcome, Exception) else [LIVE[:-2]]
        except LogFailedError:
            allowed = [LIVE[:-2], LIVE]
        except LogError:
            allowed = [LIVE]
        files.heal()
        log.close()
        state = stored_numbers(path)
        assert state in allowed, (nth, forever)
        seen.add(len(state))
        append(log, 60)
        assert numbers(log) == stored_numbers(path) == [*state, 60]
        assert verify_log(path).is_sound
        append_bodies(log, body(61))
        log.close()
    assert seen == {len(LIVE), len(LIVE) - 2}
    print(f"I/O operations of rewinds failed: {len(tried)}")
