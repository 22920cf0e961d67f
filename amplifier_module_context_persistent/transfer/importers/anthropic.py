"""Bodies of Anthropic's Messages API, and lists or lines of such messages (Cline keeps them so)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .account import Account
from .anthropic_blocks import CALLS, assistant_parts, usage, user_messages
from .events import Event, MessageRead, SessionStart
from .fields import assistant, items, mapping, metadata, plain_content, text
from .request_bodies import document_messages, facts_of, messages_of, sampled
from .source import Sample, Source

_OWN_BLOCKS = CALLS | {"tool_result", "thinking", "redacted_thinking", "document"}


class Anthropic:
    """Importer of Anthropic message lists."""

    name = "anthropic"
    title = "Anthropic messages"

    def score(self, sample: Sample) -> int:
        """Surely of this format is what has its blocks, or `system` beside `messages`."""
        messages = sampled(sample)
        body = mapping(sample.document)
        sure = sum(map(_has_own_blocks, messages))
        if isinstance(body.get("messages"), list) and ("system" in body or "anthropic_version" in body):
            sure += 1
        if not sure or any(message.get("role") == "tool" or "tool_calls" in message for message in messages):
            return 0
        known = sum(message.get("role") in ("user", "assistant", "system") for message in messages)
        return 900 if document_messages(sample.document) is not None else known + 1

    def read(self, source: Source, account: Account) -> Iterator[Event]:
        """Yield the one session."""
        document = source.sample().document
        facts = facts_of(document)
        yield SessionStart("session", "", facts, text(facts.get("session_id")))
        system = mapping(document).get("system")
        if system:
            said = (
                system if isinstance(system, str) else plain_content([b for b in items(system) if isinstance(b, dict)])
            )
            yield MessageRead({"role": "system", "content": said, "metadata": metadata("anthropic-system")})
        names: dict[str, str] = {}
        for number, message in messages_of(source, account):
            role = message.get("role")
            if role not in ("user", "assistant", "system"):
                account.lose(number, f"a message of the role {str(role)[:20]!r}")
                continue
            read = list(_messages(message, _id_of(message, number), names, text(facts.get("model"))))
            if read:
                account.map(str(role))
            else:
                account.skip(f"{role} without content")
            for one in read:
                yield MessageRead(one, number, str(role))


def _has_own_blocks(message: dict[str, Any]) -> bool:
    if mapping(message.get("metadata")).get("message_id"):
        return False  # this package's own export
    blocks = [block for block in items(message.get("content")) if isinstance(block, dict)]
    return message.get("role") in ("user", "assistant") and any(
        text(block.get("type")) in _OWN_BLOCKS and "tool_call_id" not in block for block in blocks
    )


def _id_of(message: dict[str, Any], number: int) -> str:
    given = mapping(message.get("metadata")).get("message_id")
    return text(given) or text(message.get("id")) or f"anthropic-{number}"


def _messages(message: dict[str, Any], message_id: str, names: dict[str, str], model: str) -> Iterator[dict[str, Any]]:
    given = mapping(message.get("metadata"))
    time = given.get("timestamp") or message.get("timestamp") or message.get("ts")
    if message["role"] == "assistant":
        blocks, calls = assistant_parts(message.get("content"))
        names.update((one["id"], one["tool"]) for one in calls)
        reported = usage(message.get("usage")) or mapping(given.get("usage"))
        read = assistant(
            blocks,
            calls,
            metadata(
                message_id,
                time,
                provider="anthropic",
                model=text(message.get("model")) or text(given.get("model")) or model,
                stop_reason=text(message.get("stop_reason")) or text(given.get("stop_reason")),
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
        source = text(given.get("source")) or None
        yield from user_messages(message.get("content"), message_id, time, names, source=source)
