"""Read sessions of Goose: `goose session export --format json`, and the `.jsonl` files of versions before 1.10.

A document has the fields of the session, and `conversation`, a list of messages. A file of lines begins with a line
with the fields of the session. A message is `{id?, role, created, content, metadata: {userVisible, agentVisible}}`; its
content has `text`, `image`, `thinking`, `redactedThinking`, `toolRequest`, `toolResponse` and notes of the program.
Calls and results are `{status: success, value}` or `{status: error, error}`; a result's value has the form of an MCP
tool's. A compaction removes `agentVisible` from the messages before it, and adds a summary that only the agent sees.

Usage is known only for the whole session. The last answer gets it, with the number of answers.

Sources: block/goose, `crates/goose/src/conversation/message.rs` and `tool_result_serde.rs` at 0513296,
`session/legacy.rs` at 0fc5e54, `struct Session` of `session/session_manager.rs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from ....forms import mcp
from ....forms.canonical import blocks_of, call, plain_content, text_block, usage_of
from .account import Account
from .events import CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import (
    Message,
    assistant,
    mapping,
    metadata,
    named,
    result,
    text,
    thinking_block,
    user,
)
from .lines import SourceObject
from .source_file import Sample, Source, entries_of, objects_of

_CALLS = frozenset({"toolRequest", "frontendToolRequest"})
_OWN_BLOCKS = _CALLS | {"toolResponse", "redactedThinking", "toolConfirmationRequest", "systemNotification"}
_FACTS = {"cwd": "working_dir", "provider": "provider_name", "created": "created_at"}


@dataclass(slots=True)
class _Conversation:
    """The known facts about a session, and its events so far."""

    facts: dict[str, Any]
    session_id: str = ""
    model: str = ""
    events: list[Event] = field(default_factory=list)
    """The events that are not yielded yet: the last answer and later events."""
    answers: int = 0
    hidden_from_agent: bool = False
    """Whether the last message is no longer visible to the agent."""
    seen_by_agent: list[str] = field(default_factory=list)
    """The ids of earlier messages that are still visible to the agent."""

    def before_last_answer(self) -> list[Event]:
        """Remove the events before the last answer and return them.

        Only the last answer must wait, because it gets the usage of all answers.
        """
        last = max((at for at, event in enumerate(self.events) if _is_answer(event)), default=len(self.events))
        earlier_events = self.events[:last]
        del self.events[:last]
        return earlier_events


def score(sample: Sample) -> int:
    """Return how well a file fits this format: 1000 for a document, else the number of lines that only Goose writes."""
    if isinstance(sample.document, dict) and _is_session(sample.document):
        return 1_000
    return sum(map(_is_own, sample.entries))


def _is_session(document: dict[str, Any]) -> bool:
    return isinstance(document.get("conversation"), list) and "working_dir" in document


def _is_own(entry: dict[str, Any]) -> bool:
    """Return whether a line is the first line of a Goose file, or a message in a form that only Goose writes."""
    if "role" not in entry:
        return isinstance(entry.get("working_dir"), str) and "message_count" in entry
    if type(entry.get("created")) is not int or not isinstance(entry.get("content"), list):
        return False
    kinds = {text(mapping(block).get("type")) for block in entry["content"]}
    return bool(kinds & _OWN_BLOCKS) or kinds <= {"text", "image", "thinking"}


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in an export of Goose, or in a `.jsonl` file of an older Goose."""
    document = mapping(source.sample.document)
    talk = _Conversation({})
    start = SessionStart("session", "", talk.facts)
    yield start
    if _is_session(document):
        _note_facts(talk, document)
        entries = entries_of(document["conversation"], account)
    else:
        entries = objects_of(source, account)
    reported = dict(document)
    for at in entries:
        if "role" not in at.value and "working_dir" in at.value:
            account.keep("session")
            _note_facts(talk, at.value)
            reported |= at.value
        else:
            _take(talk, at, account)
            yield from talk.before_last_answer()
    _report(talk, reported)
    start.source_id = talk.session_id
    yield from talk.events


def _note_facts(talk: _Conversation, session_info: dict[str, Any]) -> None:
    talk.session_id = text(session_info.get("id"))
    title = text(session_info.get("name")) or text(session_info.get("description"))
    talk.facts.clear()
    talk.facts |= {**named(session_info, **_FACTS), **({"title": title} if title else {})}
    talk.model = text(mapping(session_info.get("model_config")).get("model_name"))


def _take(talk: _Conversation, at: SourceObject, account: Account) -> None:
    number, message = at
    role = message.get("role")
    if role not in ("user", "assistant") or not isinstance(message.get("content"), list):
        account.lose(number, f"no message: its role is {str(role)[:20]!r}")
        return
    message_id = text(message.get("id")) or f"goose-{number}"
    visible = mapping(message.get("metadata"))
    if _is_summary(talk, visible):
        words = "\n".join(text(block.get("text")) for block in blocks_of(message["content"]))
        account.map("summary")
        talk.hidden_from_agent = False
        kept_ids = tuple(talk.seen_by_agent)
        talk.events.append(
            CompactionEvent(words, number, message_id=message_id, time=message.get("created"), keep=kept_ids)
        )
        return
    read = [*_messages(talk, message, message_id)]
    for note in _notes(message["content"]):
        talk.events.append(KeptEntry(note, number, text(note.get("type"))))
    if not read:
        account.keep(f"{role} without content")
        return
    account.map(str(role))
    talk.events += [MessageRead(read_message, number) for read_message in read]
    talk.answers += sum(read_message["role"] == "assistant" for read_message in read)
    talk.hidden_from_agent = visible.get("agentVisible") is False
    if not talk.hidden_from_agent:
        talk.seen_by_agent += [read_message["metadata"]["message_id"] for read_message in read]


