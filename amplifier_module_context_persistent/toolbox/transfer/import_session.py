"""Importing: new sessions from a file of another agent, of a provider's requests, of the host, or of this package.

What a file is follows from its content (`importers.registry`). A log is copied (`import_log`). The sessions of another
file are drafted first, then written: each log appears whole or not at all, and where one cannot be written those of the
same import are taken back. A second import of a session adds what is new, as long as nobody went on with it here. All
sessions of a directory, or of the place where another agent keeps its own, are imported file by file (`import_all`).

Nothing is lost silently: the account says what became of every line, in the report and in the new log's header.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ... import clock
from ...errors import ContextPersistentError
from ...log.filesystem import FileSystem
from ...paths import LOG_NAME
from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ...window.message_source import collector_paused
from .drafts import Drafts, SessionDraft
from .erasures import ErasedError, lift
from .host_files import TRANSCRIPT_NAME
from .import_erasures import honour_erasures
from .import_log import import_log
from .importers.account import Account, Import, ImportedSession, LostLine
from .importers.amplifier_agent import comes_with_transcript
from .importers.bedrock import comes_with_session
from .importers.claude_code_files import session_of
from .importers.codex_files import comes_with_parent
from .importers.registry import FORMATS, Importer, format_check, importer_of, recognise
from .importers.source_file import ImportRefusedError, Source
from .wanted_sessions import EVERY_SESSION, NotMeantError, WantedSessions, facts_of_log, times_of
from .write_import import Destination, SessionWriter, directory_of, key_at, place_sessions

__all__ = ["FORMATS", "Import", "ImportRefusedError", "ImportedSession", "import_session"]


def import_session(
    source: str | Path,
    *,
    session_id: str | None = None,
    path: str | Path | None = None,
    working_dir: str | None = None,
    storage: str | None = None,
    in_own_directory: bool = False,
    source_format: str = "auto",
    strict: bool = False,
    dry_run: bool = False,
    again: bool = False,
    identity: str | None = None,
    wanted: WantedSessions = EVERY_SESSION,
    now: Callable[[], str] = clock.utc_now,
    new_id: Callable[[], str] = clock.new_id,
    files: FileSystem | None = None,
) -> Import:
    """Make new sessions from a file, or add to those that were made from it before.

    Args:
        source: the file; it is only read. `-` is the standard input.
        session_id: the new session's id; else it is derived from the source, so that a second import finds it. A log
            keeps its own.
        path: the new log's file, or its location; else it lies where the sessions of `working_dir` lie.
        working_dir: the directory that the new session works in; else the current one.
        storage: the database (a location without a log's name) that gets the sessions, instead of files.
        in_own_directory: let it work in the directory that the source names, if it names one.
        source_format: one of `FORMATS`; of a log, all but `auto` and `log` make messages anew, hidden ones too.
        strict: refuse if anything would be lost.
        dry_run: only say what would be done.
        again: import also what was deleted or purged here.
        identity: the file with the private key, if the source is sealed (age).
        wanted: which sessions of the file are meant; the others are left out.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids of logs.
        files: the system calls that read the file, to watch them.

    Raises:
        ImportRefusedError: there is no message in it, it is not of the format that was named, or something would be
            lost and `strict` forbids it.
        ErasedError: the session was deleted here, or its messages were purged.
        NotMeantError: no session of the file is meant.
        ConfigError: the session id cannot be part of a path.
        LogUnreadableError: the file is not there, or cannot be read.
        SealError: it is sealed, and the key does not open it, or there is none.
        OSError: a new log cannot be written, or something else has its name; nothing was changed.
    """
    if source_format not in FORMATS:
        raise ValueError(f"source_format: {source_format!r} is not known; allowed are: {', '.join(FORMATS)}")
    to = Destination(session_id, path, working_dir, storage)
    with collector_paused(), Source(source, identity=identity, files=files) as opened:
        importer = recognise(opened) if source_format == "auto" else importer_of(source_format)
        opened.check = format_check(importer)
        if importer.name == "log":
            wanted.check_log(opened.path, opened.plain_path, working_dir, opened.modified_s)
            return import_log(opened, to, dry_run=dry_run, again=again, now=now)
        account = Account()
        if opened.passed_over:
            said = opened.passed_over[:80]
            account.notes.append(LostLine(1, 0, f"the text before the JSON is passed over: {said!r}"))
        drafted = _drafted(importer, opened, account, strict=strict)
        sessions = wanted.among(drafted, working_dir, opened.modified_s)
        if in_own_directory:
            to = replace(to, working_dir=directory_of(sessions[0]) or working_dir)
        place_sessions(sessions, opened.path, importer.name, to)
        present = [key_at(draft.path) == draft.key for draft in sessions]
        honoured = honour_erasures(sessions, present, again=again)
        writer = SessionWriter(honoured.sessions, importer.name, opened.path, account, now, new_id, again)
        writer.find_earlier()
        if not dry_run:
            writer.write()
            lift(honoured.overridden)
        return _report(writer, honoured.told)


def _drafted(importer: Importer, source: Source, account: Account, *, strict: bool) -> list[SessionDraft]:
    """Draft the sessions of a file.

    Raises:
        ImportRefusedError: there is none, or something would be lost and `strict` forbids it.
    """
    drafts = Drafts(account, source.spool)
    for event in importer.read(source, account):
        drafts.take(event)
    drafts.finish()
    if not drafts.sessions:
        raise ImportRefusedError(source.strangeness() or _nothing(account))
    if strict and account.lost_lines + account.lost_parts:
        raise ImportRefusedError(f"something would be lost, which --strict forbids: {_first_loss(account)}")
    return drafts.sessions


def _report(writer: SessionWriter, erased: list[str]) -> Import:
    main = writer.sessions[0]
    own = [draft for draft in writer.sessions if draft is main or draft.start.kind == "session"]
    return Import(
        writer.source,
        writer.format_name,
        main.path,
        main.session_id,
        writer.account,
        sessions=[_imported(draft) for draft in writer.sessions],
        roles=sum((draft.roles for draft in own), Counter()),
        derived_ids=sum(draft.derived_ids for draft in own),
        renamed={new: old for draft in own for new, old in draft.renamed.items()},
        without_timestamp=sum(draft.without_timestamp for draft in own),
        erased=erased,
    )


def _imported(draft: SessionDraft) -> ImportedSession:
    earlier = draft.earlier
    return ImportedSession(
        draft.start.kind,
        draft.session_id,
        draft.path,
        draft.messages,
        draft.messages - (earlier.common if earlier is not None else 0),
        draft.compactions,
        draft.reports,
        is_older=earlier is not None and earlier.is_older,
    )


def _nothing(account: Account) -> str:
    if not account.lost:
        return "there is no message in it"
    return f"no line of it is a message that can be imported; {_first_loss(account)}"


def _first_loss(account: Account) -> str:
    first = account.lost[0]
    where = f"{first.file}, " if first.file else ""
    return f"{where}{account.unit} {first.line:,}: {first.reason}"


PLACES = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "~/.claude", "projects"),
    "codex": ("CODEX_HOME", "~/.codex", "sessions"),
    "gemini-cli": ("", "~/.gemini", "tmp"),
    "pi": ("", "~/.pi", "agent/sessions"),
    "copilot-cli": ("", "~/.copilot", "session-state"),
    "goose": ("", "~/.local/share/goose", "sessions"),
    "cursor": ("", "~/.cursor", "projects"),
    "amplifier-agent": ("AMPLIFIER_AGENT_STORAGE", "~/.amplifier-agent", "workspaces"),
}
"""By format, the variable that names the agent's directory, where it lies otherwise, and where in it sessions are."""

FORMATS_OF = {"gemini-cli": "auto"}
"""By agent, the format of its files, if it is not of the same name: Gemini CLI also saves chats as contents."""

_ENDINGS = (".jsonl", ".json", ".jsonl.zst", ".jsonl.gz", ".json.gz", ".age")


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What became of one file: a report; or why it was not imported, and whether it looked like a session at all."""

    path: str
    report: Import | None = None
    error: str = ""
    is_session: bool = True
    is_erased: bool = False
    """Whether it was deleted or purged here, and so was left out."""
    is_left_out: bool = False
    """Whether the filters mean no session of it."""


def standard_place(format_name: str) -> Path:
    """Where an agent keeps its sessions."""
    variable, home, inner = PLACES[format_name]
    given = os.environ.get(variable) if variable else None
    return Path(given or home).expanduser() / inner


def session_paths(directory: str | Path) -> list[str]:
    """The files below a directory that may be sessions, in order; those of sub-agents come with their session.

    A file that is there under several names is given once; a link is given if its file is elsewhere.

    Raises:
        OSError: the directory cannot be read.
    """
    os.listdir(directory)  # `os.walk` is silent about one that cannot be read
    found: list[str] = []
    for parent, _, names in os.walk(directory):
        paths = sorted(os.path.join(parent, name) for name in names if name.endswith(_ENDINGS))
        found += [path for path in paths if os.path.isfile(path) and not _comes_with_its_session(path)]
    by_file = dict[str, str]()
    for path in sorted(found, key=os.path.islink):
        by_file.setdefault(os.path.realpath(path), path)
    return sorted(by_file.values())


def _comes_with_its_session(path: str) -> bool:
    """Whether a file is that of a sub-agent whose session's file is there, or the host's copy of a log."""
    directory, name = os.path.split(path)
    if name == TRANSCRIPT_NAME and os.path.isfile(os.path.join(directory, LOG_NAME)):
        return True
    if comes_with_transcript(path) or comes_with_session(path) or comes_with_parent(path):
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
) -> Iterator[ImportedFile]:
    """Import files one after the other; one that cannot be imported does not stop the others.

    Args:
        paths: as `session_paths` gives them.
        working_dir: the directory that the new sessions work in; else the one that each session names, or the current.
        storage: as for `import_session`.
        source_format: likewise.
        strict: likewise.
        dry_run: likewise.
        again: likewise.
        identity: likewise.
        wanted: which sessions are meant. To find the newest ones (`most`), all files are read before the first import.
    """
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
    """Leave out a file that need not be read: it is written no earlier than its messages.

    Raises:
        NotMeantError: it is left out.
    """
    since_s = wanted.filter.since_s
    if wanted.places == frozenset() or (since_s is not None and os.stat(path).st_mtime < since_s):
        raise NotMeantError("the filters mean no session of it")


class _ReadAs(NamedTuple):
    """How files are read."""

    source_format: str
    working_dir: str | None
    identity: str | None


def _newest(paths: list[str], wanted: SessionFilter, read_as: _ReadAs) -> dict[str, WantedSessions]:
    """Which of its sessions are among the newest, by file; of a file that cannot be read all: so it is reported."""
    found, chosen = list[tuple[float, str, int]](), dict[str, WantedSessions]()
    meant = WantedSessions(replace(wanted, most=None))
    for path in paths:
        try:
            _check_may_be_meant(path, meant)
            found += [(last_s, path, place) for place, last_s in _times_in(path, meant, read_as)]
        except NotMeantError:
            continue
        except (OSError, ContextPersistentError, ValueError):
            chosen[path] = meant
    places = dict[str, set[int]]()
    for _, path, place in sorted(found, key=lambda one: (-one[0], one[1:]))[: wanted.most]:
        places.setdefault(path, set()).add(place)
    return chosen | {path: replace(meant, places=frozenset(own)) for path, own in places.items()}


def _times_in(path: str, wanted: WantedSessions, read_as: _ReadAs) -> list[tuple[int, float]]:
    """The places of a file's sessions that are meant, with the times of their last messages."""
    source_format, working_dir, identity = read_as
    with collector_paused(), Source(path, identity=identity) as opened:
        importer = recognise(opened) if source_format == "auto" else importer_of(source_format)
        if importer.name == "log":
            asked = (opened.path, opened.plain_path, wanted.filter, working_dir, opened.modified_s)
            return wanted.meant([facts_of_log(*asked)])
        opened.check = format_check(importer)
        drafts = _drafted(importer, opened, Account(), strict=False)
        return times_of(drafts, wanted, working_dir, opened.modified_s)
