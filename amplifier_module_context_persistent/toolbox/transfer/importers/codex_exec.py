"""Read the output of `codex exec --json`: the events of a thread, one a line. A thread is Codex's word for a session.

Events of earlier versions are converted first (`codex_exec_older.py`).

`thread.started` names the thread; `item.completed` has texts, reasoning and calls, and `item.started` a running call;
`turn.completed` has the usage of the thread so far. The person's prompt is not among the events.

Source: openai/codex, `codex-rs/exec/src/exec_events.rs` at 08a1f30.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ....forms import mcp
from ....forms.canonical import as_text, blocks_of, call, plain_content, text_block, usage_of
from .account import Account
from .codex_exec_older import COUNTED, as_later, is_event, is_settings
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, mapping, metadata, named, result, text, thinking_block, user
from .lines import SourceObject
from .refused_import import one_session
from .source_file import Sample, Source, objects_of

_EVENTS = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed"})
_BETWEEN_TURNS = _EVENTS - {"thread.started"}
_ITEMS = frozenset({"item.started", "item.updated", "item.completed"})
_TOOLS = {
    "command_execution": "shell",
    "file_change": "apply_patch",
    "web_search": "web_search",
    "collab_tool_call": "",
    "mcp_tool_call": "",
}
"""The name of the called tool, by the item's type; empty if the item names the tool."""
_FAILED = frozenset({"failed", "declined"})
_RUNNING = "in_progress"
_USAGE = ("input_tokens", "cached_input_tokens", "output_tokens")


@dataclass(slots=True)
class _Thread:
    """The state of reading one thread."""

    account: Account
    facts: dict[str, Any] = field(default_factory=dict)
    thread_id: str = ""
    model: str = ""
    turn: int = 0
    events: list[Event] = field(default_factory=list)
    reasoning: list[Message] = field(default_factory=list)
    """Reasoning that will be put before the next text or call."""
    running: dict[str, SourceObject] = field(default_factory=dict)
    """Calls that have begun and not ended, by their ids."""
    billed: dict[str, int] = field(default_factory=dict)
    """The token counts of the thread up to the end of the last turn."""


def score(sample: Sample) -> int:
    """Return how well a file fits this format: the number of its first lines that are events of either version."""
    events = sum(map(_is_entry, sample.entries))
    older_events = sum(map(is_event, sample.entries))
    if not older_events:
        return events
    others_of_older = sum("prompt" in entry or is_settings(entry) for entry in sample.entries)
    return events + older_events + others_of_older


def _is_entry(entry: dict[str, Any]) -> bool:
    kind = text(entry.get("type"))
    return kind in _EVENTS or (kind in _ITEMS and isinstance(entry.get("item"), dict))


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in an output of `codex exec --json`.

    Raises:
        TwoSessionsError: the file holds two threads.
    """
    thread = _Thread(account)
    start = SessionStart("session", facts=thread.facts)
    yield start
    for at in objects_of(source, account):
        at = at._replace(value=as_later(at.value, at.number))
        _take(thread, at)
        start.source_id = thread.thread_id
        if text(at.value.get("type")) in _BETWEEN_TURNS:  # the usage is known, so its answers are final
            yield from thread.events
            thread.events.clear()
    _end_turn(thread)
    yield from thread.events


def _take(thread: _Thread, at: SourceObject) -> None:
    kind, item = text(at.value.get("type")), mapping(at.value.get("item"))
    if kind == "thread.started":
        thread.account.keep(kind)
        thread.thread_id = one_session(at.number, thread.thread_id, text(at.value.get("thread_id")))
        thread.model = text(at.value.get("model")) or thread.model
    elif kind == "turn.started":
        thread.account.skip(kind)
        _end_turn(thread)
        thread.turn += 1
    elif kind == "item.completed" and item:
        begun = thread.running.pop(_id_of(thread, item), None)
        _complete(thread, SourceObject(at.number, {**begun.value, **item} if begun else item))
    elif kind in _ITEMS:
        thread.account.skip(kind)
        if kind == "item.started" and text(item.get("type")) in _TOOLS:
            thread.running[_id_of(thread, item)] = SourceObject(at.number, item)
    elif kind == COUNTED:
        thread.account.keep(kind)
        _bill(thread, at)
    elif is_settings(at.value):
        thread.account.keep("settings")
        thread.model = text(at.value.get("model"))
        thread.facts |= named(at.value, cwd="workdir", model="model")
    else:
        thread.account.keep(kind or "without a type")
        if not is_event(at.value):
            _end_turn(thread)
        if kind == "turn.completed":
            _bill(thread, at)
        thread.events.append(KeptEntry(at.value, at.number, kind))


def _id_of(thread: _Thread, item: dict[str, Any]) -> str:
    """Return an id for an item that is unique in its thread. Codex's own ids begin again with each run."""
    return f"codex-exec-{thread.turn}-{text(item.get('id'))}"


