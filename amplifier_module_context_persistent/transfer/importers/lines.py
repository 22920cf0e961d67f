"""The objects of a JSON Lines file, with every other line noted in the account."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

from ...errors import LogUnreadableError
from .account import Account
from .source import Line, Source, parse_json

MOST_HELD_BYTES = 256 << 20
"""The objects of a larger file are read again where they are needed, so that memory does not grow with it."""


class SourceObject:
    """An object of a source: its line (or its number in a document), and its value.

    Args:
        number: from 1.
        value: what was parsed; None where it is to be read again.
        line: where it lies then.
        source: the file.
        inside: the keys that lead to the value in the object of the line.
    """

    __slots__ = ("_inside", "_line", "_source", "_value", "number")

    def __init__(
        self,
        number: int,
        value: dict[str, Any] | None,
        line: Line | None = None,
        source: Source | None = None,
        inside: tuple[str, ...] = (),
    ) -> None:
        self.number, self._value, self._line, self._source, self._inside = number, value, line, source, inside

    def inner(self, *keys: str) -> SourceObject:
        """An object in this one."""
        value: Any = self._value
        for key in keys if value is not None else ():
            value = value[key]
        return SourceObject(self.number, value, self._line, self._source, (*self._inside, *keys))

    def forget(self, keys: frozenset[str]) -> None:
        """Let go of parts of an object that is held; nobody reads them again."""
        held = self._value or {}
        for key in keys & held.keys():
            del held[key]

    @property
    def value(self) -> dict[str, Any]:
        """The object; of a large file it is parsed anew each time.

        Raises:
            LogUnreadableError: the file changed meanwhile.
        """
        if self._value is not None:
            return self._value
        assert self._source is not None  # noqa: S101 - what is not held can be read
        assert self._line is not None  # noqa: S101 - likewise
        try:
            value = parse_json(self._source.line_at(self._line.offset, self._line.length))
            for key in self._inside:
                value = value[key]
        except (ValueError, TypeError, KeyError):
            value = None
        if not isinstance(value, dict):
            raise LogUnreadableError(errno.EIO, "the file changed while it was read", self._source.path)
        return value


def objects_of(source: Source, account: Account) -> Iterator[tuple[SourceObject, dict[str, Any]]]:
    """Each line that is a JSON object; blank lines are counted, others are lost.

    The caller notes the lines that it gets. Each line is parsed once, if the file has at most `MOST_HELD_BYTES`.
    """
    is_held = source.size <= MOST_HELD_BYTES
    for line in source.lines():
        account.next_line()
        if line.content is not None and not line.content.strip():
            account.skip("blank line")
            continue
        try:
            entry = source.parsed(line)
        except ValueError as error:
            account.lose(line.number, str(error))
            continue
        if not isinstance(entry, dict):
            account.lose(line.number, "no JSON object")
            continue
        source.check(line.number, entry)
        if is_held:
            yield SourceObject(line.number, entry), entry
        else:
            yield SourceObject(line.number, None, line._replace(content=None), source), entry
