"""Refuse to carry a damaged log to another place, where it would pass for a sound copy.

A sync and a restore read each log that they copy as a whole, and check its chain of checksums. A damaged log stays
where it is, and is named. Records that were never sealed (`unchained`), repeated or too long are no sign of damage.
"""

from __future__ import annotations

import shlex

from ...errors import ContextPersistentError
from ...log.contract import ReadableLog, damaged_frames
from ...log.database_location import shown_location
from ...log.open_reader import file_reader

_HARMLESS = frozenset({"unchained", "repeated", "oversized"})


class DamagedLogError(ContextPersistentError, ValueError):
    """A log is damaged, so it was not copied; nothing was changed."""


def damage_in(reader: ReadableLog) -> str:
    """Return the first damage of a log that was read completely, with its place; "" if the log is sound.

    Args:
        reader: the log. A reader of a database must not trust the columns of the rows (`open_reader`).
    """
    file = file_reader(reader)
    if file is None:
        for lost in damaged_frames(reader):
            return f"line {lost.line:,}: {lost.detail}"
    elif file.file.archive is not None:
        for number, why in file.file.archive.damaged.items():
            return f"{file.file.archive.place_of(number)}: {why}"
    for found in reader.index.damage:
        if found.kind not in _HARMLESS:
            return f"line {found.line:,}, byte {found.offset:,}: {found.detail}"
    return ""


def check_sound(reader: ReadableLog) -> None:
    """Check that a log that was read completely is not damaged.

    Raises:
        DamagedLogError: the log is damaged; the text says where, and what to do.
    """
    damage = damage_in(reader)
    if damage:
        path = shlex.quote(shown_location(reader.describe().location))
        raise DamagedLogError(
            f"the log is damaged, and was not copied: {damage} (`context-persistent verify {path}` tells all); put a "
            f"sound copy in its place, or carry what can be read: `context-persistent fork` makes a sound session of a "
            f"log of this home, and `context-persistent import {path}` takes one from elsewhere as it stands"
        )
