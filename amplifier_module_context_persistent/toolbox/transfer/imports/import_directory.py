"""Import a directory: find the files that may be sessions, and import them one after the other.

The directory may be any directory, or another agent's directory of sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ....erasures.erasure_list import ErasureLists
from ....erasures.erasure_record import ErasedError
from ....errors import ContextPersistentError
from ....paths import LOG_NAME
from ....sessions.filters import ALL_SESSIONS, SessionFilter
from ..host_files.files_beside_log import TRANSCRIPT_NAME
from ..importers.amplifier_agent import comes_with_transcript
from ..importers.bedrock import comes_with_session
from ..importers.claude_code_files import session_of
from ..importers.codex_files import comes_with_parent
from ..importers.gemini_cli_files import comes_with_session as comes_with_gemini_session
from .import_session import Import, ImportRefusedError, import_session, session_times
from .wanted_sessions import NotMeantError, WantedSessions

PLACES = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "~/.claude", "projects"),
    "codex": ("CODEX_HOME", "~/.codex", "sessions"),
    "gemini-cli": ("", "~/.gemini", "tmp"),
    "pi": ("", "~/.pi", "agent/sessions"),
    "copilot-cli": ("", "~/.copilot", "session-state"),
    "goose": ("", "~/.local/share/goose", "sessions"),
    "qwen-code": ("", "~/.qwen", "projects"),
    "cursor": ("", "~/.cursor", "projects"),
    "amplifier-agent": ("AMPLIFIER_AGENT_STORAGE", "~/.amplifier-agent", "workspaces"),
}
"""For each format, the environment variable with the agent's directory, the default directory, and the path of the
sessions in it."""

FORMATS_OF = {"gemini-cli": "auto"}
"""The format in which an agent's files are read, if it is not the agent's name. Gemini CLI saves chats in two formats.
"""

_ENDINGS = (".jsonl", ".json", ".jsonl.zst", ".jsonl.gz", ".json.gz", ".age")


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """The result of one file: a report; or why it was not imported, and whether it looked like a session."""

    path: str
    report: Import | None = None
    error: str = ""
    is_session: bool = True
    is_erased: bool = False
    """Whether the file was left out because its session was deleted or purged here."""
    is_left_out: bool = False
    """Whether the file was left out because the filters choose none of its sessions."""


def standard_place(format_name: str) -> Path:
    """Return the directory of an agent's sessions."""
    variable, home, inner = PLACES[format_name]
    configured = os.environ.get(variable) if variable else None
    return Path(configured or home).expanduser() / inner


def session_paths(directory: str | Path) -> list[str]:
    """Return the paths of the files below a directory that may be sessions, sorted.

    Files of sub-agents are left out, because the import of a session includes them. A file with several names in the
    directory is returned once; a symbolic link is returned only if its file is elsewhere.

    Raises:
        OSError: the directory cannot be read.
    """
    os.listdir(directory)  # `os.walk` is silent about a directory that cannot be read
    found: list[str] = []
    for parent, _, names in os.walk(directory):
        paths = sorted(os.path.join(parent, name) for name in names if name.endswith(_ENDINGS))
        found += [path for path in paths if os.path.isfile(path) and not _comes_with_its_session(path)]
    by_file = dict[str, str]()
    for path in sorted(found, key=os.path.islink):
        by_file.setdefault(os.path.realpath(path), path)
    return sorted(by_file.values())


