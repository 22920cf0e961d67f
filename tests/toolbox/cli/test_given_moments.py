"""A given time begins a period: a message of that very moment is one since then, and none from before it."""

from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.archive_log import LEAST_LOG_BYTES
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from tests.support.commands import run
from tests.support.logs import sealed
from tests.support.sessions_of_a_home import log_of

MOMENT = "2026-01-31T12:00:00Z"
STAMPS = {"before": "2026-01-31T11:59:59.999Z", "at": MOMENT, "after": "2026-01-31T12:00:00.001Z"}
LONG = "x" * LEAST_LOG_BYTES
"""So long that an archive is smaller."""


@pytest.fixture(autouse=True)
def sessions(project: Path) -> None:
    """Three sessions of one message each: before the moment, in it and after it."""
    for name, stamp in STAMPS.items():
        path = log_of(name)
        path.parent.mkdir(parents=True)
        message = {"role": "user", "content": f"Said {name}. {LONG}"}
        said = encode_message(message, message_id="m", timestamp=stamp)
        path.write_bytes(b"".join(sealed([encode_control("header", version=2), said])))


def named(*arguments: str) -> set[str]:
    """The sessions that a command's output names."""
    done = run(*arguments, code=None)
    assert done.exit_code <= 1  # a search that finds nothing ends with 1
    told = done.stdout
    return {name for name in STAMPS if f'"session": "{name}"' in told or f'"session":"{name}"' in told}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["list", "--since", MOMENT, "--json"], {"at", "after"}),
        (["list", "--until", MOMENT, "--json"], {"before"}),
        (["search", "Said", "--since", MOMENT, "--json"], {"at", "after"}),
        (["search", "Said", "--until", MOMENT, "--json"], {"before"}),
        (["search", "Said", "after", "--since", MOMENT, "--json"], {"after"}),
        (["search", "Said", "at", "--until", MOMENT, "--json"], set()),
        (["prune", "--older", MOMENT, "--dry-run", "--json"], {"before"}),
        (["archive", "--older", MOMENT, "--dry-run", "--json"], {"before"}),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_a_message_of_the_very_moment_is_one_since_then(arguments: list[str], expected: set[str]) -> None:
    assert named(*arguments) == expected
