"""An independent checker of the views that the context manager hands out.

It states the provider rules once more, from the documents alone, and imports nothing of the package: an error in the
engine's own idea of a call, a result or a human message cannot hide here.

- `check_view` returns one sentence a violation, `"<rule>: message <position> …"`; the empty list means a valid view.
- Messages are compared as JSON values: `1`, `1.0` and `true` differ, NaN equals NaN, a tuple is a list.
- A message of `history` is recognised in the view by `metadata.message_id`; one without an id, by equality.
- `tool_calls` that is `None` or empty counts as absent. Where both forms of calls exist, `tool_calls` gives the order.
- A human message in which nothing can be shown (`None`, blank text) is not expected in a view, and blank text blocks
  may be left out of one; no view could keep them and be valid.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from amplifier_core.message_models import Message

Messages = Sequence[dict[str, Any]]
Places = Sequence[int | None]  # where in history each message of a view stands

type_of_call = frozenset({"tool_call", "tool_use"})
type_of_thinking = frozenset({"thinking", "redacted_thinking", "reasoning"})
head_roles = frozenset({"system", "developer"})
reserved_keys = ("_crc", "_record", "_json")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, whatever form it was written in; JSON text of arguments is decoded."""

    id: str
    name: str
    arguments: Any


def check_view(
    view: Messages,
    *,
    history: Messages | None = None,
    budget_tokens: int | None = None,
    count: Callable[[dict[str, Any]], int] | None = None,
) -> list[str]:
    """Return what is wrong with a view, one sentence a violation.

    `history` is the live history the view was made from, with the ids that the log gave out (`get_messages`, with the
    ephemeral messages of the process put where they belong). `count` gives the tokens of one message.
    """
    strangers = [i for i, message in enumerate(view) if not isinstance(message, dict)]
    if strangers:
        return [f"builds: message {i} is no dictionary" for i in strangers]
    violations = [
        *_reserved(view),
        *_builds(view),
        *_content(view),
        *_first_user(view),
        *_twins(view),
        *_thinking(view),
        *_groups(view),
        *_identity(view),
    ]
    if history is not None:
        violations += _against_history(view, history)
    if budget_tokens is not None and count is not None:
        total = sum(count(message) for message in view)
        if total > budget_tokens:
            violations.append(f"budget: messages 0 to {len(view) - 1} count {total} tokens of {budget_tokens}")
    return violations


def assert_valid(view: Messages, **kw: Any) -> None:
    """Raise `AssertionError` with every violation `check_view(view, **kw)` finds."""
    violations = check_view(view, **kw)
    assert not violations, "\n".join(violations)


def common_prefix(a: Messages, b: Messages) -> int:
    """Return how many leading messages two views have in common."""
    for i, (left, right) in enumerate(zip(a, b, strict=False)):
        if not same(left, right):
            return i
    return min(len(a), len(b))


def prefix_breaks(views: Iterable[Messages]) -> int:
    """Count the views that are not their predecessor plus appended messages; a changed head text is no break."""
    breaks = 0
    previous: Messages | None = None
    for view in views:
        if previous is not None:
            headed = bool(previous) and bool(view) and previous[0]["role"] == view[0]["role"] == "system"
            before, after = (previous[1:], view[1:]) if headed else (previous, view)
            breaks += common_prefix(before, after) < len(before)
        previous = view
    return breaks


def same(a: Any, b: Any) -> bool:
    """Compare two JSON values; types count, NaN equals NaN, the order of keys does not matter."""
    return _canonical(a) == _canonical(b)


def is_human(message: dict[str, Any]) -> bool:
    """Tell a message that a person wrote from what hooks, orchestrators and compaction put in the user's mouth."""
    metadata = _metadata(message)
    if message.get("role") != "user" or metadata.get("source"):
        return False
    if metadata.get("ephemeral") and not metadata.get("persisted"):
        return False
    texts = [str(b.get("text")) for b in _blocks(message) if b.get("type") == "text"]
    content = message.get("content")
    text = content if isinstance(content, str) else next(iter(texts), "")
    return not text.startswith("<system-reminder")


def calls_of(message: dict[str, Any]) -> list[Call]:
    """Return the calls of a message: `tool_calls` where there are any, else the blocks in `content`."""
    return _top_level_calls(message) or _block_calls(message)


def message_id(message: dict[str, Any]) -> str | None:
    """Return the id that the log gave a message."""
    found = _metadata(message).get("message_id")
    return found if isinstance(found, str) else None


