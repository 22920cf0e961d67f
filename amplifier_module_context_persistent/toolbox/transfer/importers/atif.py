"""Read ATIF, the Agent Trajectory Interchange Format of Harbor (RFC 0001), versions 1.0 to 1.8.

A document has steps by `system`, `user` and `agent`. The first system steps are the system prompt; a later one that
replaces the context is a compaction. An observation that answers a call is its result; others become messages to the
agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....forms.canonical import blocks_of, call, medium, plain_content, source_from_url, text_block, usage_of
from ....tokens.usage import CACHE_WRITES
from .account import Account
from .events import CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import (
    Message,
    as_text,
    assistant,
    items,
    mapping,
    metadata,
    result,
    session_name,
    text,
    thinking_block,
)
from .refused_import import ImportRefusedError
from .source_file import Source, entries_of

OWN = "context_persistent"
"""The key of what this package's exports write into `extra`, which other readers ignore."""
_MOST_DEPTH = 8
_STEP = frozenset({"step_id", "timestamp", "source", "message", "model_name", "reasoning_content", "tool_calls"})
_KNOWN = _STEP | {"observation", "metrics", "extra"}
_METRICS = frozenset({"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"})


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the trajectory, and the trajectories of sub-agents in it.

    Raises:
        ImportRefusedError: the document is not a trajectory.
    """
    document = source.document()
    if not is_trajectory(document):
        raise ImportRefusedError("the document is no ATIF trajectory: it has no steps")
    exported_from = text(mapping(mapping(document.get("extra")).get(OWN)).get("log_id"))
    logs = (exported_from,) if exported_from else ()
    start = SessionStart("session", "", {}, text(document.get("session_id")), origin_logs=logs)
    yield from _trajectory(document, account, start, 0)


def is_trajectory(document: Any) -> bool:
    """Return whether a document has steps, and names a version of ATIF or an agent."""
    fields = mapping(document)
    has_name = text(fields.get("schema_version")).startswith("ATIF")
    return isinstance(fields.get("steps"), list) and (has_name or isinstance(fields.get("agent"), dict))


def _other_metrics(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics of a step that the usage of a message does not contain."""
    others = {key: value for key, value in metrics.items() if key not in _METRICS and value is not None}
    if mapping(others.get("extra")).keys() <= set(CACHE_WRITES):
        others.pop("extra", None)
    return others


def _trajectory(document: dict[str, Any], account: Account, start: SessionStart, depth: int) -> Iterator[Event]:
    """Yield the events of a trajectory and of its sub-agents. `depth` is the number of trajectories around this one."""
    agent = mapping(document.get("agent"))
    facts_of_agent = {key: value for key, value in agent.items() if key != "tool_definitions" and value is not None}
    start.facts.update(
        version=text(document.get("schema_version")),
        agent=facts_of_agent,
        tools=items(agent.get("tool_definitions")),
        notes=text(document.get("notes")),
        final_metrics=mapping(document.get("final_metrics")),
        continued_in=text(document.get("continued_trajectory_ref")),
        trajectory_id=text(document.get("trajectory_id")),
        extra={key: value for key, value in mapping(document.get("extra")).items() if key != OWN},
    )
    yield start
    reader = _StepReader(text(agent.get("model_name")))
    for number, step in entries_of(document["steps"], account):
        source = text(step.get("source"))
        if source not in ("system", "user", "agent"):
            account.lose(number, f"a step of the source {source[:20]!r}")
            continue
        events = list(reader.take(number, step, source))
        if any(not isinstance(event, KeptEntry) for event in events):
            account.map(f"{source} step")
            yield from events
        else:
            account.keep(f"{source} step without content")
            yield KeptEntry(step, number, source)
    for number, inner in enumerate(items(document.get("subagent_trajectories")), 1):
        if not is_trajectory(inner) or depth >= _MOST_DEPTH:
            account.next_line()
            account.lose(account.lines, "a sub-agent's trajectory without steps, or nested too deeply")
            continue
        trajectory_id = text(inner.get("trajectory_id"))
        name = session_name(trajectory_id or text(inner.get("session_id"))) or f"agent{number}"
        facts = {"spawned_by": reader.spawned.get(trajectory_id, "")}
        yield from _trajectory(inner, account, SessionStart("subagent", name, facts), depth + 1)


