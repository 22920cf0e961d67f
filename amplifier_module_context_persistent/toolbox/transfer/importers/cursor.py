"""Read transcripts of Cursor's agent: lines `{role, message: {content}}`, whose content has Anthropic's blocks.

They are in `~/.cursor/projects/<project>/agent-transcripts/<id>/<id>.jsonl`. There is no public specification. Calls
have no ids, and results are not in the file: each call stays open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....forms.anthropic_in_files import with_ids
from ....forms.canonical import blocks_of
from .account import Account
from .anthropic import user_messages
from .events import Event, MessageRead, SessionStart
from .fields import assistant, mapping, metadata, text
from .provider_messages import answer_parts
from .source_file import Source, objects_of


def is_entry(entry: dict[str, Any]) -> bool:
    """Return whether an object is a line of a Cursor transcript."""
    message = entry.get("message")
    return entry.get("role") in ("user", "assistant") and isinstance(message, dict) and "content" not in entry


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in a transcript of Cursor's agent."""
    yield SessionStart("session")
    for number, entry in objects_of(source, account):
        if not is_entry(entry):
            account.lose(number, f"no message of a user or an assistant: it has {', '.join(sorted(entry))[:60]}")
            continue
        role = text(entry.get("role"))
        message_id = f"cursor-{number}"
        content = blocks_of(mapping(entry.get("message")).get("content"))
        blocks_with_ids = with_ids(content, message_id)
        if role == "assistant":
            answer = assistant(*answer_parts(blocks_with_ids), metadata(message_id))
            read_messages = [answer] if answer is not None else []
        else:
            read_messages = list(user_messages(blocks_with_ids, message_id, None))
        if read_messages:
            account.map(role)
        else:
            account.skip(f"{role} without content")
        for message in read_messages:
            yield MessageRead(message, number)
