"""The catalogue's file: its path, and how it is opened, checked and removed.

Rules:
- A rollback journal, no write-ahead log and no memory map: a truncated map kills the process, and network homes have no
  shared memory.
- The file is created empty with mode 0600 before SQLite opens it. Not used are a link, a file of another user, a file
  that others may write, and a file with another schema. A writer replaces a file with another schema.
- A damaged file is removed at once, if no process uses it; its data are computed again.
- SQLite also opens the files beside it (`-journal`, `-wal`, `-shm`). A FIFO there would block it for ever. So SQLite is
  called only if each of them is absent or a file of this user. No version of ours leaves a `-wal` or `-shm`.
- The file is removed under SQLite's exclusive lock, after the files beside it. So no process is writing then, and an
  older connection cannot write afterwards (SQLite notices that its file was unlinked).
- All waits for other processes' locks share one budget (`lock_wait`); only a removal has its own.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from time import monotonic
from typing import TypeVar

from .lock_wait import COMMAND_WAIT_S, LockWait
from .schema import SCHEMA, TABLES

try:
    import sqlite3
except ImportError:  # Python may be built without it
    sqlite3 = None  # type: ignore[assignment]  # who uses it asks first

NAME = "context-catalogue.sqlite3"
SUFFIX = ".catalogue"
"""The suffix for a log that is not in a host's directory of sessions: `<log>.catalogue`."""

LEAST_SQLITE = (3, 33)
"""The first version of SQLite that has the table `sqlite_schema` by this name (https://sqlite.org/schematab.html)."""

REMOVE_WAIT_S = 2.0
"""The longest time that a purge or a deletion waits for another process's transaction."""
_MOST_S = 10.0
"""The longest time of a transaction, in case a forged file makes it slow."""
_JOURNAL, *_WAL_FILES = SIDE_FILES = ("-journal", "-wal", "-shm")
"""Suffixes of the files that SQLite opens beside a database."""
_OPERATIONS = 10_000
_MOST_VALUE_BYTES = 16 << 20
_OLD_NAMES = ("context-search.sqlite3", "context-search.sqlite3.*.part")
_OLD_SUFFIXES = (".checkpoint", ".checkpoint-????????.part")
"""Files of earlier versions: beside the catalogue, and beside a log."""


_IS_OFF = ContextVar("is_off", default=False)
_IS_ONLY_READ = ContextVar("is_only_read", default=False)


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """Neither read nor write catalogues while a `with` block lasts, so that answers come from the logs."""
    token = _IS_OFF.set(True)
    try:
        yield
    finally:
        _IS_OFF.reset(token)


@contextlib.contextmanager
def only_read() -> Iterator[None]:
    """Read existing catalogues while a `with` block lasts, but neither write nor remove any."""
    token = _IS_ONLY_READ.set(True)
    try:
        yield
    finally:
        _IS_ONLY_READ.reset(token)


def may_be_written() -> bool:
    """Return whether catalogues may be written now."""
    return is_usable() and not _IS_ONLY_READ.get()


def is_usable() -> bool:
    """Return whether catalogues may be used now and Python has a new enough SQLite."""
    return not _IS_OFF.get() and sqlite3 is not None and sqlite3.sqlite_version_info >= LEAST_SQLITE


SQLITE_ERRORS: tuple[type[Exception], ...] = () if sqlite3 is None else (sqlite3.Error, UnicodeDecodeError)
"""The errors of a broken file."""


class CatalogueError(Exception):
    """Raised if a catalogue cannot be used now. The text has the reason. Callers continue without the catalogue."""


class BrokenCatalogueError(CatalogueError):
    """Raised if a catalogue is damaged, or was made by another version or program. A writer replaces such a file."""


T = TypeVar("T")

UNUSABLE: tuple[type[Exception], ...] = (CatalogueError, *SQLITE_ERRORS)
"""The errors of a transaction and of queries in it."""


def catalogue_of(log: str | os.PathLike[str]) -> Path:
    """Return the path of a log's catalogue: beside the directory `sessions` of its project, else beside the log."""
    path = os.path.abspath(log)
    sessions = os.path.dirname(os.path.dirname(path))
    if os.path.basename(sessions) == "sessions":
        return _catalogue_in(os.path.dirname(sessions))
    return Path(path + SUFFIX)


