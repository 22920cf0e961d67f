"""Two homes and a place between them: sessions go on, are rewound, purged, deleted, named, archived and forked.

Syncs are cut at random places. Afterwards nothing is lost, nothing is doubled, and what was erased anywhere is gone
everywhere.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME
from tests.support.archives import content_of_log
from tests.support.kills import killed_before
from tests.support.sweeps import proof
from tests.support.two_homes import Home

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a sync runs in a forked child")


@dataclass(slots=True)
class Walk:
    """What was done in two homes and in the place between them, and what has to be true of them afterwards."""

    laptop: Home
    desktop: Home
    place: Path | str
    """A stick, or a database."""
    rng: random.Random
    said: dict[str, list[str]] = field(default_factory=dict)
    """The texts of each session."""
    erased: dict[str, set[str]] = field(default_factory=dict)
    """The texts of each session that were purged."""
    deleted: dict[str, set[str]] = field(default_factory=dict)
    """The texts of the sessions that were deleted; one that has others went on, or is another one."""
    gone: set[str] = field(default_factory=set)
    """The texts that were erased in a session that a sync made of one of two histories; nothing else had them."""
    told: list[str] = field(default_factory=list)
    """The steps, for whoever looks for the reason of a failure."""
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def homes(self) -> tuple[Home, Home]:
        return self.laptop, self.desktop

    def step(self) -> None:
        """Do something at random."""
        steps: list[tuple[Callable[[Home], None], int]] = [
            (self.say, 6),
            (self.sync, 8),
            (self.purge, 2),
            (self.purge_there, 2),
            (self.delete, 1),
            (self.delete_there, 1),
            (self.archive, 1),
            (self.fork, 1),
            (self.rewind, 3),
            (self.rename, 1),
        ]
        home = self.rng.choice(self.homes)
        (chosen,) = self.rng.choices([step for step, _ in steps], [weight for _, weight in steps])
        self.told.append(f"{chosen.__name__} {home.root.name}")
        chosen(home)

    def say(self, home: Home) -> None:
        session = self.rng.choice([f"{home.root.name}-{self.rng.randint(1, 2)}", *home.sessions()])
        text = f"secret-{next(self.numbers):04}-{home.root.name}"
        self.told[-1] += f" {session}: {text}"
        home.says(session, text)
        self.said.setdefault(session, []).append(text)

    def sync(self, home: Home) -> None:
        keep = ("--keep", "both") if self.rng.random() < 0.4 else ()
        calls = self.rng.choice((self.rng.randint(1, 60), 10_000))
        self.told[-1] += f" {keep} killed before {calls}"
        killed_before(calls, lambda: home.run("sync", self.place, "--all", "--yes", *keep, code=None))

    def purge(self, home: Home) -> None:
        if known := home.sessions():
            self._purge(home, self.rng.choice(known), None)

    def purge_there(self, home: Home) -> None:
        if known := self.sessions_there(home):
            session = self.rng.choice(sorted(known))
            self._purge(home, session, known[session])

    def _purge(self, home: Home, session: str, there: str | None) -> None:
        log = there or str(home.log(session))
        texts = [text for text in self.texts_in(home, log) if "secret-" in text]
        if not texts:
            return
        text = self.rng.choice(texts)
        self.told[-1] += f" {session}: {text} {'there' if there else ''}"
        home.run("purge", there or session, "--redact", text, "--yes", code=None)
        if text not in self.texts_in(home, log):
            self.erased.setdefault(session, set()).add(text)
            self.gone |= {text} if is_kept_history(session) else set()

    def delete(self, home: Home) -> None:
        if known := home.sessions():
            session = self.rng.choice(known)
            self.told[-1] += f" {session}"
            texts = self.texts_in(home, str(home.log(session)))
            home.run("delete", session, "--yes", "--host-files", code=None)
            if session not in home.sessions():
                self._is_deleted(session, texts)

    def delete_there(self, home: Home) -> None:
        if known := self.sessions_there(home):
            session = self.rng.choice(sorted(known))
            self.told[-1] += f" {session}"
            texts = self.texts_in(home, known[session])
            home.run("delete", known[session], "--yes", "--host-files", code=None)
            if session not in self.sessions_there(home):
                self._is_deleted(session, texts)

    def _is_deleted(self, session: str, texts: list[str]) -> None:
        self.deleted.setdefault(session, set()).update(texts)
        self.gone |= set(texts) if is_kept_history(session) else set()

    def archive(self, home: Home) -> None:
        if known := home.sessions():
            session = self.rng.choice(known)
            more = ("--undo",) if self.rng.random() < 0.3 else ()
            self.told[-1] += f" {session} {more}"
            home.run("archive", session, *more, "--yes", code=None)

    def fork(self, home: Home) -> None:
        if known := home.sessions():
            session = self.rng.choice(known)
            fork = f"fork-{next(self.numbers)}"
            self.told[-1] += f" {session} {fork}"
            home.run("fork", session, "--session", fork, code=None)

    def sessions_there(self, home: Home) -> dict[str, str]:
        """The logs in the place between, by their sessions."""
        if isinstance(self.place, Path):
            return {path.parent.name: str(path) for path in self.place.rglob(LOG_NAME)}
        listed = home.run("list", "--storage", self.place, "--all", "--json", code=None).stdout
        return {one["session"]: one["path"] for one in json.loads(listed)["sessions"]}

    def rewind(self, home: Home) -> None:
        if known := home.sessions():
            session, turn = self.rng.choice(known), self.rng.randint(1, 3)
            self.told[-1] += f" {session} to {turn}"
            home.run("rewind", session, "--to", turn, "--yes", code=None)

    def rename(self, home: Home) -> None:
        if known := home.sessions():
            session = self.rng.choice(known)
            self.told[-1] += f" {session}"
            home.run("rename", session, f"name {next(self.numbers)}")

    def texts_in(self, home: Home, log: str) -> list[str]:
        """What a person said in a session, also what a rewind has hidden."""
        if not isinstance(self.place, Path) and log.startswith(self.place):
            copy = home.root / "copy.jsonl"
            copy.unlink(missing_ok=True)
            home.run("copy", log, copy, "--again", code=None)  # of a log that is gone by now there is no copy
            log = str(copy)
        if not os.path.exists(log):
            return []
        records = map(json.loads, content_of_log(log).splitlines())
        return [str(one["content"]) for one in records if one.get("role") == "user"]


def is_kept_history(session: str) -> bool:
    """Whether `sync --keep both` made this session."""
    return len(session) == 36


def finish(walk: Walk) -> None:
    """Sync until both homes and the place are in step."""
    for _ in range(4):
        for home in walk.homes:
            done = home.run("sync", walk.place, "--all", "--yes", "--keep", "both", code=None)
            walk.told.append(f"last {home.root.name}: {done.output}")


def check(walk: Walk) -> None:
    story = "\n".join(walk.told)
    everywhere = {
        home.root.name: {one: walk.texts_in(home, str(home.log(one))) for one in home.sessions()} for home in walk.homes
    }
    everywhere["place"] = {
        one: walk.texts_in(walk.laptop, log) for one, log in walk.sessions_there(walk.laptop).items()
    }
    for name, sessions in everywhere.items():
        for session, texts in sessions.items():
            kept = [text for text in texts if text.startswith("secret-")]
            assert len(set(kept)) == len(kept), f"doubled in {name} {session}\n{story}"
            back = walk.erased.get(session, set()) & set(texts)
            assert not back, f"came back in {name} {session}: {back}\n{story}"
        there = {text for texts in sessions.values() for text in texts}
        for session, said in walk.said.items():
            wanted = set(said) - walk.erased.get(session, set()) - walk.gone
            if session not in walk.deleted:
                assert wanted <= there, f"lost in {name} {session}: {wanted - there}\n{story}"
        for session, gone in walk.deleted.items():
            is_other = set(walk.said.get(session, ())) - gone
            assert is_other or session not in sessions, f"deleted, is in {name}: {session}\n{story}"
    agreed = [
        {one: texts for one, texts in sessions.items() if one not in walk.deleted} for sessions in everywhere.values()
    ]
    assert agreed[0] == agreed[1] == agreed[2], story


def walked(laptop: Home, desktop: Home, place: Path | str, *, steps: int, seed: int) -> None:
    walk = Walk(laptop, desktop, place, random.Random(seed))
    for _ in range(steps):
        walk.step()
    finish(walk)
    check(walk)


@proof
@pytest.mark.parametrize("seed", range(3))
def test_a_walk_over_a_stick(laptop: Home, desktop: Home, stick: Path, seed: int) -> None:
    walked(laptop, desktop, stick, steps=30, seed=seed)


@proof
def test_a_walk_over_a_database(laptop: Home, desktop: Home, storage: str) -> None:
    walked(laptop, desktop, storage, steps=20, seed=1)
