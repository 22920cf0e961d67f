"""Sessions under a home directory, as the host's command line keeps them, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from tests.support.commands import PLAIN
from tests.support.logs import sealed

COMMAND = Path(sys.executable).with_name("context-persistent")
TERMINAL = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor"}

CALL = {"id": "call-1", "tool": "read_file", "arguments": {"path": "src/total.py"}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Why is the total wrong?\nIt is one cent."},
    {"role": "assistant", "content": "I look at the **code**.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call-1", "content": "\n".join(f"line {number}" for number in range(1, 101))},
    {"role": "assistant", "content": "It rounds too early."},
    {"role": "user", "content": "And refunds?"},
    {"role": "assistant", "content": "The same."},
]


def stamp_of(path: Path) -> str:
    """The time of all messages that `write` puts into a log; two sessions never have the same, as in life."""
    project = path.parent.parent.parent.name.rpartition("-")[2]
    return f"2026-01-05T09:00:00.{crc32(os.fsencode(f'{path.parent.name} of {project}')) % 1000:03}Z"


def lines_of(messages: Sequence[Mapping[str, Any]], stamp: str = "2026-01-05T09:00:00.000Z") -> list[bytes]:
    """The lines of a log of messages."""
    return sealed(
        [encode_message(message, message_id=f"msg-{n}", timestamp=stamp) for n, message in enumerate(messages, 1)]
    )


def write(path: Path, messages: Sequence[Mapping[str, Any]] = CONVERSATION) -> Path:
    """Write a log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines_of(messages, stamp_of(path))))
    return path


def log_of(session_id: str, working_dir: str | Path = ".") -> Path:
    """Where a session's log lies."""
    return Path.home() / ".amplifier" / "projects" / project_slug(working_dir) / "sessions" / session_id / LOG_NAME


def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
    """Start the command in a process of its own."""
    environment = {**os.environ, **PLAIN}
    return subprocess.Popen([COMMAND, *map(str, arguments)], env=environment, **options)
