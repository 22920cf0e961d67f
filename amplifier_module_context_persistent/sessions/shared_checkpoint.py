"""Find the checkpoints of a session that several of Amplifier's hosts share.

A checkpoint is a file of the hosts, away from the log, with a copy of all messages of a session. A purge reports it and
a search for hidden texts reads it, but this package never changes it.

    <root>/v1/<sha256 of the resolved working directory>/<session id>/checkpoint.json

The root is `AMPLIFIER_SESSION_STATE_HOME`, else `amplifier/sessions` below `XDG_STATE_HOME`, else
`~/.local/state/amplifier/sessions`. A host that is killed while writing leaves a temporary file, `.checkpoint.json.*`,
beside it. Source: amplifier-foundation, `amplifier_foundation/session/shared_state.py` at commit 24f5db7.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..log.database_location import stored_name
from ..paths import LOG_NAME, home_projects, project_slug, session_id_of
from .raw_records import strings_of

CHECKPOINT_NAME = "checkpoint.json"
_TEMPORARY = f".{CHECKPOINT_NAME}."
_SHARED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,127}")
"""The form of the ids of sessions whose checkpoints are shared."""


def shared_checkpoints(log: str | Path, session_id: str | None = None) -> list[Path]:
    """Return the paths of the shared checkpoints of a session.

    A session that moved to another directory has a checkpoint for each directory. The checkpoint of another project's
    session with the same id is not returned.

    Args:
        log: the session's log: its file, or its location in a database.
        session_id: the session's id, which is used if the path or location of the log does not contain it.

    Raises:
        OSError: a directory of checkpoints cannot be read.
    """
    wanted = session_id_of(os.fspath(log)) or session_id
    if wanted is None or not _SHARED_ID.fullmatch(wanted):
        return []
    project = _project_of(log)
    paths: list[Path] = []
    for root in _roots():
        files = _files_in(root / "v1", wanted)
        paths += [file for file in files if not _is_of_other_session(file, project, wanted)]
    return sorted(paths)


def texts_of(document: Path) -> list[str]:
    """Return all strings in a JSON file. If the file is not JSON, its whole content is the only string.

    Raises:
        OSError: the file cannot be read.
    """
    content = document.read_bytes()
    try:
        return list(strings_of(json.loads(content)))
    except (ValueError, RecursionError):
        return [content.decode("utf-8", "replace")]


def _roots() -> list[Path]:
    """Return the directories of checkpoints.

    The default directory is always included, because a command may run without the host's environment variables.
    """
    roots = [Path.home() / ".local" / "state" / "amplifier" / "sessions"]
    state_home = os.environ.get("XDG_STATE_HOME")
    if state_home:
        roots.append(Path(state_home).expanduser() / "amplifier" / "sessions")
    configured = os.environ.get("AMPLIFIER_SESSION_STATE_HOME")
    if configured:
        roots.append(Path(configured).expanduser())
    return list(dict.fromkeys(roots))


def _files_in(root: Path, session_id: str) -> Iterator[Path]:
    with suppress(FileNotFoundError, NotADirectoryError):
        for workspace in root.iterdir():
            with suppress(FileNotFoundError, NotADirectoryError):
                yield from filter(_is_checkpoint, (workspace / session_id).iterdir())


def _is_checkpoint(file: Path) -> bool:
    has_name = file.name == CHECKPOINT_NAME or file.name.startswith(_TEMPORARY)
    return has_name and file.is_file()


def _project_of(log: str | Path) -> str:
    """Return the host's name of a log's project; "" if the log's path or location does not contain it."""
    name = stored_name(os.fspath(log))
    if name is not None:
        return name.rpartition("/")[0]
    path = Path(log).absolute()
    is_hosts = path.name == LOG_NAME and path.parents[1].name == "sessions"
    return path.parents[2].name if is_hosts else ""


def _is_of_other_session(checkpoint: Path, project: str, session_id: str) -> bool:
    """Return whether a checkpoint is of another project's session.

    It is if it names the directory of another project that has a log with this session id.
    """
    try:
        workspace = json.loads(checkpoint.read_bytes())["workspace"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return False
    if not project or not isinstance(workspace, str) or (other := project_slug(workspace)) == project:
        return False
    return (home_projects() / other / "sessions" / session_id / LOG_NAME).exists()
