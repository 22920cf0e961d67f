"""Read the control records that concern a session; `index_builder` passes them in order.

Rules for a record that does not continue the checksum chain:
- It has no effect, unless the line before it is unreadable and it is the first plan, pin or hidden turn with its id.
- A receipt describes a request to a model and the view (the messages) that was sent. The last line of its view has an
  effect in any case, because the next answer may depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .control_place import ControlStatus, HeldControls, Place
from .index import Index
from .record_line import name_of
from .session_records import SessionRecords

Control = dict[str, Any]

_MOST_MODELS = 255
_PROVIDER, _MODEL = b',"provider":"', b'","model":"'
_TIME, _LINE = b',"time":"', b'"line":'


class SessionReader:
    """Fill the session's records of an index.

    Args:
        index: the index to fill.
        places: gets the places of the records whose content is kept.
    """

    def __init__(self, index: Index, places: HeldControls) -> None:
        self.index = index
        self.places = places
        self.pending_model = 0
        """The model of the last request without an answer so far, as a position in `Index.models`."""
        self._named: set[tuple[str, str]] = set()
        """The kind and the id of each plan, pin and hidden turn."""
        self._names = b""
        self._names_code = 0
        self._place = Place()
        self._status: ControlStatus
        """The status of the control record that is being read. The attribute is not set before the first such record.
        """
        self._may_be_copy = False

    @property
    def _records(self) -> SessionRecords:
        return self.index.session

    def snapshot(self) -> dict[str, Any]:
        """Return the state besides the index, in plain JSON types, for `restore`."""
        records = self._records
        return {
            "pending_model": self.pending_model,
            "named": sorted(self._named),
            "shown": [*records.line_shown, records.viewed_at],
            "label": [records.name, *records.tags],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot; a malformed snapshot also raises TypeError or KeyError.

        Raises:
            ValueError: the snapshot names a model that the index does not know.
        """
        self.pending_model = int(snapshot["pending_model"])
        self._named = {(str(kind), str(name)) for kind, name in snapshot["named"]}
        records = self._records
        count, line, viewed_at = snapshot["shown"]
        records.line_shown = (int(count), str(line))
        records.viewed_at = str(viewed_at)
        name, *tags = snapshot["label"]
        records.name = str(name)
        records.tags = tuple(map(str, tags))
        is_known_model = 0 <= self.pending_model < len(self.index.models)
        if not is_known_model:
            raise ValueError("a request to a model that is not known")

    def take(self, kind: str, value: Control, status: ControlStatus, place: Place, *, may_be_copy: bool) -> None:
        """Apply a control record to the session's state; records that do not concern a session are ignored.

        Args:
            kind: its kind.
            value: its content.
            status: its status in the checksum chain.
            place: its place.
            may_be_copy: whether it is among lines that repeat others.
        """
        take = self._TAKE.get(kind)
        if take is not None:
            self._status = status
            self._place = place
            self._may_be_copy = may_be_copy
            take(self, value)

    def receipt(self, line: bytes) -> bool:
        """Apply a sound receipt (the record of a request) without parsing it.

        Return False if the receipt must be parsed.
        """
        names = b""
        provider_start = line.find(_PROVIDER)
        if provider_start != -1:
            start = provider_start + len(_PROVIDER)
            end = line.find(b'"', start)
            if line.startswith(_MODEL, end):
                end = line.find(b'"', end + len(_MODEL))
            names = line[start:end]
        if b"\\" in names or _LINE in line:
            return False
        if names != self._names:  # else the code is known
            provider, _, model = names.partition(_MODEL)
            self._names = names
            self._names_code = self._code_of(_text(provider), _text(model))
        self.index.control_counts["view"] += 1
        records = self.index.session
        records.line_shown = (0, "")
        time_start = line.find(_TIME)
        if time_start != -1:
            start = time_start + len(_TIME)
            records.viewed_at = _text(line[start : line.find(b'"', start)])
        self.pending_model = self._names_code
        return True

    def pop_pending_model(self) -> int:
        """Return the model of the last request, as a position in `Index.models`, for its answer; 0 if called again."""
        model = self.pending_model
        self.pending_model = 0
        return model

    def _is_first(self, value: Control) -> bool:
        """Return whether a plan, pin or hidden turn takes effect, judged by the chain and earlier uses of its id."""
        name = name_of(value.get("_record")), name_of(value.get("id"))
        repeats = name in self._named
        self._named.add(name)
        if self._status.chained:
            return not (repeats and self._may_be_copy)
        return self._status.after_loss and not repeats

    def _plan(self, value: Control) -> None:
        if self._is_first(value):
            self._records.plan = value
            self.places.plan = self._place

    def _side_plan(self, value: Control) -> None:
        if self._status.chained:
            self._records.side_plan = value
            self.places.side_plan = self._place

    def _pin(self, value: Control) -> None:
        if self._is_first(value):
            message_id = name_of(value.get("message_id"))
            pins = self._records.pins
            ordinal = self.index.find_all([message_id]).get(message_id)
            if ordinal is not None and value.get("pinned") is True and self.index.is_live(ordinal):
                pins.add(ordinal)
            elif ordinal is not None:
                pins.discard(ordinal)

    def _hide(self, value: Control) -> None:
        turn = value.get("turn")
        if self._is_first(value) and isinstance(turn, list) and len(turn) == 2:
            hidden = self._records.hidden
            change = hidden.update if value.get("hidden") is True else hidden.difference_update
            change(self._live_between(name_of(turn[0]), name_of(turn[1])))

    def _live_between(self, first_id: str, last_id: str) -> Sequence[int]:
        """Return the ordinals of the live messages from one id to another.

        Empty if one of the two messages is not live.
        """
        index = self.index
        found = index.find_all([first_id, last_id])
        first = found.get(first_id)
        last = found.get(last_id)
        if first is None or last is None or not (index.is_live(first) and index.is_live(last)):
            return ()
        return index.live[index.live.index(first) : index.live.index(last) + 1]

    def _usage(self, value: Control) -> None:
        name = name_of(value.get("provider")), name_of(value.get("model"))
        if self._status.chained:
            self._records.usage[name] = value
            self.places.usage[name] = self._place

    def _learned(self, value: Control) -> None:
        fact = name_of(value.get("what"))
        if self._status.chained and fact:
            self._records.learned.add((fact, name_of(value.get("provider", "")), name_of(value.get("model", ""))))

    def _label(self, value: Control) -> None:
        if not self._status.chained:
            return
        tags = value.get("tags")
        if not isinstance(tags, list):
            tags = []
        self._records.name = name_of(value.get("title", ""))
        self._records.tags = tuple(tag for tag in tags if isinstance(tag, str))

    def _system(self, value: Control) -> None:
        if self._status.chained:
            self._records.heads.add(name_of(value.get("hash")))

    def _code_of(self, provider: str, model: str) -> int:
        """Return the position of a provider and a model in `Index.models`; 0 for no names, or if the list is full."""
        models = self.index.models
        names = (provider, model)
        if names in models:
            return models.index(names)
        if len(models) > _MOST_MODELS:
            return 0
        models.append(names)
        return len(models) - 1

    def _view(self, value: Control) -> None:
        rendered = value.get("render")
        line = rendered.get("line") if isinstance(rendered, dict) else None
        self._records.line_shown = (len(self.index), line) if isinstance(line, str) else (0, "")
        if self._status.chained:
            self._records.viewed_at = name_of(value.get("time", "")) or self._records.viewed_at
            self.pending_model = self._code_of(name_of(value.get("provider", "")), name_of(value.get("model", "")))

    _TAKE: ClassVar[dict[str, Callable[[SessionReader, Control], None]]] = {
        "plan": _plan,
        "side_plan": _side_plan,
        "pin": _pin,
        "hide": _hide,
        "label": _label,
        "usage": _usage,
        "learned": _learned,
        "system": _system,
        "view": _view,
        "asked": _view,
    }


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
