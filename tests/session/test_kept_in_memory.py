"""When a session is kept in memory only."""

import errno

import pytest

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.errors import LogCreateError
from amplifier_module_context_persistent.session.kept_in_memory import may_go_on_in_memory, why_in_memory


@pytest.mark.parametrize(
    ("requires", "is_acknowledged", "expected"),
    [(False, False, True), (True, False, False), (False, True, False), (True, True, False)],
)
def test_only_a_session_that_lost_nothing_goes_on_in_memory(
    requires: bool, is_acknowledged: bool, expected: bool
) -> None:
    """And only if the configuration does not require a stored log."""
    config = Config(require_persistence=requires)
    assert may_go_on_in_memory(config, is_acknowledged=is_acknowledged) is expected


def test_the_reason_names_the_log_and_the_systems_error() -> None:
    """A person can see what to change."""
    error = LogCreateError(errno.EACCES, "no log can be created here", "/a/log.jsonl")
    assert why_in_memory(error, "/a/log.jsonl") == "/a/log.jsonl: Permission denied"
