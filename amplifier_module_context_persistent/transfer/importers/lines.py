"""The objects of a JSON Lines file, with every other line noted in the account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .account import Account
from .source import Line, Source


def objects_of(source: Source, account: Account) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Each line that is a JSON object; blank lines are counted, others are lost.

    The caller notes the lines that it gets.
    """
    for line in source.lines():
        account.lines += 1
        if line.content is not None and not line.content.strip():
            account.skip("blank line")
            continue
        try:
            entry = line.parse()
        except ValueError as error:
            account.lose(line.number, str(error))
            continue
        if isinstance(entry, dict):
            source.remember(line.offset, entry)
            yield line, entry
        else:
            account.lose(line.number, "no JSON object")
