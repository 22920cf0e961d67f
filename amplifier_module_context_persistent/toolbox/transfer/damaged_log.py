"""Refuse to carry a damaged log to another place, where it would pass for a sound copy.

A sync and a restore read each log that they copy as a whole, and check its chain of checksums. A damaged log stays
where it is, and is named. Records that were never sealed (`unchained`), repeated or too long are no sign of damage.
"""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path

from ...errors import ContextPersistentError, DamagedArchiveError, NotALogError
from ...log.contract import ReadableLog, damaged_frames
from ...log.database_location import shown_location, stored_name
from ...log.not_a_log import check_is_log
from ...log.open_reader import file_reader, open_reader
from ...paths import home_projects

_HARMLESS = frozenset({"unchained", "repeated", "oversized"})
_READ = "; it is read"
"""The part of a finding that says that the damaged record is read. It is removed for a log that is not copied."""


class DamagedLogError(ContextPersistentError, ValueError):
    """Raised if a log is damaged and therefore was not copied; nothing was changed."""


def damage_in(reader: ReadableLog) -> str:
    """Return the first damage of a log that was read completely, with its place; "" if the log is sound.

    Args:
        reader: the log. A reader of a database must not trust the columns of the rows (`open_reader`).
    """
    file = file_reader(reader)
    if file is None:
        for lost in damaged_frames(reader):
            return f"line {lost.line:,}: {lost.detail}"
    elif file.file.archive is not None and file.file.archive.damaged:
        return file.file.archive.first_damage()
    for found in reader.index.damage:
        if found.kind not in _HARMLESS:
            what = found.detail.partition(_READ)[0]
            return f"line {found.line:,}, byte {found.offset:,}: {what}"
    return ""


def is_damaged_archive(path: str) -> bool:
    """Return whether a log is an archive that is so damaged that no record of it can be read.

    Raises:
        LogUnreadableError: the file cannot be read.
    """
    if stored_name(path) is not None:
        return False
    with closing(open_reader(path)) as reader:
        try:
            reader.follow()
            check_is_log(reader)
        except DamagedArchiveError:
            return True
        except NotALogError:
            return False
    return False


def check_sound(reader: ReadableLog) -> None:
    """Check that a log that was read completely is not damaged.

    Raises:
        DamagedLogError: the log is damaged; the text says where, and what to do.
    """
    damage = damage_in(reader)
    if not damage:
        return
    log = reader.describe().location
    is_here = stored_name(log) is None and Path(log).is_relative_to(home_projects())
    rest = "`fork` makes a sound session of what can be read" if is_here else "`import` takes it as it stands"
    raise DamagedLogError(
        f"the log is damaged, and was not copied: {damage}; put a sound copy in its place, or {rest}; "
        f"`context-persistent verify {shlex.quote(shown_location(log))}` tells all"
    )
