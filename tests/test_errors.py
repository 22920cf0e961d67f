"""The errors: whose fault it was, and what stands in their words."""

import errno
import inspect
import os
import re

import pytest

from amplifier_module_context_persistent import errors
from amplifier_module_context_persistent.errors import (
    ContextPersistentError,
    FloorError,
    LockTimeoutError,
    LogError,
    LogUnreadableError,
    reason_of,
)

CLASSES = [one for _, one in inspect.getmembers(errors, inspect.isclass) if one.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", CLASSES)
def test_all_have_one_base_and_say_what_they_mean(kind: type[Exception]) -> None:
    """A caller catches them all by one name."""
    assert issubclass(kind, ContextPersistentError)
    assert (kind.__doc__ or "").strip()


def test_errors_of_the_disk_are_errors_of_the_system() -> None:
    """With the number, the words and the file."""
    assert issubclass(LogError, OSError)
    assert issubclass(LockTimeoutError, TimeoutError)
    error = LogUnreadableError(5, "it cannot be read", "/log")
    assert (error.errno, error.strerror, error.filename) == (5, "it cannot be read", "/log")


def test_the_floor_names_its_parts_and_pins() -> None:
    """What the smallest view holds, without what is zero; of many pins, the largest."""
    error = FloorError(100, 1_234, {"pins": 1_000, "newest messages": 234, "system messages": 0}, [("m1", 1_000)])
    assert "1,234 tokens of a budget of 100" in str(error)
    assert "pins" in str(error)
    assert "newest messages 234" in str(error)
    assert "system messages" not in str(error)
    assert "m1" in str(error)
    assert (error.budget_tokens, error.needed_tokens) == (100, 1_234)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/log"), f"{os.strerror(errno.ENOSPC)}; make room"),
        (OSError(errno.ENOSPC, "there was room for 1 of 2 bytes", "/log"), "there was room for 1 of 2 bytes"),
        (OSError(errno.EACCES, os.strerror(errno.EACCES), "/log"), os.strerror(errno.EACCES)),
        (OSError("cut off"), "cut off"),
        (ValueError("two\nlines"), "two lines"),
    ],
    ids=["a full disk", "a full disk with our words", "another error of the system", "no number", "our own"],
)
def test_a_reason_is_one_line_and_says_what_to_do_on_a_full_disk(error: Exception, said: str) -> None:
    assert reason_of(error) == said


@pytest.mark.parametrize("count", [5, 6, 7])
def test_all_pins_of_a_view_that_does_not_fit_are_named_or_counted(count: int) -> None:
    said = str(FloorError(100, 1_234, {}, [(f"pin{number}", 100 + number) for number in range(count)]))
    named = len(re.findall(r"pin\d \(", said))
    more = re.search(r", and (\d+) more$", said)
    assert named + (int(more[1]) if more else 0) == count
    assert not more or int(more[1]) > 0
    assert f"Pinned: pin{count - 1} (" in said