# --- what the view alone must keep ------------------------------------------------------------------------------------


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
        for k, block in enumerate(_blocks(message)):
            if block.get("type") == "text" and _is_blank(block.get("text")):
                yield f"content: message {i} has an empty or blank text block at {k}"


def _first_user(view: Messages) -> Iterator[str]:
    for i, message in enumerate(view):
        role = message.get("role")
        if role in head_roles:
            continue
        if role != "user":
            yield f"first-user: message {i}, the first after the system text, has role {role}"
        return


def _twins(view: Messages) -> Iterator[str]:
    for i, message in enumerate(view):
        top_level, blocks = _top_level_calls(message), _block_calls(message)
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
        copies = _thinking_copies(message)
        own = message.get("thinking_block")
        if own and copies and _thought(own) not in copies:
            yield f"thinking: message {i} has a thinking_block that differs from its copy in content"
        shown = [b for b in _blocks(message) if not (b.get("type") == "text" and _is_blank(b.get("text")))]
        if shown and all(b.get("type") in type_of_thinking for b in shown) and not calls_of(message):
            yield f"thinking: message {i} consists of thinking alone"


def _groups(view: Messages) -> Iterator[str]:
    """Calls in their place, results right behind them, in order, each once."""
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
        for block in _blocks(message):
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
        yield f"results: message {caller} has call {call_id!r} without a result right behind it"
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


# --- what the view owes to its history --------------------------------------------------------------------------------


def _against_history(view: Messages, history: Messages) -> Iterator[str]:
    places: dict[str, int] = {}
    nameless: list[dict[str, Any]] = []
    for place, message in enumerate(history):
        own = message_id(message)
        if own is None:
            nameless.append(message)
        else:
            places.setdefault(own, place)
    known = [places.get(message_id(message) or "") for message in view]
    yield from _order(view, history, known)
    yield from _unchanged(view, history, known)
    yield from _arguments(view, history, known)
    yield from _inserted(view, history, known, nameless)
    yield from _last_human(view, history, known)


def _order(view: Messages, history: Messages, known: Places) -> Iterator[str]:
    furthest = -1
    caller: int | None = None
    for i, (message, place) in enumerate(zip(view, known, strict=True)):
        if message.get("role") != "tool":
            caller = place
            if place is not None and place <= furthest:
                yield f"order: message {i} stood before its predecessors in history"
            furthest = max(furthest, -1 if place is None else place)
        elif place is not None and caller is not None:
            # A result may move up to its call; it may not become the result of another one.
            wanted = history[place].get("tool_call_id")
            owner = next((k for k in range(place - 1, -1, -1) if wanted in _call_ids(history[k])), None)
            if owner != caller:
                yield f"order: message {i} was not a result of the call it stands behind"


def _unchanged(view: Messages, history: Messages, known: Places) -> Iterator[str]:
    for i, (message, place) in enumerate(zip(view, known, strict=True)):
        if place is None:
            continue
        original = history[place]
        if message.get("role") != original.get("role"):
            yield f"unchanged: message {i} changed its role from {original.get('role')}"
        elif message.get("role") not in {"assistant", "tool", "user"} and not same(message, original):
            yield f"unchanged: message {i} of role {message.get('role')} was altered"
        own = original.get("thinking_block")
        if own and _thought(own) in _thinking_copies(original):
            kept = bool(message.get("thinking_block"))
            if kept != bool(_thinking_copies(message)):
                yield f"thinking: message {i} lost one of thinking_block and its copy in content, not both"
        if _top_level_calls(original) and _block_calls(original):
            kept = bool(_top_level_calls(message))
            if kept != bool(_block_calls(message)) and not list(_twins([original])):
                yield f"twins: message {i} lost one of tool_calls and their copies in content, not both"


def _arguments(view: Messages, history: Messages, known: Places) -> Iterator[str]:
    """By id where history has it once; by position too, since an id used twice must be renamed."""
    forms: dict[str, list[tuple[Call, ...]]] = {}
    for message in history:
        top_level, blocks = _top_level_calls(message), _block_calls(message)
        for call_id in _call_ids(message):
            twice = max(sum(c.id == call_id for c in form) for form in (top_level, blocks)) > 1
            written = tuple(c for c in (*top_level, *blocks) if c.id == call_id)
            forms.setdefault(call_id, []).extend([written] * (1 + twice))
    for i, (message, place) in enumerate(zip(view, known, strict=True)):
        originals = calls_of(history[place]) if place is not None else []
        calls = calls_of(message)
        for k, call in enumerate(calls):
            found = forms.get(call.id, [])
            if len(found) == 1 and not any(_same_call(call, c) for c in found[0]):
                yield f"arguments: message {i} has another name or arguments in call {call.id} than history"
            elif len(found) != 1 and len(originals) == len(calls) and not _same_call(call, originals[k]):
                yield f"arguments: message {i} has another name or arguments in its call {k} than history"


