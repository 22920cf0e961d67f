"""Syncs that are killed before any call that changes a file, and then run once more: nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.maintenance.note_beside_log import NOTE_SUFFIX
from tests.support.kills import killed_before
from tests.support.sweeps import proof
from tests.support.two_homes import Home, files_below, holders

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the operation runs in a forked child")

KEY = "sk-leaked-0123456789"


class Scene:
    """Two homes and a stick, which can be put back to how they were."""

    def __init__(self, root: Path) -> None:
        self.laptop, self.desktop = Home(root / "laptop", "name"), Home(root / "desktop", "work/name")
        self.stick, self._kept = root / "stick", root / "kept"
        self.stick.mkdir()
        self.roots = (self.laptop.root, self.desktop.root, self.stick)

    def carry(self, *homes: Home) -> None:
        for home in homes:
            home.run("sync", self.stick, "--yes", code=None)

    def restore(self) -> None:
        """Put all back to how it was when this was first called."""
        if not self._kept.exists():
            for root in self.roots:
                shutil.copytree(root, self._kept / root.name)
        for root in self.roots:
            shutil.rmtree(root)
            shutil.copytree(self._kept / root.name, root)

    def logs(self) -> dict[str, bytes]:
        """All logs, by their places."""
        return {
            f"{root.name}/{path.relative_to(root)}": path.read_bytes() for root in self.roots for path in logs(root)
        }

    def unfinished(self) -> list[str]:
        """The files that only an interrupted operation leaves."""
        files = [(name, content) for root in self.roots for name, content in files_below(root).items()]
        return [name for name, content in files if is_unfinished(name, content)]


def logs(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob(LOG_NAME) if path.is_file())


def is_unfinished(name: str, content: bytes) -> bool:
    if name.endswith(NOTE_SUFFIX):
        return bool(json.loads(content).get("begun"))
    return name.endswith((".part", ".open")) or ".purging" in name


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def each(operation: Callable[[], Any], prepare: Callable[[], None], step: int = 4) -> Iterator[int]:
    """Kill an operation before every so many of its calls in turn, each time after `prepare`."""
    number = 1
    prepare()
    while killed_before(number, operation):
        yield number
        number += step
        prepare()


def copies(scene: Scene) -> tuple[str, ...]:
    """A session that is new here, one that is new there, and one that went on."""
    for session in ("talk", "other"):
        scene.laptop.says(session, "one")
    scene.carry(scene.laptop, scene.desktop)
    scene.desktop.says("talk", "two")
    scene.desktop.says("new", "three")
    scene.laptop.says("made", "four")
    scene.laptop.says("other", "five")
    scene.carry(scene.laptop)
    return ()


def both(scene: Scene) -> tuple[str, ...]:
    """A session that went on on both sides, and is kept twice."""
    scene.laptop.says("talk", "one")
    scene.carry(scene.laptop, scene.desktop)
    scene.laptop.says("talk", "from the laptop")
    scene.desktop.says("talk", "from the desktop")
    scene.carry(scene.laptop)
    return ("--keep", "both")


def purged(scene: Scene) -> tuple[str, ...]:
    """A session of which a text was purged, one of which messages were, and one that was deleted."""
    for session in ("talk", "other", "gone"):
        scene.laptop.says(session, "one", f"my key is {KEY}")
    scene.carry(scene.laptop, scene.desktop)
    scene.laptop.run("purge", "talk", "--redact", KEY, "--yes")
    scene.laptop.run("rewind", "other", "--to", "1", "--yes")
    scene.laptop.run("purge", "other", "--cleared", "--yes")
    scene.laptop.run("delete", "gone", "--yes", "--host-files")
    scene.carry(scene.laptop)
    return ()


def archived(scene: Scene) -> tuple[str, ...]:
    """An archived session that is new here, and an archived copy whose session went on elsewhere."""
    scene.laptop.says("other", "one", "word " * 5_000)
    scene.laptop.run("archive", "other", "--yes")
    scene.carry(scene.laptop, scene.desktop)
    scene.laptop.says("other", "two")
    scene.laptop.says("talk", "one", "word " * 5_000)
    scene.laptop.run("archive", "talk", "--yes")
    scene.carry(scene.laptop)
    return ()


@proof
@pytest.mark.parametrize("made", [copies, both, purged, archived], ids=["copies", "both", "purged", "archived"])
def test_a_sync_that_was_killed_is_finished_by_a_second_one(
    scene: Scene, made: Callable[[Scene], tuple[str, ...]]
) -> None:
    """Afterwards all logs are as after a sync that was never interrupted, and nothing is begun."""
    more = made(scene)
    scene.restore()
    desktop = scene.desktop
    operation = lambda: desktop.run("sync", scene.stick, "--yes", *more, code=None)  # noqa: E731
    operation()
    wanted = what_is_said(scene)
    count = 0
    for count in each(operation, scene.restore):
        assert operation().exit_code == 0, count
        assert what_is_said(scene) == wanted, f"killed before call {count}"
        assert scene.unfinished() == [], count
        on_stick = {path.parent.name: path.read_bytes() for path in logs(scene.stick)}
        assert on_stick == {path.parent.name: path.read_bytes() for path in logs(desktop.root)}, count
        if made is purged:
            assert holders(desktop.root, KEY) == holders(scene.stick, KEY) == [], count
        if made is archived:  # only the session that is plain has the host's second copy of the messages
            assert [path.parent.name for path in desktop.root.rglob("transcript.jsonl")] == ["other"], count
    assert count > 10


def what_is_said(scene: Scene) -> dict[str, list[str]]:
    """The messages of each session of the desktop."""
    return {session: scene.desktop.texts(session) for session in scene.desktop.sessions()}


def grow(home: Home, rng: random.Random, said: dict[str, list[str]]) -> None:
    """A turn in one of the sessions, or in a new one."""
    session = rng.choice([f"{home.root.name}-{rng.randint(1, 4)}", *home.sessions()])
    text = f"{home.root.name} {rng.random()}"
    home.says(session, text)
    said.setdefault(text, []).append(session)


def many_syncs(scene: Scene, syncs: int, seed: int) -> None:
    """Two homes in which several sessions go on, and syncs that are cut; no turn is lost or told twice in a session."""
    rng, said = random.Random(seed), dict[str, list[str]]()
    for _ in range(syncs):
        home = rng.choice((scene.laptop, scene.desktop))
        for _ in range(rng.choice((0, 1, 1, 2))):
            grow(home, rng, said)
        more = ("--keep", "both") if rng.random() < 0.3 else ()
        killed_before(rng.randint(1, 60), lambda home=home, more=more: home.run("sync", scene.stick, *more, code=None))
    for _ in range(3):  # a fork may have to be finished before the other home can know it
        for home in (scene.laptop, scene.desktop):
            home.run("sync", scene.stick, "--keep", "both", code=None)
    everything = {text for home in (scene.laptop, scene.desktop) for one in home.sessions() for text in home.texts(one)}
    assert everything == set(said)
    for home in (scene.laptop, scene.desktop):
        assert "Nothing is new" in home.run("sync", scene.stick).output
        assert all(len(set(home.texts(one))) == len(home.texts(one)) for one in home.sessions())
        home.run("verify", "--all")
    assert {path.parent.name: path.read_bytes() for path in logs(scene.laptop.root)} == {
        path.parent.name: path.read_bytes() for path in logs(scene.desktop.root)
    }


@proof
@pytest.mark.parametrize("seed", range(2))
def test_two_homes_that_go_on_and_sync_with_cuts_lose_nothing(scene: Scene, seed: int) -> None:
    many_syncs(scene, 12, seed)
