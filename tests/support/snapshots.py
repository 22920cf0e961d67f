"""Snapshots of small logs: written for any size, and what a reader knows with and without one."""

import dataclasses
import os
from contextlib import closing, suppress
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue import index_snapshots
from amplifier_module_context_persistent.catalogue.catalogue_file import SUFFIX, Catalogue, catalogue_of
from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.catalogue.log_coverage import Stamp
from amplifier_module_context_persistent.log import file_log
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_control
from tests.support.logs import append_bodies, body, content_of, keep, reset_bodies, write_file
from tests.support.sweeps import spread

Row = tuple[int, int, bytes]
"""The number of a part, its checksum, its content."""


def always(patch: pytest.MonkeyPatch) -> None:
    """Write a snapshot of whatever was appended, and read it, however small the log."""
    patch.setattr(index_snapshots, "LEAST_LOG_BYTES", 0)
    patch.setattr(file_log, "CLOSE_BYTES", 1)


def make_snapshot(path: str) -> bool:
    """Write the snapshot of a log as it is; whether there is one up to its end."""
    with closing(LogReader(path)) as reader:
        reader.follow()
        end = reader.scanner.offset
        write = CatalogueSnapshots().take(reader.file, reader.scanner, reader.known_end)
    if write is not None:
        write()
    return write is not None and covered_bytes(path) == end > 0


def covered_bytes(path: str) -> int:
    """Up to where a reader begins with the log's snapshot; 0 if it begins without."""
    with closing(LogReader(path, snapshots=CatalogueSnapshots())) as reader:
        reader.follow()
        return reader.covered_bytes


def is_used(path: str) -> bool:
    """Whether a reader begins with the log's snapshot."""
    return covered_bytes(path) > 0


def known(path: str, *, trusting: bool) -> dict[str, Any]:
    """All that a reader knows of a log, and every message that is live."""
    with closing(LogReader(path, snapshots=CatalogueSnapshots() if trusting else None)) as reader:
        reader.follow()
        return all_of(reader)


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
    kept = {field.name: getattr(index, field.name) for field in dataclasses.fields(index) if field.compare}
    columns = kept.pop("columns")
    each = {field.name: getattr(columns, field.name) for field in dataclasses.fields(columns)}
    return {**kept, **each, "usage": list(index.session.usage.items())}


def stored(path: str) -> list[Row]:
    """The parts of a log's snapshot."""
    with Catalogue(catalogue_of(path)).reading() as connection:
        return connection.execute("SELECT chunk, crc32, content FROM snapshots ORDER BY chunk").fetchall()


def put(path: str, rows: list[Row]) -> None:
    """Put other parts in the place of those of a log's snapshot; how far it covers stays."""
    with Catalogue(catalogue_of(path)).writing() as connection:
        connection.execute("DELETE FROM snapshots")
        connection.executemany("INSERT INTO snapshots SELECT id, ?, ?, ? FROM sessions", rows)


def remove(path: str) -> None:
    """Remove the catalogue that lies beside a log."""
    with suppress(FileNotFoundError):
        os.remove(path + SUFFIX)


def alter_unseen(path: str, content: bytes) -> None:
    """Put another content into a log so that neither size nor time tell of it, as when bits flip on the disk."""
    write_file(path, content)
    now = Stamp.of(os.stat(path))
    with Catalogue(catalogue_of(path)).writing() as connection:
        connection.execute(
            "UPDATE covered SET (size_bytes, mtime_ns, ctime_ns) = (?, ?, ?)", dataclasses.astuple(now)[2:]
        )


def header(version: int, log_id: str = "log") -> bytes:
    return encode_control("header", version=version, log_id=log_id, session_id="s")


def some_log(path: str, *, text: str = "") -> None:
    """A log with something of everything, closed, and its snapshot."""
    with closing(FileLog(path, snapshots=CatalogueSnapshots())) as log:
        append_bodies(log, header(2), *(body(number, text=text) for number in range(20)))
        append_bodies(log, *reset_bodies("r1", body(20), keep(0, 15), upto="id-19"))
        append_bodies(log, encode_control("plan", id="p", keep=[["id-3", 2]]), body(21), body(22, text=text))
        append_bodies(log, encode_control("usage", provider="p", model="m", actual=5))
    assert is_used(path)


def flips(path: str) -> list[bytes]:
    """A log's content with one bit flipped, at many places."""
    sound = content_of(path)
    places = spread(range(0, len(sound), 11), 4)
    return [sound[:at] + bytes([sound[at] ^ (1 << at % 8)]) + sound[at + 1 :] for at in places]
