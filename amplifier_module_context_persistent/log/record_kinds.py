"""The kinds of control records, in one table: what each one is to a scan, a purge, a redaction; and reading one.

To add a kind, add a row here and, if it changes what is known of a log, a line to `IndexBuilder`. A kind that is not in
the table is kept and ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .record_line import CONTROL_HEAD, Message, decode, name_of


@dataclass(frozen=True, slots=True)
class RecordKind:
    """What a kind of control record is."""

    frames: bool = False
    """It is part of a reset; a purge writes it anew, or leaves it out with its reset."""
    bundles: bool = False
    """It says which records one append stored; a purge leaves it out, for it writes a whole file."""
    permanent: bool = False
    """No purge removes it."""
    depends_on_history: bool = False
    """It stands for a part of the history: a receipt."""
    last_in_force: bool = False
    """Only the one in force says something."""
    outlives_messages: bool = False
    """It counts although the messages before it were purged."""
    named_by_hash: bool = False
    """Its name is the hash of its text, so a redacted one is left out."""
    names: frozenset[str] = frozenset()
    """Keys whose values name messages, models and the like; a redaction leaves them alone."""
    named_places: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Likewise, in lists of lists: a key, and which items of an inner list name messages."""
    names_inside: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Likewise, in objects: a key, and which keys of its object have names."""
    keyed_by_id: frozenset[str] = frozenset()
    """Keys with objects that hold texts by the ids of messages."""
    foreign: frozenset[str] = frozenset()
    """Keys with content of another format, in which nothing is a name."""


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
    """Whether it is a plan with what a provider compacted: an opaque text of the messages before it."""
    return isinstance(record.get("native"), dict)


def kind_of(name: str) -> RecordKind:
    """What a kind is; an unknown one has no properties."""
    return KINDS.get(name, _UNKNOWN)


def control_of(line: bytes) -> tuple[str, Message] | None:
    """The kind and the content of a control record's line; None for a message, and for what `verify` reports."""
    if not line.startswith(CONTROL_HEAD):
        return None
    try:
        record = decode(line)
    except ValueError:
        return None
    return name_of(record.get("_record")), record
