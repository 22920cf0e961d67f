"""A search with the catalogue finds what one without it finds, whatever happened to the logs and to the catalogue."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.blocks_that_may_match import Block, find_blocks
from amplifier_module_context_persistent.catalogue.catalogue_file import Catalogue, catalogue_of
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.search.pattern import regex_pattern
from amplifier_module_context_persistent.sessions import pattern_in_projects
from amplifier_module_context_persistent.sessions.pattern_in_projects import ProjectSearch
from amplifier_module_context_persistent.sessions.session_files import session_files
from amplifier_module_context_persistent.sessions.transcript import Transcript
from tests.support.commands import run
from tests.support.messages import fill
from tests.support.sessions_of_a_home import log_of, start, write
from tests.support.sweeps import proof

WORDS = [f"{a}{b}" for a in ("alpha", "beta", "gamma", "delta") for b in ("", "_one", "_two", "Three")]
EMPTY_BYTES = 150_000
"""A catalogue with nothing in it: its tables, a page each."""
QUERIES = [
    "needle|pin",
    "(?i)PIN cushion",
    r"^\w+ needle$",
    "needle",
    "検索",
    'path: "quoted"',
    "ab",
]


def messages(seed: int, *more: str, count: int = 60) -> list[dict[str, object]]:
    """Messages of random words, and some more."""
    choose = random.Random(seed)
    said: list[dict[str, object]] = [
        {"role": "user", "content": " ".join(choose.choices(WORDS, k=60))} for _ in range(count)
    ]
    for place, text in enumerate(more, 1):
        said.insert(place * 7, {"role": "user", "content": text})
    call = {"id": f"c{seed}", "tool": "grep", "arguments": {"path": '"quoted"', "text": f"pin {seed}"}}
    return [*said, {"role": "assistant", "content": "", "tool_calls": [call]}]


@pytest.fixture(autouse=True)
def catalogue(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with sessions, and small blocks; gives where its catalogue lies. In the end searches are right."""
    monkeypatch.setattr(pattern_in_projects, "LEAST_BYTES", 0)
    monkeypatch.setattr(pattern_in_projects, "BLOCK_BYTES", 4_000)
    monkeypatch.setattr(pattern_in_projects, "SETTLED_S", -60)
    write(log_of("one"), messages(1, "a needle here"))
    write(log_of("two"), messages(2, "this is a PIN CUSHION", "全文検索する"))
    write(log_of("none"), messages(3))
    for number in range(6):
        write(log_of(f"small-{number}"), messages(10 + number, "the needle" * (number == 4), count=3))
    yield catalogue_of(log_of("one"))
    check_same()


