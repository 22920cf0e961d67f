"""From records to the index: what each record does to what is known of a log.

Knows nothing of bytes, offsets or checksums. A scan of a file feeds it, and so does a store of rows from its columns,
without making lines. `record_kinds` says what each kind of control record is to a purge, a redaction, an import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .index import ASSISTANT, PINNED, ROLE_CODES, UNCHAINED, UNHELD, Damage, Index, id_hash_of
from .old_resets import OldResets
from .record import Member, Message, name_of
from .reset_record import BEGIN, COMMIT, parse
from .resets import Resets

Control = dict[str, Any]

_MOST_MAKERS = 255
_PROVIDER, _MODEL = b',"provider":"', b'","model":"'


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
class ControlPlaces:
    """Where the control records lie whose content the index holds."""

    headers: list[Place] = field(default_factory=list)
    plan: Place | None = None
    usage: dict[tuple[str, str], Place] = field(default_factory=dict)


class IndexBuilder:
    """Fill an index from records, in their order.

    17 public methods: one for each thing that a scan can meet, and what a checkpoint takes and gives back.

    Args:
        index: one to go on with; else an empty one.
        places: where its control records lie.
    """

    def __init__(self, index: Index | None = None, places: ControlPlaces | None = None) -> None:
        self.index = index if index is not None else Index()
        self.places = places if places is not None else ControlPlaces()
        self._place = Place()
        self._flags, self._intact = 0, True
        self._known: set[int] = set()
        self._known_count = 0
        """Of so many messages the ids' hashes are in the set; it is filled when it is first needed."""
        self._asked = 0
        """Who was asked by the last request that no answer followed yet, as a code of `Index.makers`."""
        self._names, self._names_code = b"", 0
        self._resets = Resets(self.index, lambda detail: self.report("reset", detail))
        self._old = OldResets(self.index, lambda detail: self.report("reset", detail))

    @property
    def is_plain(self) -> bool:
        """Whether a message that belongs to no reset is live as it comes."""
        return not self._old.is_open

    @property
    def is_settled(self) -> bool:
        """Whether no reset is open: then `snapshot` says all that is known besides the index."""
        return self.is_plain and not self._resets.is_open

    def snapshot(self) -> dict[str, Any]:
        """What is known besides the index, in plain JSON types; for `restore`."""
        return {"resets": self._resets.snapshot(), "old_resets": self._old.snapshot(), "asked": self._asked}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot; errors as `Resets.restore`."""
        self._resets.restore(snapshot["resets"])
        self._old.restore(snapshot["old_resets"])
        self._asked = int(snapshot["asked"])
        if not 0 <= self._asked < len(self.index.asked):
            raise ValueError("a request to a model that is not known")

    @property
    def place(self) -> Place:
        """Where the record at hand lies."""
        return self._place

    def report(self, kind: str, detail: str) -> None:
        """Add a finding about the record at hand."""
        place = self._place
        self.index.damage.append(Damage(place.line, place.offset, kind, detail, place.length))

    def at(self, place: Place) -> None:
        """Say where the record at hand lies."""
        self._place = place

    def message(
        self, message: Message, message_id: str, flags: int, member: Member | None = None, *, doubtful: bool = False
    ) -> None:
        """Take a message; a doubtful one that has the id of another one is reported and not live."""
        metadata = message.get("metadata")
        if isinstance(metadata, dict) and (metadata.get("pinned") is True or metadata.get("critical") is True):
            flags |= PINNED
        hashed = id_hash_of(message_id.encode("utf-8", "surrogatepass"))
        repeats = doubtful and self._is_known(hashed)
        if repeats or member is not None:
            flags |= UNHELD
        role, maker = ROLE_CODES[message["role"]], 0
        if role == ASSISTANT and member is None:
            maker = self.take_asked()
        ordinal = self.add(role, flags, hashed, maker)
        if repeats:
            self.report("repeated", "it has the id of a message before it, and its checksum does not hold; left out")
        elif member is not None:
            self._resets.member(ordinal, member.reset_id, member.number)
        else:
            self._old.message(ordinal, doubtful=bool(flags & UNCHAINED) and doubtful)

    def add(self, role: int, flags: int, hashed: int, maker: int = 0) -> int:
        """Add a message that is not live yet; its ordinal."""
        place = self._place
        return self.index.add(
            offset=place.offset,
            length=place.length,
            role=role,
            flags=flags,
            id_hash=hashed,
            seed=place.seed,
            check=place.check,
            maker=maker,
        )

    def extend_live(
        self,
        *,
        offsets: Iterable[int],
        lengths: Iterable[int],
        roles: Iterable[int],
        flags: Iterable[int],
        id_hashes: Iterable[int],
        seeds: Iterable[int],
        checks: Iterable[int],
        makers: Iterable[int],
        plain_users: Iterable[int],
    ) -> None:
        """Take sound messages that are live as they come (`is_plain`), by their columns; their flags have `LIVE`."""
        index = self.index
        first = len(index)
        index.offsets.extend(offsets)
        index.lengths.extend(lengths)
        index.roles.extend(roles)
        index.flags.extend(flags)
        index.id_hashes.extend(id_hashes)
        index.seeds.extend(seeds)
        index.checks.extend(checks)
        index.makers.extend(makers)
        index.plain_users.extend(plain_users)
        index.live.extend(range(first, len(index)))

    def control(self, value: Control, flags: int, *, intact: bool) -> None:
        """Take a control record.

        Args:
            value: the record.
            flags: `DAMAGED` or `UNCHAINED` where the chain does not hold.
            intact: of a begin or commit of version 2: whether its own checksum holds.
        """
        kind = name_of(value.get("_record"))
        self.index.count_control(kind)
        self._flags, self._intact = flags, intact
        if kind in (BEGIN, COMMIT):
            self._old.end()
        elif kind not in ("reset", "keep", "commit") and not flags:
            self._old.other()
        if (take := self._TAKE.get(kind)) is not None:
            take(self, value)

    def receipt(self, line: bytes) -> bool:
        """Take a sound receipt without parsing it, as there is one a request; False where it has to be parsed."""
        start = line.find(_PROVIDER)
        end = line.find(b'"', start + len(_PROVIDER))
        names = line[start + len(_PROVIDER) : end] if start > 0 else b""
        if start > 0 and line[end : end + len(_MODEL)] == _MODEL:
            end = line.find(b'"', end + len(_MODEL))
            names = line[start + len(_PROVIDER) : end]
        if not self.is_plain or b"\\" in names:
            return False
        if names != self._names:
            provider, _, model = names.partition(_MODEL)
            self._names, self._names_code = names, self._code_of(_text(provider), _text(model))
        self.index.count_control("view")
        self._asked = self._names_code
        return True

    @property
    def asked(self) -> int:
        """Who was asked by the last request that no answer followed yet, by `Index.makers`."""
        return self._asked

    @asked.setter
    def asked(self, code: int) -> None:
        self._asked = code

    def take_asked(self) -> int:
        """Who was asked for the answer that comes now, by `Index.makers`; the next one has its own request."""
        asked, self._asked = self._asked, 0
        return asked

    def gap(self) -> None:
        """Take note that a line is missing here, or that the next one was altered."""
        self._old.damage()

    def unreadable(self, *, was_control: bool = False) -> None:
        """Take note of a line that cannot be read."""
        self._old.lost_record(was_run=was_control)

    def _is_known(self, hashed: int) -> bool:
        self.index.know_ids()
        hashes = self.index.id_hashes
        self._known.update(hashes[self._known_count :])
        self._known_count = len(hashes)
        return hashed in self._known

    # -- what each kind does -----------------------------------------------------------------------------------------

    def _header(self, value: Control) -> None:
        self.index.headers.append(value)
        self.places.headers.append(self._place)
        version = value.get("version")
        if not self._flags and isinstance(version, int):
            self.index.version = max(self.index.version, version)
            if version > 1:
                self._old.end()

    def _plan(self, value: Control) -> None:
        self.index.plan, self.places.plan = value, self._place

    def _pin(self, value: Control) -> None:
        self.index.pin(name_of(value.get("message_id")), pinned=value.get("pinned") is True)

    def _usage(self, value: Control) -> None:
        name = name_of(value.get("provider")), name_of(value.get("model"))
        self.index.usage[name], self.places.usage[name] = value, self._place

    def _system(self, value: Control) -> None:
        self.index.heads.add(name_of(value.get("hash")))

    def _code_of(self, provider: str, model: str) -> int:
        """The code of a provider and a model for `Index.makers`; 0 for nobody, and where there is no code left."""
        asked = self.index.asked
        if (provider, model) not in asked and len(asked) <= _MOST_MAKERS:
            asked.append((provider, model))
        return asked.index((provider, model)) if (provider, model) in asked else 0

    def _view(self, value: Control) -> None:
        if not self._flags:
            self._asked = self._code_of(name_of(value.get("provider", "")), name_of(value.get("model", "")))

    def _begin(self, value: Control) -> None:
        reset = parse(value)
        if reset is None or not self._intact:
            self.report("reset", "the begin of a reset is damaged; its commit decides")
        else:
            self._resets.begin(reset)

    def _commit(self, value: Control) -> None:
        reset = parse(value)
        if reset is None or not self._intact:
            self.report("reset", "the commit of a reset is damaged; its begin decides")
        else:
            self._resets.commit(reset, chained=not self._flags)

    def _old_reset(self, value: Control) -> None:
        count, is_rewind = value.get("count"), value.get("reason") == "rewind"
        self._old.reset(
            name_of(value.get("id")),
            count=count if isinstance(count, int) else 0,
            line=self._place.line,
            is_rewind=is_rewind,
            intact=not self._flags,
        )

    def _old_run(self, value: Control) -> None:
        self._old.run(name_of(value.get("from")), name_of(value.get("to")))

    def _old_commit(self, value: Control) -> None:
        self._old.commit(name_of(value.get("id")), intact=not self._flags)

    _TAKE: ClassVar[dict[str, Callable[[IndexBuilder, Control], None]]] = {
        "header": _header,
        "plan": _plan,
        "pin": _pin,
        "usage": _usage,
        "system": _system,
        "view": _view,
        "asked": _view,
        "reset_begin": _begin,
        "reset_commit": _commit,
        "reset": _old_reset,
        "keep": _old_run,
        "commit": _old_commit,
    }


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
