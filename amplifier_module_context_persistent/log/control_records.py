"""Read the control records of some kinds from a whole log."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from .contract import ReadableLog
from .record_line import CONTROL_HEAD, decode


def control_records(log: ReadableLog, kinds: Collection[str]) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """Yield every line of a log, without LF, and its record if it is a control record of one of `kinds`, else None.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    heads = tuple(CONTROL_HEAD + f':"{kind}"'.encode() for kind in kinds)
    for line in log.records():
        record = None
        if line.startswith(heads):
            try:
                record = decode(line)
            except ValueError:  # a damaged line, which `verify` reports
                record = None
        yield line.rstrip(b"\r\n"), record
