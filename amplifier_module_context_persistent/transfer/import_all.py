"""Importing all sessions of a directory, or of the place where another agent keeps its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import ContextPersistentError
from ..paths import LOG_NAME
from .host_files import TRANSCRIPT_NAME
from .import_ import Import, import_session
from .importers.claude_code import session_of
from .importers.source import ImportRefusedError

PLACES = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "~/.claude", "projects"),
    "codex": ("CODEX_HOME", "~/.codex", "sessions"),
    "gemini-cli": ("", "~/.gemini", "tmp"),
    "pi": ("", "~/.pi", "agent/sessions"),
    "copilot-cli": ("", "~/.copilot", "session-state"),
}
"""By format, the variable that names the agent's directory, where it lies otherwise, and where in it sessions are."""

_ENDINGS = (".jsonl", ".json", ".jsonl.zst", ".jsonl.gz", ".json.gz")


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What became of one file: a report; or why it was not imported, and whether it looked like a session at all."""

    path: str
    report: Import | None = None
    error: str = ""
    is_session: bool = True


def standard_place(format_name: str) -> Path:
    """Where an agent keeps its sessions."""
    variable, home, inner = PLACES[format_name]
    given = os.environ.get(variable) if variable else None
    return Path(given or home).expanduser() / inner


def session_paths(directory: str | Path) -> list[str]:
    """The files below a directory that may be sessions, in order; those of sub-agents come with their session.

    Raises:
        OSError: the directory cannot be read.
    """
    os.listdir(directory)  # `os.walk` is silent about one that cannot be read
    found: list[str] = []
    for parent, _, names in os.walk(directory):
        paths = sorted(os.path.join(parent, name) for name in names if name.endswith(_ENDINGS))
        found += [path for path in paths if os.path.isfile(path) and not _comes_with_its_session(path)]
    return sorted(found)


def _comes_with_its_session(path: str) -> bool:
    """Whether a file is that of a sub-agent whose session's file is there, or the host's copy of a log."""
    directory, name = os.path.split(path)
    if name == TRANSCRIPT_NAME and os.path.isfile(os.path.join(directory, LOG_NAME)):
        return True
    if not (name.startswith("agent-") and name.endswith(".jsonl")):
        return False
    if os.path.basename(directory) == "subagents" and os.path.isfile(f"{os.path.dirname(directory)}.jsonl"):
        return True
    try:
        session = session_of(path)
    except (OSError, ContextPersistentError):
        return False
    return bool(session) and os.sep not in session and os.path.isfile(os.path.join(directory, f"{session}.jsonl"))


def import_all(
    paths: list[str],
    *,
    working_dir: str | None = None,
    storage: str | None = None,
    source_format: str = "auto",
    strict: bool = False,
    dry_run: bool = False,
) -> Iterator[ImportedFile]:
    """Import files one after the other; one that cannot be imported does not stop the others.

    Args:
        paths: as `session_paths` gives them.
        working_dir: the directory that the new sessions work in; else the one that each session names, or the current.
        storage: as for `import_session`.
        source_format: likewise.
        strict: likewise.
        dry_run: likewise.
    """
    for path in paths:
        try:
            report = import_session(
                path,
                working_dir=working_dir,
                storage=storage,
                in_own_directory=working_dir is None,
                source_format=source_format,
                strict=strict,
                dry_run=dry_run,
            )
        except ImportRefusedError as refused:
            yield ImportedFile(path, error=str(refused), is_session=strict and "would be lost" in str(refused))
        except (OSError, ContextPersistentError, ValueError) as error:
            yield ImportedFile(path, error=str(error))
        else:
            yield ImportedFile(path, report)
