"""Make names for messages, by which a copy of a session is recognised that does not contain the session's id.

Such a copy is an export as JSON Lines, a host's transcript, a log without its first line, or the same history in
another agent's format. Rules:
- A name is a hash of a message's id and its text. The id alone is not enough, because other sessions may use it too.
- Only the messages with the smallest hashes of their ids get names, at most 64 in a session. So a session and its copy
  choose the same messages, and a long session has no more names.
- A message whose id is derived from its bytes has no name in a copy: sessions of two sources may begin alike.
- A fork has names for its own messages only: the messages before them belong to its origin.
- Another agent's format may keep no ids. There a session is recognised by the agent's answers: no agent gives a long
  answer twice in the same words, while a person may begin every session with the same words. The first and the last
  long answers have names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from heapq import nsmallest

from ....log.contract import ReadableLog
from ....log.index import id_hash_of
from ....log.record_line import Message, decode
from ....messages.host_form import content_key
from ....messages.message import texts_of
from ..imports.drafts import SessionDraft

MOST_NAMED = 64
LONG_ANSWER = 80
"""The least number of characters of a long answer. Only one session is assumed to have such an answer."""
MOST_ANSWERS = 96
"""The most answers that get names: half from the beginning of a session, half from its end. A copy may lack the
beginning or the end."""
_MOST_COMPARED = 2_000
"""The number of messages at each end of a session that are searched for long answers."""
_READ_AT_ONCE = 32


def names_in_stored(reader: ReadableLog, ordinals: Iterable[int] | None = None) -> list[str]:
    """Return the names of messages of a log: of the given ordinals, or by default of all messages.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    index = reader.index
    own = range(first_own(reader), len(index))
    return _names_among(reader, own if ordinals is None else (ordinal for ordinal in ordinals if ordinal in own))


def names_of_all(reader: ReadableLog) -> list[str]:
    """Return the names of all messages of a log, also of messages that a fork copied from its origin.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    return _names_among(reader, range(len(reader.index)))


def _names_among(reader: ReadableLog, ordinals: Iterable[int]) -> list[str]:
    index = reader.index
    chosen = sorted(nsmallest(MOST_NAMED, ordinals, key=index.columns.id_hashes.__getitem__))
    return [_name(message["metadata"]["message_id"], message) for message in reader.read(chosen)]


def names_in_draft(draft: SessionDraft) -> list[str]:
    """Return the names of messages of a session that is being imported, if the source gives their ids."""
    chosen = nsmallest(MOST_NAMED, draft.with_ids, key=lambda position: id_hash_of(draft.ids[position]))
    return [_name(draft.ids[position], decode(draft.bodies[draft.at[position]] + b"}")) for position in chosen]


def answers_in_stored(reader: ReadableLog, ordinals: Iterable[int] | None = None) -> list[str]:
    """Return the names of the first and the last long answers in a log, or among the messages with these ordinals.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    own = range(first_own(reader), len(reader.index))
    wanted = own if ordinals is None else sorted(ordinal for ordinal in ordinals if ordinal in own)
    return list(dict.fromkeys([*_answers_among(reader, wanted), *_answers_among(reader, wanted[::-1])]))


def _answers_among(reader: ReadableLog, ordinals: Sequence[int]) -> list[str]:
    """Return the names of the first long answers among messages. Messages may be large, so few are read at once."""
    found = dict[str, None]()
    most = MOST_ANSWERS // 2
    for start in range(0, min(len(ordinals), _MOST_COMPARED), _READ_AT_ONCE):
        found |= _answers(reader.read(ordinals[start : start + _READ_AT_ONCE]))
        if len(found) >= most:
            break
    return list(found)[:most]


def answers_in_draft(draft: SessionDraft) -> list[str]:
    """Return the names of the long answers among the first and last messages of a session that is being imported."""
    first = draft.at[:_MOST_COMPARED]
    last = draft.at[_MOST_COMPARED:][-_MOST_COMPARED:]
    return list(_answers(decode(draft.bodies[at] + b"}") for at in (*first, *last)))


def _answers(messages: Iterable[Message]) -> dict[str, None]:
    """Return the names of the long answers among messages, each once, as the keys of a mapping."""
    names = (_said_name(message) for message in messages if message.get("role") == "assistant")
    return dict.fromkeys(name for name in names if name)


def _said_name(message: Message) -> str:
    """Return a name made from the words of a message, or "" for a short message.

    Blocks and spaces do not change the name.
    """
    words = " ".join(" ".join(texts_of(message)).split())
    if len(words) < LONG_ANSWER:
        return ""
    return f"said:{sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()}"


def first_own(reader: ReadableLog) -> int:
    """Return the ordinal of the first message that a fork did not copy from its origin; 0 if the log is not a fork."""
    headers = reader.index.headers
    taken_over = headers[0].get("forked_from") if headers else None
    last = reader.index.find(taken_over) if isinstance(taken_over, str) else None
    return 0 if last is None else last + 1


def _name(message_id: str, message: Message) -> str:
    text = f"{message_id}\n{content_key(message)}"
    return f"message:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
