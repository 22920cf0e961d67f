"""The fuzzer of what reads a log, for as long as a test run may take; `python -m tests.support.fuzz` goes on."""

import time

import pytest

from amplifier_module_context_persistent.log.index_builder import IndexBuilder
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.log.scanner import Scanner
from tests.support import fuzz
from tests.support.logs import body, reset_bodies, sealed
from tests.support.sweeps import proof, some


@proof(quick=1)
@pytest.mark.parametrize("seed", [1, 2])
def test_any_input_is_read_or_reported_in_bounded_memory(seed: int) -> None:
    """Mutated lines and random bytes are parsed or refused, indexed or reported, and nothing else happens."""
    inputs = some(1_500)
    counts = fuzz.fuzz(inputs, seed)
    assert counts.decoded > inputs / 3
    assert counts.records > inputs / 3
    assert counts.findings > inputs / 3
    assert counts.grown_mb < 100
    print(counts)


@pytest.mark.parametrize(
    "line",
    [
        b'{"_record":%s}\n',
        b'{"_record":"reset","id":%s,"count":0}\n',
        b'{"_record":"keep","from":%s}\n',
        b'{"_record":"system","hash":%s}\n',
        b'{"_record":"usage","model":%s}\n',
    ],
)
def test_a_control_record_that_is_nested_deeply_does_not_end_the_scan(line: bytes) -> None:
    """What stands after a record whose names are nested to the parser's depth is read."""
    scanner = Scanner()
    scanner.feed(line % (b"[" * 950 + b"]" * 950) + sealed([body(0)])[0])
    assert len(scanner.index.live) == 1


def test_a_line_of_many_ends_is_scanned_in_bounded_time() -> None:
    """What was made to be searched for records again and again is given up, and what stands after it is read."""
    scanner = Scanner()
    begin = time.perf_counter()
    scanner.feed(b'{"role":"x' + b',"_crc":"00000000"}' * 100_000 + b"\n" + sealed([body(0)])[0])
    assert time.perf_counter() - begin < 10
    assert [found.kind for found in scanner.index.damage][:1] == ["unreadable"]
    assert len(scanner.index.live) == 1


def test_resets_cannot_make_the_live_history_outgrow_the_log() -> None:
    """Resets that keep everything twice, forty times over, are reported instead of filling the memory."""
    bodies = [body(0)]
    for number in range(1, 41):
        keep = encode_control("keep", **{"from": f"id-{number - 1}", "to": f"id-{number - 1}"})
        if number > 1:
            keep = encode_control("keep", **{"from": f"id-{number - 1}", "to": f"id-{number + 98}"})
        content = [body(number), keep, keep, body(number + 99)]
        bodies += reset_bodies(f"r{number}", *content)
    scanner = Scanner()
    scanner.feed(b"".join(sealed(bodies)))
    assert len(scanner.index.live) <= 2 * len(scanner.index)
    assert {found.kind for found in scanner.index.damage} == {"reset"}


def test_the_fuzzer_finds_a_line_that_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can fail: a scanner that takes some lines in silence is found."""
    monkeypatch.setattr(IndexBuilder, "report", lambda *_: None)
    with pytest.raises(fuzz.FoundError, match="reported: False"):
        fuzz.fuzz(500, 1)