def searched(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of a search."""
    done = run("search", *arguments, "--json", code=None)
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, done.stdout


def check_same(queries: Iterable[str] = QUERIES[:3]) -> None:
    """Each query finds the same with the catalogue and without it."""
    for query in queries:
        assert searched(query) == searched(query, "--no-catalogue"), query


def opened_for(query: str) -> set[str]:
    """The sessions whose logs a search would open."""
    files = session_files()
    search = ProjectSearch(files, regex_pattern(query))
    return {session.id for session in files if not search.rules_out(session)}


@proof
def test_logs_that_cannot_match_are_not_opened(catalogue: Path) -> None:
    """The first search writes the catalogue, the next ones use it."""
    everything = {session.id for session in session_files()}
    assert opened_for("zebra") == everything
    searched("zebra")
    assert catalogue.exists()
    assert opened_for("zebra") == set()
    assert opened_for("a needle here") == {"one"}
    assert "none" not in opened_for("needle|CUSHION")
    assert opened_for("全文検") == {"two"}
    assert opened_for("検索") == everything
    assert opened_for("a.") == everything
    check_same(QUERIES)


def test_only_what_may_match_is_read_of_a_log() -> None:
    """The blocks that hold the words."""
    searched("zebra")
    (session,) = (one for one in session_files() if one.id == "one")
    search = ProjectSearch(session_files(), regex_pattern("a needle here"))
    with Transcript(session.path) as transcript:
        positions = search.positions(session, transcript.reader)
        assert 7 in positions
        assert len(positions) < len(transcript) / 2


@proof
async def test_what_was_appended_is_found() -> None:
    """At once, and the catalogue grows by it."""
    searched("zebra")
    async with PersistentContextManager(log_of("none")) as manager:
        for number in range(3):
            await manager.add_message({"role": "user", "content": f"zebra {number}"})
            assert len(searched("zebra")[1].splitlines()) == number + 1
        await fill(manager, messages(5, "last needle"))
    assert '"none"' in searched("last needle")[1]
    assert opened_for("last needle") == {"none"}
    assert opened_for("a needle here") == {"one"}


async def test_what_a_clear_hid_is_not_found() -> None:
    """The catalogue offers it, the log decides."""
    searched("zebra")
    async with PersistentContextManager(log_of("one")) as manager:
        await manager.clear()
        await manager.add_message({"role": "user", "content": "a new needle"})
    assert [json.loads(line)["number"] for line in searched("a needle here|new needle")[1].splitlines()] == [1]


@proof
def test_a_log_that_was_edited_is_searched_whole() -> None:
    """Whether its size changed or not: its time of change did, or its chain is broken."""
    searched("zebra")
    log = log_of("none")
    content = log.read_bytes()
    at = content.index(b"alpha", len(content) // 2)
    log.write_bytes(content[:at] + b"zebra" + content[at + 5 :])
    assert '"none"' in searched("zebra")[1]
    log.write_bytes(content[:at] + b"zebras" + content[at + 5 :])
    assert '"none"' in searched("zebras")[1]


@proof
def test_plain_message_files_are_searched_too() -> None:
    """They have no chain: what changed is taken in anew."""
    log = log_of("plain")
    write(log, messages(8))
    log.write_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in messages(8, "plain needle")))
    searched("zebra")
    assert opened_for("plain needle") == {"plain"}
    log.write_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in messages(9, "an okapi")))
    assert '"plain"' in searched("okapi")[1]


@proof
def test_a_catalogue_that_cannot_be_read_is_made_anew(catalogue: Path) -> None:
    """Whatever stands in its place."""
    searched("zebra")
    content = catalogue.read_bytes()
    for damaged in (b"", b"x" * 5_000, content[:5_000], content[:100] + bytes(4_000) + content[4_100:]):
        catalogue.write_bytes(damaged)
        assert searched("needle") == searched("needle", "--no-catalogue")
        assert opened_for("zebra") == set()


@proof
def test_a_catalogue_that_is_cut_while_it_is_asked_rules_nothing_out(
    catalogue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite may take tables that are gone for empty ones, which hold no word."""
    searched("needle")
    cuts = 0

    def find(*arguments: Any) -> dict[str, list[tuple[int, int]]]:
        nonlocal cuts
        if catalogue.stat().st_size > 4096:
            cuts += 1
            os.truncate(catalogue, 4096)
            return {}
        return find_blocks(*arguments)

    monkeypatch.setattr(pattern_in_projects, "find_blocks", find)
    expected = searched("needle", "--no-catalogue")
    assert searched("needle") == expected
    assert cuts


@proof
def test_sessions_come_and_go(catalogue: Path) -> None:
    """Of a session that is gone or changed nothing is left."""
    searched("zebra")
    os.remove(log_of("two"))
    write(log_of("new"), messages(20, "new needle"))
    check_same()
    assert opened_for("new needle") == {"new"}
    for seed in range(30, 40):
        write(log_of("new"), messages(seed, "other needle"))
        searched("zebra")
    with Catalogue(catalogue).reading() as connection:
        assert "sessions/two/context-messages.jsonl" not in {
            path for (path,) in connection.execute("SELECT path FROM sessions")
        }
        ((kept,),) = connection.execute("SELECT count(*) FROM filters_0")
        ((told,),) = connection.execute("SELECT sum(blocks) FROM words")
    assert kept == told


@proof
def test_a_purge_takes_the_catalogue_along(catalogue: Path) -> None:
    """And the next one knows nothing of what was purged."""
    write(log_of("secret"), messages(40, "the codeword xylophone"))
    searched("zebra")
    assert opened_for("xylophone") == {"secret"}
    run("purge", "secret", "--redact", "xylophone", "--yes")
    assert not catalogue.exists()
    assert searched("xylophone") == (1, "")
    assert opened_for("xylophone") == set()


@proof
def test_a_long_log_is_taken_in_by_and_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """So much for one search; meanwhile the rest is read."""
    monkeypatch.setattr(pattern_in_projects, "RUN_BYTES", 20_000)
    write(log_of("long"), messages(50, "long needle", count=200))
    searches = 0
    while opened_for("zebra"):
        assert '"long"' in searched("long needle")[1]
        searches += 1
        assert searches < 20
    assert searches > 1
    assert opened_for("long needle") == {"long"}


@proof
def test_adding_takes_no_longer_than_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here that is the time for one block or two of all sessions; later searches go on until all are known."""
    monkeypatch.setattr(pattern_in_projects, "FILL_S", 4.0)
    ticks = count()
    monkeypatch.setattr(pattern_in_projects.time, "process_time", lambda: float(next(ticks)))
    left = [len(opened_for("zebra"))]
    while left[-1]:
        searched("zebra")
        left.append(len(opened_for("zebra")))
        assert len(left) < 50
    assert len(left) > 5


@proof
def test_random_text_does_not_make_the_catalogue_large(catalogue: Path) -> None:
    """Blocks that would take as much room as their text are not in it, and always read."""
    choose = random.Random(7)
    text = ["".join(choose.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=2_000)) for _ in range(60)]
    write(log_of("random"), [{"role": "user", "content": one} for one in [*text, "random needle"]])
    searched("zebra")
    assert "random" in opened_for("zebra")
    assert catalogue.stat().st_size < 0.5 * sum(map(len, text)) + EMPTY_BYTES


@proof
def test_what_was_read_before_a_purge_is_not_written_back(catalogue: Path) -> None:
    """A search that opened the log of before adds nothing of it."""
    write(log_of("secret"), messages(40, "the codeword xylophone"))
    files = session_files()
    search = ProjectSearch(files, regex_pattern("zebra"))
    (secret,) = (one for one in files if one.id == "secret")
    with Transcript(secret.path) as transcript:
        search.positions(secret, transcript.reader)
    blocks = pattern_in_projects._blocks

    def purged_meanwhile(reader: LogReader, start: int, most_bytes: int) -> Iterator[tuple[Block | None, int]]:
        for number, found in enumerate(blocks(reader, start, most_bytes)):
            if not number:
                run("purge", "secret", "--redact", "xylophone", "--yes")
            yield found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern_in_projects, "_blocks", purged_meanwhile)
        search.update()
    assert not catalogue.exists() or b"xyl" not in catalogue.read_bytes()


def test_one_log_is_searched_without_a_catalogue(catalogue: Path) -> None:
    """It has to be read anyway."""
    searched("needle", "one")
    searched("needle", "--last")
    searched("needle", "--no-catalogue")
    assert not catalogue.exists()


@proof
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are Unicode")
def test_a_session_whose_name_is_no_text_is_found(catalogue: Path) -> None:
    """The catalogue knows it like the others."""
    strange = log_of(os.fsdecode(b"odd-\xff"))
    write(strange, messages(70, "an odd needle"))
    check_same()
    assert catalogue.exists()
    assert opened_for("zebra") == set()


@proof
def test_several_processes_search_and_write_at_once(catalogue: Path) -> None:
    """Each finds what there is, and what is left is a catalogue."""
    write(log_of("more"), messages(80, "one more needle", count=1_000))
    assert log_of("more").stat().st_size > 1 << 18
    running = [start("search", "one more needle", "--json", stdout=subprocess.PIPE) for _ in range(2)]
    outputs = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0] * 2
    assert len(outputs) == 1
    assert [path.name for path in catalogue.parent.iterdir() if path.name != "sessions"] == [catalogue.name]
    searched("zebra")
    assert opened_for("zebra") == set()


def test_small_projects_have_none(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them takes no longer."""
    monkeypatch.setattr(pattern_in_projects, "LEAST_BYTES", 1 << 19)
    searched("zebra")
    assert not catalogue.exists()


def test_a_catalogue_that_cannot_be_written_is_done_without(catalogue: Path) -> None:
    """A directory is in its place."""
    catalogue.mkdir()
    searched("zebra")
    assert catalogue.is_dir()
