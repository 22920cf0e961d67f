"""Read request bodies of Anthropic's Messages API, and lists or lines of its messages (as Cline keeps them).

`forms.anthropic` reads the messages. The results in a user message become the first messages; the text beside them is a
person's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....forms.anthropic import usage
from ....forms.anthropic_in_files import is_sure, with_ids
from ....forms.canonical import blocks_of, plain_content
from ....messages.message import metadata_of
from .account import Account
from .cline_marks import SummarizedMessages, is_marked, without_environment
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, mapping, metadata, result, text, user
from .openai import document_messages, facts_of, id_of, messages_of, sampled
from .provider_messages import answer_parts, user_parts
from .source_file import Sample, Source


def user_messages(content: Any, message_id: str, time: Any, **more: Any) -> Iterator[Message]:
    """Yield the messages made from one user message: one for each result, then one for the other content.

    Args:
        content: text or blocks.
        message_id: the id of the first message; for the others a number is added to it.
        time: the message's time.
        more: further metadata for the other content.
    """
    if isinstance(content, str) and content:  # nothing in a text has to be read
        yield {"role": "user", "content": content, "metadata": metadata(message_id, time, **more)}
        return
    spoken, results = user_parts(content)
    for number, read_result in enumerate(results, 1):
        own = message_id if number == 1 else f"{message_id}-{number}"
        facts = metadata(own, time, failed=metadata_of(read_result).get("is_error") is True)
        answered = read_result["content"]
        output = plain_content(answered) if isinstance(answered, list) else answered
        yield result(read_result["tool_call_id"], output, facts)
    if spoken:
        own = message_id if not results else f"{message_id}-{len(results) + 1}"
        yield {"role": "user", "content": plain_content(spoken), "metadata": metadata(own, time, **more)}


def score(sample: Sample) -> int:
    """Return how well a file fits this format: 0 unless it has Anthropic's blocks, or `system` beside `messages`."""
    messages = sampled(sample)
    body = mapping(sample.document)
    sure = sum(map(_has_own_blocks, messages))
    if isinstance(body.get("messages"), list) and ("system" in body or "anthropic_version" in body):
        sure += 1
    if not sure or any(message.get("role") == "tool" or "tool_calls" in message for message in messages):
        return 0
    known = sum(message.get("role") in ("user", "assistant", "system") for message in messages)
    return 900 if document_messages(sample.document) is not None else known + 1


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in a request body, or in a list or lines of Anthropic's messages."""
    document = source.sample.document
    facts = facts_of(document)
    yield SessionStart("session", "", facts, text(facts.get("session_id")))
    system = mapping(document).get("system")
    if system:
        system_text = plain_content(blocks_of(system))
        yield MessageRead({"role": "system", "content": system_text, "metadata": metadata("anthropic-system")})
    open_calls: dict[str, None] = {}
    summarized = SummarizedMessages()
    for at in messages_of(source, account):
        number, message = at
        role = message.get("role")
        if role is None and text(message.get("type")) == "reasoning":  # encrypted, of Roo Code
            account.keep("reasoning")
            yield KeptEntry(message, number, "reasoning")
            continue
        if role not in ("user", "assistant", "system"):
            account.lose(number, f"a message of the role {str(role)[:20]!r}")
            continue
        message_id = id_of(at, "anthropic")
        summary = summarized.take(at, message_id)
        if summary is not None:
            account.map("summary")
            yield summary
            continue
        if isinstance(message.get("content"), list):
            content = with_ids(blocks_of(message["content"]), message_id, open_calls)
            message = {**message, "content": content}
        read = list(_messages(message, message_id, text(facts.get("model"))))
        if read:
            account.map(str(role))
        else:
            account.skip(f"{role} without content")
        for read_message in read:
            summarized.add(read_message["metadata"]["message_id"])
            yield MessageRead(read_message, number)


def _has_own_blocks(message: dict[str, Any]) -> bool:
    if mapping(message.get("metadata")).get("message_id"):
        return False  # this package's own export
    return message.get("role") in ("user", "assistant") and (is_sure(message) or is_marked(message))


def _messages(message: dict[str, Any], message_id: str, model: str) -> Iterator[dict[str, Any]]:
    own_metadata = mapping(message.get("metadata"))
    time = own_metadata.get("timestamp") or message.get("timestamp") or message.get("ts")
    if message["role"] == "assistant":
        blocks, calls = answer_parts(message.get("content"))
        reported = usage(message.get("usage")) or mapping(own_metadata.get("usage"))
        read = assistant(
            blocks,
            calls,
            metadata(
                message_id,
                time,
                provider="anthropic",
                model=text(message.get("model")) or text(own_metadata.get("model")) or model,
                stop_reason=text(message.get("stop_reason")) or text(own_metadata.get("stop_reason")),
                usage=reported,
            ),
        )
        if read is not None:
            yield read
    elif message["role"] == "system":
        content = message.get("content")
        if content:
            yield {"role": "system", "content": content, "metadata": metadata(message_id, time)}
    else:
        yield from _said_by_user(message, message_id, time, text(own_metadata.get("source")))


def _said_by_user(message: Message, message_id: str, time: Any, source: str) -> Iterator[Message]:
    """Yield the messages of a user message: results, what the person wrote, and what Cline added to it."""
    persons, programs = without_environment(message.get("content"))
    count = 0
    for user_message in user_messages(persons, message_id, time, source=source or None):
        count += 1
        yield user_message
    if programs:
        own_id = f"{message_id}-{count + 1}" if count else message_id
        yield user(programs, metadata(own_id, time, source="cline:environment"))
