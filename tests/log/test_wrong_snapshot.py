"""A log that was altered where its snapshot had covered it: what is read tells, and reading goes on."""

from contextlib import closing
from itertools import islice

import pytest

from amplifier_module_context_persistent.catalogue.catalogue_file import Catalogue, catalogue_of
from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.reader import LogReader
from tests.support.logs import (
    content_of,
)
from tests.support.snapshots import alter_unseen, flips, is_used, known, put, some_log, stored
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("snapshots_of_any_size")


@proof
def test_a_bit_that_flips_unseen_is_reported_when_its_record_is_read(path: str) -> None:
    """Neither size nor time tell of it: all that can be read is read, at the latest by the second try."""
    some_log(path)
    sound = stored(path)
    for content in flips(path):
        put(path, sound)
        alter_unseen(path, content)
        expected = known(path, trusting=False)
        with closing(LogReader(path, snapshots=CatalogueSnapshots())) as reader:
            reader.follow()
            try:
                messages = list(reader.read(reader.index.live))
            except LogUnreadableError:
                reader.follow()
                messages = list(reader.read(reader.index.live))
            assert messages == expected["messages"] or reader.covered_bytes  # of a control record it is not known
            if not reader.covered_bytes:
                assert reader.index.damage == expected["damage"]


def test_a_snapshot_that_proved_wrong_is_used_no_more(path: str) -> None:
    """Where a block of the log is lost, a first read fails; after it the log is read as without a snapshot."""
    some_log(path)
    content = content_of(path)
    alter_unseen(path, content[:700] + bytes(900) + content[1600:])
    expected = known(path, trusting=False)
    with pytest.raises(LogUnreadableError, match="try again"):
        known(path, trusting=True)
    assert not is_used(path)
    assert known(path, trusting=True) == expected


def test_a_snapshot_that_proved_wrong_and_cannot_be_removed_is_no_other_error(path: str) -> None:
    """Who reads the log of somebody else may write nothing; the same reader goes on all the same."""
    some_log(path)
    content = content_of(path)
    alter_unseen(path, content[:700] + bytes(900) + content[1600:])
    with closing(LogReader(path, snapshots=CatalogueSnapshots(wait_s=0))) as reader:
        reader.follow()
        with Catalogue(catalogue_of(path)).reading():
            with pytest.raises(LogUnreadableError, match="try again"):
                list(reader.read(reader.index.live))
            assert list(reader.read(reader.index.live)) == known(path, trusting=False)["messages"]
    assert stored(path)


def test_who_reads_at_the_same_time_goes_on_too(path: str) -> None:
    """As a command does that looks a call up while it goes through all messages: one meets it, and both go on."""
    some_log(path)
    alter_unseen(path, content_of(path).replace(b"message 7", b"message 6"))
    expected = known(path, trusting=False)["messages"]
    reader = LogReader(path, snapshots=CatalogueSnapshots())
    reader.follow()
    live = reader.index.live
    try:
        outer = reader.read(live)
        inner = reader.read(live)
        assert [*islice(outer, 3), *inner] == [*expected[:3], *expected]
        assert list(outer) == expected[3:]
        assert [found.kind for found in reader.index.damage] == ["checksum"]
    finally:
        reader.close()
