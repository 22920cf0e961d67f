"""Read the list of conversations in a data export, of ChatGPT or of claude.ai.

An export has hundreds of conversations. One that is empty or damaged is named, and does not stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .account import Account, LostLine
from .fields import text
from .long_list import UnreadEntry
from .source_file import Sample, Source

_LOOKED_AT = 50
_MOST_TITLE_CHARS = 80


class Conversation(NamedTuple):
    """A conversation of an export, with its name in reports and its id in the source ("" without one)."""

    name: str
    source_id: str
    value: dict[str, Any]


def sampled_conversations(sample: Sample) -> list[dict[str, Any]]:
    """Return the first entries of a document that is a list, or the document itself; only those that are objects."""
    document: Any = list(sample.long_list) or sample.document
    listed = document[:_LOOKED_AT] if isinstance(document, list) else [document]
    return [conversation for conversation in listed if isinstance(conversation, dict)]


def conversations_in(source: Source, account: Account, *, messages: str, ids: Iterable[str]) -> Iterator[Conversation]:
    """Yield each conversation with messages. Other entries of the list are noted here.

    Args:
        source: the file.
        account: records an empty conversation as not conversational, and a damaged or repeated one as lost.
        messages: the key of a conversation's messages: a list or an object.
        ids: the keys of its id, the most reliable one first.
    """
    account.unit = "entry"
    keys = tuple(ids)
    seen = set[str]()
    for number, entry in enumerate(source.entries(), 1):
        if isinstance(entry, UnreadEntry):
            _lose(account, entry.reason)
            continue
        if not isinstance(entry, dict):
            _lose(account, f"entry {number:,} of the list is no conversation")
            continue
        name = _name(number, entry)
        message_list = entry.get(messages)
        known_id = next(filter(None, (text(entry.get(key)) for key in keys)), "")
        if message_list and not isinstance(message_list, dict | list):
            _lose(account, f"{name}: its {messages!r} are no messages")
        elif messages not in entry:
            _lose(account, f"{name}: it has no {messages!r}")
        elif known_id in seen:
            _lose(account, f"{name}: an earlier conversation has the same id")
        elif not message_list:
            account.next_line()
            account.skip("conversation without messages")
            note_empty(account, name)
        else:
            seen |= {known_id} - {""}
            yield Conversation(name, known_id, entry)


def note_empty(account: Account, name: str) -> None:
    """Note that a conversation has nothing to import."""
    account.notes.append(LostLine(account.lines, None, f"{name} says nothing, and becomes no session"))


def _lose(account: Account, reason: str) -> None:
    account.next_line()
    account.lose(account.lines, reason)


def _name(number: int, entry: dict[str, Any]) -> str:
    title = text(entry.get("title")) or text(entry.get("name"))
    return f"conversation {number:,} ({title[:_MOST_TITLE_CHARS]!r})"
