"""Read the new messages of a growing session, and the changes of its history, since the last call.

- No message is returned twice, even if the log was purged, rewound, reset, or replaced by another file.
- A message that was removed from the history before the call, for instance by a rewind, is not returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from ..log.index import Index
from ..log.record_kinds import control_of
from ..log.record_line import name_of
from ..log.reset_record import BEGIN, COMMIT
from .raw_records import StoredLog
from .transcript import LiveMessage, Transcript

ChangeKind = Literal["cleared", "rewound", "repaired", "replaced", "purged", "compacted"]

_BY_REASON: dict[str, ChangeKind] = {"clear": "cleared", "rewind": "rewound", "repair": "repaired"}
"""The kinds of resets by the reasons that their records name."""


@dataclass(frozen=True, slots=True)
class SessionChange:
    """A change of a session's history.

    A `kind` of `cleared`, `rewound`, `repaired` (a host repaired an interrupted turn) or `replaced` means that other
    messages are live now; `purged` means that messages or texts were also erased. After these changes, a screen has to
    read the history again. `compacted` changes no message: later requests contain less of the history.
    """

    kind: ChangeKind
    live_messages: int
    """The number of live messages after the change."""
    time: str = ""
    """The time of the change, in ISO 8601; "" if the time is unknown."""
    tokens_before: int = 0
    """For a compaction: the tokens of a view before it."""
    tokens_after: int = 0
    """For a compaction: the tokens of a view after it."""


class SessionFollower:
    """A reader of a growing session that remembers which messages it has returned.

    Its methods block, and must not run at the same time.

    Args:
        transcript: the open session. The caller closes it.
        after: the id of a message; messages after it are new. "" for the whole history; None for later messages only.

    Raises:
        ValueError: the log has no message with the id `after`.
    """

    def __init__(self, transcript: Transcript, after: str | None = None) -> None:
        self._transcript = transcript
        self._log = cast("StoredLog", transcript.reader)  # all stored logs are of this type
        self._index: Index = self._log.index
        self._generation = self._index.generation
        self._purges = self._index.control_counts["purge"]
        self._seen = 0
        """The number of message records that were returned or are to be skipped."""
        self._offset = self._log.scanner.offset
        """The offset in the log up to which control records were read."""
        self._begun: dict[str, int] = {}
        """The offsets of resets that have begun but not ended, by id."""
        self._is_late = False
        """Whether the next `read_new` also returns changes that are already part of the index."""
        if after is None:
            self._seen = _seen_in(self._index)
        elif after:
            self._begin_after(after)

    @property
    def place(self) -> str:
        """The path of the log's file, or its location in a database without the password."""
        return self._transcript.path

    def _begin_after(self, message_id: str) -> None:
        ordinal = self._index.find(message_id)
        if ordinal is None:
            raise ValueError(
                f"after: the session has no message with the id {message_id!r}; perhaps it was purged; "
                "give after='' to begin with the whole history"
            )
        self._seen = ordinal + 1
        self._offset = self._index.columns.offsets[ordinal]
        self._is_late = True

    def read_new(self) -> Iterator[LiveMessage | SessionChange]:
        """Return an iterator over what was appended since the last call. Consume it before the next call.

        Raises:
            LogUnreadableError: the log was removed, or cannot be read.
        """
        self._log.follow()
        index = self._log.index
        if index is not self._index:
            return self._read_rewritten(index)
        changes = self._new_changes(index)
        positions = [at for at, ordinal in self._candidates(index) if ordinal >= self._seen]
        self._mark(index)
        return self._merged(positions, changes)

    def _candidates(self, index: Index) -> Iterator[tuple[int, int]]:
        """Return the position and the ordinal of each live message that may be new.

        After a reset, new messages may be anywhere, so all live messages are returned; else only the last ones.
        """
        live = index.live
        start = 0
        if index.generation == self._generation:
            start = len(live)
            while start and live[start - 1] >= self._seen:
                start -= 1
        return enumerate(live[start:], start)

    def _read_rewritten(self, index: Index) -> Iterator[LiveMessage | SessionChange]:
        """Return the new messages of a log that was rewritten, and the change itself.

        Messages that were returned before are recognised by the hashes of their ids.
        """
        returned_before = set(self._index.columns.id_hashes[: self._seen])
        hashes = index.columns.id_hashes
        positions = [at for at, ordinal in enumerate(index.live) if hashes[ordinal] not in returned_before]
        is_purge = index.control_counts["purge"] > self._purges
        change = SessionChange("purged" if is_purge else "replaced", len(index.live))
        self._seen = 0
        self._offset = self._log.scanner.offset
        self._begun = {}
        self._mark(index)
        return self._merged(positions, [(0, change)])

    def _mark(self, index: Index) -> None:
        self._index = index
        self._generation = index.generation
        self._purges = index.control_counts["purge"]
        self._seen = max(self._seen, _seen_in(index))

    def _new_changes(self, index: Index) -> list[tuple[int, SessionChange]]:
        """Return the changes in new control records, each with its offset; for a reset, the offset of its beginning."""
        is_changed = index.generation != self._generation
        live = len(index.live)
        changes: list[tuple[int, SessionChange]] = []
        for line in self._log.whole_lines(self._offset):
            control = control_of(line.content)
            if control is None:
                continue
            kind, record = control
            time = name_of(record.get("time"))
            if kind == BEGIN:
                self._begun[name_of(record.get("id"))] = line.offset
            elif kind == COMMIT:
                begin = self._begun.pop(name_of(record.get("id")), None)
                if begin is not None and (is_changed or self._is_late):
                    reason = _BY_REASON.get(name_of(record.get("reason")), "replaced")
                    changes.append((begin, SessionChange(reason, live, time)))
            elif kind == "plan":
                tokens_before, tokens_after = _number(record.get("tokens_before")), _number(record.get("tokens_after"))
                changes.append((line.offset, SessionChange("compacted", live, time, tokens_before, tokens_after)))
        self._offset = self._log.scanner.offset
        self._is_late = False
        if is_changed and all(change.kind == "compacted" for _, change in changes):
            changes.append((0, SessionChange("replaced", live)))  # damage that is found later changes the live history
        return sorted(changes, key=lambda one: one[0])

    def _merged(
        self, positions: list[int], changes: list[tuple[int, SessionChange]]
    ) -> Iterator[LiveMessage | SessionChange]:
        """Yield messages and changes in the order of the log."""
        offsets = self._index.columns.offsets
        live = self._index.live
        places = [offsets[live[position]] for position in positions]
        for place, message in zip(places, self._transcript.placed(among=positions), strict=True):
            while changes and changes[0][0] <= place:
                yield changes.pop(0)[1]
            yield message
        for _, change in changes:
            yield change


def _seen_in(index: Index) -> int:
    """Return the number of message records up to the last live message. Records of an unfinished reset do not count."""
    return max(index.live, default=-1) + 1


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
