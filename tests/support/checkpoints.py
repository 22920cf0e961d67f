"""Checkpoints of small logs: written for any size, and what a reader knows with and without one."""

import dataclasses
import os
from typing import Any

import pytest

from amplifier_module_context_persistent.log import checkpoint, checkpoint_file, checkpoint_writer
from amplifier_module_context_persistent.log.checkpoint_file import SUFFIX, write_checkpoint
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record import encode_control
from tests.support.logs import append_bodies, body, content_of, keep, reset_bodies

LIMITS = {"LEAST_TAIL_BYTES": 0, "TAIL_SHARE": 1 << 40, "CLOSE_TAIL_BYTES": 0, "CLOSE_TAIL_SHARE": 1 << 40}


def always(patch: pytest.MonkeyPatch) -> None:
    """Write a checkpoint of whatever was appended, and read it, however small the log."""
    patch.setattr(checkpoint_file, "LEAST_LOG_BYTES", 0)
    patch.setattr(checkpoint, "END_BYTES", 64)  # else the ends that must be the same are the whole of a small log
    for name, value in LIMITS.items():
        patch.setattr(checkpoint_writer, name, value)


def make_checkpoint(path: str) -> bool:
    """Write the checkpoint of a log as it is; whether there is one up to its end."""
    reader = LogReader(path)
    reader.follow()
    try:
        end = reader.scanner.offset
        return write_checkpoint(reader.file, reader.scanner, reader.known_end) == end > 0
    finally:
        reader.close()


def known(path: str, *, trusting: bool) -> dict[str, Any]:
    """All that a reader knows of a log, and every message that is live."""
    reader = LogReader(path, trusting=trusting)
    reader.follow()
    try:
        return all_of(reader)
    finally:
        reader.close()


def all_of(reader: LogReader) -> dict[str, Any]:
    """All that a reader knows, and every message that is live."""
    messages = list(reader.read(reader.index.live))
    columns = columns_of(reader.index)
    columns.pop("generation")  # how often the live history changed is no part of it
    scanner = reader.scanner
    return {
        **columns,
        "messages": messages,
        "scan": scanner.snapshot(),
        "settled": scanner.builder.is_settled,
        "seed": scanner.seed,
        "offset": scanner.offset,
        "line": scanner.line,
        "torn": reader.torn,
        "size": reader.size,
    }


def columns_of(index: Index) -> dict[str, Any]:
    """All that an index holds, by its names."""
    columns = {field.name: getattr(index, field.name) for field in dataclasses.fields(index) if field.compare}
    return {**columns, "usage": list(index.usage.items())}


def is_used(path: str) -> bool:
    """Whether a reader begins with the log's checkpoint."""
    reader = LogReader(path)
    reader.follow()
    try:
        return reader.covered_bytes > 0
    finally:
        reader.close()


def stored(path: str) -> bytes:
    """The bytes of a log's checkpoint."""
    with open(path + SUFFIX, "rb") as file:
        return file.read()


def put(path: str, content: bytes) -> None:
    """Put other bytes in the place of a log's checkpoint."""
    with open(path + SUFFIX, "wb") as file:
        file.write(content)
    os.chmod(path + SUFFIX, 0o600)


def header(version: int, log_id: str = "log") -> bytes:
    return encode_control("header", version=version, log_id=log_id, session_id="s")


def some_log(path: str, *, text: str = "") -> None:
    """A log with something of everything, closed, and its checkpoint."""
    log = FileLog(path)
    append_bodies(log, header(2), *(body(number, text=text) for number in range(20)))
    append_bodies(log, *reset_bodies("r1", body(20), keep(0, 15), upto="id-19"))
    append_bodies(log, encode_control("plan", id="p", keep=[["id-3", 2]]), body(21), body(22, text=text))
    append_bodies(log, encode_control("usage", provider="p", model="m", actual=5))
    log.close()
    assert is_used(path)


def flips(path: str) -> list[bytes]:
    """A log's content with one bit flipped, at many places."""
    sound = content_of(path)
    places = range(0, len(sound), 11)
    return [sound[:at] + bytes([sound[at] ^ (1 << at % 8)]) + sound[at + 1 :] for at in places]
