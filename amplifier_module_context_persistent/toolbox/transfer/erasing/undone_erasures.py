"""Find the erasures that a log would undo.

A log undoes an erasure if its session was deleted, or if it still holds content that was purged in another copy.
Whether a log holds purged content is decided in this order:
- A purge writes the salt of its erasure to the log (`erasure` of the `purge` record). A log with that record does not
  hold the content any more.
- Otherwise the log is searched: for the messages that were purged, or with the rule of a purged text.
- If the erasure identifies neither all texts nor the messages, the times decide: a log with a later purge is trusted.

A fork is a session of its own, so a deletion of its origin does not concern it. But it holds the origin's messages: a
text that was purged from the origin must not come into a home with a fork from before the purge.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from ....erasures.erasure_list import erasures
from ....erasures.erasure_record import SESSION, TEXT, ErasedError, Erasure
from ....erasures.purges_of_log import purges_of, salts_of_purges
from ....errors import PurgeError
from ....hosts import is_hosts_file
from ....log.contract import ReadableLog
from ....log.database_location import stored_name
from ....log.open_reader import open_reader
from ....log.record_line import Message
from ...maintenance.purge_log import plan_purge
from ...maintenance.purge_options import Purge
from .erased_session_names import names_at_start, names_of, names_of_origin
from .erasure_is_about import concerning


def erasures_of_log(
    reader: ReadableLog, location: str, found: Sequence[Erasure] | None = None, *, is_incoming: bool = True
) -> list[Erasure]:
    """Return the erasures that copying a log would undo: those of its session, and of content that it still has.

    Args:
        reader: the log, which was read already.
        location: its file, or its location in a database.
        found: the erasures that are in force; by default this user's.
        is_incoming: whether the log comes into the place in which the content was erased. If so, a fork is also
            searched for texts that were purged from its origin. A fork that is there already was not meant.

    Raises:
        LogUnreadableError: the log cannot be read.
        OSError: the list of erasures cannot be read, so it is not known what was erased.
    """
    found = erasures() if found is None else found
    if not found:
        return []
    about = list(concerning(found, names_of(reader)))
    if is_incoming:
        about += _inherited(reader, found, about)
    return undone_among(reader, location, about)


def undone_among(reader: ReadableLog, location: str, about: Sequence[Erasure]) -> list[Erasure]:
    """Return the erasures that a log would undo.

    Args:
        reader: the log, which was read already.
        location: its file, or its location in a database.
        about: the erasures to choose from; all are about the log's session.
    """
    if all(erasure.what == SESSION for erasure in about):  # the content of the log does not matter
        return list(about)
    purges, carried_out = purges_of(reader), salts_of_purges(reader)
    undone = list[Erasure]()
    for erasure in about:
        if erasure.salt in carried_out:
            continue
        if erasure.what == SESSION or _holds(reader, location, erasure, purges):
            undone.append(erasure)
    return undone


def _holds(reader: ReadableLog, location: str, erasure: Erasure, purges: Sequence[Message]) -> bool:
    """Return whether a log still holds content that a purge removed from another copy."""
    if erasure.ids.hashes:
        return any(map(erasure.took, reader.index.columns.id_hashes))
    is_whole_rule = erasure.rule.is_complete if erasure.what == TEXT else not erasure.ids.has_more
    if is_whole_rule:
        try:
            return not plan_purge(location, purge_of(erasure)).counts.is_nothing
        except PurgeError:  # the log is too damaged to be searched
            return True
    return erasure.time > max((str(record.get("time", "")) for record in purges), default="")


def purge_of(erasure: Erasure) -> Purge:
    """Return the purge that carries out an erasure of a text or of messages on a copy of the log."""
    if erasure.what == TEXT:
        return Purge(redact=erasure.rule.replacement)
    return Purge(took=erasure.took, took_all=erasure.is_all)


def erasures_about(log: str, found: Sequence[Erasure], *, with_origins: bool = False) -> list[Erasure]:
    """Return the erasures, among the given ones, that are about the session of a log.

    Args:
        log: the log's file, or its location in a database.
        found: the erasures to choose from.
        with_origins: include those of texts that were purged from the session that a fork was made from.

    Raises:
        LogUnreadableError, OSError: the log cannot be read.
    """
    if not found:
        return []
    names = None
    if stored_name(log) is None and not with_origins:
        names = names_at_start(log)
    if names is not None:
        return list(concerning(found, names))
    with closing(open_reader(log)) as reader:
        reader.follow()
        about = list(concerning(found, names_of(reader)))
        return [*about, *_inherited(reader, found, about)] if with_origins else about


def _inherited(reader: ReadableLog, found: Sequence[Erasure], about: Sequence[Erasure]) -> list[Erasure]:
    """Return the erasures of texts that were purged from a fork's origin, without those that are about the fork."""
    salts = {erasure.salt for erasure in about}
    inherited = concerning(found, names_of_origin(reader))
    return [earlier for earlier in inherited if earlier.what == TEXT and earlier.salt not in salts]


def why_refused(erasure: Erasure) -> str:
    """Return the reason why a log is refused, as text for a person."""
    if erasure.what == SESSION:
        return f"this session was deleted here on {erasure.day}"
    return f"this session was purged here on {erasure.day}, and the file still holds what was removed"


def check_not_erased(location: str, target: str) -> None:
    """Check that a copy of a log would undo no erasure, here or at its target.

    Args:
        location: the log's file, or its location in a database.
        target: the place of the copy.

    Raises:
        ErasedError: the copy would undo an erasure.
        LogUnreadableError: the log cannot be read.
        OSError: the list of erasures cannot be read, so it is not known what was erased.
    """
    found = erasures(target)
    if not found:
        return
    with closing(open_reader(location)) as reader:
        reader.follow()
        undone = erasures_of_log(reader, location, found, is_incoming=not is_hosts_file(location))
        if undone:
            raise ErasedError(f"{why_refused(undone[-1])}; --again copies it all the same")
