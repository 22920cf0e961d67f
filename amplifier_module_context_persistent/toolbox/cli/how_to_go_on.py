"""The command by which a person goes on with a session that a fork or an import made."""

from __future__ import annotations

import shlex
from pathlib import Path

from ...log.database_location import stored_name
from ...paths import project_slug, session_id_of
from .error_messages import tell_parts_left
from .terminal import say


def say_how_to_go_on(path: str) -> None:
    """Print the command that continues a new session; a host resumes it only in its project's directory."""
    session_id = session_id_of(path)
    if stored_name(path) is not None or session_id is None or Path(path).parents[1].name != "sessions":
        say("Go on with it: name it in the configuration of a session (`transcript_path`, `storage`).")
        if stored_name(path) is None:
            tell_parts_left(path)
        return
    project = Path(path).parents[2].name
    where = "" if project == project_slug(".") else f", in the directory of the project {project}"
    say(f"Go on with it{where}:")
    say(f"  {shlex.join(['amplifier', 'session', 'resume', session_id])}")
