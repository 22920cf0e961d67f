"""From records to the index: what each record does to what is known of a log.

Knows nothing of bytes, offsets or checksums. A scan of a file feeds it, and so does a store of rows from its columns,
without making lines. `record_kinds` says what each kind of control record is to a purge, a redaction, an import.

What does not continue the checksum chain was altered, was moved, or follows a line that is lost. Rules for it:
- A message is read and marked. Of two with one id, the one that continues the chain is live, wherever it stands.
- Lines that follow such a line and continue it look sound. They were put in if a later line continues what stands
  before them, and they are copies as long as they repeat messages.
- A begin and a commit of a reset have checksums of their own, which decide; each counts once.
- A header takes effect if it is the first. Of the others `session_reader` says what they do.
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
        index: one to go on with; else an empty one.
        places: where its control records lie.
    """

    def __init__(self, index: Index | None = None, places: HeldControls | None = None) -> None:
        self.index = index if index is not None else Index()
        self.places = places if places is not None else HeldControls()
        self.place = Place()
        """Where the record at hand lies."""
        self.doubtful: dict[int, tuple[int, Place]] = {}
        """By the hash of its id, each message that gives way to one which continues the chain: its ordinal, and the
        line at which the chain is broken."""
        self.left_out: list[int] = []
        """The ordinals of those that gave way."""
        self.copying = False
        """Whether the lines at hand follow a break of the chain and repeat messages: then they are copies."""
        self._standing: ControlStatus
        """What is known of the control record at hand, once there is one."""
        self.bundle_end = 0
        """The byte offset at which the last scanned bundle (`log/bundle.py`) ends."""
        self.session = SessionReader(self.index, self.places)
        """Takes the control records that say something to a session."""
        self._resets = Resets(self.index, lambda detail: self.report("reset", detail))

    @property
    def is_settled(self) -> bool:
        """Whether no reset is open: then, of a sound log, `snapshot` says all that is known besides the index."""
        return not self._resets.is_open

    def snapshot(self) -> dict[str, Any]:
        """What is known besides the index, in plain JSON types; for `restore`."""
        return {
            "resets": self._resets.snapshot(),
            **self.session.snapshot(),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot; errors as `SessionReader.restore`."""
        self._resets.restore(snapshot["resets"])
        self.session.restore(snapshot)

    def adopt(self, index: Index) -> bool:
        """Fill an index that callers hold in the place of the own one; False, and nothing done, if it has others."""
        own = self.index
        mine, theirs = own.columns, index.columns
        if (mine.offsets, mine.lengths, own.live) != (theirs.offsets, theirs.lengths, index.live):
            return False
        for column in fields(Index):
            setattr(index, column.name, getattr(own, column.name))
        self.index = self._resets.index = self.session.index = index
        return True

    def report(self, kind: str, detail: str, place: Place | None = None) -> None:
        """Add a finding about the record at hand, or about one before it."""
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
        """Take a message.

        Args:
            message: the message.
            message_id: its id.
            flags: `DAMAGED` or `UNCHAINED`, if it is so.
            member: the reset that it belongs to.
            doubtful: whether it does not continue the chain.
        """
        metadata = message.get("metadata")
        if isinstance(metadata, dict) and (metadata.get("pinned") is True or metadata.get("critical") is True):
            flags |= PINNED
        hashed = id_hash_of(message_id)
        has_copy = not doubtful and self.withdraw_copies((hashed,))
        repeats = self.copying = not has_copy and (doubtful or self.copying) and self._is_known(hashed)
        if repeats or member is not None:
            flags |= UNHELD
        else:
            flags |= LIVE
        role, place = ROLE_CODES[message["role"]], self.place
        model = self.session.pop_pending_model() if role == ASSISTANT and member is None else 0
        row = place.offset, place.length, role, flags, hashed, place.seed, place.check, model, 0
        ordinal = self.index.add(row)
        if repeats:
            self.report("repeated", "a copy of another message, or one with its id; it is left out")
            return
        if doubtful:
            self.doubtful[hashed] = ordinal, place
        if member is not None:
            self._resets.member(ordinal, member.reset_id, member.number, doubtful=doubtful)

    def doubt(self, first: int, place: Place) -> None:
        """Let the messages from an ordinal on give way: they were put in, with the line at a place as the first one."""
        hashes = self.index.columns.id_hashes
        for ordinal in range(first, len(self.index)):
            if self.index.is_held(ordinal):
                self.doubtful.setdefault(hashes[ordinal], (ordinal, place))

    def withdraw_copies(self, hashes: Iterable[int]) -> bool:
        """Leave out messages that do not continue the chain, since others with their ids do; whether there were any."""
        found = [self.doubtful.pop(hashed) for hashed in hashes if hashed in self.doubtful] if self.doubtful else []
        for ordinal, place in found:
            self._leave_out(ordinal, place)
        return bool(found)

    def _leave_out(self, ordinal: int, place: Place) -> None:
        self.index.withdraw(ordinal)
        self._resets.forget(ordinal)
        self.left_out.append(ordinal)
        self.report("repeated", "one of two messages with the same id; the one that continues the chain is read", place)

    def control(self, value: Control, standing: ControlStatus) -> None:
        """Take a control record."""
        kind = name_of(value.get("_record"))
        self.index.control_counts[kind] += 1
        self._standing = standing
        if (take := self._TAKE.get(kind)) is not None:
            take(self, value)
        else:
            self.session.take(kind, value, standing, self.place, may_be_copy=self.copying)

    def _is_known(self, hashed: int) -> bool:
        table, hashes = self.index.id_table, self.index.columns.id_hashes
        table.catch_up(hashes)
        return next(table.positions(hashed, hashes), None) is not None

    # -- what each kind does -----------------------------------------------------------------------------------------

    def _header(self, value: Control) -> None:
        index, version = self.index, unknown_version(value)
        if version and self._standing.counts_as_header:
            index.unknown_version = index.unknown_version or version
        if self._standing.chained or not index.headers:
            index.headers.append(value)
            self.places.headers.append(self.place)

    def _begin(self, value: Control) -> None:
        reset = parse(value)
        if reset is None or not self._standing.intact:
            self.report("reset", "the begin of a reset is damaged; its commit decides")
        else:
            self._resets.begin(reset)

    def _commit(self, value: Control) -> None:
        reset = parse(value)
        if reset is None or not self._standing.intact:
            self.report("reset", "the commit of a reset is damaged; its begin decides")
        else:
            self._resets.commit(reset, chained=self._standing.chained)

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
