"""What a store makes of kills and damage: how much of what was acknowledged can still be read, and what it says.

Nothing here knows how a store lies on disk: a torn write, a flipped bit and a cut file are made from what its files
were before and after an append.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

from ..conversation import NUMBER, plain
from .found import Outcome, Survived
from .process import Process, StoreError

MESSAGES = 200
_MEMORY_MAPS = ("-shm",)
"""Files that SQLite builds anew from others after a crash."""


def survive_kills(python: str, name: str, kills: int, seed: int = 1) -> Survived:
    """Kill a process in the middle of its appends, go on with the session, and so on; then read it."""
    rng, stored, number = random.Random(seed), set[int](), 0
    with tempfile.TemporaryDirectory() as directory:
        try:
            for _ in range(kills):
                with Process(python, name, directory) as process:
                    process.send("acknowledge", first=number)
                    answers, wanted = process.answers(), rng.randint(5, 60)
                    found = [told["stored"] for told in islice(answers, wanted)]
                    time.sleep(rng.random() / 500)  # any instant of the next appends
                    process.kill()
                    found += [told["stored"] for told in answers]
                stored.update(found)
                number = max([number, *found]) + 2  # the one on its way may be there or not
            texts, _ = read_texts(python, name, directory)
        except StoreError as error:
            return Survived(kills, len(stored), len(stored), 0, str(error))
    counted = Counter(_numbers(texts))
    doubled = sum(counted[one] > 1 for one in stored)
    return Survived(kills, len(stored), len(stored - set(counted)), doubled)


def torn_write(python: str, name: str) -> Outcome:
    """The second half of what the last append wrote did not reach the disk, and the process is gone."""
    with tempfile.TemporaryDirectory() as directory:
        with Process(python, name, directory) as process:
            process.ask("plain", first=0, count=MESSAGES)
            before = _files(directory)
            process.ask("plain", first=MESSAGES, count=1)
            process.kill()
        _tear(before, _files(directory))
        return _outcome(python, name, directory)


def flipped_bit(python: str, name: str) -> Outcome:
    """One letter in the middle of the history became another one."""
    with tempfile.TemporaryDirectory() as directory:
        _write(python, name, directory)
        needle = b"#%d " % (MESSAGES // 2)
        for path, content in _files(directory).items():
            changed, at = bytearray(content), content.find(needle)
            while at >= 0:
                changed[at + len(needle)] ^= 1
                at = content.find(needle, at + 1)
            if changed != content:
                path.write_bytes(changed)
        return _outcome(python, name, directory)


def cut_file(python: str, name: str) -> Outcome:
    """The file that holds the middle of the history lost its second half."""
    with tempfile.TemporaryDirectory() as directory:
        _write(python, name, directory)
        needle = b"#%d " % (MESSAGES // 2)
        holding = [path for path, content in _files(directory).items() if needle in content]
        largest = max(holding, key=lambda path: path.stat().st_size)
        os.truncate(largest, largest.stat().st_size // 2)
        return _outcome(python, name, directory)


def _write(python: str, name: str, directory: str) -> None:
    with Process(python, name, directory) as process:
        process.ask("plain", first=0, count=MESSAGES)


def _tear(before: dict[Path, bytes], after: dict[Path, bytes]) -> None:
    """Undo the second half of a write: of the file that grew most, or else of the one that changed most."""
    changes = {
        path: _changed_range(before.get(path, b""), content)
        for path, content in after.items()
        if before.get(path) != content and not path.name.endswith(_MEMORY_MAPS)
    }
    grown = {path: len(after[path]) - len(before.get(path, b"")) for path in changes}
    path = max(changes, key=lambda one: (grown[one], changes[one][1] - changes[one][0]))
    start, end = changes[path]
    middle = (start + end) // 2
    path.write_bytes(after[path][:middle] + before.get(path, b"")[middle:])


def _changed_range(before: bytes, after: bytes) -> tuple[int, int]:
    """The first byte that differs, and the end of the last one."""
    common = min(len(before), len(after))
    differing = [at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other]
    end = len(after) if len(after) > common else differing[-1] + 1
    return differing[0] if differing else common, end


def _outcome(python: str, name: str, directory: str) -> Outcome:
    expected = {number: message["content"] for number, message in enumerate(islice(plain(), MESSAGES))}
    try:
        texts, said = read_texts(python, name, directory)
    except StoreError as error:
        return Outcome(0, MESSAGES, 0, said=True, goes_on=False, error=str(error))
    given = dict(zip(_numbers(texts), texts, strict=True))
    present = expected.keys() & given.keys()
    later = MESSAGES + 10
    try:
        with Process(python, name, directory) as process:
            process.ask("plain", first=later, count=2)
        goes_on = {later, later + 1, *present} <= set(_numbers(read_texts(python, name, directory)[0]))
    except StoreError:
        goes_on = False
    changed = sum(given[number] != expected[number] for number in present)
    return Outcome(len(present), MESSAGES, changed, said=said, goes_on=goes_on)


def read_texts(python: str, name: str, directory: str) -> tuple[list[str], bool]:
    """The texts that a process of its own reads, and whether it was said that something is wrong."""
    with Process(python, name, directory) as process:
        told = process.ask("texts")
    return [text for text in told["texts"] if NUMBER.match(text)], bool(told["said"])


def _numbers(texts: list[str]) -> list[int]:
    return [int(found[1]) for found in map(NUMBER.match, texts) if found]


def _files(directory: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(Path(directory).rglob("*")) if path.is_file()}
