"""Make the lines of the host's `transcript.jsonl` from the lines of a log.

A transcript has no instructions, no thinking outside of the content and no ephemeral messages, and each message has a
time. Most lines of a log differ from this only in the checksum and the place of the time, so they are rewritten without
parsing. Parsing and encoding each line took a third of an import's time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ....log.checksum import CRC_TAIL_BYTES, has_crc
from ....log.contract import ReadableLog
from ....log.read_back import parsed_line
from ....log.record_line import ID_KEY, MARK, ROLES
from ....messages.host_form import DROPPED_BY_HOSTS, as_hosts_write
from ....messages.host_order import host_order
from ....messages.message import Message, metadata_of
from ....messages.message_times import timestamp_of
from ....messages.metadata import PLACE_KEY, is_ephemeral
from ....view.entry import INSTRUCTING

__all__ = ["as_hosts_see", "most_transcript_bytes", "transcript_lines"]

_PLACE = f'"{PLACE_KEY}"'.encode()
_TO_BE_READ = re.compile(
    "|".join(["[:,[]null", '"ephemeral"', '"_reset"', *(f'"{key}"' for key in sorted(DROPPED_BY_HOSTS))]).encode()
)
"""Matches each line that may contain something a transcript leaves out, or that may be incomplete."""
_TIME_KEY = b'"timestamp"'
_TIME_AT_END = re.compile(
    rb'"timestamp":("[0-9TZ:.+-]+")(?:,"pinned":true)?(?:,"critical":true)?,"message_id":"[^"\\\\]*"}'
)
_MOST_END_BYTES = 1_000


def most_transcript_bytes(log_bytes: int) -> int:
    """Return the size that the transcript of a log of this size may have: a line gets a time, and loses its checksum.

    Most transcripts are smaller, since a log also has receipts and plans.
    """
    return log_bytes + log_bytes // 8


def as_hosts_see(reader: ReadableLog) -> Sequence[int]:
    """Return the ordinals of the live messages, in the order in which hosts see them."""
    live = reader.index.live
    if not any(_PLACE in line for _, line in reader.lines(live)):
        return live
    marks = [{"metadata": _marks_of(message)} for message in reader.read(live)]
    return [live[position] for position in host_order(marks)]


def _marks_of(message: Message) -> Message:
    """Return the part of a message's metadata that gives its place in the host's order."""
    metadata = metadata_of(message)
    return {key: metadata[key] for key in ("message_id", PLACE_KEY) if key in metadata}


def transcript_lines(reader: ReadableLog, ordinals: Sequence[int]) -> Iterator[bytes]:
    """Yield the lines of a transcript for messages of a log.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    roles = reader.index.columns.roles
    location = reader.describe().location
    for ordinal, line in reader.lines(ordinals):
        if ROLES[roles[ordinal]] in INSTRUCTING:
            continue
        written = _as_it_is(line)
        if written is not None:
            yield written
            continue
        message = parsed_line(reader.index, (ordinal, line), location)
        if not is_ephemeral(message):
            yield _written(message)


def _written(message: Message) -> bytes:
    written = as_hosts_write(message)
    if "timestamp" not in written and (time := timestamp_of(message)):
        written["timestamp"] = time
    return json.dumps(written).encode() + b"\n"


def _as_it_is(line: bytes) -> bytes | None:
    """Convert a log's line into a transcript's line without parsing it. Return None if the message must be parsed."""
    if not has_crc(line) or line[-len(MARK) - CRC_TAIL_BYTES : -CRC_TAIL_BYTES] == MARK or _TO_BE_READ.search(line):
        return None
    body = line[:-CRC_TAIL_BYTES]
    if ID_KEY not in body[-_MOST_END_BYTES:]:
        return None
    times = body.count(_TIME_KEY)
    if not times:
        return body + b"}\n"
    found = _TIME_AT_END.fullmatch(body, body.rfind(_TIME_KEY)) if times == 1 else None
    return b'%b,"timestamp":%b}\n' % (body, found[1]) if found else None
