"""Put the names and tags together that two copies of a session got separately.

A label is a record with a session's name and all its tags; the last label counts (docs/format.md). No model sees it. So
if one of two copies has nothing but labels beyond the records that both have, the other copy gets one more label, and
then has everything of the first one (`Relation.LABELED`). The rules are those of a merge with a common beginning:
- A name that only one copy changed is the name. If both changed it, the later change counts.
- A tag that one copy added stays, and a tag that one copy removed goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from ....log.contract import ReadableLog
from ....log.index import Index
from ....log.open_log import open_log
from ....log.open_reader import open_reader
from ....log.record_kinds import control_of
from ....log.record_line import CONTROL_HEAD, encode_control, name_of
from ....sessions.session_name import key_of
from ..copy_log import append_all
from ..label_session import MOST_TAGS
from .append_to_copy import MEANWHILE, SyncError, whole_lines

_LABEL_HEAD = CONTROL_HEAD + b':"label"'


@dataclass(frozen=True, slots=True)
class Label:
    """A session's name and tags after the records of its log that were read so far."""

    name: str = ""
    tags: tuple[str, ...] = ()
    name_time: str = ""
    """The time at which the name was given last; "" if it never was."""
    time: str = ""
    """The time of the last label; "" if there is none."""

    def after(self, line: bytes) -> Label:
        """Return the name and tags after one more line of the log."""
        found = control_of(line) if line.startswith(_LABEL_HEAD) else None
        if found is None:
            return self
        _, record = found
        name = name_of(record.get("title", ""))
        tags = record.get("tags")
        time = name_of(record.get("time", ""))
        known_tags = tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
        return Label(name, known_tags, self.name_time if name == self.name else time, time)


def has_labels_of(log: ReadableLog, copy: ReadableLog) -> bool:
    """Return whether `join_labels` would add nothing to a log: it has all names and tags of the copy already.

    The caller must have read both logs (`follow`).
    """
    base, ours, theirs = _labels(log, copy)
    joined = _joined(base, ours, theirs)
    return (joined.name, joined.tags) == (ours.name, ours.tags)


def join_labels(log: str, copy: str, *, in_this_home: bool) -> None:
    """Append a label to a log, so that it has the names and tags of a copy too. Write nothing if it has them.

    Args:
        log: the log's file, or its location in a database.
        copy: a copy that has nothing but labels beyond the records that both have.
        in_this_home: whether the log is in this user's home; see `append_to_copy`.

    Raises:
        SyncError: another process has written to the log.
        LogError: a log cannot be read, or the log refused the append.
    """
    with closing(open_reader(log)) as log_reader, closing(open_reader(copy)) as copy_reader:
        log_reader.follow()
        copy_reader.follow()
        base, ours, theirs = _labels(log_reader, copy_reader)
    joined = _joined(base, ours, theirs)
    if (joined.name, joined.tags) == (ours.name, ours.tags):  # nothing to write, so the log may be read-only
        return

    def prepare(index: Index) -> list[bytes]:
        known = index.session
        if (known.name, known.tags) != (ours.name, ours.tags):
            raise SyncError(MEANWHILE)
        return [encode_control("label", title=joined.name, tags=list(joined.tags), time=joined.time)]

    append_all(open_log(log, is_carried_copy=not in_this_home), prepare)


def _labels(one: ReadableLog, two: ReadableLog) -> tuple[Label, Label, Label]:
    """Return the label after the records that two logs have in common, and the label at the end of each."""
    base = Label()
    common = 0
    for ours, theirs in zip(whole_lines(one), whole_lines(two), strict=False):
        if ours != theirs:
            break
        common += 1
        base = base.after(ours)
    return (
        base,
        _last(base, islice(whole_lines(one), common, None)),
        _last(base, islice(whole_lines(two), common, None)),
    )


def _last(label: Label, lines: Iterable[bytes]) -> Label:
    for line in lines:
        label = label.after(line)
    return label


def _tags_by_key(label: Label) -> dict[str, str]:
    return {key_of(tag): tag for tag in label.tags}


def _joined(base: Label, ours: Label, theirs: Label) -> Label:
    """Return the name and tags of two copies together; `base` is the label that both had before."""
    if ours.name == base.name:
        newest = theirs
    elif theirs.name == base.name:
        newest = ours
    else:
        newest = max(ours, theirs, key=lambda label: (label.name_time, label.name))
    before = _tags_by_key(base)
    our_tags = _tags_by_key(ours)
    their_tags = _tags_by_key(theirs)
    tags = [tag for key, tag in our_tags.items() if key in their_tags or key not in before]
    tags += [tag for key, tag in their_tags.items() if key not in our_tags and key not in before]
    return Label(newest.name, tuple(tags[:MOST_TAGS]), newest.name_time, max(ours.time, theirs.time))
