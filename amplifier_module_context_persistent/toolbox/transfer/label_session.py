"""Give a session a name and tags: a record in its log, which each list, search and report shows.

A host's own name for the session (`/rename` in Amplifier) stays in the host's file; the name in the log is shown
instead of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ... import clock
from ...errors import ContextPersistentError
from ...log.database_location import shown_location
from ...log.index import Index
from ...log.open_log import open_existing, open_log
from ...log.open_reader import not_there
from ...log.record_line import encode_control
from ...log.session_records import SessionRecords
from ...sessions.session_name import MOST_CHARS, key_of
from .copy_log import append_all

MOST_TAG_CHARS = 50
MOST_TAGS = 50


class LabelError(ContextPersistentError, ValueError):
    """Raised if a name or a tag is not allowed. The message says what is allowed."""


@dataclass(frozen=True, slots=True)
class Label:
    """The current name and tags of a session in its log."""

    name: str
    tags: tuple[str, ...]
    is_new: bool
    """Whether the name or the tags have changed, so that a record was written."""


def rename_session(
    path: str | Path, name: str, *, lock_timeout_s: float = 10.0, now: Callable[[], str] = clock.utc_now
) -> Label:
    """Give a session a name, or remove its name.

    Args:
        path: the session's log (a file, or a location in a database), which may be in use.
        name: at most 200 characters on one line; empty to show the host's name again.
        lock_timeout_s: the longest wait for another process that holds the log's lock.
        now: gives ISO 8601 timestamps.

    Raises:
        LabelError: the text is not a valid name.
        LogError: the log is missing, cannot be read, or refused the append.
    """
    called = name.strip()
    if len(called) > MOST_CHARS or not called.isprintable():
        raise LabelError(f"{name!r:.80} is no name: a name has at most {MOST_CHARS} characters, all on one line")
    return _write(path, lambda known: (called, known.tags), lock_timeout_s=lock_timeout_s, now=now)


def tag_session(
    path: str | Path,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    *,
    lock_timeout_s: float = 10.0,
    now: Callable[[], str] = clock.utc_now,
) -> Label:
    """Add tags to a session, and remove others; case does not matter.

    Args:
        path: the session's log (a file, or a location in a database), which may be in use.
        add: tags, each of at most 50 characters without a space. A tag that the session has keeps its spelling.
        remove: tags to remove; tags that the session does not have are ignored.
        lock_timeout_s: the longest wait for another process that holds the log's lock.
        now: gives ISO 8601 timestamps.

    Raises:
        LabelError: a text is not a valid tag, or there would be more than 50 tags.
        LogError: the log is missing, cannot be read, or refused the append.
    """
    for tag in (*add, *remove):
        if not _is_tag(tag):
            raise LabelError(f"{tag!r:.80} is no tag: a tag has 1 to {MOST_TAG_CHARS} characters, and no space")

    def changed(known: SessionRecords) -> tuple[str, tuple[str, ...]]:
        tags = {key_of(tag): tag for tag in known.tags}
        for tag in add:
            tags.setdefault(key_of(tag), tag)
        for tag in remove:
            tags.pop(key_of(tag), None)
        if len(tags) > MOST_TAGS:
            raise LabelError(f"{len(tags):,} tags are too many: a session has at most {MOST_TAGS}")
        return known.name, tuple(tags.values())

    return _write(path, changed, lock_timeout_s=lock_timeout_s, now=now)


def _is_tag(text: str) -> bool:
    """Return whether a text can be a tag: printable, without spaces, neither empty nor too long."""
    if not text or len(text) > MOST_TAG_CHARS or not text.isprintable():
        return False
    return not any(character.isspace() for character in text)


def _write(
    path: str | Path,
    change: Callable[[SessionRecords], tuple[str, tuple[str, ...]]],
    *,
    lock_timeout_s: float,
    now: Callable[[], str],
) -> Label:
    """Change the name and the tags of a session.

    Args:
        path: the session's log.
        change: returns the new name and tags. It is called under the log's lock with what is known of the session.
        lock_timeout_s: the longest wait for another process that holds the log's lock.
        now: gives ISO 8601 timestamps.
    """
    time = now()
    done = Label("", (), is_new=False)

    def prepare(index: Index) -> list[bytes]:
        nonlocal done
        known = index.session
        name, tags = change(known)
        is_new = (name, tags) != (known.name, known.tags)
        done = Label(name, tags, is_new=is_new)
        return [encode_control("label", title=name, tags=list(tags), time=time)] if is_new else []

    present = open_existing(str(path))
    if present is None:  # an append would create a log
        raise not_there(shown_location(str(path)))
    present.close()
    append_all(open_log(str(path), lock_timeout_s=lock_timeout_s), prepare)
    return done
