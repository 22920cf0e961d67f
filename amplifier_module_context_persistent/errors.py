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
    """The base class of all exceptions that this package raises on purpose."""


class RecordError(ContextPersistentError, ValueError):
    """Raised if a message cannot be stored in its form; nothing was stored."""


class ConfigError(ContextPersistentError, ValueError):
    """Raised if a configuration value is wrong. The message names the key, the value and the allowed values."""


class PurgeError(ContextPersistentError, ValueError):
    """Raised if a log cannot be purged in the wanted way; nothing was changed."""


class DependencyError(ContextPersistentError, ImportError):
    """Raised if a needed package is not installed. The message names the command that installs it."""


class DeleteError(ContextPersistentError, ValueError):
    """Raised if a log cannot be deleted now; nothing was changed."""


class ArchiveError(ContextPersistentError, ValueError):
    """Raised if a log cannot be archived, or brought back, now; nothing was changed."""


class MemoryFilesError(ContextPersistentError, ValueError, RuntimeError):
    """The configured memory files do not fit into the budget; the message lists each file's tokens."""


class FloorError(ContextPersistentError):
    """Raised if a view cannot be made to fit, because the parts that must not be compacted exceed the budget.

    `fixed` has the tokens of these parts, by the name of the part. `pins` are the pinned messages, each with its
    tokens. `tried` has the messages and the tokens of the view if a plan was tried for this view before; else None.
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
        pins = [f"{message_id} ({tokens:,} tokens)" for message_id, tokens in largest[:_NAMED_PINS]]
        more = [f"and {len(largest) - _NAMED_PINS:,} more"] if len(largest) > _NAMED_PINS else []
        return f". Pinned: {', '.join(pins + more)}"


class RetentionError(ContextPersistentError, ValueError):
    """A text that the view must hold is in no message that a view could show; the error does not repeat the text."""


class PinError(ContextPersistentError, ValueError):
    """Raised if a message cannot be pinned, or a turn cannot be hidden. The message says why, and what is possible."""


class PlaceError(ContextPersistentError, ValueError):
    """Raised if a history has no turn or message of the given number or id."""


class SummaryError(ContextPersistentError):
    """Summarization failed; the message says why, and repeats nothing of the answer."""


class NativeError(ContextPersistentError):
    """Raised if a provider did not compact a view. The message has the reason, without content of the view."""


class RecallError(ContextPersistentError, ValueError):
    """Raised if `recall` cannot answer. The message has the reason, and says what can be asked instead."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""The numbers of the system's errors that mean a full disk, or a quota that is used up."""


def reason_of(error: Exception) -> str:
    """Return the reason of an error on one line; of a system's error without its number and its path.

    If the disk is full, the reason says what to do.
    """
    system_text = error.strerror if isinstance(error, OSError) else None
    reason = " ".join(str(system_text or error).split())
    is_no_room = isinstance(error, OSError) and error.errno in NO_ROOM and system_text == os.strerror(error.errno)
    return f"{reason}; make room" if is_no_room else reason


class LogError(ContextPersistentError, OSError):
    """Something is wrong with the log on disk."""


class AppendError(LogError):
    """The system refused a write. The log was cut back to its old length: nothing of the batch was stored."""


class LogCreateError(LogError):
    """No log exists and none can be created."""


class LogFailedError(LogError):
    """Raised if a sync or a cut-back failed, so that it is unknown what is on the disk.

    Appends fail until the log is closed and opened again.
    """


class LogVersionError(LogError):
    """Raised if a later version of this package wrote the log. Such a log is only read."""


class LogUnreadableError(LogError):
    """Raised if a log exists and cannot be read. Such a log is never taken for an empty one."""


class NotALogError(LogUnreadableError):
    """Raised if a file can be read, but no line of the file is a record, so that it is not a log."""


class DamagedArchiveError(LogUnreadableError):
    """Raised if a log is archived, and no record can be read because the archive is damaged."""


class ReplaceError(LogError):
    """A new file was to take the place of a log; nothing was written."""


class LockTimeoutError(LogError, TimeoutError):
    """Another process kept the log's lock for longer than `lock_timeout_s`; nothing was stored."""
