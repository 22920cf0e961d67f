"""Read sessions of GitHub Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`.

A line is `{type, data, id, timestamp, parentId}`; the types are defined in `session-events.ts` of github/copilot-sdk
(commit cc0438d, and of August 2026). `agentId` marks events of sub-agents. `session.compaction_complete` has the
summary that replaced earlier messages for the model; `session.context_cleared` is a clear; `session.snapshot_rewind`
removes an event and all later ones, which become a branch. Images and files are read by `copilot_cli_media.py`. Other
events are kept as metadata.

An answer reports only its output tokens. The usage of all requests of a run, by model, is in `modelMetrics` of
`session.shutdown`, which a killed run does not write. Each resume of a session begins a new run.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....forms.canonical import blocks_of, call, id_text, text_block, usage_of
from ....messages.message import Message
from .account import Account
from .branches import Branch, branches
from .copilot_cli_media import Assets, without_media
from .events import ClearMark, CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import (
    as_text,
    assistant,
    items,
    mapping,
    metadata,
    named,
    result,
    session_name,
    text,
    thinking_block,
    user,
)
from .lines import SourceObject
from .refused_import import one_session
from .source_file import Source, objects_of
from .waiting_events import WaitingEvents

_NOT_CONVERSATIONAL = frozenset(
    {"assistant.turn_start", "assistant.turn_end", "tool.execution_start", "tool.execution_progress", "session.idle"}
)
_REWIND = "session.snapshot_rewind"
_CLEAR = "session.context_cleared"
_SPOKEN = frozenset({"user.message", "assistant.message"})
_HEADS = ("session.", "user.", "assistant.", "tool.", "system.", "subagent.", "hook.", "abort", "skill.")


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session and its sub-agents."""
    file = _read_file(source, account)
    events = WaitingEvents(source.aside)
    model = ""
    for agent in sorted(file.places):
        if agent:
            yield SessionStart("subagent", session_name(agent), {**file.facts, **file.agents.get(agent, {})})
        else:
            yield SessionStart("session", "", file.facts, file.session_id)
        talk = _Talk()
        for place in file.places[agent]:
            number, entry = source.aside.get(place)
            data = mapping(entry.get("data"))
            model = text(data.get("newModel")) or text(data.get("selectedModel")) or model  # once named, it stays
            kind = text(entry.get("type")) or "without a type"
            if kind == _REWIND:
                account.keep(kind)
                talk.rewind(number, text(data.get("upToEventId")))
                continue
            if file.assets.is_used(kind, data):
                account.map(kind)
                continue
            event = _event(number, entry, data, model, file.usage.by_line.get(number))
            if isinstance(event, KeptEntry):
                account.keep(kind)
            else:
                account.map(kind)
                event = _with_media(event, kind, data, file.assets, account)
            new_events: list[Event] = [event]
            if kind == _CLEAR and number < file.last_spoken.get(agent, 0):
                new_events.append(ClearMark(number, entry.get("timestamp")))
            for new_event in new_events:
                if agent in file.with_rewinds:
                    talk.add(text(entry.get("id")), events.put(new_event))
                else:
                    yield new_event
        yield from events.all(talk.places)
        rewound = [
            Branch(line, f"rewind{line}", events.all(common), events.all(own)) for line, common, own in talk.rewound
        ]
        yield from branches(rewound, account, file.facts, file.session_id)


def _read_file(source: Source, account: Account) -> _CopilotFile:
    """Read all lines, and store the lines of the conversation in a temporary file.

    A file that was joined from copies has events twice, with the same id, time and type.
    """
    file = _CopilotFile(Assets(source.aside))
    seen = set[int]()  # hashes, to keep memory low
    for at in objects_of(source, account):
        agent, kind, data = text(at.value.get("agentId")), text(at.value.get("type")), mapping(at.value.get("data"))
        if kind in _NOT_CONVERSATIONAL:
            account.skip(kind)
            continue
        event_id = text(at.value.get("id"))
        named_event = hash((event_id, text(at.value.get("timestamp")), kind))
        if event_id and named_event in seen:
            account.lose(at.number, "an earlier event has the same id, time and type")
            continue
        seen.add(named_event)
        if kind == "session.start":
            named_id = text(data.get("sessionId"))
            known = file.session_id
            file.session_id = (known or named_id) if agent else one_session(at.number, known, named_id)
            context = named(mapping(data.get("context")), cwd="cwd", git_branch="branch")
            file.facts = {**named(data, version="copilotVersion"), **context, **file.facts}
        elif kind == "session.title_changed":
            file.facts |= named(data, title="title")
        elif kind == "subagent.started" and agent:
            file.agents[agent] = named(
                data, agent_type="agentName", description="agentDescription", spawned_by="toolCallId"
            )
        elif kind == _REWIND:
            file.with_rewinds.add(agent)
        if kind in _SPOKEN:
            file.last_spoken[agent] = at.number
        place = source.aside.put((at.number, at.value))
        file.assets.note(kind, data, place)
        file.places.setdefault(agent, array("Q")).append(place)
        file.usage.take(at, account)
    return file


