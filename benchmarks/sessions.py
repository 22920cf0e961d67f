"""Logs to measure on: realistic sessions of any length, written in the module's own format."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from amplifier_module_context_persistent.record import encode_control, encode_message, seal
from fixtures.generate import generate_session


def write_log(path: str, messages: Iterable[dict[str, Any]]) -> int:
    """Write a log with a header and messages; its size in bytes."""
    header = encode_control(
        "header",
        version=1,
        log_id="benchmark",
        session_id=None,
        tokenizer="estimate",
        created="2026-01-01T00:00:00.000Z",
    )
    with open(path, "wb") as log:
        line, seed = seal(header, 0)
        log.write(line)
        for number, message in enumerate(messages):
            body = encode_message(message, message_id=f"m{number:016x}", timestamp="2026-01-01T00:00:00.000Z")
            line, seed = seal(body, seed)
            log.write(line)
    return os.path.getsize(path)


def write_session(path: str, messages: int, *, seed: int = 1) -> int:
    """Write a generated session of so many messages (about 1 kB each); its size in bytes."""
    return write_log(path, generate_session(seed, messages))
