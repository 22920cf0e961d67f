"""Whether this process was forked: a number that grows in the child.

`os.getpid` is a system call, and every append would make two of them to ask.
"""

from __future__ import annotations

import os


class _Forks:
    """How many forks lie between the process that loaded this module and this one."""

    count = 0

    def add(self) -> None:
        """Count one more, in the child."""
        self.count += 1


forks = _Forks()

if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=forks.add)
