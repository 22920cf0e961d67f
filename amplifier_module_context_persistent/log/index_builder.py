"""From records to the index: what each record does to what is known of a log.

Knows nothing of bytes, offsets or checksums. A scan of a file feeds it, and so does a store of rows from its columns,
without making lines. `record_kinds` says what each kind of control record is to a purge, a redaction, an import.

What does not continue the checksum chain was altered, was moved, or follows a line that is lost. Rules for it:
- A message is read and marked. Of two with one id, the one that continues the chain is live, wherever it stands.
- A begin and a commit of a reset have checksums of their own, which decide; each counts once.
- Any other control record takes no effect, unless the line before it is plainly lost and it is the only one of its id.
  A header takes effect if it is the first.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, ClassVar

from .format_version import unknown_version
from .index import ASSISTANT, LIVE, PINNED, ROLE_CODES, UNHELD, Damage, Index, id_hash_of
from .record_line import Member, Message, name_of
from .reset_effects import Resets
from .reset_record import parse

Control = dict[str, Any]

_MOST_MODELS = 255
_PROVIDER, _MODEL = b',"provider":"', b'","model":"'
_TIME, _LINE = b',"time":"', b'"line":'


@dataclass(slots=True)
class Place:
    """Where a record lies: its line's number, its offset (or its row's number), and its length."""

    line: int = 0
    offset: int = 0
    length: int = 0
    seed: int = 0
    check: int = 0
    """With `seed` what a later reading is checked against; see `Index`."""


@dataclass(slots=True)
class HeldControls:
    """Where the control records lie whose content the index holds."""

    headers: list[Place] = field(default_factory=list)
    plan: Place | None = None
    side_plan: Place | None = None
    usage: dict[tuple[str, str], Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ControlStatus:
    """What is known of a control record besides its content."""

    intact: bool
    """Its own checksum holds, if it is a begin or a commit of a reset."""
    chained: bool = True
    """It continues the checksum chain."""
    after_loss: bool = False
    """The line before it cannot be read, so nobody can say whether it continues the chain."""
    counts_as_header: bool = True
    """It stands where a header tells the version of the log."""


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
        self.pending_model = 0
        """Who was asked by the last request that no answer followed yet: a position in `Index.models`."""
        self.doubtful: dict[int, tuple[int, Place]] = {}
        """By the hash of its id, each message that was taken although it does not continue the chain."""
        self.copying = False
        """Whether the lines that come now continue a line that may be a copy: then they may be copies too."""
        self._was_copied = False
        """Whether they may have copies that stand before them."""
        self._behind_strange_control = False
        """Whether a control record that does not continue the chain stands before them, and no message yet."""
        self._standing: ControlStatus
        """What is known of the control record at hand, once there is one."""
        self._named: set[tuple[str, str]] = set()
        """The kind and the id of each plan and pin."""
        self._names, self._names_code = b"", 0
        self.bundle_end = 0
        """Where the last bundle that was scanned ends."""
        self._resets = Resets(self.index, lambda detail: self.report("reset", detail))

    @property
    def is_settled(self) -> bool:
        """Whether no reset is open: then, of a sound log, `snapshot` says all that is known besides the index."""
        return not self._resets.is_open

    def snapshot(self) -> dict[str, Any]:
        """What is known besides the index, in plain JSON types; for `restore`."""
        return {
            "resets": self._resets.snapshot(),
            "pending_model": self.pending_model,
            "named": sorted(self._named),
            "shown": [*self.index.line_shown, self.index.viewed_at],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot; errors as `Resets.restore`."""
        self._resets.restore(snapshot["resets"])
        self.pending_model = int(snapshot["pending_model"])
        self._named = {(str(kind), str(name)) for kind, name in snapshot["named"]}
        count, line, viewed_at = snapshot["shown"]
        self.index.line_shown, self.index.viewed_at = (int(count), str(line)), str(viewed_at)
        if not 0 <= self.pending_model < len(self.index.models):
            raise ValueError("a request to a model that is not known")

    def adopt(self, index: Index) -> bool:
        """Fill an index that callers hold in the place of the own one; False, and nothing done, if it has others."""
        own = self.index
        if (own.offsets, own.lengths, own.live) != (index.offsets, index.lengths, index.live):
            return False
        for column in fields(Index):
            setattr(index, column.name, getattr(own, column.name))
        self.index = self._resets.index = index
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
        may_be_copied, self._behind_strange_control = self._behind_strange_control, False
        repeats = (doubtful or self.copying) and self._is_known(hashed)
        earlier = self.index.find_hashed(hashed) if repeats and self._was_copied and not doubtful else None
        if earlier is not None:  # it continues a line whose copy was left out
            self._leave_out(earlier, self.place)
        was_copied = earlier is not None or (not doubtful and self.withdraw_copies((hashed,)))
        self.copying, self._was_copied, repeats = repeats or was_copied, was_copied, repeats and not was_copied
        if repeats or member is not None:
            flags |= UNHELD
        else:
            flags |= LIVE
        role, place = ROLE_CODES[message["role"]], self.place
        model = self.pop_pending_model() if role == ASSISTANT and member is None else 0
        row = place.offset, place.length, role, flags, hashed, place.seed, place.check, model, 0
        ordinal = self.index.add(row)
        if repeats:
            self.report("repeated", "a copy of another message, or one with its id; it is left out")
            return
        if doubtful or may_be_copied:
            self.doubtful[hashed] = ordinal, place
        if member is not None:
            self._resets.member(ordinal, member.reset_id, member.number, doubtful=doubtful)

    def withdraw_copies(self, hashes: Iterable[int]) -> bool:
        """Leave out messages that do not continue the chain, since others with their ids do; whether there were any."""
        found = [self.doubtful.pop(hashed) for hashed in hashes if hashed in self.doubtful] if self.doubtful else []
        for ordinal, place in found:
            self._leave_out(ordinal, place)
        return bool(found)

    def _leave_out(self, ordinal: int, place: Place) -> None:
        self.index.withdraw(ordinal)
        self._resets.forget(ordinal)
        self.report("repeated", "one of two messages with the same id; the one that continues the chain is read", place)

    def control(self, value: Control, standing: ControlStatus) -> None:
        """Take a control record."""
        kind = name_of(value.get("_record"))
        self.index.control_counts[kind] += 1
        self._standing = standing
        self._behind_strange_control = self._behind_strange_control or not standing.chained
        if (take := self._TAKE.get(kind)) is not None:
            take(self, value)

    def receipt(self, line: bytes) -> bool:
        """Take a sound receipt without parsing it, as there is one a request; False where it has to be parsed."""
        names = b""
        if (start := line.find(_PROVIDER)) != -1:
            start += len(_PROVIDER)
            end = line.find(b'"', start)
            if line.startswith(_MODEL, end):
                end = line.find(b'"', end + len(_MODEL))
            names = line[start:end]
        if b"\\" in names or _LINE in line:
            return False
        if names != self._names:
            provider, _, model = names.partition(_MODEL)
            self._names, self._names_code = names, self._code_of(_text(provider), _text(model))
        self.index.control_counts["view"] += 1
        self.index.line_shown = (0, "")
        if (begin := line.find(_TIME)) != -1:
            begin += len(_TIME)
            self.index.viewed_at = _text(line[begin : line.find(b'"', begin)])
        self.pending_model = self._names_code
        return True

    def pop_pending_model(self) -> int:
        """Who gives the answer that comes now, by `Index.models`; the next one has its own request."""
        model, self.pending_model = self.pending_model, 0
        return model

    def _is_known(self, hashed: int) -> bool:
        table, hashes = self.index.id_table, self.index.id_hashes
        table.catch_up(hashes)
        return next(table.positions(hashed, hashes), None) is not None

    def _is_first(self, value: Control) -> bool:
        """Whether a plan or a pin takes effect as far as the chain is concerned."""
        own = name_of(value.get("_record")), name_of(value.get("id"))
        repeats = own in self._named
        self._named.add(own)
        if self._standing.chained:
            return not (repeats and self.copying)
        return self._standing.after_loss and not repeats

    # -- what each kind does -----------------------------------------------------------------------------------------

    def _header(self, value: Control) -> None:
        index, version = self.index, unknown_version(value)
        if version and self._standing.counts_as_header:
            index.unknown_version = index.unknown_version or version
        if self._standing.chained or not index.headers:
            index.headers.append(value)
            self.places.headers.append(self.place)

    def _plan(self, value: Control) -> None:
        if self._is_first(value):
            self.index.plan, self.places.plan = value, self.place

    def _side_plan(self, value: Control) -> None:
        if self._standing.chained:
            self.index.side_plan, self.places.side_plan = value, self.place

    def _pin(self, value: Control) -> None:
        if self._is_first(value):
            self.index.pin(name_of(value.get("message_id")), pinned=value.get("pinned") is True)

    def _hide(self, value: Control) -> None:
        turn = value.get("turn")
        if self._is_first(value) and isinstance(turn, list) and len(turn) == 2:
            self.index.hide(name_of(turn[0]), name_of(turn[1]), hidden=value.get("hidden") is True)

    def _usage(self, value: Control) -> None:
        name = name_of(value.get("provider")), name_of(value.get("model"))
        if self._standing.chained:
            self.index.usage[name], self.places.usage[name] = value, self.place

    def _learned(self, value: Control) -> None:
        if self._standing.chained and (what := name_of(value.get("what"))):
            self.index.learned.add((what, name_of(value.get("provider", "")), name_of(value.get("model", ""))))

    def _system(self, value: Control) -> None:
        if self._standing.chained:
            self.index.heads.add(name_of(value.get("hash")))

    def _code_of(self, provider: str, model: str) -> int:
        """The code of a provider and a model in `Index.models`; 0 for nobody, and where there is no code left."""
        models = self.index.models
        if (provider, model) not in models and len(models) <= _MOST_MODELS:
            models.append((provider, model))
        return models.index((provider, model)) if (provider, model) in models else 0

    def _view(self, value: Control) -> None:
        rendered = value.get("render")
        line = rendered.get("line") if isinstance(rendered, dict) else None
        self.index.line_shown = (len(self.index), line) if isinstance(line, str) else (0, "")
        if self._standing.chained:
            self.index.viewed_at = name_of(value.get("time", "")) or self.index.viewed_at
            self.pending_model = self._code_of(name_of(value.get("provider", "")), name_of(value.get("model", "")))

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
        "plan": _plan,
        "side_plan": _side_plan,
        "pin": _pin,
        "hide": _hide,
        "usage": _usage,
        "learned": _learned,
        "system": _system,
        "view": _view,
        "asked": _view,
        "bundle": _bundle,
        "reset_begin": _begin,
        "reset_commit": _commit,
    }


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
