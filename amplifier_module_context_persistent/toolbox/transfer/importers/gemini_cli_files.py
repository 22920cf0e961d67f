"""Find the files of sub-agents of a Gemini CLI session: `chats/<session>/<sub-agent>.jsonl`.

The session itself is in `chats/session-<time>-<beginning of its id>.jsonl`, or in `.json` in older versions. A session
of an older version that is continued gets a `.jsonl` file beside the older one, with everything that was in it.

Source: google-gemini/gemini-cli, `packages/core/src/services/chatRecordingService.ts` at 016443b.
"""

from __future__ import annotations

import os
import re
from glob import escape, glob
from itertools import islice

from .events import MOST_SUBAGENTS

_CHATS = "chats"
_ID_CHARS = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def sub_agent_files(path: str, session_id: str) -> list[str]:
    """Return the files of a session's sub-agents, sorted. Links are not followed.

    Args:
        path: the file of the session.
        session_id: the session's id in the source.
    """
    own_name = _NOT_IN_NAMES.sub("_", session_id)
    directory = os.path.join(os.path.dirname(path), own_name)
    if not own_name or os.path.islink(directory):
        return []
    try:
        found = [entry.path for entry in os.scandir(directory) if entry.is_file(follow_symlinks=False)]
    except OSError:
        return []
    return list(islice(sorted(file for file in found if file.endswith(".jsonl")), MOST_SUBAGENTS))


def parent_in_path(path: str) -> str:
    """Return the id of the session that a sub-agent's file belongs to, from its directory; "" if it is elsewhere."""
    above, name = os.path.split(os.path.dirname(path))
    return name if os.path.basename(above) == _CHATS else ""


def comes_with_session(path: str) -> bool:
    """Return whether a file is imported with another file.

    It is a sub-agent's, whose session is there, or an older file of a session that has a newer one beside it.
    """
    directory, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    if os.path.basename(directory) == _CHATS and stem.startswith("session-"):
        return ending == ".json" and os.path.isfile(f"{path}l")
    parent = parent_in_path(path)
    if not parent or ending != ".jsonl":
        return False
    sessions = os.path.join(escape(os.path.dirname(directory)), f"session-*-{escape(parent[:_ID_CHARS])}.json*")
    return bool(glob(sessions))
