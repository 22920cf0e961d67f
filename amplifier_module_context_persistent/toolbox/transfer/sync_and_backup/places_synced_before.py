"""The places with which this home was synced, so that a deletion can name where copies follow.

They are in `~/.amplifier/context-synced.json` (mode 0600), the last one first, without passwords, with the day of the
last sync. The file can be removed at any time: the next sync makes it again. A place that is gone can be forgotten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....log.atomic_file import NewFile
from ....log.database_location import split_location, stored_name, without_password
from ....log.filesystem import open_regular
from ....paths import HOME_PROJECTS

_NAME = "context-synced.json"
_VERSION = 1
_MOST_PLACES = 8
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class SyncedPlace:
    """A directory or a database with which this home was synced, and the time."""

    name: str
    day: str = ""
    """The day of the last sync, in ISO 8601; empty if an earlier version noted the place."""

    def __str__(self) -> str:
        """Return a text for a person: the place, the day of its last sync, and whether its directory is missing now."""
        known = [f"last synced {self.day}"] if self.day else []
        if self.is_missing:
            known.append("not there now")
        return f"{self.name} ({', '.join(known)})" if known else self.name

    @property
    def is_missing(self) -> bool:
        """Whether the place is a directory that does not exist now, such as a stick that is not in the machine."""
        return stored_name(self.name) is None and not os.path.isdir(self.name)


def synced_places() -> list[SyncedPlace]:
    """Return the directories and databases with which this home was synced, the last synced first.

    A file that cannot be read counts as empty.
    """
    try:
        with open_regular(_path()) as file:
            value = json.loads(file.read(_MOST_BYTES))
        if value["version"] != _VERSION:
            return []
        days = value.get("days")
        known = days if isinstance(days, dict) else {}
        names = [name for name in value["places"] if isinstance(name, str)]
        return [SyncedPlace(name, str(known.get(name) or "")) for name in names[:_MOST_PLACES]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []


def why_not_known() -> str:
    """Return a sentence that the note of synced places is damaged, or "" if it is sound or missing."""
    path = _path()
    try:
        with open_regular(path) as file:
            value = json.loads(file.read(_MOST_BYTES))
        is_sound = isinstance(value["version"], int) and isinstance(value["places"], list)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        is_sound = False
    return "" if is_sound else f"{path} is damaged, so it is not known with which places you synced before"


def note_synced(name: str, time: str) -> None:
    """Note that this home was synced with a place, at a time.

    Args:
        name: the place.
        time: the time of the sync, in ISO 8601.

    Raises:
        OSError: the note cannot be written.
    """
    synced = SyncedPlace(name, time[: len("2026-01-31")])
    known = synced_places()
    if known[:1] == [synced]:
        return
    others = [place for place in known if place.name != name]
    _write([synced, *others][:_MOST_PLACES])


def forget_synced(place: str) -> list[SyncedPlace]:
    """Remove a place from the list of synced places. The place itself is not changed, and need not exist any more.

    Args:
        place: the directory or URL that a person names for a sync, or its noted form.

    Returns:
        The forgotten places; empty if none is noted by this name.

    Raises:
        OSError: the note cannot be written.
        ConfigError: the place is a URL that cannot be read.
    """
    names = {place}
    if stored_name(place) is not None:
        names.add(split_location(without_password(place))[0])
    else:
        directory = os.path.abspath(os.path.expanduser(place))
        names |= {directory, os.path.join(directory, HOME_PROJECTS), os.path.join(directory, "projects")}
    known = synced_places()
    forgotten = [synced_place for synced_place in known if synced_place.name in names]
    if forgotten:
        _write([synced_place for synced_place in known if synced_place.name not in names])
    return forgotten


def _write(places: Sequence[SyncedPlace]) -> None:
    days = {place.name: place.day for place in places if place.day}
    value = {"version": _VERSION, "places": [place.name for place in places], "days": days}
    with NewFile(_path(), replace=True, with_directories=True) as file:
        file.write(json.dumps(value).encode() + b"\n")
        file.finish()


def _path() -> Path:
    return Path.home() / ".amplifier" / _NAME