class _Report(NamedTuple):
    """The usage for an answer, in place of the output tokens in the answer itself."""

    model: str = ""
    usage: dict[str, Any] | None = None
    """The usage of all requests of a run to this model; None if another answer has the usage."""


@dataclass(slots=True)
class _Usage:
    """Assigns the usage of a run to the last answer of each model in the run."""

    by_line: dict[int, _Report] = field(default_factory=dict)
    """The usage for answers, by line number; only for runs that report usage."""
    _model: str = ""
    _answers: list[tuple[int, str, str]] = field(default_factory=list)
    """The answers of the current run: line number, model in use, and model that the answer names."""

    def take(self, at: SourceObject, account: Account) -> None:
        """Read the next event of the file."""
        kind, data = text(at.value.get("type")), mapping(at.value.get("data"))
        self._model = text(data.get("newModel")) or text(data.get("selectedModel")) or self._model
        if kind == "assistant.message":
            self._answers.append((at.number, self._model, text(data.get("model"))))
        metrics = mapping(data.get("modelMetrics"))
        if kind != "session.shutdown" or not metrics:
            return
        self.by_line.update((line, _Report()) for line, _, _ in self._answers)
        for model, metric in metrics.items():
            took = _took(mapping(metric))
            line = self._answer_of(model)
            if line is not None:
                self.by_line[line] = _Report(model, took)
            elif took:
                account.lose_part(at.number, f"the usage of {model[:60]!r}: no answer of this run can be its")
        self._answers = []

    def _answer_of(self, model: str) -> int | None:
        """Return the line of the last answer of a model that has no usage yet, or None.

        If the model has no such answer, return the line of the last answer that names no model.
        """
        without_model = None
        for line, model_in_use, named_model in reversed(self._answers):
            if self.by_line[line].usage is not None:
                continue
            if model == (named_model or model_in_use):
                return line
            if not named_model and without_model is None:
                without_model = line
        return without_model


