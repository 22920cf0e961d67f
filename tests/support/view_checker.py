"""An independent checker of views: what a view alone must keep, whatever it was made from.

It states the provider rules once more, from the documents alone, and imports nothing of the package: an error in the
engine's own idea of a call or a result cannot hide here. `checker` adds what a view owes to its history.

- `view_violations` returns one sentence a violation, `"<rule>: message <position> …"`; an empty list is a valid view.
- Values are compared as JSON: `1`, `1.0` and `true` differ, NaN equals NaN, a tuple is a list.
- `tool_calls` that is `None` or empty counts as absent. Where both forms of calls exist, `tool_calls` gives the order.
"""

from __future__ import annotations

import contextlib
import json
import marshal
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from amplifier_core.message_models import Message

Messages = Sequence[dict[str, Any]]

type_of_call = frozenset({"tool_call", "tool_use"})
type_of_thinking = frozenset({"thinking", "redacted_thinking", "reasoning"})
head_roles = frozenset({"system", "developer"})
reserved_keys = ("_crc", "_record", "_json")
PLAIN = 2  # the last form of `marshal` in which equal values have equal bytes, wherever else they are held


class Call(NamedTuple):
    """A tool call, whatever form it was written in; arguments that are no object are put under `arguments`."""

    id: str
    name: str
    arguments: Any


def view_violations(view: Messages) -> list[str]:
    """Return what is wrong with a view, one sentence a violation."""
    strangers = [i for i, message in enumerate(view) if not isinstance(message, dict)]
    if strangers:
        return [f"builds: message {i} is no dictionary" for i in strangers]
    rules = (_reserved, _builds, _content, _first_user, twins, _thinking, _groups, _identity)
    return [violation for rule in rules for violation in rule(view)]


def same(a: Any, b: Any) -> bool:
    """Compare two JSON values; types count, NaN equals NaN, the order of keys does not matter."""
    return marshal.dumps(a, PLAIN) == marshal.dumps(b, PLAIN) or _canonical(a) == _canonical(b)


def calls_of(message: dict[str, Any]) -> list[Call]:
    """Return the calls of a message: `tool_calls` where there are any, else the blocks in `content`."""
    return top_level_calls(message) or block_calls(message)


def message_id(message: dict[str, Any]) -> str | None:
    """Return the id that the log gave a message."""
    found = metadata_of(message).get("message_id")
    return found if isinstance(found, str) else None


# --- the rules --------------------------------------------------------------------------------------------------------


def _reserved(view: Messages) -> Iterator[str]:
    for i, message in enumerate(view):
        for key in reserved_keys:
            if key in message:
                yield f"reserved: message {i} carries {key}, which belongs to the log"


def _builds(view: Messages) -> Iterator[str]:
    for i, message in enumerate(view):
        try:
            Message(**message)
        except (TypeError, ValueError) as error:
            yield f"builds: message {i} does not build as amplifier_core's Message ({str(error).splitlines()[0]})"


def _content(view: Messages) -> Iterator[str]:
    for i, message in enumerate(view):
        content = message.get("content")
        if isinstance(content, str):
            beside_calls = message.get("role") == "assistant" and bool(calls_of(message))
            if not content.strip() and not (content == "" and beside_calls):
                yield f"content: message {i} has empty or blank content"
        elif isinstance(content, list) and not content:
            yield f"content: message {i} has an empty list of blocks"
        for k, block in enumerate(blocks_of(message)):
            if block.get("type") == "text" and is_blank(block.get("text")):
                yield f"content: message {i} has an empty or blank text block at {k}"


def _first_user(view: Messages) -> Iterator[str]:
    for i, message in enumerate(view):
        role = message.get("role")
        if role in head_roles:
            continue
        if role != "user":
            yield f"first-user: message {i}, the first after the system text, has role {role}"
        return


def twins(view: Messages) -> Iterator[str]:
    """Tell where the two forms of messages' calls differ."""
    for i, message in enumerate(view):
        top_level, blocks = top_level_calls(message), block_calls(message)
        if not top_level or not blocks:
            continue
        if Counter(c.id for c in top_level) != Counter(c.id for c in blocks):
            yield f"twins: message {i} has other call ids in tool_calls than in content"
            continue
        by_id = {c.id: c for c in blocks}
        for call in top_level:
            twin = by_id[call.id]
            if call.name != twin.name or not same(call.arguments, twin.arguments):
                yield f"twins: message {i} gives call {call.id} another name or arguments in content"


