"""Read messages of Amazon Bedrock's Converse API (lists, request bodies, lines), and sessions of Strands.

Strands keeps a session in a directory: `session_<id>/agents/agent_<id>/messages/message_<number>.json`, each with
`{message, message_id, created_at, redact_message?}`; beside `messages/` is `agent.json`, and above it `session.json`.
Naming any of the message files imports all messages of its agent. Strands stores bytes as `{__bytes_encoded__: true,
data}`.

`forms.bedrock` reads the messages, and writes them in their original form. Source: strands-agents/sdk-python,
`src/strands/types/session.py` and `session/file_session_manager.py` (read 2026-11-26).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from ....forms import bedrock
from ....forms.canonical import plain_content
from .account import Account
from .events import Event, MessageRead, SessionStart
from .fields import items, mapping, metadata, text
from .lines import SourceObject
from .provider_messages import whole_messages
from .source_file import Sample, Source, entries_of, objects_of

_ROLES = frozenset({"user", "assistant"})
_MESSAGE_FILE = re.compile(r"message_(\d+)\.json")
_BESIDE = frozenset({"session.json", "agent.json", "multi_agent.json"})
_MOST_MESSAGES = 100_000


def score(sample: Sample) -> int:
    """Return how well a file fits this format. The score is 0 unless the file has messages with Bedrock's blocks."""
    listed = _messages_in(sample.document)
    if listed is None:
        found = sum(_is_own(_message_of(entry)) for entry in sample.entries)
        return found + 1 if found else 0
    messages = [_message_of(entry) for entry in listed[:200]]
    if any(text(mapping(message).get("role")) not in _ROLES for message in messages):
        return 0
    return 950 if any(_is_own(message) for message in messages) else 0


def _messages_in(document: Any) -> list[Any] | None:
    """Return the messages in a document: in a list, a request body, or one message of Strands.

    Return None without any.
    """
    if isinstance(document, list):
        return document
    fields = mapping(document)
    if _is_stored(fields):
        return [fields]
    return fields["messages"] if isinstance(fields.get("messages"), list) else None


def _is_stored(entry: Any) -> bool:
    """Return whether an object is a message in the form that Strands stores."""
    return isinstance(mapping(entry).get("message"), dict) and "message_id" in entry


def _message_of(entry: Any) -> Any:
    """Return the message in a record of Strands (in its redacted form, if there is one).

    Return any other object unchanged.
    """
    if not _is_stored(entry):
        return entry
    return mapping(entry.get("redact_message")) or entry["message"]


def _is_own(message: Any) -> bool:
    """Return whether a message has blocks of Bedrock, which have no `type`."""
    if text(mapping(message).get("role")) not in _ROLES:
        return False
    blocks = items(mapping(message).get("content"))
    if not all(isinstance(block, dict) and "type" not in block for block in blocks):
        return False
    return any(not bedrock.BLOCKS.isdisjoint(block) for block in blocks)


def comes_with_session(path: str) -> bool:
    """Return whether a file is imported with another file of its session; Strands has a file for each message."""
    directory, name = os.path.split(path)
    if name in _BESIDE:
        return any("agents" in entry or entry == "messages" for entry in _names_in(directory))
    found = _MESSAGE_FILE.fullmatch(name)
    if found is None or os.path.basename(directory) != "messages":
        return False
    number = int(found[1])
    if number and os.path.isfile(os.path.join(directory, "message_0.json")):
        return True
    return number != min(_numbers_in(directory), default=number)


def _names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _numbers_in(directory: str) -> list[int]:
    matches = map(_MESSAGE_FILE.fullmatch, _names_in(directory))
    return sorted(int(found[1]) for found in matches if found is not None)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in a file of Bedrock's messages.

    Strands stores each message in a file of its own. If the file is such a file, yield the events of its agent's whole
    session.
    """
    document = source.sample.document
    body = mapping(document)
    if _is_stored(body) and os.path.basename(os.path.dirname(source.path)) == "messages":
        yield SessionStart("session", "", {}, _session_of(source.path))
        yield from _stored_messages(source, account)
        return
    model = text(body.get("modelId"))
    yield SessionStart("session", "", {"model": model, "tools": items(mapping(body.get("toolConfig")).get("tools"))})
    system = items(body.get("system"))
    if system:
        [message] = bedrock.read([{"role": "user", "content": system}])[:1]
        content = plain_content(message["content"])
        yield MessageRead({"role": "system", "content": content, "metadata": metadata("bedrock-system")})
    listed = _messages_in(document)
    entries = objects_of(source, account) if listed is None else entries_of(listed, account)
    for at in entries:
        yield from _messages(at, account, model)


def _session_of(path: str) -> str:
    """Return the id for the import of an agent's messages, from the names of the directories.

    The id is that of the session of Strands. For an agent that is not the default one, `-` and the agent's id follow.
    """
    agent = os.path.dirname(os.path.dirname(path))
    session = os.path.basename(os.path.dirname(os.path.dirname(agent))).removeprefix("session_")
    agent_id = os.path.basename(agent).removeprefix("agent_")
    is_only_agent = agent_id in ("default", "")
    if is_only_agent or not session:
        return session
    return f"{session}-{agent_id}"


def _stored_messages(source: Source, account: Account) -> Iterator[Event]:
    """Yield the messages in an agent's directory, in their order."""
    directory = os.path.dirname(source.path)
    for number in _numbers_in(directory)[:_MOST_MESSAGES]:
        path = os.path.join(directory, f"message_{number}.json")
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        account.file = os.path.basename(path) if path != source.path else ""
        with Source(path) as file:
            for at in entries_of([file.sample.document], account):
                yield from _messages(at, account, "", number)
        account.file = ""


def _messages(at: SourceObject, account: Account, model: str, place: int | None = None) -> Iterator[Event]:
    """Yield the messages of one entry. `place` is the entry's number in a session of Strands; None in other files."""
    number, entry = at
    message = _decoded(_message_of(entry))
    if text(mapping(message).get("role")) not in _ROLES:
        account.lose(number, f"no message of a user or an assistant: it has {', '.join(sorted(entry))[:60]}")
        return
    stored = entry if _is_stored(entry) else {}
    message_id = f"bedrock-{number}" if place is None else f"strands-{place}"
    inner = SourceObject(number, message)
    time = stored.get("created_at")
    for whole_message in whole_messages(bedrock, inner, account, message_id, time, provider="bedrock", model=model):
        yield MessageRead(whole_message, number)


def _decoded(value: Any) -> Any:
    """Return a value in which bytes are base64 text, as `forms.bedrock` expects."""
    if isinstance(value, dict):
        if value.get("__bytes_encoded__") is True and isinstance(value.get("data"), str):
            return value["data"]
        return {key: _decoded(item) for key, item in value.items()}
    return [_decoded(item) for item in value] if isinstance(value, list) else value
