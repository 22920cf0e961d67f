"""Writers killed with SIGKILL at random moments: what they acknowledged is there, once and in order (I1)."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

from amplifier_module_context_persistent.log.bundle import HEAD
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Damage
from tests.support.logs import append, assert_sound, content_of, number_of, saved_tails
from tests.support.places import ROOT
from tests.support.sweeps import proof, whole

KILLS = "60" if whole() else "30"
"""In each of five runs."""


def kill_writers(path: Path, *options: str) -> "subprocess.Popen[bytes]":
    """Begin a run of kills; several run at once, since each mostly waits."""
    command = [sys.executable, "-m", "tests.support.writer", str(path), "--kills", KILLS, *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


def noted(run: "subprocess.Popen[bytes]") -> list[dict[str, list[int]]]:
    """What each killed writer of a run began and acknowledged."""
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 0
    return [json.loads(line) for line in output.splitlines()]


def read(path: Path) -> tuple[list[int], list[Damage]]:
    """What a new process reads; then one more append must work."""
    log = FileLog(path)
    log.follow()
    stored = [number_of(message) for message in log.read(log.index.live)]
    found = list(log.index.damage)
    append(log, 999)
    assert_sound(str(path))
    return stored, found


@proof
def test_acknowledged_messages_survive_every_kill(tmp_path: Path) -> None:
    """All that was acknowledged is there once, in each writer's order, and the chain is sound."""
    runs = {}
    for seed, writers in ((1, 1), (2, 1), (3, 2), (4, 3)):
        path = tmp_path / f"{seed}.jsonl"
        runs[path] = kill_writers(path, "--seed", str(seed), "--writers", str(writers))
    for path, run in runs.items():
        killed = noted(run)
        stored, found = read(path)
        assert found == []
        assert len(set(stored)) == len(stored)
        for one in killed:
            here = [number for number in stored if number in one["begun"]]
            assert set(one["acknowledged"]) <= set(here)
            assert here == one["begun"][: len(here)]
        assert {number for one in killed for number in one["begun"]} >= set(stored)
        acknowledged = sum(len(one["acknowledged"]) for one in killed)
        assert acknowledged > 0
        print(f"kills: {len(killed)}, acknowledged: {acknowledged}, torn tails: {len(saved_tails(str(path)))}, lost: 0")


@proof
def test_resets_survive_kills_whole_or_not_at_all(tmp_path: Path) -> None:
    """A killed reset either is in force with all it brings, or never was; an acknowledged one is in force."""
    path = tmp_path / "log.jsonl"
    killed = noted(kill_writers(path, "--seed", "5", "--kind", "resets"))
    stored, found = read(path)
    assert found == []
    assert len(stored) == 2
    assert stored[0] == stored[1]
    assert stored[0] >= max(number for one in killed for number in one["acknowledged"])
    acknowledged = sum(len(one["acknowledged"]) for one in killed)
    print(f"kills: {len(killed)}, acknowledged resets: {acknowledged}, lost: 0")


@proof
def test_messages_of_one_append_survive_kills_together_or_not_at_all(tmp_path: Path) -> None:
    """Of what was interrupted nothing is half there; all that was acknowledged is there, once."""
    path = tmp_path / "log.jsonl"
    killed = noted(kill_writers(path, "--seed", "6", "--writers", "2", "--kind", "lists"))
    with closing(FileLog(path)) as log:
        log.follow()
        texts = [message["content"].split()[1:4] for message in log.read(log.index.live)]
    found = Counter(int(number) // 10 * 10 for number, _, _ in texts)
    promised = {int(number) // 10 * 10: int(count) for number, _, count in texts}
    assert found == promised
    acknowledged = {number for one in killed for number in one["acknowledged"]}
    assert acknowledged <= found.keys()
    stored, damage = read(path)
    assert len(stored) == len(set(stored))
    assert damage == []
    tails = [content_of(name) for name in saved_tails(str(path))]
    print(
        f"kills: {len(killed)}, acknowledged: {len(acknowledged)}, cut bundles: {sum(HEAD in tail for tail in tails)}"
    )
