"""The garbage collector is paused while much is parsed, and left as it was found."""

from __future__ import annotations

import gc
from contextlib import closing
from functools import partial

import pytest

from amplifier_module_context_persistent.log.collector_paused import collector_paused
from amplifier_module_context_persistent.log.reader import LogReader
from tests.support.logs import body, sealed, write_file
from tests.support.sweeps import proof


@pytest.fixture(autouse=True)
def _collecting():
    yield
    gc.enable()
    gc.freeze()


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_left_as_it_was_found(enabled):
    """Within, nothing is collected; after, also after an error, it is as before."""
    (gc.enable if enabled else gc.disable)()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is enabled
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled() is enabled


@pytest.mark.parametrize(("count", "is_looked_at"), [(100_000, False), (100, True)])
def test_much_that_was_parsed_is_not_looked_at_afterwards(count, is_looked_at):
    """It counts as old; little is left to the collector, which finds cycles that others made meanwhile."""
    gc.unfreeze()  # the tests begin with all modules frozen
    with collector_paused():
        parsed = [{"number": [number]} for number in range(count)]
    young = gc.get_objects(generation=0)
    assert any(one is parsed[-1] for one in young) is is_looked_at


def test_objects_that_a_process_froze_are_not_counted_where_little_was_parsed(monkeypatch):
    """Counting them takes time, and a process that collects rarely always has many young objects."""
    threshold = gc.get_threshold()
    gc.set_threshold(1_000_000)
    before = [[number] for number in range(100_000)]
    monkeypatch.setattr(gc, "get_freeze_count", lambda: pytest.fail("counted"))
    with collector_paused():
        parsed = [{"number": [number]} for number in range(100)]
    gc.set_threshold(*threshold)
    assert len(before) > len(parsed)


def test_nothing_is_collected_while_a_log_is_scanned(tmp_path, request):
    """A collection would hold up every thread of the process, the event loop's too."""
    path = tmp_path / "log.jsonl"
    write_file(str(path), b"".join(sealed([body(number) for number in range(10_000)])))
    request.addfinalizer(partial(gc.set_threshold, *gc.get_threshold()))
    collections = []
    gc.callbacks.append(lambda phase, info: collections.append(info))
    request.addfinalizer(gc.callbacks.pop)
    with closing(LogReader(str(path))) as reader:
        gc.set_threshold(100)
        gc.collect()
        collections.clear()
        reader.follow()
        assert len(reader.index) == 10_000
    assert len(collections) < 20  # else hundreds


@proof
def test_objects_that_a_process_froze_stay_frozen():
    """A server that froze its objects before it forked shares them with its children."""
    kept = [["an object of the server"]]
    gc.freeze()
    try:
        with collector_paused():
            parsed = [{"number": [number]} for number in range(100_000)]
        seen = gc.get_objects()  # the frozen ones are not among them
        assert any(one is parsed for one in seen)
        assert not any(one is kept for one in seen)
    finally:
        gc.unfreeze()
