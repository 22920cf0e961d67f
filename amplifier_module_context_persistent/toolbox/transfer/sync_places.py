"""The places with which this home was synced, so that a deletion can name where copies follow.

They are in `~/.amplifier/context-synced.json` (mode 0600), the last one first, without passwords. The file can be
removed at any time: the next sync makes it again.
"""

from __future__ import annotations

import json
from pathlib import Path

from ...log.atomic_file import NewFile
from ...log.filesystem import open_regular

_NAME = "context-synced.json"
_VERSION = 1
_MOST_PLACES = 8
_MOST_BYTES = 1 << 16


def synced_places() -> list[str]:
    """Return the directories and databases with which this home was synced, the last one first.

    A file that cannot be read counts as empty.
    """
    try:
        with open_regular(_path()) as file:
            value = json.loads(file.read(_MOST_BYTES))
        if value["version"] != _VERSION:
            return []
        return [place for place in value["places"] if isinstance(place, str)][:_MOST_PLACES]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []


def note_synced(place: str) -> None:
    """Note that this home was synced with a place.

    Raises:
        OSError: the note cannot be written.
    """
    known = synced_places()
    if known[:1] == [place]:
        return
    places = [place, *(one for one in known if one != place)][:_MOST_PLACES]
    with NewFile(_path(), replace=True, with_directories=True) as file:
        file.write(json.dumps({"version": _VERSION, "places": places}).encode() + b"\n")
        file.finish()


def _path() -> Path:
    return Path.home() / ".amplifier" / _NAME
