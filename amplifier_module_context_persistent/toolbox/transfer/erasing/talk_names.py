"""Make names for the beginnings of a conversation, by which files are recognised whose form has no place for ids.

Such files are request bodies of providers and lists of bare messages, as exports write them. They have neither a
session's id nor those of its messages, and a short one has too few long answers to be recognised by these. Rules:
- A name is a hash of what people and the agent said from the first message to the end of an answer. So a file is
  recognised if it is the beginning of an erased session, or if an erased session is the beginning of the file.
- Only the first `MOST_EXCHANGES` questions with their answers count: a longer session has long answers.
- Secrets in known forms are left out, since exports leave them out. So are spaces, and everything after
  `_MOST_CHARS` characters of a message.
- A beginning of a fork that its origin has, too, names the fork only if a text was purged: to replace the text in a
  copy of the origin does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from ....log.contract import ReadableLog
from ....log.record_line import Message, decode
from ....messages.message import texts_of
from ....messages.secrets.redact import redact_text
from ..imports.drafts import SessionDraft
from .message_names import first_own

MOST_EXCHANGES = 16
_MOST_CHARS = 4_000
_MOST_MESSAGES = 2_000
_READ_AT_ONCE = 32


class TalkName(NamedTuple):
    """The name of a conversation up to the end of an answer."""

    name: str
    chars: int
    """The number of characters that were said."""
    is_end: bool
    """Whether it is the whole conversation, or as much of it as counts."""
    is_own: bool = True
    """Whether it has a message of the session itself, and of those that are purged. Else its name is the name of a
    fork's origin, or of what stays."""


def talk_in_stored(reader: ReadableLog, gone: set[int] | None = None) -> list[TalkName]:
    """Return the names of the beginnings of a log's live history, and of all that was said in it, also if hidden.

    An earlier export has messages that a rewind or a clear has hidden since.

    Args:
        reader: the log.
        gone: the ordinals of messages that are purged; None if the whole session is erased, or a text in it.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    live, every = reader.index.live, range(len(reader.index))
    names = _names_in(reader, live, gone)
    return names if len(live) == len(every) else [*names, *_names_in(reader, every, gone)]


def _names_in(reader: ReadableLog, history: Sequence[int], removed_ordinals: set[int] | None) -> list[TalkName]:
    history = history[:_MOST_MESSAGES]
    begins = first_own(reader)
    if removed_ordinals is not None:
        begins = max(begins, min(removed_ordinals.intersection(history), default=len(reader.index)))

    def messages() -> Iterator[tuple[bool, Message]]:
        for start in range(0, len(history), _READ_AT_ONCE):
            ordinals = history[start : start + _READ_AT_ONCE]
            for ordinal, message in zip(ordinals, reader.read(ordinals), strict=True):
                yield ordinal >= begins, message

    return _names_of(messages())


def talk_in_draft(draft: SessionDraft) -> list[TalkName]:
    """Return the names of the beginnings of a session that is being imported, if its source gives it no id."""
    if draft.start.source_id:
        return []
    return _names_of((True, decode(draft.bodies[at] + b"}")) for at in draft.at[:_MOST_MESSAGES])


def _names_of(messages: Iterable[tuple[bool, Message]]) -> list[TalkName]:
    """Return the names of the beginnings of a conversation, given its messages and whether each is the session's."""
    names = list(islice(_each_name(messages), MOST_EXCHANGES))
    return [*names[:-1], *(name._replace(is_end=True) for name in names[-1:])]


def _each_name(messages: Iterable[tuple[bool, Message]]) -> Iterator[TalkName]:
    digest, chars, before, has_own = sha256(), 0, "", False
    for is_own, message in messages:
        role = message.get("role")
        words = _said(message) if role in ("user", "assistant") else ""
        if not words:
            continue
        if role == "user" and before == "assistant":
            yield TalkName(digest.hexdigest(), chars, is_end=False, is_own=has_own)
        piece = f" {words}" if role == before else f"\n{role}: {words}"
        digest.update(piece.encode("utf-8", "surrogatepass"))
        chars += len(words)
        before = str(role)
        has_own = has_own or is_own
    if before == "assistant":
        yield TalkName(digest.hexdigest(), chars, is_end=False, is_own=has_own)


def _said(message: Message) -> str:
    """Return the words of a message, without secrets."""
    texts = (redact_text(text[:_MOST_CHARS]) for text in texts_of(message))
    return " ".join(" ".join(texts).split())
