"""What a session's file holds, counted without any of the project's readers: texts, calls, results, images, usage.

Each format has a few lines here that know its keys and nothing of order, trees or accounts. So what an importer loses,
doubles or makes up is seen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Value = dict[str, Any]


@dataclass
class Counts:
    """What is in a session and in all that belongs to it."""

    texts: Counter[str] = field(default_factory=Counter)
    """What was said, reasoned and answered by tools; blank ones are left out."""
    calls: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)
    images: int = 0
    usage: Counter[str] = field(default_factory=Counter)

    def say(self, *texts: Any) -> None:
        """Count texts."""
        self.texts.update(said.strip() for said in texts if isinstance(said, str) and said.strip())


def objects(path: Path) -> Iterator[Value]:
    """The objects of a file of lines; damaged lines are none."""
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def listed(value: Any) -> list[Value]:
    """The objects of a list; a text is one that says it."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return [one if isinstance(one, dict) else {"type": "text", "text": str(one)} for one in value or ()]


def _anthropic_blocks(counts: Counts, content: Any) -> None:
    for block in listed(content):
        kind = block.get("type")
        counts.say(block.get("text"), block.get("thinking"))
        counts.images += kind == "image"
        if kind == "tool_use":
            counts.calls.add(block["id"])
        if kind == "tool_result":
            counts.results.add(block["tool_use_id"])
            _anthropic_blocks(counts, block.get("content"))


def claude_code(paths: Iterable[Path]) -> Counts:
    """By the uuid of records and the id of answers; what `progress` tells counts if no file tells it."""
    counts, seen, usage = Counts(), set[str](), dict[str, Value]()
    told: list[Value] = []
    found = [entry for path in paths for entry in objects(path)]
    agents = {str(entry.get("agentId")) for entry in found if entry.get("isSidechain")}
    for entry in found:
        inner = entry.get("data", {}).get("message") if entry.get("type") == "progress" else None
        if isinstance(inner, dict) and entry["data"].get("agentId") not in agents:
            told.append(inner)
    for entry in (*found, *told):
        attachment = entry.get("attachment") or {}
        if entry.get("type") == "attachment" and attachment.get("type") == "queued_command":
            counts.say(*(block.get("text") for block in listed(attachment.get("prompt"))))
        message = entry.get("message")
        if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            continue
        if (uuid := entry.get("uuid")) in seen:
            continue
        seen.add(uuid or str(len(seen)))
        if not str(message.get("content")).startswith("<command-name>/clear"):
            _anthropic_blocks(counts, message.get("content"))
        if entry["type"] == "assistant" and message.get("usage") and message.get("model") != "<synthetic>":
            usage[message.get("id") or uuid or f"line {len(usage)}"] = message["usage"]
    for one in usage.values():
        read = one.get("cache_read_input_tokens", 0)
        counts.usage["input_tokens"] += one.get("input_tokens", 0) + read
        counts.usage["cache_read_tokens"] += read
        counts.usage["output_tokens"] += one.get("output_tokens", 0)
    return counts


def codex(paths: Iterable[Path]) -> Counts:
    """By the items; events tell usage only."""
    counts = Counts()
    for line in (line for path in paths for line in objects(path)):
        payload = line.get("payload") or {}
        if line.get("type") == "session_meta":
            given = payload.get("base_instructions") or payload.get("instructions")
            counts.say(given.get("text") if isinstance(given, dict) else given)
        if line.get("type") == "event_msg" and str(payload.get("type")).startswith("agent_reasoning"):
            counts.say(payload.get("text"))  # an item says it too, or has nothing but its encrypted state
        if line.get("type") == "event_msg" and payload.get("type") == "token_count":
            last = (payload.get("info") or {}).get("last_token_usage") or {}
            counts.usage["input_tokens"] += last.get("input_tokens", 0)
            counts.usage["cache_read_tokens"] += last.get("cached_input_tokens", 0)
            counts.usage["output_tokens"] += last.get("output_tokens", 0)
        if line.get("type") != "response_item":
            continue
        kind = str(payload.get("type") or ("message" if "role" in payload else ""))
        if kind.endswith("_output"):
            counts.results.add(payload["call_id"])
            output = payload.get("output")
            inner = output.get("content") if isinstance(output, dict) else output
            counts.say(*(block.get("text") for block in listed(inner)))
        elif kind.endswith("_call"):
            counts.calls.add(payload.get("call_id") or payload["id"])
        else:
            counts.say(
                *(part.get("text") for part in (*listed(payload.get("content")), *listed(payload.get("summary"))))
            )
            counts.images += sum(part.get("type") == "input_image" for part in listed(payload.get("content")))
    return counts


