"""Make names for the beginnings of a conversation, by which files are recognised whose form has no place for ids.

Such files are request bodies of providers and lists of bare messages, as exports write them. They have neither a
session's id nor those of its messages, and a short one has too few long answers to be recognised by these. Rules:
- A name is a hash of what people and the agent said from the first message to the end of an answer. So a file is
  recognised if it is the beginning of an erased session, or if an erased session is the beginning of the file.
- Only the first `MOST_EXCHANGES` questions with their answers count: a longer session has long answers.
- Secrets in known forms are left out, since exports leave them out. So are spaces, and everything after
  `_MOST_CHARS` characters of a message.
- The beginning of a fork that its origin has, too, has no name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from ...log.contract import ReadableLog
from ...log.record_line import Message, decode
from ...messages.message import texts_of
from ...messages.secrets.redact import redact_text
from .drafts import SessionDraft
from .message_names import first_own

MOST_EXCHANGES = 48
_MOST_CHARS = 4_000
_MOST_MESSAGES = 2_000
_READ_AT_ONCE = 32


class TalkName(NamedTuple):
    """The name of a conversation up to the end of an answer."""

    name: str
    """Empty if no erasure may be recognised by it."""
    chars: int
    """The number of characters that were said."""


def talk_in_stored(reader: ReadableLog, gone: set[int] | None = None) -> list[TalkName]:
    """Return the names of the beginnings of a log's live history.

    Args:
        reader: the log.
        gone: the ordinals of messages that are purged; a beginning without any of them has no name. None if the whole
            session is erased, or a text in it.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    live = reader.index.live[:_MOST_MESSAGES]
    begins = first_own(reader)
    if gone is not None:
        begins = max(begins, min(gone.intersection(live), default=len(reader.index)))

    def messages() -> Iterator[tuple[bool, Message]]:
        for start in range(0, len(live), _READ_AT_ONCE):
            ordinals = live[start : start + _READ_AT_ONCE]
            for ordinal, message in zip(ordinals, reader.read(ordinals), strict=True):
                yield ordinal >= begins, message

    return _names_of(messages())


def talk_in_draft(draft: SessionDraft) -> list[TalkName]:
    """Return the names of the beginnings of a session that is being imported, if its source gives it no id."""
    if draft.start.source_id:
        return []
    return _names_of((True, decode(draft.bodies[at] + b"}")) for at in draft.at[:_MOST_MESSAGES])


def _names_of(messages: Iterable[tuple[bool, Message]]) -> list[TalkName]:
    """Return the names of the beginnings of a conversation, given its messages and whether each may be named."""
    return list(islice(_each_name(messages), MOST_EXCHANGES))


def _each_name(messages: Iterable[tuple[bool, Message]]) -> Iterator[TalkName]:
    digest, chars, before, is_named = sha256(), 0, "", False
    for may_be_named, message in messages:
        role, said = message.get("role"), _said(message)
        if role not in ("user", "assistant") or not said:
            continue
        if role == "user" and before == "assistant":
            yield TalkName(digest.hexdigest() if is_named else "", chars)
        piece = f" {said}" if role == before else f"\n{role}: {said}"
        digest.update(piece.encode("utf-8", "surrogatepass"))
        chars += len(said)
        before, is_named = str(role), may_be_named
    if before == "assistant":
        yield TalkName(digest.hexdigest() if is_named else "", chars)


def _said(message: Message) -> str:
    """Return the words of a message, without secrets."""
    texts = (redact_text(text[:_MOST_CHARS]) for text in texts_of(message))
    return " ".join(" ".join(texts).split())
