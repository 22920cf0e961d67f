"""Give a fork its origin without what was purged here, so that a fork of an old copy brings nothing back.

A fork of a file outside of the home, such as an old copy, is another session. So a deletion of its origin does not
forbid the fork, since a person asks for it; the report says that the session was deleted. But a purge is about what was
said. If the origin holds content that a purge removed here, the fork is made from a purged copy of the origin. The copy
is in a private directory while the command runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import cast

from ....erasures.erasure_list import erasures
from ....erasures.erasure_record import SESSION, TEXT, ErasedError, Erasure
from ....errors import PlaceError, PurgeError
from ....hosts import is_hosts_file
from ....log.database_location import split_location, stored_name
from ....log.open_reader import open_reader
from ....messages.metadata import given_id
from ....messages.replace_in_message import Replace, Replacement
from ....sessions.raw_records import StoredLog, read_log
from ....sessions.transcript import Transcript
from ...maintenance.chained_lines import ChainedLines
from ...maintenance.purge_options import Purge, PurgeCounts
from ...maintenance.purge_rewrite import Rewrite
from ..history_at import HistoryPrefix, history_at
from ..plain_copies import PrivateDirectory
from .undone_erasures import erasures_of_log, purge_of, why_refused

_ADVICE = "--again forks it all the same"


@dataclass(frozen=True, slots=True)
class PurgedOrigin:
    """The log that a fork copies: its origin, or a purged copy of the origin."""

    transcript: Transcript
    origin: Transcript
    """The log itself, with what was purged."""
    sentences: Sequence[str] = ()
    """Sentences for a person about what was deleted or purged here."""
    replace: Replace = str
    """Replaces the purged texts, for the origin's name."""

    def history_at(self, at: int | str | None) -> HistoryPrefix:
        """Return the history of the log that is copied, up to a place.

        Args:
            at: the number of a turn, as commands show the origin: purged turns count, too; or the id of a message; None
                for the whole live history.

        Raises:
            PlaceError: there is no such turn or message, or nothing is left of the history up to it.
        """
        if self.transcript is self.origin or not isinstance(at, int):
            return history_at(self.transcript, at)
        index = self.origin.reader.index
        known = set(self.transcript.reader.index.columns.id_hashes)
        past = history_at(self.origin, at).ordinals
        last = next((ordinal for ordinal in reversed(past) if index.columns.id_hashes[ordinal] in known), None)
        if last is None:
            raise PlaceError(f"nothing is left up to turn {at:,}")
        (message,) = self.origin.reader.read([last])
        return history_at(self.transcript, given_id(message) or "")


@contextmanager
def without_purged(origin: Transcript, target: str, *, again: bool) -> Iterator[PurgedOrigin]:
    """Give the log that a fork copies, for a `with` block.

    Args:
        origin: the log that is forked.
        target: the place of the fork; empty for another agent's file.
        again: keep what was purged.

    Raises:
        ErasedError: the origin holds purged content, and a copy without that content cannot be made.
        PlaceError: the block raised it, since the place was purged.
        OSError: a list of erasures cannot be read, or a purged copy cannot be written.
    """
    undone = [] if again else _undone_by_fork(origin, target)
    sentences = [_sentence(erasure) for erasure in undone]
    purges = [erasure for erasure in undone if erasure.what != SESSION]
    if not purges:
        yield PurgedOrigin(origin, origin, sentences)
        return
    why = why_refused(purges[-1])
    with PrivateDirectory() as directory:
        try:
            copy = _purged_copy(origin.path, directory, purges)
        except PurgeError as error:
            raise ErasedError(f"{why}; it cannot be purged: {error}; {_ADVICE}") from error
        with Transcript(copy) as purged:
            if not len(purged):
                raise ErasedError(f"{why}; nothing is left of it; {_ADVICE}")
            try:
                yield PurgedOrigin(purged, origin, sentences, _replace_all(purges))
            except PlaceError as error:
                raise PlaceError(f"{error}; {why}; {_ADVICE}") from error


def _undone_by_fork(origin: Transcript, target: str) -> list[Erasure]:
    """Return the erasures that a fork would undo.

    A fork that is here already keeps what was purged from its own origin alone, so a fork of it does, too.
    """
    found = erasures(target)
    if not found:
        return []
    path = origin.path
    is_in_database = stored_name(path) is not None
    if is_in_database and target:
        is_here = stored_name(target) is not None and split_location(path)[0] == split_location(target)[0]
    else:
        is_here = not is_in_database and is_hosts_file(path)
    return erasures_of_log(origin.reader, path, found, is_incoming=not is_here)


def _sentence(erasure: Erasure) -> str:
    if erasure.what == SESSION:
        return f"the session was deleted here on {erasure.day}; the fork has its history again"
    if erasure.what == TEXT:
        return f"a text was purged here on {erasure.day}; the fork has it replaced; {_ADVICE}"
    return f"messages were purged here on {erasure.day}; the fork has them no more; {_ADVICE}"


def _purged_copy(origin: str, directory: PrivateDirectory, purges: Sequence[Erasure]) -> str:
    """Write a copy of a log without what purges removed here, and return its path.

    Raises:
        PurgeError: the log is too damaged, or a purge does not say all that it removed.
        OSError: the copy cannot be written.
    """
    texts = [erasure for erasure in purges if erasure.what == TEXT]
    others = [erasure for erasure in purges if erasure.what != TEXT]
    if any(not erasure.rule.is_complete for erasure in texts) or any(erasure.ids.has_more for erasure in others):
        raise PurgeError("more was purged than the list of erasures can name")
    steps = [purge_of(erasure) for erasure in others]
    if texts:
        steps.append(Purge(redact=_replace_all(texts)))
    source = origin
    time = max(erasure.time for erasure in purges)
    for number, purge in enumerate(steps):
        target = directory.file(f"purged-{number}")
        _write_purged(source, directory, target, purge, time)
        if source != origin:
            os.remove(source)
        source = target
    return source


def _write_purged(source: str, directory: PrivateDirectory, target: str, purge: Purge, time: str) -> None:
    with closing(open_reader(source, trusting=False)) as reader, directory.new_file(target) as file:
        read_log(reader)
        lines = ChainedLines(lambda line: cast("None", file.write(line)))
        Rewrite(cast("StoredLog", reader), purge, PurgeCounts(), lines, time=time).run()


def _replace_all(purges: Sequence[Erasure]) -> Replace:
    """Return the replacement of all texts that purges removed, and of values that only their keys name."""
    rules = [erasure.rule for erasure in purges if erasure.what == TEXT]

    def replace_all(text: str) -> str:
        for rule in rules:
            text = rule.replace(text)
        return text

    in_values = [rule.replacement for rule in rules if rule.secrets]
    if in_values and isinstance(in_values[0], Replacement):
        return Replacement(replace_all, in_values[0].in_value)
    return replace_all
