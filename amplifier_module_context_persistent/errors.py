"""The errors of this package, all under one base class.

The class says whose fault it was: the caller's (`RecordError`, `ConfigError`, `PurgeError`, `DeleteError`,
`ArchiveError`, `RetentionError`), the disk's (`AppendError`, `LogFailedError`, `LogUnreadableError`, `LogCreateError`,
`LogVersionError`) or another process's (`LockTimeoutError`). Messages say what was found, where, and what to do; they
never hold a message's content.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

_NAMED_PINS = 5


class ContextPersistentError(Exception):
    """Base class of everything that this package raises on purpose."""


class RecordError(ContextPersistentError, ValueError):
    """A message cannot be stored as it is; nothing was stored."""


class ConfigError(ContextPersistentError, ValueError):
    """A configuration value is wrong; the message names key, value and what is allowed."""


class PurgeError(ContextPersistentError, ValueError):
    """This log cannot be purged in the way that was asked for; nothing was changed."""


class DependencyError(ContextPersistentError, ImportError):
    """A package that a session or a function needs is not installed; the error names the command that installs it."""


class DeleteError(ContextPersistentError, ValueError):
    """This log cannot be deleted now; nothing was changed."""


class ArchiveError(ContextPersistentError, ValueError):
    """This log cannot be archived, or brought back, now; nothing was changed."""


class MemoryFilesError(ContextPersistentError, ValueError, RuntimeError):
    """The configured memory files do not fit into the budget; the message lists each file's tokens."""


class FloorError(ContextPersistentError):
    """A request cannot be made to fit: what may not be compacted is larger than the budget.

    `fixed` says by what: tokens by name. `pins` are the pinned messages among it, with the tokens that each holds.
    `tried` are the messages and the tokens of the view, where a plan was tried for it just now.
    """

    tried: tuple[int, int] | None = None

    def __init__(
        self, budget_tokens: int, needed_tokens: int, fixed: dict[str, int], pins: Sequence[tuple[str, int]] = ()
    ) -> None:
        self.budget_tokens = budget_tokens
        self.needed_tokens = needed_tokens
        self.fixed = fixed
        self.pins = tuple(pins)
        kept_by = {"system messages": " (`preserve_system`)"}
        parts = " + ".join(f"{name}{kept_by.get(name, '')} {tokens:,}" for name, tokens in fixed.items() if tokens)
        super().__init__(
            f"the smallest view has {needed_tokens:,} tokens of a budget of {budget_tokens:,}; "
            f"compaction cannot make it fit. Fixed: {parts or 'nothing'}{self._pinned()}"
        )

    def _pinned(self) -> str:
        if not self.pins:
            return ""
        largest = sorted(self.pins, key=lambda pin: -pin[1])
        named = [f"{message_id} ({tokens:,} tokens)" for message_id, tokens in largest[:_NAMED_PINS]]
        more = [f"and {len(largest) - _NAMED_PINS:,} more"] if len(largest) > _NAMED_PINS else []
        return f". Pinned: {', '.join(named + more)}"


class RetentionError(ContextPersistentError, ValueError):
    """A text that the view must hold is in no message that a view could show; the error does not repeat the text."""


class PinError(ContextPersistentError, ValueError):
    """A message cannot be pinned, or its turn cannot be hidden: the error says why, and what can be."""


class PlaceError(ContextPersistentError, ValueError):
    """The history has no such place."""


class SummaryError(ContextPersistentError):
    """Summarization failed; the message says why, and repeats nothing of the answer."""


class NativeError(ContextPersistentError):
    """A provider did not compact a view; the message says why, and repeats nothing of it."""


class RecallError(ContextPersistentError, ValueError):
    """`recall` cannot answer: the message says why, and what can be asked instead."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""The numbers of the system's errors that mean a full disk, or a quota that is used up."""


def reason_of(error: Exception) -> str:
    """Return the reason of an error on one line; of a system's error without its number and its path.

    If the disk is full, the reason says what to do.
    """
    said = error.strerror if isinstance(error, OSError) else None
    reason = " ".join(str(said or error).split())
    is_no_room = isinstance(error, OSError) and error.errno in NO_ROOM and said == os.strerror(error.errno)
    return f"{reason}; make room" if is_no_room else reason


class LogError(ContextPersistentError, OSError):
    """Something is wrong with the log on disk."""


class AppendError(LogError):
    """The system refused a write. The log was cut back to its old length: nothing of the batch was stored."""


class LogCreateError(LogError):
    """No log exists and none can be created."""


class LogFailedError(LogError):
    """A sync or a cut-back failed: what is on disk is unknown, so appends fail until the log is reopened."""


class LogVersionError(LogError):
    """A later version of this package wrote the log: it is read, and never appended to."""


class LogUnreadableError(LogError):
    """A log exists and cannot be read. It is not taken for an empty one."""


class NotALogError(LogUnreadableError):
    """A file is there and can be read, and no line of it is a record: it is no log."""


class DamagedArchiveError(LogUnreadableError):
    """A log is archived, and its archive is so damaged that no record of it can be read."""


class ReplaceError(LogError):
    """A new file was to take the place of a log; nothing was written."""


class LockTimeoutError(LogError, TimeoutError):
    """Another process kept the log's lock for longer than `lock_timeout_s`; nothing was stored."""
