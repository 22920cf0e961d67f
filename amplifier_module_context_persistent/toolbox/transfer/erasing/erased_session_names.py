"""The names by which an erased session is recognised in a source of an import, or in a copy of its log.

A *name* is a text that identifies a session, before it is hashed for the list of erasures (`erasure_record`): from its
key and its id in the source of an import, its log's id, some of its messages with their ids, its agent's long answers
(`message_names`), and its first messages if the source gives no id.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ....log.checksum import CRC_TAIL_BYTES
from ....log.contract import ReadableLog
from ....log.file_handle import first_line
from .message_names import answers_in_stored, names_in_stored, names_of_all
from .talk_names import TalkName, talk_in_stored

_FIRST_HASH = re.compile(r":[0-9a-f]{16}(?=:|$)")
"""Matches the part of a session's key that is from the hash of its first message."""
_MOST_HEADER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The names by which a session is recognised in lists of erasures, before the names are hashed."""

    names: tuple[str, ...] = ()
    count: int = 0
    """The number of first messages that `content` covers."""
    content: str = ""
    """The hash of the first `count` messages; empty if the source gives an id."""
    messages: tuple[str, ...] = ()
    """The names of messages with ids (`message_names`)."""
    answers: tuple[str, ...] = ()
    """The names of long answers, which are the same in every format of the session."""
    talk: tuple[TalkName, ...] = ()
    """The names of the beginnings of the conversation, for files whose form has no place for ids."""
    id_hashes: tuple[int, ...] = ()
    """The hashes of the ids of the messages that are purged or deleted; empty if only a text is purged."""
    has_all_ids: bool = False
    """Whether a session is deleted, and `id_hashes` has all its messages."""


def names_in(reader: ReadableLog, removed_ordinals: Iterable[int] | None = None) -> SourceNames:
    """Return the names by which the session of an open log is recognised in its source, or in a copy of the log.

    Args:
        reader: the log.
        removed_ordinals: the ordinals of the messages that are purged; None if the whole session is erased, or a text
            in it.
    """
    index = reader.index
    names, count, has_id = _named_by_headers(index.headers)
    count = 0 if has_id else min(count, len(index))  # a session without an id is recognised by its first messages
    content = ""
    if count:
        content = content_name(line[:-CRC_TAIL_BYTES] for _, line in reader.lines(range(count)))
    ordinals = None if removed_ordinals is None else list(removed_ordinals)
    message_names = names_in_stored(reader, ordinals)
    answers = answers_in_stored(reader, ordinals)
    id_hashes = [index.columns.id_hashes[ordinal] for ordinal in ordinals or ()]
    talk = talk_in_stored(reader, None if ordinals is None else set(ordinals))
    return SourceNames(
        tuple(names),
        count,
        content=content,
        messages=tuple(message_names),
        answers=tuple(answers),
        talk=tuple(talk),
        id_hashes=tuple(id_hashes),
    )


def name_of_log(log_id: str) -> str:
    """Return the name of a session by its log's id."""
    return f"log:{log_id}"


def name_of_id(session_id: str) -> str:
    """Return a name that contains a session's id. By this name, `delete` recognises a session that is deleted already.

    No import uses the name.
    """
    return f"session:{session_id}"


def names_of_log_alone(reader: ReadableLog) -> SourceNames:
    """Return the name of an open log that only its copies have, and not its source or other imports of the source."""
    return SourceNames(tuple(name for name in names_of_headers(reader) if name.startswith("log:")))


def names_of_headers(reader: ReadableLog) -> list[str]:
    """Return the names that the headers of an open log give its session; none if there is no header."""
    return _named_by_headers(reader.index.headers)[0]


def names_of(reader: ReadableLog) -> list[str]:
    """Return the names by which erasures of an open log are found: from its headers, else from its messages.

    A fork has messages of its origin, so messages are used only if no header gives a name.
    """
    return names_of_headers(reader) or names_in_stored(reader)


def names_of_origin(reader: ReadableLog) -> list[str]:
    """Return the names by which erasures of a fork's origin are found; an empty list if the log is not a fork.

    These are the names of the origin's log and of messages. Many of the fork's messages are the origin's, or those of
    the session that the origin was forked from.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    header = reader.index.headers[0] if reader.index.headers else {}
    if "forked_from" not in header:
        return []
    origin = header.get("parent_log_id")
    return [*([name_of_log(str(origin))] if origin else []), *names_of_all(reader)]


def names_at_start(log: str) -> list[str] | None:
    """Return the names by which erasures of a log's file are found, from its first line.

    Returns None if the first line is not a header with a `log_id`.

    Later headers have the same `log_id`, so no other line is read.

    Raises:
        OSError: the file cannot be read.
    """
    header = header_at_start(log)
    return _named_by_headers([header])[0] if header.get("log_id") else None


def header_at_start(log: str) -> Mapping[str, Any]:
    """Return the header in the first line of a log's file; empty if the line is no header.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        header = json.loads(first_line(log, _MOST_HEADER_BYTES))
    except (ValueError, RecursionError):
        return {}
    is_header = isinstance(header, dict) and header.get("_record") == "header"
    return header if is_header else {}


def _named_by_headers(headers: Iterable[Mapping[str, Any]]) -> tuple[list[str], int, bool]:
    """Return the names in a log's headers, the number of messages in its source, and whether the source gave an id."""
    names = dict[str, None]()
    count = 0
    has_id = True
    for header in headers:
        log_id = header.get("log_id")
        if log_id:
            names[name_of_log(str(log_id))] = None
        source = header.get("source")
        if isinstance(source, dict) and source.get("key"):
            has_id = bool(source.get("session_id"))
            names |= dict.fromkeys(names_of_key(str(source["key"]), has_id=has_id))
            count = int(source.get("messages") or 0)
    return list(names), count, has_id


def names_of_key(key: str, *, has_id: bool) -> list[str]:
    """Return the names that identify an imported session, made from its import key.

    The first name contains the whole key. If the source gives the session an id, a second name contains the key without
    the hash of the session's first message.
    """
    return [f"key:{key}", *([f"id:{_FIRST_HASH.sub('', key)}"] if has_id else [])]


def content_name(bodies: Iterable[bytes]) -> str:
    """Return a name for messages: the hash of the bodies of their records."""
    digest = hashlib.sha256()
    for body in bodies:
        digest.update(len(body).to_bytes(8, "big") + body)
    return f"content:{digest.hexdigest()}"
