"""After a purge no file of a project holds a trace of what was removed, whoever used its catalogue meanwhile."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.catalogue.blocks_that_may_match import asked_of, find_blocks
from amplifier_module_context_persistent.catalogue.catalogue_file import Catalogue
from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.catalogue.log_coverage import WORDS, covered_by_path
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.search.pattern import regex_pattern
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.catalogue_faults import Project, answer, any_size, ended, in_child
from tests.support.logs import STAMP, append_bodies, body, sealed
from tests.support.sweeps import proof

KEY = "þæðßøħŋłđŧœþßðæ"
"""No other text has any run of three of these letters; six bytes each, so none stands in a file by chance."""
_RUNS = [KEY[at : at + 3] for at in range(len(KEY) - 2)]
TRIGRAMS = {*_RUNS, *(run.casefold() for run in _RUNS)}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    before = os.getcwd()
    monkeypatch.setenv("HOME", str(tmp_path))
    with any_size():
        made = Project(tmp_path, random.Random(1))
        for name in ("one", "two"):
            made.path(name).write_bytes(b"".join(sealed([*map(body, range(60))])))
        yield made
    os.chdir(before)


def traces(project: Project) -> list[str]:
    """The files that hold one of the trigrams."""
    files = (path for path in project.root.rglob("*") if path.is_file())
    return [path.name for path in files if any(one.encode() in path.read_bytes() for one in TRIGRAMS)]


def logs_with_key(project: Project) -> set[str]:
    """The sessions that the words of the catalogue do not rule out."""
    with Catalogue(project.catalogue).reading() as connection:
        found = find_blocks(connection, asked_of(regex_pattern(KEY)), covered_by_path(connection, WORDS))
    assert not found.damaged
    return {Path(name).parent.name for name in found.ranges}


def searching(stop: Path) -> None:
    while not stop.exists():
        answer("search", "needle")


@proof(quick=1)
@pytest.mark.parametrize("what", ["everything", "redact"])
def test_no_byte_of_any_file_holds_a_trigram_of_what_was_purged(project: Project, what: str) -> None:
    """Beside two sessions that go on and a search that runs all the while."""
    path, stop = str(project.path("one")), project.root.parent / "stop"
    with (
        closing(FileLog(path, snapshots=CatalogueSnapshots(0))) as one,
        closing(FileLog(str(project.path("two")), snapshots=CatalogueSnapshots(0))) as two,
    ):
        append_bodies(one, *(body(number, text=f" {KEY} a needle") for number in range(2_000, 2_040)))
        answer("search", "needle")
        assert logs_with_key(project) == {"one"}
        assert len(traces(project)) == 1
        child = in_child(lambda: searching(stop))
        purge = Purge(everything=True) if what == "everything" else Purge(redact=lambda text: text.replace(KEY, "gone"))
        purge_log(path, purge, now=lambda: STAMP)
        for number in range(5):
            append_bodies(one, body(3_000 + number, text=" a needle"))
            append_bodies(two, body(3_000 + number, text=" a needle"))
        stop.touch()
        assert ended(child) == ""
    answer("search", "needle")
    assert traces(project) == []
    assert logs_with_key(project) == set()
    assert project.catalogue.exists()
