"""With the catalogue, `stats` says exactly what it says without."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.catalogue import compute_figures, kept_figures
from amplifier_module_context_persistent.catalogue.catalogue_file import (
    Catalogue,
    CatalogueError,
    catalogue_of,
    switched_off,
)
from amplifier_module_context_persistent.catalogue.kept_figures import Figures, figures_of
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.sessions.prices import PriceList
from amplifier_module_context_persistent.sessions.request_costs import bills_by_turn, cost_of
from amplifier_module_context_persistent.sessions.statistics import course_of, largest_turns, outline, statistics_of
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from tests.support.busy_logs import lines, steps
from tests.support.counters import DoubleCounter
from tests.support.logs import STAMP, sealed, write_file
from tests.support.sweeps import proof, some

COUNTER = EstimateCounter()
ANY_LOG = settings(max_examples=some(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logs are kept too, and a few rows at a time."""
    monkeypatch.setattr(kept_figures, "LEAST_LOG_BYTES", 0)
    monkeypatch.setattr(kept_figures, "ROWS_AT_ONCE", 7)


def all_figures(path: str, *, keeps: bool = True, counter: EstimateCounter = COUNTER) -> Any:
    """All that `stats` prints."""
    with closing(LogReader(path)) as reader:
        reader.follow()
        with nullcontext() if keeps else switched_off(), figures_of(reader, counter) as found:
            prices = PriceList()
            bills = bills_by_turn(found, prices)
            told = statistics_of(reader, found, tokenizer=counter.name).to_json()
            turns = [line.to_json() for line in largest_turns(found, bills, 1_000)]
            return told, cost_of(found, prices).to_json(), course_of(found), turns


@contextmanager
def opened(path: str, counter: EstimateCounter = COUNTER, **how: Any) -> Iterator[Figures]:
    """The figures of a log."""
    with closing(LogReader(path)) as reader:
        reader.follow()
        with figures_of(reader, counter, **how) as found:
            yield found


def some_log(path: str, seed: int = 1, count: int = 30) -> None:
    content, _ = lines(list(chain.from_iterable(steps(count, random.Random(seed)))), 0, random.Random(0), 0.0)
    write_file(path, content)


@proof
@ANY_LOG
@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 40), damage=st.sampled_from([0.0, 0.0, 0.1, 0.4]))
def test_kept_figures_are_those_of_the_log(tmp_path: Path, seed: int, count: int, damage: float) -> None:
    """Kept anywhere in any log, and followed by anything: resets that cut what was added up, damage, other records."""
    rng, path = random.Random(seed), str(tmp_path / f"{seed}.jsonl")
    parts, crc = [b""], 0
    for bodies in steps(count, rng):
        written, crc = lines(bodies, crc, rng, damage)
        parts.append(written)
    at = rng.randrange(len(parts) + 1)
    while True:
        write_file(path, b"".join(parts[:at]))
        assert all_figures(path) == all_figures(path, keeps=False)
        if at >= len(parts):
            break
        at = rng.randrange(at + 1, len(parts) + 1)
    os.remove(path)
    Catalogue(catalogue_of(path)).remove()


def test_what_is_kept_is_not_counted_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    some_log(path)
    expected = all_figures(path)

    def refuse(*_: object, **__: object) -> int:
        raise AssertionError("counted again")

    monkeypatch.setattr(compute_figures, "tokens_of", refuse)
    assert all_figures(path) == expected
    with pytest.raises(AssertionError, match="counted again"):
        all_figures(path, keeps=False)


def test_what_a_provider_wrote_to_compact_is_billed(path: str) -> None:
    """With the plan that it made, once, though a rewind writes the plan again; without a word of output, as none."""
    asked = encode_control("view", upto="id-0", provider="openai", model="gpt-5", id="v1", plan="", head="", hash="h")
    said = encode_message({"role": "user", "content": "hi"}, message_id="id-0", timestamp=STAMP)
    bills = []
    for usage in ({"input_tokens": 900, "output_tokens": 70}, {"input_tokens": 900}):
        native = {"provider": "openai", "model": "gpt-5", "usage": usage}
        plan = encode_control("plan", id="p1", step=1, native=native)
        write_file(path, b"".join(sealed([said, asked, plan, plan])))
        with opened(path) as found:
            query = "SELECT model, uncached_tokens, output_tokens FROM requests WHERE session = ?"
            bills.append([row for row in found.rows(query) if row[1] is not None])
    assert bills == [[("gpt-5", 900, 70)], [("gpt-5", 900, 0)]]


