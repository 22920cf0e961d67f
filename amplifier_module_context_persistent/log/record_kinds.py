"""The kinds of control records, in one table that says how a scan, a purge and a redaction treat each kind.

A control record is a record without a message, such as a header or a plan. To add a kind, add a row here and, if it has
an effect on the index, a line to `IndexBuilder`. Records of a kind that is not in the table are kept and ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .record_line import CONTROL_HEAD, Message, decode, name_of


@dataclass(frozen=True, slots=True)
class RecordKind:
    """The properties of a kind of control record."""

    frames: bool = False
    """Whether the record begins or commits a reset. A purge rewrites the record, or leaves it out with its reset."""
    bundles: bool = False
    """Whether the record describes the records of one append (`log/bundle.py`). A purge leaves such records out."""
    permanent: bool = False
    """Whether a purge always keeps the record."""
    depends_on_history: bool = False
    """Whether the record describes a part of the history, as a receipt does."""
    last_in_force: bool = False
    """Whether only the last record of this kind, the one in force, has an effect."""
    outlives_messages: bool = False
    """Whether the record stays valid after the messages before it were purged."""
    named_by_hash: bool = False
    """Whether its name is the hash of its text; if the text is redacted, the record is left out."""
    names: frozenset[str] = frozenset()
    """Keys whose values are names (of messages, models and so on), which a redaction does not change."""
    named_places: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Names in lists of lists: a key, and the positions in an inner list that are names of messages."""
    names_inside: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Names in objects: a key, and the keys of its object whose values are names."""
    keyed_by_id: frozenset[str] = frozenset()
    """Keys whose values are objects of texts by message id."""
    foreign: frozenset[str] = frozenset()
    """Keys whose values have another format and contain no names."""


_HEADER_NAMES = frozenset(
    [
        "version",
        "log_id",
        "session_id",
        "tokenizer",
        "created",
        "parent_id",
        "parent_log_id",
        "forked_from",
        "imported_from",
        "remote",
    ]
)
_SOURCE_NAMES = {"source": frozenset({"format", "key", "session_id", "spawned_by", "subagents", "branches"})}
_PLAN_NAMES = frozenset({"upto", "keep", "silent", "closed", "media", "hidden", "notice_before", "strategy"})
_CUTS = frozenset({"cuts"})
_GAP_NAMES = {"gaps": frozenset({0, 1, 5})}
_MODEL_NAMES = frozenset({"provider", "model"})

_ITEM_NAMES = {"native": frozenset({"provider", "model", "seed", "stands_for", "keep"})}

KINDS = {
    "header": RecordKind(permanent=True, names=_HEADER_NAMES, names_inside=_SOURCE_NAMES),
    "purge": RecordKind(permanent=True, names=frozenset({"mode"})),
    "reset_begin": RecordKind(frames=True),
    "reset_commit": RecordKind(frames=True),
    "bundle": RecordKind(bundles=True),
    "plan": RecordKind(
        last_in_force=True, names=_PLAN_NAMES, named_places=_GAP_NAMES, names_inside=_ITEM_NAMES, keyed_by_id=_CUTS
    ),
    "side_plan": RecordKind(names=_PLAN_NAMES, named_places=_GAP_NAMES, names_inside=_ITEM_NAMES, keyed_by_id=_CUTS),
    "view": RecordKind(
        depends_on_history=True,
        names=frozenset({"plan", "upto", "provider", "model", "head", "tools", "bound", "hash"}),
    ),
    "sent": RecordKind(depends_on_history=True, names=frozenset({"view", "hash", "how"})),
    "asked": RecordKind(names=_MODEL_NAMES),
    "usage": RecordKind(last_in_force=True, names=_MODEL_NAMES),
    "learned": RecordKind(outlives_messages=True, names=_MODEL_NAMES | {"what"}),
    "system": RecordKind(named_by_hash=True, names=frozenset({"hash"})),
    "pin": RecordKind(outlives_messages=True),
    "hide": RecordKind(outlives_messages=True, names=frozenset({"turn"})),
    "label": RecordKind(outlives_messages=True),
    "appends": RecordKind(),
    "source": RecordKind(foreign=frozenset({"entry"})),
    "damaged": RecordKind(),
}
_UNKNOWN = RecordKind()


def holds_item(record: Message) -> bool:
    """Return whether a record is a plan with a provider's item: an opaque text made from the messages before it."""
    return isinstance(record.get("native"), dict)


def kind_of(name: str) -> RecordKind:
    """Return the properties of a kind; for an unknown kind, the defaults."""
    return KINDS.get(name, _UNKNOWN)


def control_of(line: bytes) -> tuple[str, Message] | None:
    """Return the kind and the content of a control record's line; None for a message, and for a damaged line."""
    if not line.startswith(CONTROL_HEAD):
        return None
    try:
        record = decode(line)
    except ValueError:
        return None
    return name_of(record.get("_record")), record
