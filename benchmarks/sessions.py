"""Sessions to measure on: recorded and generated ones to play, and logs of any length in the module's own format."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession
from fixtures.generate import generate_session

GENERATED = ((1, 300), (2, 450), (3, 600))
"""Seeds of generated sessions and how many messages they have; further ones have 250, and 50 more for each seed."""


def write_log(path: str, messages: Iterable[dict[str, Any]]) -> int:
    """Write a log with a header and messages; its size in bytes."""
    header = encode_control(
        "header",
        version=2,
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


def sessions(transcripts: str, seeds: int, count: Callable[[dict[str, Any]], int]) -> Iterator[PlayedSession]:
    """The recorded sessions that there are, then the generated ones."""
    paths = sorted(glob.glob(os.path.join(transcripts, "*.jsonl")))
    if not paths:
        print(f"note: no transcripts in {transcripts}; only generated sessions are played")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield PlayedSession.of(os.path.basename(path).removesuffix(".jsonl"), map(json.loads, file), count)
    further = ((seed, 250 + 50 * seed) for seed in range(len(GENERATED) + 1, seeds + 1))
    for seed, messages in (*GENERATED[:seeds], *further):
        yield PlayedSession.of(f"generated-{seed}", generate_session(seed, messages, mean_bytes=0), count)
