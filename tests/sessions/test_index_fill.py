"""Several processes that fill one ranked index: they share the work, and none waits for one that was killed."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue.catalogue_file import Catalogue, catalogue_of, switched_off
from amplifier_module_context_persistent.catalogue.log_coverage import Stamp, name_of
from amplifier_module_context_persistent.catalogue.ranked_fill import FillTarget, RankedFill, lacking
from amplifier_module_context_persistent.catalogue.ranked_words import KnownWords, known_words
from amplifier_module_context_persistent.log.archive_log import archive_log
from amplifier_module_context_persistent.log.database_location import stored_name
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.search import ranked_segment
from amplifier_module_context_persistent.search.question import read_question
from amplifier_module_context_persistent.sessions import index_fill, indexed_log
from amplifier_module_context_persistent.sessions.all_sessions_index import Progress, RankedSearch
from amplifier_module_context_persistent.sessions.session_files import SessionFile, session_files
from tests.support.commands import run
from tests.support.ranked import NOW
from tests.support.sessions_of_a_home import log_of, write

NAMES = ("a", "b", "c", "d")
Found = list[tuple[str, int, float]]


@pytest.fixture(autouse=True)
def segments(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Segments of one batch each; gives the number of messages of each that was made."""
    made: list[int] = []
    monkeypatch.setattr(ranked_segment, "MOST_MESSAGES", 20)
    pack = ranked_segment.SegmentBuilder.segment

    def counted(builder: ranked_segment.SegmentBuilder) -> ranked_segment.Segment:
        made.append(len(builder))
        return pack(builder)

    monkeypatch.setattr(ranked_segment.SegmentBuilder, "segment", counted)
    return made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose logs were opened to be indexed, in order."""
    names: list[str] = []
    original = indexed_log.open_reader

    def open_reader(path: str, **options: Any) -> Any:
        names.append(Path(stored_name(path) or os.path.dirname(path)).name)
        return original(path, **options)

    monkeypatch.setattr(indexed_log, "open_reader", open_reader)
    return names


def write_log(name: str, messages: int) -> None:
    choose = random.Random(name)
    write(log_of(name), [{"role": "user", "content": " ".join(choose.choices(NAMES, k=9))} for _ in range(messages)])


def found(search: RankedSearch) -> Found:
    answer = search.ask(read_question("a and c", now=NOW), most=30)
    assert answer.indexed == answer.sessions
    return [(one.session.id, one.offset, round(one.ranked.score, 9)) for one in answer.found]


def without_catalogue() -> Found:
    with switched_off():
        return found(RankedSearch(session_files()))


def words(name: str) -> KnownWords:
    with Catalogue(catalogue_of(log_of(name))).reading() as connection:
        return known_words(connection)[name_of(log_of(name))]


def once(call: Callable[[], Any]) -> Progress:
    """A progress that calls a function the first time."""
    calls = [call]

    def tell(_done: int, _total: int) -> None:
        if calls:
            calls.pop()()

    return tell


def fill_a_part(sessions: list[SessionFile], segments: int) -> None:
    """Index as another process that ends after some segments."""
    told: list[int] = []
    search = RankedSearch(
        sessions, progress=lambda done, _: told.append(done), may_go_on=lambda: len(told) < segments + 1
    )
    search.update_index()


def test_what_another_process_indexed_meanwhile_is_not_indexed_again(segments: list[int]) -> None:
    """But for the log at which both were."""
    for name in NAMES:
        write_log(name, 30)
    expected = without_catalogue()
    segments.clear()
    other = RankedSearch(session_files())
    assert found(RankedSearch(session_files(), progress=once(other.update_index))) == expected
    assert len(segments) == len(NAMES) + 1


def test_two_processes_share_the_work(opened: list[str]) -> None:
    """The one that comes second begins with the oldest log."""
    for age, name in enumerate(NAMES):
        write_log(name, 30)
        os.utime(log_of(name), (2_000_000_000 - age, 2_000_000_000 - age))
    search = RankedSearch(session_files(), progress=once(lambda: fill_a_part(session_files(), 1)))
    search.update_index()
    newest, *others = NAMES
    assert opened == [newest, newest, *reversed(others)]
    assert found(search) == without_catalogue()


def test_a_long_log_is_left_to_the_process_that_is_at_it(segments: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its progress is waited for."""
    write_log("long", 300)
    expected = without_catalogue()
    segments.clear()
    monkeypatch.setattr(index_fill.time, "sleep", lambda _: fill_a_part(session_files(), 1))
    search = RankedSearch(session_files(), progress=once(lambda: fill_a_part(session_files(), 1)))
    assert found(search) == expected
    assert len(segments) == len(words("long").words.segments) + 1
    assert words("long").covered.is_whole_of(log_of("long"))


@pytest.mark.parametrize("share", [1, 2])
def test_a_process_that_was_killed_holds_nobody_up(
    share: int, segments: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it left is indexed soon after, and stored."""
    write_log("long", 300)
    write_log("short", 30)
    expected = without_catalogue()
    segments.clear()
    monkeypatch.setattr(index_fill, "PATIENCE_S", 0.1)
    search = RankedSearch(session_files(), progress=once(lambda: fill_a_part(session_files(), share)))
    assert found(search) == expected
    for name in ("long", "short"):
        assert words(name).covered.is_whole_of(log_of(name))
    assert len(segments) <= 8


def test_a_segment_that_could_not_be_stored_is_stored_with_the_next() -> None:
    """Another process was writing just then."""
    write_log("long", 300)
    path = log_of("long")
    target = FillTarget(Catalogue(catalogue_of(path), wait_s=0), name_of(path), path)
    fill = RankedFill(target, None, None)
    with closing(LogReader(path)) as reader:
        reader.follow()
        first, second, *rest = list(lacking(reader, 0, Stamp.of(reader.file.status())))
    fill.take(first)
    with closing(sqlite3.connect(target.catalogue.path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        fill.take(second)
        assert len(fill.memory_segments) == 1
    for batch in rest:
        fill.take(batch)
    fill.finish()
    assert not fill.memory_segments
    assert words("long").covered.is_whole_of(path)


def test_a_database_is_filled_once(storage: str, opened: list[str], segments: list[int]) -> None:
    """By two processes together; neither keeps anything in memory."""
    for name in NAMES:
        write_log(name, 30)
        run("copy", name, storage)
    other = RankedSearch(session_files(storage=storage))
    search = RankedSearch(session_files(storage=storage), progress=once(other.update_index))
    assert found(search) == found(RankedSearch(session_files(storage=storage)))
    assert sorted(opened) in (sorted([*NAMES, name]) for name in NAMES)
    assert not segments


def test_the_progress_of_archived_logs_is_in_bytes_of_the_logs() -> None:
    """It never exceeds its total, which is what the logs have."""
    sizes = []
    for name in ("one", "two"):
        write_log(name, 200)
        log_of(name).chmod(0o600)
        sizes.append(log_of(name).stat().st_size)
    archive_log(str(log_of("one")))
    told: list[tuple[int, int]] = []
    found(RankedSearch(session_files(), progress=lambda done, total: told.append((done, total))))
    assert {total for _, total in told} == {sum(sizes)}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == sum(sizes)
