"""Build the index from records: apply the effect of each kind of record.

The builder knows no bytes, offsets or checksums. The scan of a file passes it records; a database passes it the columns
of rows, without making lines. `record_kinds` has the properties of the kinds of control records.

A record that does not continue the checksum chain was altered or moved, or follows a lost line. Rules for such records:
- A message is read and marked. Of two messages with the same id, the one that continues the chain is live, wherever it
  is in the file.
- Later lines may continue this message and so look sound. They were inserted if a later line continues the line before
  the break of the chain. They are copies as long as they repeat messages.
- The begin and the commit of a reset have their own checksums, which decide. Each of them has an effect only once.
- A header has an effect only if it is the first. For other control records see `session_reader`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any, ClassVar

from .control_place import ControlStatus, HeldControls, Place
from .format_version import unknown_version
from .index import ASSISTANT, LIVE, PINNED, ROLE_CODES, UNHELD, Damage, Index, id_hash_of
from .record_line import Member, Message, name_of
from .reset_effects import Resets
from .reset_record import parse
from .session_reader import Control, SessionReader


class IndexBuilder:
    """Fill an index from records, in their order.

    Args:
        index: the index to fill; by default an empty one.
        places: the places of its control records.
    """

    def __init__(self, index: Index | None = None, places: HeldControls | None = None) -> None:
        self.index = index if index is not None else Index()
        self.places = places if places is not None else HeldControls()
        self.place = Place()
        """The place of the current record."""
        self.doubtful: dict[int, tuple[int, Place]] = {}
        """Messages that do not continue the chain: by the hash of the id, the ordinal, and the place of the line that
        breaks the chain. A later message with the same id replaces such a message if it continues the chain."""
        self.left_out: list[int] = []
        """The ordinals of the replaced messages."""
        self.copying = False
        """Whether the current lines are copies. Copies follow a break of the chain and repeat messages."""
        self._status: ControlStatus
        """The status of the control record that is being read. The attribute is not set before the first such record.
        """
        self.bundle_end = 0
        """The byte offset at which the last scanned bundle (`log/bundle.py`) ends."""
        self.session = SessionReader(self.index, self.places)
        """Reads the control records that concern a session."""
        self._resets = Resets(self.index, lambda detail: self.report("reset", detail))

    @property
    def is_settled(self) -> bool:
        """Whether no reset is open. Then, for a sound log, the index and `snapshot` are the whole state."""
        return not self._resets.is_open

    def snapshot(self) -> dict[str, Any]:
        """Return the state besides the index, in plain JSON types, for `restore`."""
        return {
            "resets": self._resets.snapshot(),
            **self.session.snapshot(),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot; errors as for `SessionReader.restore`."""
        self._resets.restore(snapshot["resets"])
        self.session.restore(snapshot)

    def adopt(self, index: Index) -> bool:
        """Move the state into an index that callers hold. Return False, and change nothing, if its messages differ."""
        own_index = self.index
        mine = own_index.columns
        theirs = index.columns
        if (mine.offsets, mine.lengths, own_index.live) != (theirs.offsets, theirs.lengths, index.live):
            return False
        for column in fields(Index):
            setattr(index, column.name, getattr(own_index, column.name))
        self.index = self._resets.index = self.session.index = index
        return True

    def report(self, kind: str, detail: str, place: Place | None = None) -> None:
        """Add a finding about the current record, or about an earlier place."""
        place = place or self.place
        found = Damage(place.line, place.offset, kind, detail, place.length)
        insort(self.index.damage, found, key=attrgetter("offset"))

    def message(
        self,
        message: Message,
        message_id: str,
        flags: int,
        member: Member | None = None,
        *,
        doubtful: bool = False,
    ) -> None:
        """Add a message to the index.

        Args:
            message: the parsed record of the message.
            message_id: its id.
            flags: `DAMAGED` (its checksum is wrong), `UNCHAINED` (it has no checksum), or 0.
            member: the reset that contains the message, and its number there; None if no reset contains it.
            doubtful: whether the message breaks the checksum chain: its checksum is wrong, or it has none although
                earlier lines have one.
        """
        metadata = message.get("metadata")
        if isinstance(metadata, dict) and (metadata.get("pinned") is True or metadata.get("critical") is True):
            flags |= PINNED
        hashed = id_hash_of(message_id)
        replaces_copy = not doubtful and self.withdraw_copies((hashed,))
        may_be_copy = (doubtful or self.copying) and not replaces_copy
        is_copy = may_be_copy and self._is_known(hashed)
        self.copying = is_copy
        if is_copy or member is not None:
            flags |= UNHELD
        else:
            flags |= LIVE
        role = ROLE_CODES[message["role"]]
        place = self.place
        is_answer = role == ASSISTANT and member is None
        model = self.session.pop_pending_model() if is_answer else 0
        is_plain_user = 0  # unknown
        row = place.offset, place.length, role, flags, hashed, place.seed, place.check, model, is_plain_user
        ordinal = self.index.add(row)
        if is_copy:
            self.report("repeated", "a copy of another message, or one with its id; it is left out")
            return
        if doubtful:
            self.doubtful[hashed] = ordinal, place
        if member is not None:
            self._resets.member(ordinal, member.reset_id, member.number, doubtful=doubtful)

    def doubt(self, first: int, place: Place) -> None:
        """Note that the messages from the ordinal `first` on may have been inserted. `place` is the first such line."""
        hashes = self.index.columns.id_hashes
        for ordinal in range(first, len(self.index)):
            if self.index.is_held(ordinal):
                self.doubtful.setdefault(hashes[ordinal], (ordinal, place))

    def withdraw_copies(self, hashes: Iterable[int]) -> bool:
        """Remove doubtful messages with these ids, because sound ones were found.

        Return whether any message was removed.
        """
        if not self.doubtful:
            return False
        found = [self.doubtful.pop(hashed) for hashed in hashes if hashed in self.doubtful]
        for ordinal, place in found:
            self._leave_out(ordinal, place)
        return bool(found)

    def _leave_out(self, ordinal: int, place: Place) -> None:
        self.index.withdraw(ordinal)
        self._resets.forget(ordinal)
        self.left_out.append(ordinal)
        self.report("repeated", "one of two messages with the same id; the one that continues the chain is read", place)

    def control(self, value: Control, status: ControlStatus) -> None:
        """Apply the effect of a control record; `status` is its status in the checksum chain."""
        kind = name_of(value.get("_record"))
        self.index.control_counts[kind] += 1
        self._status = status
        take = self._TAKE.get(kind)
        if take is not None:
            take(self, value)
        else:
            self.session.take(kind, value, status, self.place, may_be_copy=self.copying)

    def _is_known(self, hashed: int) -> bool:
        table = self.index.id_table
        hashes = self.index.columns.id_hashes
        table.catch_up(hashes)
        return next(table.positions(hashed, hashes), None) is not None

    # -- the effect of each kind --------------------------------------------------------------------------------------

    def _header(self, value: Control) -> None:
        index = self.index
        version = unknown_version(value)
        if version and self._status.counts_as_header and not index.unknown_version:
            index.unknown_version = version
        if self._status.chained or not index.headers:
            index.headers.append(value)
            self.places.headers.append(self.place)

    def _begin(self, value: Control) -> None:
        reset = parse(value)
        if reset is None or not self._status.intact:
            self.report("reset", "the begin of a reset is damaged; its commit decides")
        else:
            self._resets.begin(reset)

    def _commit(self, value: Control) -> None:
        reset = parse(value)
        if reset is None or not self._status.intact:
            self.report("reset", "the commit of a reset is damaged; its begin decides")
        else:
            self._resets.commit(reset, chained=self._status.chained)

    def _bundle(self, value: Control) -> None:
        total = value.get("bytes")
        if isinstance(total, int):
            self.bundle_end = self.place.offset + self.place.length + total

    _TAKE: ClassVar[dict[str, Callable[[IndexBuilder, Control], None]]] = {
        "header": _header,
        "bundle": _bundle,
        "reset_begin": _begin,
        "reset_commit": _commit,
    }
