"""Choose a session's log from its configuration: a file, a database, or memory (`kept_in_memory`)."""

from __future__ import annotations

import glob
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from ..catalogue.index_snapshots import CatalogueSnapshots
from ..checkout_remote import noted_remote, remote_of
from ..config import Config
from ..config.option_table import MEMORY
from ..errors import ConfigError
from ..log.contract import Log
from ..log.database_location import location_of, parse_location
from ..log.open_log import open_log
from ..paths import LOG_NAME, check_session_id, log_name, log_path
from .kept_in_memory import NO_PATH, log_in_memory
from .session_identity import SessionIdentity

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChosenLog:
    """The log of a session, and how it was chosen."""

    log: Log
    degraded_because: str = ""
    """The reason why the log is in memory although a stored log was wanted, else ""."""
    is_given: bool = False
    """Whether the host passed the log in."""


def choose_log(config: Config, identity: SessionIdentity) -> ChosenLog:
    """Choose the log that the configuration names. Without a path, choose a log in memory.

    Raises:
        ConfigError: the session id cannot be part of a path; or `storage` has a path beside it, or no session id.
    """
    if config.storage == MEMORY:
        return ChosenLog(log_in_memory(config))
    if config.storage is not None:
        return ChosenLog(_open(config, _location_in(config, identity)))
    path = log_path(
        config, session_id=identity.session_id, parent_id=identity.parent_id, working_dir=identity.working_dir
    )
    if path is None:
        return ChosenLog(log_in_memory(config), NO_PATH)
    if config.transcript_path is None and config.storage_path is None:
        path = _where_it_began(path, identity.directory)
    return ChosenLog(_open(config, os.fspath(path)))


def _where_it_began(path: Path, working_dir: str) -> Path:
    """Return the log of a session that began in another or since moved checkout of this repository, else `path`."""
    if path.exists() or not (remote := remote_of(working_dir)):
        return path
    projects = path.parents[3]
    beside = projects.glob(f"*/sessions/{glob.escape(path.parent.name)}/{LOG_NAME}")
    same_remote = [log for log in beside if noted_remote(log) == remote]
    if len(same_remote) != 1:
        return path
    logger.info(
        "the session %s began in another place of %s and goes on there: %s", path.parent.name, remote, same_remote[0]
    )
    return same_remote[0]


def _location_in(config: Config, identity: SessionIdentity) -> str:
    """Return the location of a session's log in the configured storage.

    The log's name there is its path below the host's projects.

    Raises:
        ConfigError: as `choose_log`.
    """
    if config.transcript_path is not None or config.storage_path is not None:
        raise ConfigError("storage: configure either storage or a path (transcript_path, storage_path), not both")
    if config.archive_after_days is not None:
        raise ConfigError(
            "archive_after_days: only files are archived by a session; for a database run `context-persistent archive "
            "--all --older 90d --yes --storage URL` each night"
        )
    session_id = identity.session_id
    if session_id is None:
        raise ConfigError("storage: a log in a database is named by the session's id, and this session has none")
    check_session_id(session_id)
    try:
        parse_location(f"{config.storage}")
    except ValueError as error:
        raise ConfigError(f"storage: {str(error).removeprefix('the storage ')}") from None
    return location_of(f"{config.storage}", log_name(session_id, identity.directory, config.project))


def _open(config: Config, location: str) -> Log:
    return open_log(
        location,
        durability=config.durability,
        lock_timeout_s=config.lock_timeout_s,
        max_record_bytes=config.max_record_bytes,
        snapshots=CatalogueSnapshots(wait_s=0),
        marks_open=True,
    )