def _thinking(view: Messages) -> Iterator[str]:
    for i, message in enumerate(view):
        copies = thinking_copies(message)
        own = message.get("thinking_block")
        if own and copies and thought(own) not in copies:
            yield f"thinking: message {i} has a thinking_block that differs from its copy in content"
        shown = [b for b in blocks_of(message) if not (b.get("type") == "text" and is_blank(b.get("text")))]
        if shown and all(b.get("type") in type_of_thinking for b in shown) and not calls_of(message):
            yield f"thinking: message {i} consists of thinking alone"


def _groups(view: Messages) -> Iterator[str]:
    """Calls in their place, results right after them, in order, each once."""
    before: str | None = None
    expected: list[Call] = []
    answered: list[str] = []
    caller = -1
    for i, message in enumerate(view):
        role = message.get("role")
        if role == "tool":
            result_id = message.get("tool_call_id")
            if result_id not in [c.id for c in expected]:
                yield f"results: message {i} is a result of {result_id!r}, which is no call right before it"
            elif result_id in answered:
                yield f"results: message {i} is a second result of {result_id!r}"
            else:
                answered.append(str(result_id))
            name = message.get("name")
            if not isinstance(name, str) or not name.strip():
                yield f"results: message {i} is a result without a name"
        else:
            yield from _group_end(caller, expected, answered)
            expected, answered, caller = calls_of(message), [], i
            if expected and role != "assistant":
                yield f"calls: message {i} of role {role} carries calls"
            if expected and before not in {None, "user", "tool"}:
                yield f"calls: message {i} carries calls and follows a message of role {before}"
        for block in blocks_of(message):
            own_id = message.get("tool_call_id") if role == "tool" else None
            if block.get("type") == "tool_result" and block.get("tool_call_id") != own_id:
                yield f"results: message {i} holds a result block of {block.get('tool_call_id')!r} in the wrong place"
        if role not in head_roles:
            before = role
    yield from _group_end(caller, expected, answered)


def _group_end(caller: int, expected: list[Call], answered: list[str]) -> Iterator[str]:
    ids = list(dict.fromkeys(c.id for c in expected))
    missing = [call_id for call_id in ids if call_id not in answered]
    for call_id in missing:
        yield f"results: message {caller} has call {call_id!r} without a result right after it"
    if not missing and answered != ids:
        yield f"results: message {caller} has its results in another order than its calls"


def _identity(view: Messages) -> Iterator[str]:
    calls_seen: dict[str, int] = {}
    ids_seen: dict[str, int] = {}
    for i, message in enumerate(view):
        for call in calls_of(message):
            if not call.id.strip() or not call.name.strip():
                yield f"ids: message {i} has a call without an id or a name"
            elif call.id in calls_seen:
                yield f"ids: message {i} repeats call id {call.id} of message {calls_seen[call.id]}"
            calls_seen.setdefault(call.id, i)
        own = message_id(message)
        if own is not None and own in ids_seen:
            yield f"ids: message {i} repeats message_id {own} of message {ids_seen[own]}"
        elif own is not None:
            ids_seen[own] = i


# --- reading messages ------------------------------------------------------------------------------------------------


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def metadata_of(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message's metadata; empty where it has none."""
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message's content; none where it is a text."""
    content = message.get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def is_blank(text: object) -> bool:
    """Tell a text in which nothing can be read."""
    return not isinstance(text, str) or not text.strip()


def thought(block: Any) -> tuple[Any, Any]:
    """Return what a thinking block says, and its signature."""
    return (block.get("thinking"), block.get("signature")) if isinstance(block, dict) else (block, None)


def thinking_copies(message: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return the thinking in a message's content."""
    return [thought(b) for b in blocks_of(message) if b.get("type") == "thinking"]


def top_level_calls(message: dict[str, Any]) -> list[Call]:
    """Return the calls in `tool_calls`."""
    calls = message.get("tool_calls")
    return [_call(c) for c in calls] if isinstance(calls, list) else []


def block_calls(message: dict[str, Any]) -> list[Call]:
    """Return the calls in `content`."""
    return [_call(b) for b in blocks_of(message) if b.get("type") in type_of_call]


def _call(written: Any) -> Call:
    if not isinstance(written, dict):
        return Call("", "", None)
    body = written["function"] if isinstance(written.get("function"), dict) else written
    arguments = body.get("arguments", body.get("input"))
    if isinstance(arguments, str):
        # The text of a stream that broke off is no JSON; then the text itself is the argument.
        with contextlib.suppress(ValueError):
            arguments = json.loads(arguments)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"arguments": arguments}
    name = body.get("tool") or body.get("name")
    return Call(str(written.get("id") or ""), str(name or ""), arguments)
