"""Writers killed with SIGKILL at random moments: what they acknowledged is there, once and in order (I1)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.index import Damage
from tests.support.logs import append, assert_sound, number_of, saved_tails
from tests.support.places import ROOT


def kill_writers(path: str, *options: str) -> list[dict[str, list[int]]]:
    command = [sys.executable, "-m", "tests.support.writer", path, *options]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=300)
    return [json.loads(line) for line in run.stdout.splitlines()]


def read(path: str) -> tuple[list[int], list[Damage]]:
    """What a new process reads; then one more append must work."""
    log = FileLog(path)
    log.follow()
    stored = [number_of(message) for message in log.read(log.index.live)]
    found = list(log.index.damage)
    append(log, 999)
    assert_sound(path)
    return stored, found


def of_writer(numbers: list[int], begun: list[int]) -> list[int]:
    own = set(begun)
    return [number for number in numbers if number in own]


@pytest.mark.parametrize(("seed", "writers"), [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_acknowledged_messages_survive_every_kill(tmp_path: Path, seed: int, writers: int) -> None:
    """After sixty kills all that was acknowledged is there once, in each writer's order, and the chain is sound."""
    path = str(tmp_path / "log.jsonl")
    killed = kill_writers(path, "--kills", "60", "--seed", str(seed), "--writers", str(writers))
    stored, found = read(path)
    assert found == []
    assert len(set(stored)) == len(stored)
    lost = 0
    for one in killed:
        here = of_writer(stored, one["begun"])
        lost += len(set(one["acknowledged"]) - set(here))
        assert here == one["begun"][: len(here)]
    assert lost == 0
    assert {number for one in killed for number in one["begun"]} >= set(stored)
    acknowledged = sum(len(one["acknowledged"]) for one in killed)
    assert acknowledged > 0
    print(f"kills: {len(killed)}, acknowledged: {acknowledged}, torn tails: {len(saved_tails(path))}, lost: {lost}")


def test_resets_survive_kills_whole_or_not_at_all(tmp_path: Path) -> None:
    """A killed reset either is in force with all it brings, or never was; an acknowledged one is in force."""
    path = str(tmp_path / "log.jsonl")
    killed = kill_writers(path, "--kills", "60", "--seed", "5", "--kind", "resets")
    stored, found = read(path)
    assert found == []
    assert len(stored) == 2
    assert stored[0] == stored[1]
    assert stored[0] >= max(number for one in killed for number in one["acknowledged"])
    acknowledged = sum(len(one["acknowledged"]) for one in killed)
    print(f"kills: {len(killed)}, acknowledged resets: {acknowledged}, lost: 0")
