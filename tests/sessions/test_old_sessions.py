"""Which sessions of a database are taken for unused since a time, by what the server and list entries tell."""

from datetime import UTC, datetime
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue.glance import Glance
from amplifier_module_context_persistent.catalogue.session_list_cache import Glances
from amplifier_module_context_persistent.log.database_location import split_location
from amplifier_module_context_persistent.log.postgres.old_logs import LogInTime
from amplifier_module_context_persistent.sessions import old_sessions

STORAGE = "postgres:x?schema=s"
SINCE_S = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()
BEFORE, AT, AFTER = "2026-01-31T11:59:59.999Z", "2026-01-31T12:00:00Z", "2026-01-31T13:00:00.001+01:00"


def unused(
    monkeypatch: pytest.MonkeyPatch, logs: list[LogInTime], last: dict[str, str], others: frozenset[str] = frozenset()
) -> list[str] | None:
    """The ids of the sessions that are unused, if the server tells of these logs, list entries and other logs."""

    def entry(_: Glances, location: str) -> Glance | None:
        name = split_location(location)[1]
        return Glance(last_message=last[name]) if name in last else None

    def heads(_: str, names: list[str]) -> dict[str, Any]:
        return dict.fromkeys(others & set(names))

    monkeypatch.setattr(old_sessions, "logs_without_news", lambda *_: logs)
    monkeypatch.setattr(old_sessions, "stored_heads", heads)
    monkeypatch.setattr(Glances, "of", entry)
    found = old_sessions.sessions_unused_since(STORAGE, SINCE_S)
    return None if found is None else [session.id for session in found]


@pytest.mark.parametrize(("last", "is_unused"), [(BEFORE, True), (AT, False), (AFTER, False)])
def test_a_message_of_the_very_moment_is_a_message_since_then(
    last: str, is_unused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log was written to in that moment, or later."""
    for changed_s in (SINCE_S, SINCE_S + 3600):
        told = unused(monkeypatch, [LogInTime("-p/s", changed_s, False)], {"-p/s": last})
        assert (told == ["s"]) is is_unused


def test_a_log_written_before_is_unused_whatever_its_list_entry_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list entry that another program forged keeps no session from being looked at."""
    assert unused(monkeypatch, [LogInTime("-p/s", SINCE_S - 1, False)], {"-p/s": AFTER}) == ["s"]


@pytest.mark.parametrize("last", [{}, {"-p/s": ""}], ids=["no entry", "no time"])
def test_a_log_without_a_known_time_has_to_be_looked_at(last: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert unused(monkeypatch, [LogInTime("-p/s", SINCE_S + 1, False)], last) == ["s"]


def test_a_group_is_unused_as_a_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups stand together, parents first; a session of one id in another project is another one."""
    old = SINCE_S - 1
    logs = [
        LogInTime("-p/c-1_sub", old, False),
        LogInTime("-p/a", old, False),
        LogInTime("-p/a-1_sub", SINCE_S + 1, False),
        LogInTime("-q/a", old, False),
        LogInTime("-p/b", old, False),
        LogInTime("-p/b-1_sub", SINCE_S + 1, True),
        LogInTime("-p/d-1_sub", old, False),
        LogInTime("-p/c", old, False),
        LogInTime("-p/e-1_sub", old, False),
    ]
    last = {"-p/a-1_sub": AFTER}
    assert unused(monkeypatch, logs, last, frozenset({"-p/d"})) == ["c", "c-1_sub", "e-1_sub", "a"]


def test_a_server_that_does_not_tell_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_sessions, "logs_without_news", lambda *_: None)
    assert old_sessions.sessions_unused_since(STORAGE, SINCE_S) is None