@lru_cache(maxsize=256)
def _catalogue_in(project: str) -> Path:
    """Return the path of the catalogue in a project's directory.

    The result is cached, because each session needs the path.
    """
    return Path(project, NAME)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The catalogue at one path. Its file is open only during a transaction.

    Args:
        path: the path of the file.
        wait_s: the longest wait of a transaction for another process's lock, within the process's budget.
    """

    path: Path
    wait_s: float = COMMAND_WAIT_S

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open the catalogue for reading, in one transaction, while a block lasts.

        Raises:
            CatalogueError: there is no usable catalogue; or, at the end, its file was truncated and results are void.
        """
        with self._connected() as connection:
            connection.execute("BEGIN")
            self._waiting(lambda: _check_schema(connection))  # the first statement that needs the lock
            yield connection
            if self.is_cut(connection):
                raise CatalogueError(f"{self.path}: it was cut while it was read")

    def is_cut(self, connection: sqlite3.Connection) -> bool:
        """Return whether the file was truncated during a transaction that reads.

        SQLite may take lost parts for empty tables. A file that was replaced by a smaller file counts as truncated too.
        A removed file can be read to the end.
        """
        ((page_count,),) = connection.execute("PRAGMA page_count")
        ((page_size,),) = connection.execute("PRAGMA page_size")
        try:
            return os.stat(self.path).st_size < int(page_count) * int(page_size)
        except OSError:
            return False

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open the catalogue for writing, in one transaction, while a block lasts.

        A broken file, or a file of another version, is replaced first.

        Raises:
            CatalogueError: the file cannot be written in time; nothing was changed.
        """
        self._check_usable()
        self._check_writable()
        self._make()
        with self._connected() as connection:
            self._waiting(lambda: connection.execute("BEGIN IMMEDIATE"))
            if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                for statement in SCHEMA:
                    connection.execute(statement)
            _check_schema(connection)
            yield connection
            self._waiting(lambda: connection.execute("COMMIT"))

    def remove(self, *, wait_s: float = REMOVE_WAIT_S) -> None:
        """Remove the catalogue's file, if it exists, and the files beside it. A directory of this name stays.

        Args:
            wait_s: the most seconds to wait for another process's transaction.

        Raises:
            CatalogueError: another process uses it for too long, or the system refuses.
        """
        self._check_writable()
        try:
            with contextlib.ExitStack() as open_files:
                may_be_locked = sqlite3 is not None and os.path.lexists(self.path) and not self._why_not_opened()
                if may_be_locked:
                    connection = open_files.enter_context(contextlib.closing(self._opened(wait_s)))
                    self._lock(connection)
                for suffix in SIDE_FILES:
                    _remove(f"{self.path}{suffix}")
                _remove(str(self.path))
        except OSError as error:
            raise CatalogueError(f"{self.path}: {error.strerror}") from error
        except SQLITE_ERRORS as error:
            raise CatalogueError(f"{self.path}: {error}") from error

    def _lock(self, connection: sqlite3.Connection) -> None:
        """Lock the file before it is removed. A broken catalogue cannot be locked, and no process writes it.

        Raises:
            CatalogueError: another process uses the catalogue.
        """
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if _is(error, _BUSY):
                raise CatalogueError(f"{self.path}: another process uses it") from error

    def _make(self) -> None:
        """Make an empty catalogue if there is no file, or if the file cannot be used.

        Raises:
            CatalogueError: the existing file must stay, or the system refuses.
        """
        try:
            if os.lstat(self.path).st_size:
                with self.reading():
                    return
        except FileNotFoundError:
            pass
        except BrokenCatalogueError:
            self.remove(wait_s=0)
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise CatalogueError(f"{self.path}: {error.strerror}") from error

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open a connection to the existing file; errors become a `CatalogueError`."""
        reason = self._why_not_opened()
        if reason:
            raise CatalogueError(reason)
        left = [suffix for suffix in _WAL_FILES if os.path.lexists(f"{self.path}{suffix}")]
        if left:
            raise BrokenCatalogueError(f"{self.path}{left[0]}: another program left it")
        self._check_usable()
        try:
            with contextlib.closing(self._opened()) as connection:
                yield connection
        except _OtherSchemaError as error:
            raise BrokenCatalogueError(f"{self.path}: {error}") from error
        except _FAILURES as error:
            if not _is_damage(error):
                raise CatalogueError(f"{self.path}: {error}") from error
            # A statement that stopped halfway keeps its lock until it is freed.
            traceback.clear_frames(error.__traceback__)
            with contextlib.suppress(CatalogueError):  # otherwise another process uses it, and removes it later
                self.remove(wait_s=0)
            raise BrokenCatalogueError(f"{self.path}: {error}; it is made anew") from error

    def _why_not_opened(self) -> str:
        """Return why SQLite must not open the catalogue's file or a file beside it, or "" if all may be opened."""
        for suffix in ("", *SIDE_FILES):
            name = f"{self.path}{suffix}"
            try:
                reason = distrust(os.lstat(name))
            except FileNotFoundError as error:
                reason = "" if suffix else f"{error.strerror}"
            except OSError as error:
                reason = f"{error.strerror}"
            if reason:
                return f"{name}: {reason}"
        return ""

    def _waiting(self, take_lock: Callable[[], T]) -> T:
        """Call a function that needs a lock and return its result. Repeat the call while the lock is taken.

        Raises:
            sqlite3.Error: an error of the call, also if it was locked for too long.
        """
        wait = LockWait(self.wait_s)
        while True:
            try:
                return take_lock()
            except sqlite3.OperationalError as error:
                if not _is(error, _BUSY) or not wait.pause():
                    raise

    def _check_writable(self) -> None:
        if _IS_ONLY_READ.get():
            raise CatalogueError(f"{self.path}: it is only read here")

    def _check_usable(self) -> None:
        if not is_usable():
            raise CatalogueError(f"{self.path}: switched off, or Python has no SQLite of version 3.33 or newer")

    def _opened(self, wait_s: float = 0) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode=rw"  # never creates; on a read-only system SQLite only reads
        connection = sqlite3.connect(uri, uri=True, timeout=wait_s, isolation_level=None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE_BYTES)
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA trusted_schema = OFF")
        end = monotonic() + wait_s + _MOST_S
        connection.set_progress_handler(lambda: monotonic() > end, _OPERATIONS)
        return connection


