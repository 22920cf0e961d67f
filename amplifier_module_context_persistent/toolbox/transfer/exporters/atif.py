"""ATIF, the Agent Trajectory Interchange Format of Harbor (RFC 0001), as version 1.8.

A message becomes a step; results are in the step of their call. A plan becomes a system step that replaces the context.
If a receipt says what a model call saw, its agent step lists those steps. What no other field can hold is in
`extra.context_persistent`, so that an import of the export gives the same session.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....forms.canonical import total
from ....forms.tool_definitions import chat_tools, named_tools
from ....log.index import runs_of
from ....messages.answer_usage import usage_of_message
from ....messages.media_blocks import IMAGE_TYPES, source_of
from ....messages.message import THINKING_BLOCKS, Message, is_block, metadata_of, result_id_of
from ....messages.message_times import instant_of, timestamp_of
from ....messages.metadata import given_id
from ....messages.text import block_text, blocks_without_calls, calls_with_arguments, to_json
from ....sessions.view_rebuild import PackedRecord, PlacedReceipt
from ....tokens.usage import CACHE_WRITES
from ....view.plan import Plan
from ....view.stored_plan import kept_ordinals
from ..importers.atif import OWN
from .session_view import SessionView, json_lines, model_of, session_name

VERSION = "ATIF-v1.8"

_KEPT = ("provider", "stop_reason", "source", "imported", "error", "is_error")

Step = dict[str, Any]


def trajectory(view: SessionView) -> Iterator[str]:
    """Yield the document, step by step."""
    agent: dict[str, Any] = {"name": str(view.source.get("format") or "amplifier"), "version": "unknown"}
    if isinstance(version := view.source.get("version"), str | int):
        agent["version"] = str(version)
    model = model_of(view)
    if model:
        agent["model_name"] = model
    tools = chat_tools(named_tools(view.tools))
    if tools:
        agent["tool_definitions"] = tools
    head: dict[str, Any] = {"schema_version": VERSION, "agent": agent, "session_id": session_name(view)}
    if view.log_id:
        head["extra"] = {OWN: {"log_id": view.log_id}}
    yield f'{to_json(head)[:-1]},"steps":[\n'
    steps = _StepWriter(view)
    yield from json_lines(steps.made())
    yield f'],"final_metrics":{to_json(steps.totals())}}}\n'


class _StepWriter:
    """Makes the steps of a trajectory in order.

    The last step is held back, because results of its calls are added to it.
    """

    def __init__(self, view: SessionView) -> None:
        self._view = view
        self._number = 0
        self._sums: dict[str, float] = {}
        self._steps: deque[Step] = deque()
        self._open: set[str] | None = None
        """The ids of the last step's calls that have no result yet; None if the last step is not an agent's."""
        self._step_of = array("I", bytes(4 * len(view.transcript.reader.index)))
        """The number of the step that has each message, by the message's ordinal; 0 for a message without a step so
        far."""
        self._head = ""

    def totals(self) -> dict[str, Any]:
        """Return the sums of all metrics, and the number of steps."""
        sums = {f"total_{name}": number for name, number in self._sums.items()}
        return {**sums, "total_steps": self._number}

    def made(self) -> Iterator[Step]:
        """Yield all steps."""
        transcript, clean = self._view.transcript, self._view.redacted
        live = transcript.reader.index.live
        book = transcript.book
        plans: dict[str, list[PackedRecord]] = {}
        for packed, _ in book.made_for:
            plans.setdefault(clean(packed.upto), []).append(packed)
        requests: dict[str, PlacedReceipt] = {clean(noted.receipt.upto): noted for noted in book.requests}
        before = ""
        for position, message in self._view.messages():
            self._take(message, requests.get(before))
            self._step_of[live[position]] = self._number
            before = given_id(message) or ""
            for packed in plans.pop(before, ()):
                self._plan(packed.record())
            while len(self._steps) > 1:
                yield self._steps.popleft()
        yield from self._steps

    def _take(self, message: Message, receipt: PlacedReceipt | None) -> None:
        role = str(message.get("role"))
        metadata = metadata_of(message)
        call_id = result_id_of(message)
        if self._open is not None and call_id in self._open:
            self._open.discard(call_id)
            self._observe(message, call_id)
        elif call_id is not None:  # a late result, or a result without a call
            self._begin("system", message, "")
            self._observe(message, call_id)
        elif role == "assistant":
            self._agent(message, receipt)
        elif self._open is not None and metadata.get("source") == "atif:observation":
            self._observe(message, None)
        else:
            own = {"message_id": given_id(message), **_kept(metadata)}
            is_person = role == "user" and not metadata.get("source")
            if role != "system" and not is_person:
                own["role"] = role
            source = "user" if is_person else "system"
            self._begin(source, message, _content(blocks_without_calls(message)))["extra"] = {OWN: own}

    def _begin(self, source: str, message: Message, content: Any) -> Step:
        """Begin a new step and return it. The last step is complete then."""
        self._number += 1
        step: Step = {"step_id": self._number, "source": source, "message": content}
        if (time := timestamp_of(message)) and instant_of(time) is not None:
            step["timestamp"] = time
        self._steps.append(step)
        self._open = None
        return step

    def _agent(self, message: Message, receipt: PlacedReceipt | None) -> None:
        """Add the step of an answer. If the system prompt has changed, first add a step with the prompt."""
        if receipt is not None:
            self._add_head(receipt.receipt.hashes.head)
        metadata = metadata_of(message)
        blocks = blocks_without_calls(message)
        thoughts = [block for block in blocks if is_block(block, THINKING_BLOCKS)]
        step = self._begin("agent", message, _content([block for block in blocks if block not in thoughts]))
        own: dict[str, Any] = {"message_id": given_id(message), **_kept(metadata)}
        model = metadata.get("model")
        if isinstance(model, str) and model:
            step["model_name"] = model
        thought_texts = [str(block.get("thinking") or "") for block in thoughts]
        thought = "\n\n".join(text for text in thought_texts if text)
        if thought:
            step["reasoning_content"] = thought
        is_told_by_text = thoughts == [{"type": "thinking", "thinking": thought, "signature": None}]
        if thoughts and not is_told_by_text:
            own["thinking"] = thoughts
        calls = calls_with_arguments(message)
        if calls:
            step["tool_calls"] = [
                {"tool_call_id": call_id, "function_name": name, "arguments": arguments}
                for call_id, name, arguments in calls
            ]
        metrics = self._metrics(message)
        if metrics:
            step["metrics"] = metrics
        if receipt is not None:
            own["request"] = self._request(receipt)
        step["extra"] = {OWN: own}
        self._open = {call_id for call_id, _, _ in calls}

    def _add_head(self, head: str) -> None:
        """Add a step with a system prompt, given by its hash.

        Do nothing if the prompt is unknown or has not changed.
        """
        if not head or head == self._head:
            return
        self._head = head
        text = self._view.transcript.book.heads.get(head)
        if text is not None:
            step = self._begin("system", {}, self._view.redacted(text))
            step["extra"] = {OWN: self._view.redacted({"head": head, "role": "system"})}

    def _observe(self, message: Message, call_id: str | None) -> None:
        own = {
            "message_id": given_id(message),
            "timestamp": timestamp_of(message),
            "is_error": metadata_of(message).get("is_error"),
        }
        observed = {
            **({"source_call_id": call_id} if call_id else {}),
            "content": _content(blocks_without_calls(message)),
            "extra": {OWN: {key: value for key, value in own.items() if value}},
        }
        self._steps[-1].setdefault("observation", {"results": []})["results"].append(observed)

    def _plan(self, record: Message) -> None:
        try:
            plan = Plan.from_record(record, ())
        except ValueError:
            return
        step = self._begin("system", {}, self._view.redacted(plan.summary or plan.notice.text))
        own = {"plan": plan.id, "strategy": plan.making.strategy, "keep": record.get("keep"), "upto": plan.upto}
        management = {"type": "compaction", "boundary": "replace"}
        step["extra"] = {"context_management": management, OWN: self._view.redacted(own)}

    def _request(self, placed: PlacedReceipt) -> dict[str, Any]:
        """Return the facts of a model call's receipt, with the ranges of steps that the model saw."""
        receipt = placed.receipt
        seen = self._ordinals_seen(placed)
        steps = {self._step_of[ordinal] for ordinal in seen} - {0}
        facts = {
            "id": receipt.id,
            "time": receipt.time,
            "steps": [[run.start, run.stop - 1] for run in runs_of(sorted(steps))],
            "messages": receipt.messages,
            "tokens": receipt.tokens,
            "budget_tokens": receipt.budget_tokens,
            "plan": receipt.plan,
            "provider": receipt.reader.provider,
            "head": receipt.hashes.head,
            "hash": receipt.hashes.view,
        }
        clean: dict[str, Any] = self._view.redacted({key: value for key, value in facts.items() if value})
        return clean

    def _ordinals_seen(self, receipt: PlacedReceipt) -> Sequence[int]:
        """Return the ordinals of the messages that a model call saw: those that its plan keeps, and all later ones."""
        live: Sequence[int] = receipt.live
        plan = self._view.transcript.book.plan(receipt.receipt.plan)
        if plan is None:
            return live
        index = self._view.transcript.reader.index
        try:
            staying_ordinals, upto = kept_ordinals(replace(index, live=receipt.live), plan)
        except ValueError:
            return live
        return [*staying_ordinals, *live[upto + 1 :]]

    def _metrics(self, message: Message) -> dict[str, Any]:
        """Return the tokens and the cost of an answer's request, and add these to the sums.

        Unknown values are left out.
        """
        usage = metadata_of(message).get("usage")
        counts = usage if isinstance(usage, dict) else {}
        reported = usage_of_message(message)
        candidates = {
            "prompt_tokens": total(counts.get("input_tokens"), counts.get("cache_write_tokens")),
            "completion_tokens": reported.output if reported is not None else None,
            "cached_tokens": counts.get("cache_read_tokens"),
            "cost_usd": counts.get("cost_usd"),
        }
        metrics: dict[str, Any] = {key: value for key, value in candidates.items() if isinstance(value, int | float)}
        for key, value in metrics.items():
            self._sums[key] = self._sums.get(key, 0) + value
        cache_writes = {key: counts[key] for key in CACHE_WRITES if isinstance(counts.get(key), int)}
        if cache_writes:
            metrics["extra"] = cache_writes
        return metrics


def _kept(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: metadata[key] for key in _KEPT if metadata.get(key)}


def _content(blocks: list[dict[str, Any]]) -> Any:
    """Return blocks as one text if there is at most one block and it is text, else as a list of parts."""
    if all(isinstance(block.get("text"), str) for block in blocks) and len(blocks) <= 1:
        return blocks[0]["text"] if blocks else ""
    parts = []
    for block in blocks:
        source = source_of(block)
        if source is not None and source.kind == "image" and source.address and source.media_type in IMAGE_TYPES:
            parts.append({"type": "image", "source": {"media_type": source.media_type, "path": source.address}})
        else:
            parts.append({"type": "text", "text": block_text(block)})
    return parts
