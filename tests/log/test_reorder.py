"""Lines that were moved or repeated: read where they were written, once, and reported."""

from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.file import FileLog
from tests.support.checkpoints import always, make_checkpoint
from tests.support.logs import (
    append,
    body,
    findings,
    keep,
    numbers,
    old_reset_bodies,
    reset_bodies,
    sealed,
    stored_numbers,
    write_file,
)

PLAIN = [body(number) for number in range(6)]
RESETS = {
    "version 1": [*old_reset_bodies("r", body(10), keep(2, 3)), body(20), *old_reset_bodies("w", keep(2, 3)), body(21)],
    "version 2": [
        *reset_bodies("r", body(10), keep(2, 3), upto="id-5"),
        body(20),
        *reset_bodies("w", keep(2, 3), upto="id-20"),
        body(21),
    ],
}


def goes_on(path: str, expected: list[int]) -> None:
    """It is read so, reported, and so it is after an append and in a new process."""
    log = FileLog(path)
    assert numbers(log) == expected
    assert findings(path)
    append(log, 30)
    assert numbers(log) == [*expected, 30]
    log.close()
    assert numbers(log) == [*expected, 30]
    assert findings(path)
    log.close()


@pytest.mark.parametrize("version", RESETS)
def test_any_two_lines_may_change_places(tmp_path: Path, version: str) -> None:
    """Nothing leaves the live history, and nothing comes back."""
    path, lines = str(tmp_path / "log.jsonl"), sealed([*PLAIN, *RESETS[version]])
    for first in range(len(lines)):
        for second in range(first + 1, len(lines)):
            changed = list(lines)
            changed[first], changed[second] = changed[second], changed[first]
            write_file(path, b"".join(changed))
            goes_on(path, [2, 3, 21])


@pytest.mark.parametrize("version", RESETS)
def test_any_line_may_stand_twice(tmp_path: Path, version: str) -> None:
    """A copy anywhere else counts once."""
    path, lines = str(tmp_path / "log.jsonl"), sealed([*PLAIN, *RESETS[version]])
    for first in range(len(lines)):
        for place in range(0, len(lines) + 1, 2):
            write_file(path, b"".join([*lines[:place], lines[first], *lines[place:]]))
            goes_on(path, [2, 3, 21])


@pytest.mark.parametrize("version", RESETS)
def test_a_checkpoint_that_ends_with_a_line_out_of_place_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Where that line was written is only told by one that the checkpoint does not cover."""
    always(monkeypatch)
    path, lines = str(tmp_path / "log.jsonl"), sealed([*PLAIN, *RESETS[version]])
    used = 0
    for first in range(len(lines)):
        for second in range(first + 1, len(lines)):
            exchanged = list(lines)
            exchanged[first], exchanged[second] = lines[second], lines[first]
            for changed in (exchanged, [*lines[:first], lines[second], *lines[first:]]):
                write_file(path, b"".join(changed[: first + 1]))
                used += make_checkpoint(path)
                write_file(path, b"".join(changed))
                assert stored_numbers(path) == [2, 3, 21]
    assert used > 40