def test_messages_are_counted_before_the_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody waits for a tokenizer."""
    path, open_now, counted, writing = str(tmp_path / "log"), [0], [0], Catalogue.writing
    said = {"role": "user", "content": "hello"}
    write_file(path, b"".join(sealed([encode_message(said, message_id=f"m{n}", timestamp=STAMP) for n in range(50)])))

    @contextmanager
    def noted(self: Catalogue) -> Iterator[sqlite3.Connection]:
        with writing(self) as connection:
            open_now[0] += 1
            yield connection
            open_now[0] -= 1

    class Counter(EstimateCounter):
        def count_text(self, text: str) -> int:
            assert not open_now[0]
            counted[0] += 1
            return EstimateCounter.count_text(self, text)

    monkeypatch.setattr(Catalogue, "writing", noted)
    all_figures(path, counter=Counter())
    assert counted[0] >= 50


@pytest.mark.parametrize("content", ["", "CREATE TABLE sessions (id)"])
def test_a_catalogue_that_is_not_made_yet_or_of_another_version_is_filled(path: str, content: str) -> None:
    """Another process may be about to make it; what another version made is replaced."""
    some_log(path)
    catalogue = catalogue_of(path)
    with closing(sqlite3.connect(catalogue)) as connection:
        connection.executescript(content)
    catalogue.touch()
    catalogue.chmod(0o600)
    told = all_figures(path)
    with closing(sqlite3.connect(catalogue)) as connection:
        assert connection.execute("SELECT sum(messages) FROM turns").fetchone() == (told[0]["total"]["messages"],)


def test_a_catalogue_that_is_cut_while_it_is_asked_is_done_without(path: str) -> None:
    """SQLite may take tables that are gone for empty ones."""
    some_log(path)
    all_figures(path)
    with opened(path) as found:
        expected = found.rows("SELECT count(*) FROM turns WHERE session = ?")
        os.truncate(catalogue_of(path), 4096)
        kept = found.connection
        assert found.rows("SELECT count(*) FROM turns WHERE session = ?") == expected
        assert found.connection is not kept


def test_who_comes_between_is_not_mixed_with(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that write the figures of a log, the one that began last writes all of them, and no row twice."""
    some_log(path)
    expected, writing, met = all_figures(path, keeps=False), Catalogue.writing, [0]

    @contextmanager
    def met_by_another(self: Catalogue) -> Iterator[sqlite3.Connection]:
        met[0] += 1
        if met[0] == 3:
            assert all_figures(path) == expected
        with writing(self) as connection:
            yield connection

    with monkeypatch.context() as patch:
        patch.setattr(Catalogue, "writing", met_by_another)
        assert all_figures(path) == expected
    monkeypatch.setattr(compute_figures, "tokens_of", None)
    assert all_figures(path) == expected


def test_what_is_half_written_does_not_count(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a kill."""
    some_log(path)
    expected, writing, left = all_figures(path, keeps=False), Catalogue.writing, [4]

    @contextmanager
    def ends(self: Catalogue) -> Iterator[sqlite3.Connection]:
        left[0] -= 1
        if not left[0]:
            raise CatalogueError("no more")
        with writing(self) as connection:
            yield connection

    with monkeypatch.context() as patch:
        patch.setattr(Catalogue, "writing", ends)
        assert all_figures(path) == expected
    assert not left[0]
    assert all_figures(path) == expected


def edited(path: str) -> None:
    """With the size and the time that it had; nobody can set the time of the last change."""
    kept, content = os.stat(path), Path(path).read_bytes()
    Path(path).write_bytes(content.replace(b"word", b"WORD", 1))
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def replaced(path: str) -> None:
    os.remove(path)
    some_log(path, seed=9)


def counted_otherwise(path: str) -> None:
    other = EstimateCounter("other")
    assert all_figures(path, counter=other) == all_figures(path, counter=other, keeps=False)


@proof(quick=1)
@pytest.mark.parametrize("change", [edited, replaced, counted_otherwise])
def test_a_log_that_is_another_one_is_added_up_anew(path: str, change: Callable[[str], None]) -> None:
    """And one that was counted with another tokenizer since."""
    some_log(path, seed=4)
    all_figures(path)
    change(path)
    assert all_figures(path) == all_figures(path, keeps=False)


def tokens_of_turns(path: str, counter: EstimateCounter) -> list[int]:
    with Transcript(path) as transcript:
        return [line.tokens for line in outline(transcript, counter)]


def test_tokens_are_those_of_the_counter_whatever_counted_what_is_kept(path: str) -> None:
    some_log(path, seed=3, count=10)
    with switched_off():
        expected = {counter: tokens_of_turns(path, counter) for counter in (COUNTER, DoubleCounter())}
    assert len({tuple(tokens) for tokens in expected.values()}) == 2
    for kept in expected:
        for asked, tokens in expected.items():
            all_figures(path, counter=kept)
            assert tokens_of_turns(path, asked) == tokens


def test_what_is_in_use_is_done_without(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another process, for too long."""
    some_log(path)
    expected = all_figures(path, keeps=False)
    monkeypatch.setattr(kept_figures, "Catalogue", lambda place, _: Catalogue(place, wait_s=0.0))
    with Catalogue(catalogue_of(path)).writing():
        assert all_figures(path) == expected
    assert all_figures(path) == expected


def test_an_error_of_who_asks_is_his_own(path: str) -> None:
    """It is not taken for one of the catalogue, and the catalogue is as good as before."""
    some_log(path)
    with pytest.raises(CatalogueError, match="mine"), opened(path):
        raise CatalogueError("mine")
    assert all_figures(path) == all_figures(path, keeps=False)


def test_requests_have_the_time_of_their_answers(path: str) -> None:
    """One that nothing answers has that of its view; where nothing tells a time, none."""
    stamps = iter(["2026-01-05T09:00:00.000Z", "2026-01-05T09:00:07.500Z"])
    bodies = [
        encode_control("usage", provider="p", model="early", actual_tokens=10),
        encode_message({"role": "assistant", "content": "one"}, message_id="m1", timestamp=next(stamps)),
        encode_message(
            {"role": "assistant", "content": "two", "metadata": {"usage": {"input_tokens": 3}}},
            message_id="m2",
            timestamp=next(stamps),
        ),
        encode_control("view", id="v", hash="h", time="2026-01-05T09:01:00.000Z"),
        encode_control("usage", provider="p", model="late", actual_tokens=10),
    ]
    write_file(path, b"".join(sealed(bodies)))
    for keeps in (True, True, False):
        with nullcontext() if keeps else switched_off(), opened(path) as found:
            times = found.rows(
                "SELECT datetime(time_us / 1e6, 'unixepoch') FROM requests WHERE session = ? ORDER BY rowid"
            )
        assert [time for (time,) in times] == ["2026-01-05 09:00:00", "2026-01-05 09:00:07", "2026-01-05 09:01:00"]
