"""Give an imported session the present title of its source, in the host's `metadata.json`."""

from __future__ import annotations

import os
from pathlib import Path

from ....log.open_mark import keep_closed
from ....sessions.session_is_open import is_held
from ....sessions.session_name import METADATA_NAME
from ...maintenance.note_beside_log import (
    WrittenFiles,
)
from .files_beside_log import is_hosts_log, metadata_bytes, read_metadata, replace_content
from .metadata_fields import name_fields
from .metadata_lock import metadata_lock


def rename_imported(log: str | Path, before: str, title: str) -> bool:
    """Give an imported session the present title of its source, unless a host or a person has named the session.

    Args:
        log: the session's log; a session that is open is not changed.
        before: the title that an earlier import gave the session; empty if it gave none.
        title: the title in the source.

    Returns:
        Whether the session was renamed.

    Raises:
        LockTimeoutError: another program is changing the metadata; nothing was changed.
        OSError: the metadata cannot be written.
    """
    metadata = Path(log).with_name(METADATA_NAME)
    if not is_hosts_log(log) or not read_metadata(metadata.parent):
        return False
    with keep_closed(os.fspath(log)) as is_closed:
        if not is_closed or is_held(log):
            return False
        return _renamed(log, metadata, before, title)


def _renamed(log: str | Path, metadata: Path, before: str, title: str) -> bool:
    with metadata_lock(metadata.parent):
        fields = read_metadata(metadata.parent)
        new_fields = name_fields({}, title, is_fork=False)
        ours = name_fields({}, before, is_fork=False)
        has_other_name = fields.get("name") not in (None, "", ours.get("name"))
        if not fields or not new_fields or has_other_name:
            return False
        replace_content(WrittenFiles.beside(log), metadata, [metadata_bytes(fields | new_fields)])
    return True
