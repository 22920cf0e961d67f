"""Notice at a resume that `transcript.jsonl` was edited apart from this module, and tell the person.

The host's own script rewinds and repairs that file. The log does not see such an edit, and the host's next save undoes
it. So the person is told, with the command that changes the log too. There are two signs of an edit: the script keeps
the old file under a name with the time; or the file was written after the last message of the log.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

from ..messages.message import Message
from ..messages.message_times import instant_of, timestamp_of
from ..messages.metadata import is_human
from ..paths import LOG_NAME

_TRANSCRIPT = "transcript.jsonl"
_KEPT = re.compile(re.escape(_TRANSCRIPT) + r"\.bak-pre-(rewind|repair)-(\d{14})")
_SAVING_S = 5.0  # a host that saves while messages are added may be late by this time


def find_edit(log: str | None, live: Sequence[Message], host_list: Sequence[Message]) -> str:
    """Find out how the host's transcript was edited since the last message of the log.

    Args:
        log: the log's file; edits are looked for beside it.
        live: the live history.
        host_list: the transcript, as the host sets it.

    Returns:
        The kind of edit; "" if there is no sign of one, or if the transcript has all turns.
    """
    if log is None or Path(log).name != LOG_NAME or not live:
        return ""
    last = instant_of(timestamp_of(live[-1]))
    if last is None:
        return ""
    has_all_turns = sum(map(is_human, host_list)) >= sum(map(is_human, live))
    if has_all_turns:
        return ""
    directory = Path(log).parent
    newest = _newest_kept(directory)
    if newest is not None and newest.time >= last.astimezone(UTC).strftime("%Y%m%d%H%M%S"):
        return newest.kind
    try:
        saved_s = (directory / _TRANSCRIPT).stat().st_mtime
    except OSError:
        return ""
    return "edit" if saved_s > last.timestamp() + _SAVING_S else ""


class _KeptFile(NamedTuple):
    """An old transcript that the host's script kept."""

    kind: str
    """The edit before which this copy was kept: `rewind` or `repair`."""
    time: str
    """The time of the edit in UTC, as 14 digits."""


def _newest_kept(directory: Path) -> _KeptFile | None:
    """Return the newest of the old transcripts in a directory, or None if there is none."""
    try:
        names = [path.name for path in directory.iterdir()]
    except OSError:  # the directory may be entered, but not listed
        return None
    newest: _KeptFile | None = None
    for name in names:
        match = _KEPT.fullmatch(name)
        if match is not None and (newest is None or match[2] > newest.time):
            newest = _KeptFile(match[1], match[2])
    return newest


def advice(kind: str, log: str, live: Sequence[Message], host_list: Sequence[Message]) -> str:
    """Return a text that tells a person about an edit, and the command that makes the log follow the edit.

    Args:
        kind: the kind of the edit: `rewind`, `repair`, or another one.
        log: the log's path.
        live: the messages of the log.
        host_list: the messages of the edited file.
    """
    edited = {"rewind": "was rewound", "repair": "was repaired"}.get(kind, "was cut")
    event = (
        f"{_TRANSCRIPT} {edited} outside this session, but the log still has all {len(live):,} messages, and goes on."
    )
    turns = sum(map(is_human, host_list))
    if not turns:
        return f"{event} To begin anew, use /clear."
    command = shlex.join(["context-persistent", "rewind", log, "--to", str(turns)])
    return f"{event} To rewind the session for good: {command}"