def gemini_cli(paths: Iterable[Path]) -> Counts:
    """By the messages of the document."""
    counts = Counts()
    for path in paths:
        for number, message in enumerate(json.loads(path.read_text())["messages"]):
            if message["type"] not in ("user", "gemini"):
                continue
            counts.say(*(part.get("text") for part in listed(message.get("content"))))
            thoughts = [
                f"**{one.get('subject', '')}**\n{one.get('description', '')}" for one in message.get("thoughts", ())
            ]
            counts.say("\n\n".join(thoughts))
            for at, call in enumerate(message.get("toolCalls", ()), 1):
                call_id = call.get("id") or f"{message.get('id', number)}-call{at}"
                counts.calls.add(call_id)
                given = call.get("result") or call.get("resultDisplay")
                if given:
                    counts.results.add(call_id)
                    parts = given if isinstance(given, list) else [given]
                    answered = [(part.get("functionResponse") or {}).get("response", {}) for part in listed(parts)]
                    counts.say(*(one.get("output") or one.get("error") for one in answered), call.get("resultDisplay"))
            tokens = message.get("tokens") or {}
            counts.usage["input_tokens"] += tokens.get("input", 0)
            counts.usage["cache_read_tokens"] += tokens.get("cached", 0)
            counts.usage["output_tokens"] += tokens.get("output", 0) + tokens.get("thoughts", 0)
    return counts


def pi(paths: Iterable[Path]) -> Counts:
    """By the entries."""
    counts = Counts()
    for entry in (entry for path in paths for entry in objects(path)):
        if entry.get("type") in ("compaction", "branch_summary"):
            counts.say(entry.get("summary"))
        message = entry.get("message") if entry.get("type") == "message" else None
        if entry.get("type") == "custom_message":
            counts.say(*(block.get("text") for block in listed(entry.get("content"))))
        if not isinstance(message, dict):
            continue
        role = message.get("role")
        if role == "bashExecution":
            counts.say(f"$ {message.get('command', '')}\n{message.get('output', '')}")
        if role == "toolResult":
            counts.results.add(message["toolCallId"])
        for block in listed(message.get("content")):
            counts.say(block.get("text"), block.get("thinking"))
            counts.images += block.get("type") == "image"
            if block.get("type") == "toolCall":
                counts.calls.add(block["id"])
        if role == "assistant":
            usage = message.get("usage") or {}
            read = usage.get("cacheRead", 0)
            counts.usage["input_tokens"] += usage.get("input", 0) + read
            counts.usage["cache_read_tokens"] += read
            counts.usage["output_tokens"] += usage.get("output", 0)
    return counts


def atif(paths: Iterable[Path]) -> Counts:
    """By the steps, inner trajectories too."""
    counts = Counts()
    waiting = [json.loads(path.read_text()) for path in paths]
    while waiting:
        document = waiting.pop()
        waiting += document.get("subagent_trajectories") or []
        for step in document["steps"]:
            counts.say(*(part.get("text") for part in listed(step.get("message"))), step.get("reasoning_content"))
            counts.calls |= {call["tool_call_id"] for call in step.get("tool_calls") or ()}
            for one in (step.get("observation") or {}).get("results", ()):
                if one.get("source_call_id"):
                    counts.results.add(one["source_call_id"])
                counts.say(*(part.get("text") for part in listed(one.get("content"))))
            metrics = step.get("metrics") or {}
            counts.usage["input_tokens"] += metrics.get("prompt_tokens") or 0
            counts.usage["cache_read_tokens"] += metrics.get("cached_tokens") or 0
            counts.usage["output_tokens"] += metrics.get("completion_tokens") or 0
    return counts


def messages(paths: Iterable[Path]) -> Counts:
    """By messages in Amplifier's own form: of a file of them, or of a log that an import made, with its summaries."""
    counts, met = Counts(), set[str]()
    for message in (message for path in paths for message in objects(path)):
        if message.get("_record") == "plan":
            counts.say(str(message.get("notice", "")).removeprefix("<summary>").removesuffix("</summary>"))
        if "role" not in message or "_record" in message:
            continue
        metadata = message.get("metadata") or {}
        for block in listed(message.get("content")):
            counts.say(block.get("text"), block.get("thinking"))
            counts.images += block.get("type") == "image"
        counts.calls |= {call["id"] for call in message.get("tool_calls") or ()}
        if message["role"] == "tool":
            counts.results.add(message["tool_call_id"])
        own = str(metadata.get("message_id") or len(met))
        if own not in met:
            met.add(own)
            counts.usage.update({key: n for key, n in (metadata.get("usage") or {}).items() if key in _COUNTED})
    return counts


_COUNTED = ("input_tokens", "cache_read_tokens", "output_tokens")

COUNTERS: dict[str, Callable[[Iterable[Path]], Counts]] = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini-cli": gemini_cli,
    "pi": pi,
    "atif": atif,
    "jsonl": messages,
}
"""By format, what counts its files."""
