"""Plan a redaction in one reading of the log: search each line while it is scanned.

Other purges scan the log first and read it a second time to decide what to remove. A redaction of a sound log without
resets needs no second reading: every message stays, and each line can be redacted by itself. At the first damage or
reset the scanner stops searching, and the log is read a second time.
"""

from __future__ import annotations

from collections.abc import Callable

from ...log.read_back import NumberedLine
from ...log.record_kinds import kind_of
from ...log.scanner import Scanner, whole_lines
from .purge_rewrite import Rewrite


class LookingScanner(Scanner):
    """A scanner that also gives each line to a pass of a purge.

    Args:
        max_record_bytes: longer lines are reported and skipped.
        begin: called with this scanner before the first line; returns the pass.
    """

    def __init__(self, max_record_bytes: int, begin: Callable[[Scanner], Rewrite]) -> None:
        super().__init__(max_record_bytes, finds_plain_users=False)
        self._begin = begin
        self._pass: Rewrite | None = None
        self._is_ended = False

    @property
    def finished_pass(self) -> Rewrite | None:
        """The pass over all lines, or None if the log must be read a second time."""
        if self._is_strange():
            return None
        return self._pass

    def feed(self, block: bytes) -> None:
        """Scan the whole lines of a block, and give each scanned line to the pass."""
        lines = whole_lines(block)
        if self._pass is None and not self._is_ended:
            self._pass = self._begin(self)
        for number, line in enumerate(lines):
            if self._pass is None:
                self.feed_lines(lines[number:])
                return
            at = NumberedLine(self.line + 1, self.offset, line[:-1])
            first = len(self.index)
            self.feed_lines([line])
            if self._is_strange():
                self._pass = None
                self._is_ended = True
            else:
                self._pass.take_pieces(at, first, damaged=False)

    def _is_strange(self) -> bool:
        index = self.index
        return bool(index.damage or index.generation) or any(kind_of(name).frames for name in index.control_counts)