@contextlib.contextmanager
def in_memory() -> Iterator[sqlite3.Connection]:
    """Yield a catalogue in memory, without words, for a log whose own catalogue cannot be used.

    Raises:
        CatalogueError: Python has no SQLite, or a query of the block fails.
    """
    if sqlite3 is None:
        raise CatalogueError("Python was built without SQLite, in which figures are added up")
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in TABLES:
            connection.execute(statement)
        try:
            yield connection
        except sqlite3.Error as error:
            raise CatalogueError(f"figures cannot be added up: {error}") from error


def remove_catalogue(log: str | os.PathLike[str]) -> None:
    """Remove the catalogue of a log, and the files that earlier versions had instead.

    Raises:
        CatalogueError: an error of `Catalogue.remove`.
        OSError: the system refuses.
    """
    Catalogue(catalogue_of(log)).remove()
    for path in old_files(log):
        _remove(path)


def old_files(log: str | os.PathLike[str]) -> list[str]:
    """Return the paths of the files that earlier versions used instead of a log's catalogue."""
    directory = glob.escape(str(catalogue_of(log).parent))
    path = glob.escape(os.path.abspath(log))
    patterns = [os.path.join(directory, name) for name in _OLD_NAMES]
    patterns += [path + suffix for suffix in _OLD_SUFFIXES]
    names: list[str] = []
    for pattern in patterns:
        names += glob.glob(pattern)
    return sorted(names)


_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.remove(path)


def distrust(status: os.stat_result) -> str:
    """Return why a file is not trusted, or "" if only this user can have written it."""
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file"
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        return "somebody else may have written it"
    return ""


_ERROR, _BUSY, _READ_ONLY, _CORRUPT, _NOT_A_DATABASE = 1, 5, 8, 11, 26
"""Primary result codes (https://sqlite.org/rescode.html)."""


def _is(error: BaseException | None, *codes: int) -> bool:
    """Return whether an error has one of these primary result codes of SQLite."""
    return getattr(error, "sqlite_errorcode", -1) & 0xFF in codes


def _is_damage(error: Exception) -> bool:
    """Return whether an error means that the file is damaged.

    Read-only counts as damage, because SQLite reports some damaged headers as a read-only file. A damaged catalogue is
    removed and made again. A sound file that really is read-only cannot be removed, so nothing is lost.
    """
    if isinstance(error, (DamagedError, UnicodeDecodeError)):
        return True
    if isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode"):
        return True  # a text is not UTF-8: Python found this, not SQLite, so there is no result code
    return _is(error, _READ_ONLY, _CORRUPT, _NOT_A_DATABASE)


class _OtherSchemaError(Exception):
    """Another version or program made the file."""


class DamagedError(Exception):
    """Raised if data in the catalogue were altered.

    If it is raised within a transaction, the catalogue's file is removed.
    """


_FAILURES: tuple[type[Exception], ...] = (DamagedError, *SQLITE_ERRORS)


def _check_schema(connection: sqlite3.Connection) -> None:
    """Check that a file has exactly the schema of this module.

    Raises:
        _OtherSchemaError: the file has another schema.
        sqlite3.Error: the file cannot be read.
    """
    try:
        is_ours = _schema(connection) == _ours()
        ((journal_mode,),) = connection.execute("PRAGMA journal_mode")
    except sqlite3.OperationalError as error:
        if not _is(error, _ERROR):
            raise
        raise _OtherSchemaError(f"{error}") from error  # such as another file format or another encoding of texts
    if not is_ours or journal_mode == "wal":
        raise _OtherSchemaError("another version of this package made it, or another program")


@cache
def _ours() -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        return _schema(connection)


def _schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").fetchall()
