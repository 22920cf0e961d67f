"""The clock and the ids that are used where nobody passes others in."""

import re
from datetime import UTC, datetime, timedelta

from amplifier_module_context_persistent.clock import new_id, utc_now


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