class _StepReader:
    """Reads the steps of one trajectory, in order."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._talks = False
        self.spawned: dict[str, str] = {}
        """The id of the call that started each sub-agent's trajectory, by the trajectory's id."""

    def take(self, number: int, step: dict[str, Any], source: str) -> Iterator[Event]:
        """Yield the messages and compactions of one step of the trajectory, and entries that are kept unchanged."""
        extra = mapping(step.get("extra"))
        own = mapping(extra.get(OWN))
        content = _content(step.get("message"))
        time = step.get("timestamp")
        message_id = text(own.get("message_id")) or f"atif-{step.get('step_id') or number}"
        calls: list[Message] = []
        if source == "agent":
            message = self._answer(step, message_id, own)
            if message is not None:
                calls = message.get("tool_calls", [])
                yield MessageRead(message, number)
        elif mapping(extra.get("context_management")).get("boundary") == "replace":
            keep = [(run[0], run[1]) for run in items(own.get("keep")) if _is_run(run)]
            yield CompactionEvent(as_text(content), number, message_id=message_id, time=time, keep_runs=keep)
        elif content:
            role = source
            inserted_by = text(own.get("source"))
            if source == "system" and self._talks:
                role = "user"
                inserted_by = inserted_by or "atif:system"
            if own.get("role") in ("system", "developer", "user"):
                role = text(own.get("role"))
            facts = metadata(message_id, time, source=inserted_by or None, imported=_rest(step, own))
            yield MessageRead({"role": role, "content": content, "metadata": facts}, number)
        self._talks = self._talks or source != "system"
        yield from self._observed(number, step, message_id, calls)

    def _answer(self, step: dict[str, Any], message_id: str, own: dict[str, Any]) -> Message | None:
        """Return the answer in an agent's step, or None if it has neither content nor calls."""
        thoughts = [block for block in items(own.get("thinking")) if isinstance(block, dict)]
        thought = text(step.get("reasoning_content"))
        if thought and not thoughts:
            thoughts = [thinking_block(thought)]
        blocks = [*thoughts, *blocks_of(_content(step.get("message")))]
        calls = list[Message]()
        for number, listed_call in enumerate(items(step.get("tool_calls")), 1):
            tool_call = mapping(listed_call)
            call_id = text(tool_call.get("tool_call_id")) or f"{message_id}-call{number}"
            calls.append(call(call_id, text(tool_call.get("function_name")), tool_call.get("arguments")))
        metrics = mapping(step.get("metrics"))
        imported = _rest(step, own)
        other_metrics = _other_metrics(metrics)
        if other_metrics:
            imported["metrics"] = other_metrics
        model = text(step.get("model_name"))
        if not model and not own:
            model = self._model
        facts = metadata(
            message_id,
            step.get("timestamp"),
            provider=text(own.get("provider")),
            model=model,
            stop_reason=text(own.get("stop_reason")),
            failed=own.get("is_error") is True,
            error=text(own.get("error")),
            usage=_usage(metrics),
            imported=imported,
        )
        return assistant(blocks, calls, facts)

    def _observed(self, number: int, step: dict[str, Any], message_id: str, calls: list[Message]) -> Iterator[Event]:
        ids = {tool_call["id"] for tool_call in calls}
        for at, listed_result in enumerate(items(mapping(step.get("observation")).get("results")), 1):
            observed = mapping(listed_result)
            own = mapping(mapping(observed.get("extra")).get(OWN))
            own_id = text(own.get("message_id")) or f"{message_id}-{at}"
            call_id = text(observed.get("source_call_id"))
            refs = [mapping(ref) for ref in items(observed.get("subagent_trajectory_ref"))]
            for ref in refs:
                self.spawned.setdefault(text(ref.get("trajectory_id")), call_id)
            content = _content(observed.get("content"))
            time = own.get("timestamp") or step.get("timestamp")
            facts = metadata(
                own_id, time, failed=own.get("is_error") is True, imported={"subagents": refs} if refs else {}
            )
            if call_id in ids:
                yield MessageRead(result(call_id, content, facts), number)
            elif content:
                facts = {**facts, "source": "atif:observation"}
                yield MessageRead({"role": "user", "content": content, "metadata": facts}, number)
            elif refs:
                yield KeptEntry({"subagents": refs}, number, "sub-agents")


def _content(content: Any) -> Any:
    """Return a message's content as text or blocks. An image is a block with the image's path."""
    if isinstance(content, str):
        return content
    blocks: list[Message] = []
    for part in items(content):
        fields = mapping(part)
        source = mapping(fields.get("source"))
        if fields.get("type") == "text":
            blocks.append(text_block(text(fields.get("text"))))
        elif fields.get("type") == "image" and source:
            blocks.append(_image(text(source.get("path")), text(source.get("media_type"))))
        elif fields:
            blocks.append(fields)
    return plain_content(blocks)


def _is_run(run: Any) -> bool:
    return isinstance(run, list) and len(run) == 2 and all(isinstance(bound, str) for bound in run)


def _image(path: str, media_type: str) -> Message:
    block = medium("image", source_from_url(path))
    if block["source"]["type"] == "url":
        block["source"]["media_type"] = media_type
    return block


def _rest(step: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a step that have no counterpart in other formats."""
    unknown = {key: value for key, value in step.items() if key not in _KNOWN and value is not None}
    extra = {key: value for key, value in mapping(step.get("extra")).items() if key != OWN}
    if extra:
        unknown["extra"] = extra
    return {**mapping(own.get("imported")), **unknown}


def _usage(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of a step. Its `prompt_tokens` include the tokens written to the cache, which are subtracted."""
    extra = mapping(metrics.get("extra"))
    writes = {key: extra.get(key) for key in CACHE_WRITES}
    read = metrics.get("prompt_tokens")
    written = writes["cache_write_tokens"]
    if isinstance(read, int) and isinstance(written, int):
        read -= written
    return usage_of(
        input_tokens=read,
        output_tokens=metrics.get("completion_tokens"),
        cache_read_tokens=metrics.get("cached_tokens"),
        **writes,
        cost_usd=metrics.get("cost_usd"),
    )
