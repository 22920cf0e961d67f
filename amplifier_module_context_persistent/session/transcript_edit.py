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

from ..messages.message import Message
from ..messages.metadata import instant_of, is_human, timestamp_of
from ..paths import LOG_NAME

_TRANSCRIPT = "transcript.jsonl"
_KEPT = re.compile(re.escape(_TRANSCRIPT) + r"\.bak-pre-(rewind|repair)-(\d{14})")
_SAVING_S = 5.0  # a host that saves while messages are added may be late by this time


def find_edit(log: str | None, live: Sequence[Message], given: Sequence[Message]) -> str:
    """Find out how the host's transcript was edited since the last message of the log.

    Args:
        log: the log's file; edits are looked for beside it.
        live: the live history.
        given: the transcript, as the host sets it.

    Returns:
        The kind of edit; "" if there is no sign of one, or if the transcript has all turns.
    """
    if log is None or Path(log).name != LOG_NAME or not live:
        return ""
    last = instant_of(timestamp_of(live[-1]))
    if last is None or sum(map(is_human, given)) >= sum(map(is_human, live)):
        return ""
    try:
        names = [path.name for path in Path(log).parent.iterdir()]
    except OSError:  # the directory may be entered, but not listed
        names = []
    kept = [match for match in map(_KEPT.fullmatch, names) if match is not None]
    if kept:
        newest = max(kept, key=lambda match: match[2])
        if newest[2] >= last.astimezone(UTC).strftime("%Y%m%d%H%M%S"):
            return newest[1]
    try:
        saved_s = (Path(log).parent / _TRANSCRIPT).stat().st_mtime
    except OSError:
        return ""
    return "edit" if saved_s > last.timestamp() + _SAVING_S else ""


def advice(kind: str, log: str, live: Sequence[Message], given: Sequence[Message]) -> str:
    """Return what to tell a person about an edit: what happened, and the command that makes the log follow it."""
    done = {"rewind": "was rewound", "repair": "was repaired"}.get(kind, "was cut")
    turns = sum(map(is_human, given))
    told = f"{_TRANSCRIPT} {done} outside this session, but the log still has all {len(live):,} messages, and goes on."
    if not turns:
        return f"{told} To begin anew, use /clear."
    command = shlex.join(["context-persistent", "rewind", log, "--to", str(turns)])
    return f"{told} To rewind the session for good: {command}"
