"""The messages that entries of a Claude Code file stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .anthropic_blocks import assistant_parts, usage, user_messages
from .claude_index import NOT_A_PERSON, Entry, SessionFile, queued_prompt
from .events import Cleared, Compacted, Event, Kept, MessageRead
from .fields import assistant, items, mapping, metadata, text

_SYNTHETIC = "<synthetic>"
"""The model that answers name which the program wrote itself, such as those that tell of an error."""


def messages_of(file: SessionFile, indices: Sequence[int]) -> Iterator[Event]:
    """What some entries stand for, in their order; the records of one answer are one message.

    A clear hides what stands before it, unless nobody went on after it: then it ends the file that was left.
    """
    shown = set(indices)
    spoke = (index for index in reversed(indices) if file.entries[index].is_person or file.entries[index].message_id)
    last = next(spoke, -1)
    for index in indices:
        entry = file.entries[index]
        if entry.kind == "assistant":
            group = [other for other in file.groups.get(entry.message_id, [index]) if other in shown]
            if index == group[0] and (message := _answer(file, group)) is not None:
                yield MessageRead(message, entry.line, "assistant")
            continue
        parsed = entry.source.value
        if entry.kind in ("kept", "clear"):
            if parsed.get("subtype") == "compact_boundary":
                file.compaction = mapping(parsed.get("compactMetadata"))
            yield Kept(parsed, entry.line, text(parsed.get("type")))
            if entry.kind == "clear" and index < last:
                yield Cleared(entry.line, parsed.get("timestamp"))
        elif entry.kind == "queued":
            yield from _queued_messages(parsed, entry)
        elif parsed.get("isCompactSummary") is True:
            yield _compaction(file, parsed, entry)
        else:
            yield from _user(file, parsed, entry)


def _id_of(entry: Entry) -> str:
    return entry.uuid or f"claude-code-{entry.line}"


def _answer(file: SessionFile, group: Sequence[int]) -> dict[str, Any] | None:
    blocks, calls, known = [], [], set[str]()
    model, stop = "", None
    reported: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for index in group:
        entry = file.entries[index].source.value
        first = first or entry
        message = mapping(entry.get("message"))
        more, called = assistant_parts(message.get("content"))
        blocks += more
        calls += [one for one in called if one["id"] not in known]
        known.update(one["id"] for one in called)
        model, stop = text(message.get("model")) or model, message.get("stop_reason") or stop
        reported = usage(message.get("usage")) or reported
    failed = True if first.get("isApiErrorMessage") is True else None
    kept: dict[str, Any] = {"request_id": first.get("requestId"), "response_id": mapping(first["message"]).get("id")}
    provider = "anthropic"
    if model == _SYNTHETIC:  # the program's own words: nobody was asked
        provider, model, reported, kept = "", "", {}, {"model": model}
    return assistant(
        blocks,
        calls,
        metadata(
            _id_of(file.entries[group[0]]),
            first.get("timestamp"),
            provider=provider,
            model=model,
            stop_reason=stop,
            usage=reported,
            is_error=failed,
            imported=_rest(file, first, **kept),
        ),
    )


def _user(file: SessionFile, parsed: dict[str, Any], entry: Entry) -> Iterator[Event]:
    content = mapping(parsed.get("message")).get("content")
    source = None
    if not entry.is_person:
        source = "claude-code:meta" if parsed.get("isMeta") is True else "claude-code:note"
    rest = _rest(file, parsed)
    for message in user_messages(
        content, _id_of(entry), parsed.get("timestamp"), file.names, source=source, imported=rest
    ):
        yield MessageRead(message, entry.line, "user")


def _queued_messages(parsed: dict[str, Any], entry: Entry) -> Iterator[Event]:
    prompt = queued_prompt(parsed)
    said = (
        prompt
        if isinstance(prompt, str)
        else next((text(block.get("text")) for block in items(prompt) if isinstance(block, dict)), "")
    )
    mode = mapping(parsed.get("attachment")).get("commandMode")
    from_person = mode in (None, "prompt") and not NOT_A_PERSON.match(said)
    source = None if from_person else "claude-code:queued"
    for message in user_messages(prompt, _id_of(entry), parsed.get("timestamp"), {}, source=source):
        yield MessageRead(message, entry.line, "queued command")


def _compaction(file: SessionFile, parsed: dict[str, Any], entry: Entry) -> Compacted:
    content = mapping(parsed.get("message")).get("content")
    blocks = [block for block in items(content) if isinstance(block, dict)]
    said = content if isinstance(content, str) else "\n".join(text(block.get("text")) for block in blocks)
    details, file.compaction = file.compaction, {}
    before = details.get("preTokens")
    return Compacted(
        said,
        entry.line,
        message_id=_id_of(entry),
        time=parsed.get("timestamp"),
        tokens_before=before if isinstance(before, int) else 0,
        details=details,
    )


def _rest(file: SessionFile, entry: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a message keeps beside what all formats have; directory and branch where they are not the session's."""
    rest = {key: value for key, value in more.items() if isinstance(value, str) and value}
    for key, named in (("cwd", "cwd"), ("git_branch", "gitBranch")):
        if (value := text(entry.get(named))) and value != file.facts.get(key):
            rest[key] = value
    return rest
