"""The limits of a record."""

from typing import Any

import pytest

from amplifier_module_context_persistent.errors import RecordError
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.record_limits import (
    MAX_DEPTH,
    MAX_READ_DEPTH,
    MAX_RECORD_BYTES,
    SEAL_BYTES,
    check_size,
    is_too_deep,
)
from amplifier_module_context_persistent.log.record_line import encode_control


def test_the_limits_are_those_of_the_format() -> None:
    """They are promised in docs/format.md; a log with more is not read by other versions."""
    assert (MAX_DEPTH, MAX_READ_DEPTH, MAX_RECORD_BYTES) == (200, 254, 64 * 1024 * 1024)


class Unseen(dict[str, Any]):
    """An object that nobody looks into."""

    def values(self) -> Any:
        raise AssertionError("it was looked into")


def test_a_line_with_few_brackets_is_not_gone_through() -> None:
    """However long it is: what it was parsed into cannot be nested in more levels than it has brackets."""
    line = b"{[" * 50 + b"]}" * 50 + b" " * 10_000
    assert not is_too_deep(line, Unseen(), 100)
    with pytest.raises(AssertionError):
        is_too_deep(line, Unseen(), 99)


def test_a_record_of_the_most_bytes_fits_and_one_byte_more_does_not() -> None:
    """Its checksum is counted, too."""
    body = encode_control("note", text="x" * 100)
    line, _ = seal(body, 0)
    assert len(line) == len(body) + SEAL_BYTES
    check_size(body, len(line))
    with pytest.raises(RecordError, match=f"the record has {len(body)} bytes; at most {len(body) - 1} are stored"):
        check_size(body, len(line) - 1)