def _is_summary(talk: _Conversation, visible: dict[str, Any]) -> bool:
    """Return whether a message is the summary of a compaction.

    The summary is the first message that only the agent sees, after messages that are hidden from the agent.
    """
    is_agents = visible.get("userVisible") is False and visible.get("agentVisible") is not False
    return talk.hidden_from_agent and is_agents


def _notes(content: list[Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message that are notes of the program, not content."""
    known = _CALLS | {"text", "image", "thinking", "redactedThinking", "toolResponse"}
    return [block for block in content if isinstance(block, dict) and text(block.get("type")) not in known]


def _messages(talk: _Conversation, message: dict[str, Any], message_id: str) -> Iterator[Message]:
    """Yield the results in a message, then a message with its other content and its calls.

    The first message gets the given id, the others get ids with numbers.
    """
    content_blocks = blocks_of(message["content"])
    time = message.get("created")
    next_id = message_id
    responses = [block for block in content_blocks if block.get("type") == "toolResponse"]
    for number, block in enumerate(responses, 2):
        yield _result(block, metadata(next_id, time, failed=_has_failed(block)))
        next_id = f"{message_id}-{number}"
    converted = [_block(block) for block in content_blocks]
    blocks = [block for block in converted if block is not None]
    if message["role"] == "assistant":
        calls = []
        for place, block in enumerate(content_blocks, 1):
            if block.get("type") in _CALLS:
                calls.append(_call(block, f"{next_id}-call{place}"))
        facts = metadata(next_id, time, provider=text(talk.facts.get("provider")), model=talk.model)
        answer = assistant(blocks, calls, facts)
        if answer is not None:
            yield answer
    elif blocks:
        is_shown_to_person = mapping(message.get("metadata")).get("userVisible") is not False
        source = None if is_shown_to_person else "goose:agent"
        yield user(plain_content(blocks), metadata(next_id, time, source=source))


def _block(block: Message) -> Message | None:
    """Return a content block, or None for a call, a result or a note of the program."""
    kind = block.get("type")
    if kind == "thinking":
        return thinking_block(text(block.get("thinking")), text(block.get("signature")) or None)
    if kind == "redactedThinking":
        return {"type": "redacted_thinking", "data": text(block.get("data"))}
    if kind == "text":
        return text_block(block["text"]) if text(block.get("text")) else None
    return mcp.read_block(block) if kind == "image" else None


def _call(block: Message, own: str) -> Message:
    request = mapping(mapping(block.get("toolCall")).get("value"))
    refused = text(mapping(block.get("toolCall")).get("error"))
    arguments = request.get("arguments") if request else {"error": refused}
    return call(text(block.get("id")) or own, text(request.get("name")), arguments)


def _has_failed(block: Message) -> bool:
    tool_result = mapping(block.get("toolResult"))
    return tool_result.get("status") == "error" or mapping(tool_result.get("value")).get("isError") is True


def _result(block: Message, facts: dict[str, Any]) -> Message:
    tool_result = mapping(block.get("toolResult"))
    value = tool_result.get("value")
    if tool_result.get("status") == "error":
        content: Any = text(tool_result.get("error"))
    else:
        whole = value if isinstance(value, dict) else {"content": blocks_of(value)}
        listed = {**whole, "content": blocks_of(whole.get("content"))}
        [read_result] = mcp.read([{"role": "tool", "tool_call_id": "", **listed}])
        read_content = read_result["content"]
        content = plain_content(list(map(_bare, read_content))) if isinstance(read_content, list) else read_content
    return result(text(block.get("id")), content, facts)


def _bare(block: Message) -> Message:
    """Return a text block without annotations, such as its audience; any other block unchanged."""
    if block.get("type") != "text":
        return block
    return text_block(text(block.get("text")))


def _is_answer(event: Event) -> TypeGuard[MessageRead]:
    return isinstance(event, MessageRead) and event.message["role"] == "assistant"


def _report(talk: _Conversation, session_info: dict[str, Any]) -> None:
    """Add the usage of all answers together to the last answer."""
    answers = list(filter(_is_answer, talk.events))
    usage = usage_of(
        input_tokens=session_info.get("accumulated_input_tokens"),
        output_tokens=session_info.get("accumulated_output_tokens"),
        cost_usd=session_info.get("accumulated_cost"),
    )
    if answers and usage:
        facts = answers[-1].message["metadata"]
        answers[-1].message["metadata"] = {"usage": usage | {"requests": talk.answers}} | facts
