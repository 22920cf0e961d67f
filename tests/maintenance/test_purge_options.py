"""What a purge is asked for, and what it counted."""

import re
from dataclasses import fields

import pytest

from amplifier_module_context_persistent.maintenance.purge_options import Purge, PurgeCounts


@pytest.mark.parametrize(
    ("purge", "mode"),
    [
        (Purge(before="m1"), "before"),
        (Purge(cleared=True), "cleared"),
        (Purge(everything=True), "all"),
        (Purge(redact=re.compile("x")), "redact"),
    ],
)
def test_a_purge_has_one_mode(purge: Purge, mode: str) -> None:
    """The word of its record."""
    assert purge.mode == mode


KEPT = {"tails_matching", "messages_kept", "altered_kept", "unreadable_kept", "bytes_before"}


@pytest.mark.parametrize("name", [field.name for field in fields(PurgeCounts)])
def test_nothing_to_remove_means_that_nothing_goes(name: str) -> None:
    """What stays does not count."""
    assert PurgeCounts().is_nothing
    assert PurgeCounts(**{name: 1}).is_nothing is (name in KEPT)
    assert PurgeCounts(**{name: 1}).to_record()[name] == 1
