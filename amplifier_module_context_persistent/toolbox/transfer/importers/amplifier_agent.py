"""Read transcripts of Amplifier's hosts, with the files beside them; and transcripts of amplifier-agent since 1.0.

The engine of amplifier-agent has no place for a context module, and keeps the conversation itself:

    <storage>/workspaces/<workspace>/sessions/<id>/transcript.jsonl   the messages, without the instructions
                                                   turns.jsonl        a line for each turn that was committed
                                                   metadata.json      the session's id, directory, provider and model

A turn is committed by its line in `turns.jsonl`, which has the number of messages at that time. Later messages of the
transcript belong to a turn that was not committed, and the engine drops them when it resumes the session.
Sources: microsoft/amplifier-agent, `docs/concepts/sessions.md` at 58367dd and `_engine/storage.py` at 49b340c.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ....sessions.session_name import METADATA_NAME, read_metadata
from ..imports.import_log import read_messages
from .account import Account
from .amplifier_events import with_events
from .events import Event, SessionStart
from .fields import named, text
from .source_file import Source

TURNS_NAME = "turns.jsonl"
_BACKUP = ".backup"
_BESIDE = frozenset({TURNS_NAME, METADATA_NAME, "events.jsonl"})
_FACTS = {
    "title": "name",
    "cwd": "working_dir",
    "provider": "provider",
    "model": "model",
    "workspace": "workspace",
    "created": "created",
    "parent_session": "parent_id",
}
_NOT_COMMITTED = "its turn was not committed (turns.jsonl); the engine leaves it out too when it resumes the session"


def is_session(path: str) -> bool:
    """Return whether a transcript is from amplifier-agent, by files or metadata of its engine beside the transcript."""
    directory = Path(path).parent
    has_turns = any((directory / f"{TURNS_NAME}{end}").is_file() for end in ("", _BACKUP))
    return has_turns or "persistence" in read_metadata(directory / METADATA_NAME)


def comes_with_transcript(path: str) -> bool:
    """Return whether a file only repeats or describes the transcript that is beside it, or in the directory above."""
    directory, name = os.path.split(path)
    above = os.path.dirname(directory) if os.path.basename(directory) == "context-intelligence" else directory
    return name in _BESIDE and os.path.isfile(os.path.join(above, "transcript.jsonl"))


def read_transcript(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session in a host's transcript, with the host's name for the session and the facts in its events."""
    path = Path(source.path)
    host_metadata = read_metadata(path.with_name(METADATA_NAME))
    start = SessionStart(facts=named(host_metadata, title="name", cwd="working_dir", model="model"))
    yield from with_events(read_messages(source, account, start=start), path)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session with its committed messages."""
    path = Path(source.path)
    host_metadata = read_metadata(path.with_name(METADATA_NAME))
    facts = named(host_metadata, **_FACTS)
    session_id = text(host_metadata.get("session_id")) or path.absolute().parent.name
    start = SessionStart(facts=facts, source_id=session_id)
    read_events = read_messages(source, account, start=start, most=_committed(path.parent), why_not=_NOT_COMMITTED)
    yield from with_events(read_events, path)


def _committed(directory: Path) -> int | None:
    """Return the number of committed messages, from the last turn, or None if no file of turns can be read."""
    for name in (TURNS_NAME, f"{TURNS_NAME}{_BACKUP}"):
        if not (directory / name).is_file():  # reading a FIFO would block
            continue
        try:
            lines = (directory / name).read_bytes().splitlines()
            turns = [json.loads(line) for line in lines if line.strip()]
            counts = [_count(turn) for turn in turns]
        except (OSError, ValueError, RecursionError):
            continue
        return counts[-1] if counts else 0
    return None


def _count(turn: Any) -> int:
    count = turn.get("messages") if isinstance(turn, dict) else None
    if not isinstance(count, int) or count < 0:
        raise ValueError("a turn that does not say how many messages there are")
    return count
