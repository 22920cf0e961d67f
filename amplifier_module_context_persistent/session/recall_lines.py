"""Which lines of a log a search has to parse: those that may match, found where the lines are.

A log in a database looks through its lines itself, and only hits are fetched. Any other log is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..log.base import Log, finds_bytes
from ..log.index import DAMAGED, UNCHAINED
from ..search.pattern import Pattern

_FOREIGN = DAMAGED | UNCHAINED  # lines that we may not have written: their JSON may write a text in many ways
_OWN = bytes(flags for flags in range(256) if not flags & _FOREIGN)


def lines_that_may_match(log: Log, ordinals: Sequence[int], pattern: Pattern) -> set[int]:
    """Choose the records that may match, without parsing them; none that matches is left out.

    Args:
        log: the session's log.
        ordinals: which records are searched.
        pattern: what is looked for; it has a needle.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    flags, own, foreign = log.index.flags, ordinals, set[int]()
    if isinstance(ordinals, range) and ordinals.step == 1:
        marks = bytes(flags[ordinals.start : ordinals.stop])
    else:
        marks = bytes(map(flags.__getitem__, ordinals))
    if marks.translate(None, _OWN):
        foreign = {ordinal for ordinal in ordinals if flags[ordinal] & _FOREIGN}
        own = [ordinal for ordinal in ordinals if ordinal not in foreign]
    if finds_bytes(log):
        return foreign | log.find_bytes(own, pattern.needle, ignores_case=pattern.ignores_case)
    return foreign | {ordinal for ordinal, line in log.lines(own) if pattern.may_match(line)}
