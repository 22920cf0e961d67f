"""Tell whether a file may be a log, by its first bytes."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from ..log.file_handle import beginning

_HEADER = b'{"_record":"header"'
_ROLE = re.compile(rb'"role"\s*:\s*"(?:system|developer|user|assistant|tool|function)"')
_HEAD_BYTES = 1 << 16  # the bytes at the beginning of a file that are looked at


def may_exist(path: str | Path) -> bool:
    """Return whether a file exists, or may exist because there is no permission to search its directory."""
    try:
        os.lstat(path)
    except OSError as error:
        return not isinstance(error, FileNotFoundError | NotADirectoryError)
    return True


def may_be_log(path: Path) -> bool:
    """Return whether a file may be a log.

    So it is if the file begins with a log's header or with a message, or if the file cannot be read. Text without any
    JSON may be a damaged log; opening such a file raises an error that says so. JSON lines of another program, an empty
    file, a directory and a device are no logs.
    """
    try:
        if not path.is_file():  # reading a FIFO would block
            return path.is_symlink() and not path.exists()  # opening a broken link raises an error
        if beginning(path, len(_HEADER)) == _HEADER:  # most files are logs, and need no more than this
            return True
        lines = beginning(path, _HEAD_BYTES).splitlines()
    except OSError:
        return True
    if not lines:
        return False
    for line in lines:
        is_message = line.startswith(b"{") and _ROLE.search(line)
        if is_message or line.startswith(_HEADER):
            return True
    has_json = any(line.startswith(b"{") or _is_json(line) for line in lines)
    return not has_json


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