def _inserted(view: Messages, history: Messages, known: Places, nameless: Messages) -> Iterator[str]:
    head = True
    unanswered = _unanswered(history)
    for i, (message, place) in enumerate(zip(view, known, strict=True)):
        role = message.get("role")
        head = head and role in head_roles
        if place is not None or any(same(message, other) for other in nameless):
            continue
        if role == "tool":
            if unanswered.get(str(message.get("tool_call_id"))) is False:
                yield f"inserted: message {i} stands in for a result that history holds"
        elif role == "user":
            if _metadata(message).get("source") != "context-compaction":
                yield f"inserted: message {i} is no message of history and does not say context-compaction"
        elif not (role == "system" and head):
            yield f"inserted: message {i} of role {role} is no message of history"


def _unanswered(history: Messages) -> dict[str, bool]:
    """Tell of every call id that one message of history has: does its result miss?"""
    callers = Counter(call_id for message in history for call_id in _call_ids(message))
    missing: dict[str, bool] = {}
    for message in history:
        for call_id in _call_ids(message):
            if callers[call_id] == 1:
                missing[call_id] = True
        if message.get("role") == "tool" and message.get("tool_call_id") in missing:
            missing[message["tool_call_id"]] = False
    return missing


def _last_human(view: Messages, history: Messages, known: Places) -> Iterator[str]:
    place = next((k for k in range(len(history) - 1, -1, -1) if is_human(history[k]) and _shown(history[k])), None)
    if place is None:
        return
    wanted = {**history[place], "content": _shown(history[place])}
    if message_id(wanted) is None:
        candidates = list(range(len(view)))
    else:
        candidates = [i for i, k in enumerate(known) if k == place]
    if not candidates:
        yield f"last-human: message {place} of history, the last human one, is not in the view"
    elif not any(same({**view[i], "content": _shown(view[i])}, wanted) for i in candidates):
        yield f"last-human: message {candidates[-1]}, the last human one, was altered"


# --- reading messages -------------------------------------------------------------------------------------------------


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _metadata(message: dict[str, Any]) -> dict[str, Any]:
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _is_blank(text: object) -> bool:
    return not isinstance(text, str) or not text.strip()


def _shown(message: dict[str, Any]) -> str | list[Any]:
    """Return what of the content a provider accepts: empty when nothing is left."""
    content = message.get("content")
    if isinstance(content, str):
        return content if content.strip() else ""
    if not isinstance(content, list):
        return ""
    return [b for b in content if not (isinstance(b, dict) and b.get("type") == "text" and _is_blank(b.get("text")))]


def _thought(block: Any) -> tuple[Any, Any]:
    return (block.get("thinking"), block.get("signature")) if isinstance(block, dict) else (block, None)


def _thinking_copies(message: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [_thought(b) for b in _blocks(message) if b.get("type") == "thinking"]


def _top_level_calls(message: dict[str, Any]) -> list[Call]:
    calls = message.get("tool_calls")
    return [_call(c) for c in calls] if isinstance(calls, list) else []


def _block_calls(message: dict[str, Any]) -> list[Call]:
    return [_call(b) for b in _blocks(message) if b.get("type") in type_of_call]


def _call_ids(message: dict[str, Any]) -> set[str]:
    """Return the ids of both forms, which a damaged message may not have in common."""
    return {c.id for c in (*_top_level_calls(message), *_block_calls(message))}


def _call(written: Any) -> Call:
    if not isinstance(written, dict):
        return Call("", "", None)
    body = written["function"] if isinstance(written.get("function"), dict) else written
    arguments = body.get("arguments", body.get("input"))
    if isinstance(arguments, str):
        # The text of a stream that broke off is no JSON; then the text itself is what must not change.
        with contextlib.suppress(ValueError):
            arguments = json.loads(arguments)
    name = body.get("tool") or body.get("name")
    return Call(str(written.get("id") or ""), str(name or ""), arguments)


def _same_call(a: Call, b: Call) -> bool:
    return a.name == b.name and same(a.arguments, b.arguments)