def _comes_with_its_session(path: str) -> bool:
    """Return whether a file is imported together with another one: a sub-agent's file, or the host's copy of a log."""
    directory, name = os.path.split(path)
    if name == TRANSCRIPT_NAME and os.path.isfile(os.path.join(directory, LOG_NAME)):
        return True
    if comes_with_transcript(path) or comes_with_session(path) or comes_with_parent(path):
        return True
    if comes_with_gemini_session(path):
        return True
    if name.startswith("agent-") and name.endswith(".meta.json"):
        return os.path.isfile(f"{path.removesuffix('.meta.json')}.jsonl")
    if not (name.startswith("agent-") and name.endswith(".jsonl")):
        return False
    inner = directory.rpartition(f"{os.sep}subagents")
    if inner[2].split(os.sep)[:2] in ([""], ["", "workflows"]) and os.path.isfile(f"{inner[0]}.jsonl"):
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
    again: bool = False,
    identity: str | None = None,
    wanted: SessionFilter = ALL_SESSIONS,
    erasure_lists: ErasureLists | None = None,
) -> Iterator[ImportedFile]:
    """Import files one after the other, and yield the result of each.

    If a file cannot be imported, the next files still are.

    Args:
        paths: the files, from `session_paths`.
        working_dir: the directory that the new sessions work in; by default the one that each session names, or the
            current one.
        storage: the database that gets the sessions, instead of files.
        source_format: the format of the files.
        strict: refuse a file if something in it would be lost.
        dry_run: only report what would be done.
        again: import also content that was deleted or purged here.
        identity: the file with the private key of sealed files.
        wanted: the filter. If it asks for the newest sessions (`most`), all files are read before the first import.
        erasure_lists: as for `import_session`; by default the lists are read once for all files.
    """
    lists = erasure_lists or ErasureLists()
    read_as = _ReadAs(source_format, working_dir, identity)
    chosen = _newest(paths, wanted, read_as) if wanted.most is not None else {}
    everything = WantedSessions(replace(wanted, most=None))
    for path in paths:
        of_file = chosen.get(path, _NO_SESSION) if wanted.most is not None else everything
        try:
            _check_may_be_meant(path, of_file)
            report = import_session(
                path,
                working_dir=working_dir,
                storage=storage,
                in_own_directory=working_dir is None,
                source_format=source_format,
                strict=strict,
                dry_run=dry_run,
                again=again,
                identity=identity,
                wanted=of_file,
                erasure_lists=lists,
            )
        except NotMeantError as left_out:
            yield ImportedFile(path, error=str(left_out), is_left_out=True)
        except ErasedError as erased:
            yield ImportedFile(path, error=str(erased), is_erased=True)
        except ImportRefusedError as refused:
            yield ImportedFile(path, error=str(refused), is_session=strict and "would be lost" in str(refused))
        except (OSError, ContextPersistentError, ValueError) as error:
            yield ImportedFile(path, error=str(error))
        else:
            yield ImportedFile(path, report)


_NO_SESSION = WantedSessions(places=frozenset())


def _check_may_be_meant(path: str, wanted: WantedSessions) -> None:
    """Check whether a file may have a wanted session, without reading it.

    A file cannot have messages that are newer than its own modification time.

    Raises:
        NotMeantError: no session of the file is wanted.
    """
    since_s = wanted.filter.since_s
    if wanted.places == frozenset() or (since_s is not None and os.stat(path).st_mtime < since_s):
        raise NotMeantError("the filters mean no session of it")


class _ReadAs(NamedTuple):
    """The options for reading files."""

    source_format: str
    working_dir: str | None
    identity: str | None


def _newest(paths: list[str], wanted: SessionFilter, read_as: _ReadAs) -> dict[str, WantedSessions]:
    """Return which sessions to import from each file, if only the newest `most` sessions are wanted.

    An unreadable file is not filtered, so that the import reports its error later.
    """
    found = list[tuple[float, str, int]]()
    chosen = dict[str, WantedSessions]()
    meant = WantedSessions(replace(wanted, most=None))
    for path in paths:
        try:
            _check_may_be_meant(path, meant)
            found += [(last_s, path, place) for place, last_s in session_times(path, meant, **read_as._asdict())]
        except NotMeantError:
            continue
        except (OSError, ContextPersistentError, ValueError):
            chosen[path] = meant
    newest_first = sorted(found, key=lambda one: (-one[0], one[1:]))
    places = dict[str, set[int]]()
    for _, path, place in newest_first[: wanted.most]:
        places.setdefault(path, set()).add(place)
    return chosen | {path: replace(meant, places=frozenset(own)) for path, own in places.items()}
