"""Errors of an import of which nothing is written: the file has no session, or more than one."""

from __future__ import annotations

from ....errors import ContextPersistentError


class ImportRefusedError(ContextPersistentError, ValueError):
    """The file has nothing that can be imported, or is not in the named format; nothing was written."""


class TwoSessionsError(ImportRefusedError):
    """Raised if a file contains a second session after the one at its beginning."""

    def __init__(self, line: int, first: str, other: str) -> None:
        super().__init__(
            f"line {line:,} begins another session ({other!r}; the file begins with {first!r}): a file holds one "
            "session; cut it before that line, and import both parts"
        )


def one_session(line: int, known: str, named_id: str) -> str:
    """Return the id of a file's session: the known id, else the id that a line names.

    Raises:
        TwoSessionsError: the two ids differ.
    """
    if known and named_id not in ("", known):
        raise TwoSessionsError(line, known, named_id)
    return known or named_id
