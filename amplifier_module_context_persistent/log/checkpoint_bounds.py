"""What a checkpoint may say: whoever may write its file may write any number into it, with the right checksums.

What is out of bounds is refused before anything is read or made for it, so that opening a log takes no more time and
memory than a scan.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from typing import Any

from .index import Damage

MOST_OF_A_LINE = 1 << 20
"""So many bytes of a damaged line are compared with what they were."""
_MOST_FINDINGS, _MOST_DAMAGED_BYTES = 10_000, 64 << 20


def are_few(findings: list[Damage]) -> bool:
    """Whether findings may stand in a checkpoint: their lines are read again whenever it is."""
    return (
        len(findings) <= _MOST_FINDINGS
        and sum(min(found.length, MOST_OF_A_LINE) for found in findings) <= _MOST_DAMAGED_BYTES
    )


def findings_of(given: Iterable[Any], end: int) -> list[Damage]:
    """Read findings of which none lies beyond an offset.

    Raises:
        ValueError, TypeError: they are something else.
    """
    findings = []
    for line, offset, kind, detail, length in given:
        if not (0 <= offset <= offset + length <= end and type(kind) is type(detail) is str):
            raise ValueError("a finding beyond the end")
        findings.append(Damage(int(line), int(offset), kind, detail, int(length)))
    if not are_few(findings):
        raise ValueError("too many findings")
    return findings


def exceeds(column: array[int], limit: int) -> bool:
    """Whether a number of a column is larger than any with the same highest byte as a limit.

    It takes a tenth of the time of `max`, which makes an object of each number. What is a little too large is found
    when it is read: the log has no such record there.
    """
    raw, size = column.tobytes(), column.itemsize
    if limit >= 1 << 8 * size:
        return False
    high = max(0, limit.bit_length() - 1) // 8
    allowed = bytes(range((limit >> 8 * high) + 1))
    by_weight = range(size) if sys.byteorder == "little" else range(size)[::-1]
    return any(raw[at::size].translate(None, allowed if at == by_weight[high] else b"\0") for at in by_weight[high:])