def _complete(thread: _Thread, at: SourceObject) -> None:
    """Add a completed item."""
    number, item = at
    kind = text(item.get("type"))
    own = _id_of(thread, item)
    if kind == "user_message":
        thread.account.map(kind)
        thread.events.append(MessageRead(user(text(item.get("text")), metadata(own)), number))
    elif kind == "reasoning":
        thread.account.map(kind)
        thread.reasoning.append(thinking_block(text(item.get("text"))))
    elif kind in ("agent_message", "plan"):
        thread.account.map(kind)
        _answer(thread, number, own, [text_block(text(item.get("text")))], [])
    elif kind in _TOOLS:
        thread.account.map(kind)
        _call(thread, at)
        if item.get("status") != _RUNNING:
            content, failed = _output(item)
            result_facts = metadata(f"{own}-result", failed=failed)
            thread.events.append(MessageRead(result(own, content, result_facts), number))
    else:
        thread.account.keep(kind or "item without a type")
        thread.events.append(KeptEntry(item, number, kind))


def _answer(thread: _Thread, number: int, own: str, blocks: list[Message], calls: list[Message]) -> None:
    facts = metadata(own, provider="openai", model=thread.model)
    message = assistant([*thread.reasoning, *blocks], calls, facts)
    thread.reasoning = []
    if message is not None:
        thread.events.append(MessageRead(message, number))


def _call(thread: _Thread, at: SourceObject) -> None:
    number, item = at
    own = _id_of(thread, item)
    kind = text(item.get("type"))
    tool = _TOOLS[kind] or text(item.get("tool"))
    keys = ("command", "changes", "query", "action", "prompt", "receiver_thread_ids")
    arguments: Any = {key: item[key] for key in keys if item.get(key) is not None}
    if kind == "mcp_tool_call":
        tool = "__".join(part for part in ("mcp", text(item.get("server")), tool) if part)
        arguments = item.get("arguments")
    _answer(thread, number, own, [], [call(own, tool, arguments)])


def _output(item: dict[str, Any]) -> tuple[Any, bool]:
    """Return the content of a result, and whether the call failed."""
    failed = text(item.get("status")) in _FAILED
    kind = text(item.get("type"))
    if kind == "mcp_tool_call":
        error = mapping(item.get("error"))
        if error and not item.get("result"):
            return text(error.get("message")), True
        return _mcp_content(mapping(item.get("result"))), failed
    if kind == "command_execution":
        output = text(item.get("aggregated_output"))
        code = item.get("exit_code")
        if isinstance(code, int) and code != 0:
            return f"{output}\nexit code {code}", True
        return output, failed
    if kind == "collab_tool_call":
        return as_text(item.get("agents_states") or text(item.get("status"))), failed
    return text(item.get("output")) or text(item.get("status")) or "completed", failed


def _mcp_content(mcp_result: dict[str, Any]) -> Any:
    """Return the content of an MCP server's result."""
    message = {"role": "tool", "tool_call_id": "", "content": blocks_of(mcp_result.get("content"))}
    if mcp_result.get("structured_content"):
        message["structuredContent"] = mcp_result["structured_content"]
    [read_result] = mcp.read([message])
    content = read_result["content"]
    return plain_content(content) if isinstance(content, list) else content


def _end_turn(thread: _Thread) -> None:
    """End a turn: add calls without a result, and reasoning without an answer."""
    for at in thread.running.values():
        _call(thread, at)
    thread.running.clear()
    _answer(thread, 0, f"codex-exec-{thread.turn}-reasoning", [], [])


def _bill(thread: _Thread, at: SourceObject) -> None:
    """Give the last answer the usage since the last report: the thread's usage minus its usage at that time."""
    reported = mapping(at.value.get("usage") or at.value.get("last"))
    counts = {key: reported[key] for key in _USAGE if type(reported.get(key)) is int}
    before = thread.billed
    if "last" in at.value:
        counts = {key: count + before.get(key, 0) for key, count in counts.items()}
    if at.value.get("type") == COUNTED and counts == before:
        return  # the program repeats a count when its limits change
    has_begun_again = any(counts.get(key, 0) < count for key, count in before.items())
    if has_begun_again:
        before = {}
    thread.billed = counts
    of_turn = {key: count - before.get(key, 0) for key, count in counts.items()}
    usage = usage_of(
        input_tokens=of_turn.get("input_tokens"),
        output_tokens=of_turn.get("output_tokens"),
        cache_read_tokens=of_turn.get("cached_input_tokens"),
    )
    for event in reversed(thread.events):
        if isinstance(event, MessageRead) and event.message["role"] == "assistant":
            facts = event.message["metadata"]
            before = facts.get("usage", {})  # a request without an answer is billed to the answer before it
            both = {key: count + before.get(key, 0) for key, count in usage.items()}
            event.message["metadata"] = {**facts, "usage": {**before, **both}}
            return
    if usage:
        thread.account.lose_part(at.number, "the usage of a turn without an answer")
