"""The clock and the ids that are used where nobody passes others in."""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from amplifier_module_context_persistent.clock import new_id, utc_now
from tests.support.logs import in_a_fork


def test_the_time_is_in_utc_with_milliseconds() -> None:
    """ISO 8601 with `Z`, as messages carry it."""
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    said = utc_now()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said)
    assert before <= datetime.fromisoformat(said) <= datetime.now(UTC)


def test_ids_are_names_and_differ() -> None:
    """Sixteen hexadecimal digits after an `m`."""
    ids = {new_id() for _ in range(1_000)}
    assert len(ids) == 1_000
    assert all(re.fullmatch("m[0-9a-f]{16}", one) for one in ids)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_a_forked_process_gives_ids_of_its_own(tmp_path: Path) -> None:
    """Ids are made several at a time: none of those that wait goes to the child as well."""
    written, count = tmp_path / "ids", 100
    new_id()

    def child() -> bool:
        written.write_text(" ".join(new_id() for _ in range(count)), encoding="ascii")
        return True

    assert in_a_fork(child)
    of_child = written.read_text(encoding="ascii").split()
    assert len(of_child) == count
    assert {new_id() for _ in range(count)}.isdisjoint(of_child)
