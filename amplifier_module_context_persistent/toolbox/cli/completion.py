"""The words that a shell completes after Tab: sessions, and the tools and turns of the session named before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from ...errors import LogError
from ...sessions.find_session import find_session
from ...sessions.other_projects import last_session
from ...sessions.session_files import session_files
from ...sessions.session_name import key_of, read_names
from .terminal import one_line

if TYPE_CHECKING:
    from ...sessions.transcript import Transcript

_MOST_BYTES = 64 << 20  # longer logs are not read for a completion


def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids that begin with the typed text; else ids of sessions whose name begins with it; else files."""
    sessions = session_files()
    matching = [session for session in sessions if session.id.startswith(incomplete)]
    wanted_key = key_of(incomplete)
    if not matching and wanted_key:
        names = read_names(session.path for session in sessions)
        matching = [session for session, name in zip(sessions, names, strict=True) if name.key.startswith(wanted_key)]
    if not matching:
        return [CompletionItem(incomplete, type="file")]
    names = read_names(session.path for session in matching)
    return [
        CompletionItem(one_line(session.id), help=one_line(name.name) or None)
        for session, name in zip(matching, names, strict=True)
    ]


def complete_tool(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completions of a tool's name, among the tools of the session named before."""
    names = _look(context, lambda transcript: transcript.tool_names())
    return [CompletionItem(one_line(name)) for name in names if name.startswith(incomplete)]


def complete_turn_or_id(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return completions: turn numbers, or ids of turns' first messages, of the session named before."""
    from ...messages.metadata import given_id

    def turns_and_ids(transcript: Transcript) -> list[str]:
        turns = transcript.turns()
        ids = list[str]()
        for turn in turns:
            ids.extend(given_id(message) or "" for message in transcript.messages(turn.start, turn.start + 1))
        return [*(str(turn.number) for turn in turns), *ids]

    numbers_and_ids = _look(context, turns_and_ids)
    return [CompletionItem(one_line(text)) for text in numbers_and_ids if text and text.startswith(incomplete)]


def _look(context: click.Context, look: Callable[[Transcript], list[str]]) -> list[str]:
    """Return the result of `look` for the session that the command line names so far.

    The list is empty if the command line names no session, or if the session's log is too long to be read.
    """
    from ...sessions.transcript import Transcript

    try:
        path = _named_so_far(context)
        if not isinstance(path, Path) or path.stat().st_size > _MOST_BYTES:
            return []
        with Transcript(path) as transcript:
            return look(transcript)
    except (LogError, OSError, ValueError):
        return []


def _named_so_far(context: click.Context) -> Path | str | None:
    """Return the log of the session that the incomplete command line names; None without a session in the line.

    Raises:
        ValueError: no session has that name.
    """
    options = context.params
    if options.get("session"):
        return find_session(str(options["session"]))
    # While an option lacks its value, click has not parsed the arguments before it; they are in `args`.
    names = options.get("sessions") or context.args[-1:]
    if names and names[0]:
        return find_session(str(names[0]))
    if options.get("last"):
        return last_session().path
    return None
