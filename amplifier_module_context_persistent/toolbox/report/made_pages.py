"""The note of the pages that `reports` made in a directory, so that pages of deleted sessions go when it is run again.

The note is `.context-reports.json` in the directory. For each page it has the session's id, those of the sub-agents in
the page, the page's size and SHA-256, and a hash of the place that has the session. It has no path and no text. Rules:
- A page is noted before it is made, so that a killed run leaves no page that is not known as ours.
- A page that has other bytes than we wrote, or that is not noted, is somebody else's and stays.
- A page is only judged from the place that its session was in: this home, or the database that is asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...log.atomic_file import NewFile
from ...log.database_location import shown_location, split_location, stored_name
from ...sessions.session_files import SessionFile
from ...sessions.session_name import METADATA_NAME
from ..maintenance.leftovers import parts_of
from ..maintenance.note_beside_log import Content, content_of
from .index_page import INDEX_NAME, is_report

NOTE_NAME = ".context-reports.json"
_VERSION = 1
_MOST_BYTES = 64 << 20


@dataclass(slots=True)
class MadePage:
    """A page that `reports` made."""

    session: str
    place: str
    """The hash of the place of the session's log (`place_of`)."""
    below: list[str] = field(default_factory=list)
    """The ids of the sub-agents' sessions in the page, sorted."""
    contents: list[Content] = field(default_factory=list)
    is_being_made: bool = False
    """Whether a run is making the page, or was killed while it did."""


def place_of(log: str | Path) -> str:
    """Return a hash of the directory of projects, or of the database, that has a log; it does not reveal the name."""
    place = os.fspath(log)
    if stored_name(place) is not None:
        place = split_location(shown_location(place))[0]
    else:
        parents = Path(os.path.abspath(place)).parents
        place = f"{platform.node()}:{parents[min(3, len(parents) - 1)]}"
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class MadePages:
    """The pages that `reports` made in a directory. A note that cannot be read counts as empty."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._pages = _read(self.directory / NOTE_NAME)

    def is_noted(self) -> bool:
        """Return whether the directory has a note, so that pages were made there before."""
        return (self.directory / NOTE_NAME).exists()

    def is_current(self, name: str, session: SessionFile, below: Iterable[SessionFile]) -> bool:
        """Return whether a page is newer than its session and has the sub-agents that are there now."""
        below = list(below)
        changed_s = max(map(_changed_s, (session, *below)))
        path = self.directory / name
        if not path.exists() or path.stat().st_mtime <= changed_s:
            return False
        known = self._pages.get(name)
        return known is None or (not known.is_being_made and known.below == _ids(below))

    def begin(self, name: str, session: SessionFile, below: Iterable[SessionFile]) -> None:
        """Note that a page is about to be made. Save the note before that, so that the page is known as ours."""
        known = self._pages.get(name)
        contents = known.contents if known is not None else []
        self._pages[name] = MadePage(session.id, place_of(session.path), _ids(below), contents, is_being_made=True)

    def finish(self, name: str) -> None:
        """Note the content of a page that was made. Save the note after the last page.

        Raises:
            OSError: the page cannot be read.
        """
        page = self._pages[name]
        page.contents = [content_of(self.directory / name)]
        page.is_being_made = False

    def remove_gone(self, is_gone: Callable[[str, str], bool]) -> tuple[list[str], list[str]]:
        """Remove the pages whose sessions are gone, and what killed runs left of pages.

        Args:
            is_gone: tells whether the place with a hash no longer has the session with an id.

        Returns:
            The names of the removed pages, and of those that stay because somebody changed them.

        Raises:
            OSError: a page cannot be read or removed.
        """
        removed, changed = list[str](), list[str]()
        for name, page in sorted(self._pages.items()):
            path = self.directory / name
            for part in parts_of(os.fspath(path)):
                os.remove(part)
            if not is_gone(page.place, page.session):
                continue
            if path.is_symlink() or (path.exists() and not self._is_ours(path, page)):
                changed.append(name)
                continue
            if path.exists():
                path.unlink()
                removed.append(name)
            del self._pages[name]
        for own in (INDEX_NAME, NOTE_NAME):
            for part in parts_of(os.fspath(self.directory / own)):
                os.remove(part)
        if self.is_noted():
            self.save()
        return removed, changed

    def _is_ours(self, path: Path, page: MadePage) -> bool:
        return content_of(path) in page.contents or (page.is_being_made and is_report(path))

    def save(self) -> None:
        """Write the note.

        Raises:
            OSError: it cannot be written.
        """
        value = {"version": _VERSION, "pages": {name: asdict(page) for name, page in self._pages.items()}}
        with NewFile(self.directory / NOTE_NAME, replace=True) as file:
            file.write(json.dumps(value).encode() + b"\n")
            file.finish()


def _read(note: Path) -> dict[str, MadePage]:
    found = dict[str, MadePage]()
    with suppress(OSError, ValueError, RecursionError, AttributeError, KeyError):
        if not note.is_file() or note.is_symlink():  # opening a FIFO would block
            return {}
        with note.open("rb") as file:
            value = json.loads(file.read(_MOST_BYTES))
        if value.get("version") != _VERSION:
            return {}
        for name, entry in value["pages"].items():
            is_plain_name = os.path.basename(name) == name
            with suppress(TypeError, ValueError, KeyError, IndexError):
                if is_plain_name:
                    found[name] = _made_page(entry)
    return found


def _made_page(entry: dict[str, Any]) -> MadePage:
    """Return a page from its entry in the note.

    Raises:
        TypeError, ValueError, KeyError, IndexError: the entry is malformed.
    """
    contents = [(int(item[0]), str(item[1])) for item in entry["contents"]]
    below = [str(item) for item in entry["below"]]
    is_being_made = entry["is_being_made"] is True
    return MadePage(str(entry["session"]), str(entry["place"]), below, contents, is_being_made)


def _ids(sessions: Iterable[SessionFile]) -> list[str]:
    return sorted(session.id for session in sessions)


def _changed_s(session: SessionFile) -> float:
    """Return when a session was last changed: its log, or the host's file with its name."""
    changed_s = session.modified_s
    if isinstance(session.path, Path):
        with suppress(OSError):
            changed_s = max(changed_s, session.path.with_name(METADATA_NAME).stat().st_mtime)
    return changed_s