def _took(metric: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of all requests to a model. The input tokens include those from the cache."""
    usage = mapping(metric.get("usage"))
    return usage_of(
        input_tokens=usage.get("inputTokens"),
        output_tokens=usage.get("outputTokens"),
        cache_read_tokens=usage.get("cacheReadTokens"),
        cache_write_tokens=usage.get("cacheWriteTokens"),
        requests=mapping(metric.get("requests")).get("count"),
    )


@dataclass(slots=True)
class _CopilotFile:
    """The lines of a file that are put aside, and facts about the session."""

    assets: Assets
    places: dict[str, array[int]] = field(default_factory=dict)
    """The places of the lines, by sub-agent; "" is the session itself."""
    with_rewinds: set[str] = field(default_factory=set)
    """The sub-agents some of whose events a later line removes."""
    facts: dict[str, Any] = field(default_factory=dict)
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The facts about each sub-agent: its type, its task, and the call that started it."""
    last_spoken: dict[str, int] = field(default_factory=dict)
    """The line of the last message of a person or an answer, by sub-agent."""
    session_id: str = ""
    usage: _Usage = field(default_factory=_Usage)


@dataclass(slots=True)
class _Talk:
    """The ids and places of the events of a session or a sub-agent, in order, and the events that rewinds removed."""

    ids: list[str] = field(default_factory=list)
    places: array[int] = field(default_factory=lambda: array("q"))
    rewound: list[tuple[int, array[int], array[int]]] = field(default_factory=list)
    """The line of each rewind, the events before it, and the removed events."""

    def add(self, event_id: str, place: int) -> None:
        """Add an event."""
        self.ids.append(event_id)
        self.places.append(place)

    def rewind(self, line: int, event_id: str) -> None:
        """Remove an event and all later ones. Do nothing if there is no such event."""
        if event_id not in self.ids:
            return
        at = self.ids.index(event_id)
        self.rewound.append((line, self.places[:at], self.places[at:]))
        del self.ids[at:], self.places[at:]


def is_entry(entry: dict[str, Any]) -> bool:
    """Return whether an object is an event of this format."""
    return isinstance(entry.get("data"), dict) and text(entry.get("type")).startswith(_HEADS)


def _event(number: int, entry: dict[str, Any], data: dict[str, Any], model: str, report: _Report | None) -> Event:
    """Return the event that an entry becomes: a message, a compaction, or a `KeptEntry` if the entry has no content.

    Args:
        number: the line of the entry.
        entry: an entry of the file, parsed.
        data: the entry's `data`.
        model: the model in use at this entry.
        report: the usage of the entry's answer, if the file reports it.
    """
    kind = text(entry.get("type"))
    time = entry.get("timestamp")
    message_id = text(entry.get("id")) or f"copilot-{number}"
    content = text(data.get("content"))
    if kind in ("user.message", "system.message") and (content or _has_media(data)):
        source: str | None = "copilot:system" if kind == "system.message" else text(data.get("source"))
        if source in ("", "user"):
            source = None
        attachments = without_media(items(data.get("attachments")))
        imported = {"attachments": attachments} if attachments else {}
        return MessageRead(user(content, metadata(message_id, time, source=source, imported=imported)), number)
    if kind == "tool.execution_complete":
        facts = metadata(message_id, time, failed=data.get("success") is False)
        return MessageRead(result(id_text(data.get("toolCallId")), as_text(_output(data)), facts), number)
    if kind == "assistant.message":
        message = _answer(data, message_id, _told(message_id, entry, data, model, report))
        if message is not None:
            return MessageRead(message, number)
    summary = text(data.get("summaryContent"))
    if kind == "session.compaction_complete" and summary and data.get("success") is not False:
        return CompactionEvent(
            summary, number, message_id=message_id, time=time, tokens_before=data.get("preCompactionTokens")
        )
    return KeptEntry(entry, number, kind)


def _has_media(data: dict[str, Any]) -> bool:
    attachments = items(data.get("attachments"))
    return len(without_media(attachments)) < len(attachments)


def _with_media(event: Event, kind: str, data: dict[str, Any], assets: Assets, account: Account) -> Event:
    """Return an event; the images and files of a message or a result are added to its content."""
    if not isinstance(event, MessageRead):
        return event
    media: list[Message] = []
    if kind == "user.message":
        media = assets.attached_media(data, event.line, account)
    elif kind == "tool.execution_complete":
        media = assets.returned_media(data, event.line, account)
    if not media:
        return event
    blocks = [*blocks_of(event.message["content"]), *media]
    return event._replace(message={**event.message, "content": blocks})


def _output(data: dict[str, Any]) -> Any:
    """Return the output of a tool. If the tool has no output, return its error message."""
    fields = mapping(data.get("result"))
    output = fields.get("content") if fields else data.get("result")
    return mapping(data.get("error")).get("message", "") if output is None else output


def _answer(data: dict[str, Any], message_id: str, facts: Message) -> Message | None:
    """Return an answer with its thinking, its text and its calls, or None for an answer without any of these."""
    blocks = list[Message]()
    thought, words = text(data.get("reasoningText")), text(data.get("content"))
    if thought:
        blocks.append(thinking_block(thought))
    if words:
        blocks.append(text_block(words))
    calls = list[Message]()
    for at, request in enumerate(map(mapping, items(data.get("toolRequests"))), 1):
        call_id = id_text(request.get("toolCallId")) or f"{message_id}-call{at}"
        calls.append(call(call_id, text(request.get("name")), request.get("arguments")))
    return assistant(blocks, calls, facts)


def _told(
    message_id: str, entry: dict[str, Any], data: dict[str, Any], model: str, report: _Report | None
) -> dict[str, Any]:
    """Return the metadata of an answer."""
    own = usage_of(input_tokens=data.get("inputTokens"), output_tokens=data.get("outputTokens"))
    model_name = text(data.get("model")) or model
    if report is None:
        return metadata(message_id, entry.get("timestamp"), provider="github-copilot", model=model_name, usage=own)
    return metadata(
        message_id,
        entry.get("timestamp"),
        provider="github-copilot",
        model=report.model or model_name,
        usage=report.usage,
        imported={"usage": own} if own else {},
    )
