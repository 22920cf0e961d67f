"""The checker of the views that the context manager hands out: what a view alone must keep, and what history adds.

- `check_view` returns one sentence a violation, `"<rule>: message <position> …"`; the empty list means a valid view.
  The rules that a view alone must keep are in `view_checker`, which shares no code with the engine; nor does what
  stands here.
- A message of `history` is recognised in the view by `metadata.message_id`; one without an id, by equality.
- Cache marks are not compared, and half a surrogate pair is the sign that views show for it.
- A human message in which nothing can be shown (`None`, blank text) is not expected in a view, and blank text blocks
  may be left out of one; no view could keep them and be valid.
"""

import json
import marshal
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tests.support.view_checker import (
    PLAIN,
    Call,
    Messages,
    block_calls,
    blocks_of,
    calls_of,
    head_roles,
    is_blank,
    message_id,
    metadata_of,
    same,
    thinking_copies,
    thought,
    top_level_calls,
    twins,
    view_violations,
)

Places = Sequence[int | None]  # where in history each message of a view stands


def check_view(
    view: Messages,
    *,
    history: Messages | None = None,
    budget_tokens: int | None = None,
    count: Callable[[dict[str, Any]], int] | None = None,
    late_system: str = "reminder",
) -> list[str]:
    """Return what is wrong with a view, one sentence a violation.

    `history` is the live history the view was made from, with the ids that the log gave out (`get_messages`, with the
    ephemeral messages of the process put where they belong). `count` gives the tokens of one message. `late_system` is
    the option: with `reminder`, system text after the first stored message of another role is shown as a user's.
    """
    violations = view_violations(view)
    if not all(isinstance(message, dict) for message in view):
        return violations
    if history is not None:
        history = [message for message in history if metadata_of(message).get("unseen") is not True]
        sent = [[message if _is_sent(message) else _as_sent(message) for message in some] for some in (view, history)]
        violations += _against_history(*sent, reminds=late_system == "reminder")
    if budget_tokens is not None and count is not None:
        total = sum(count(message) for message in view)
        if total > budget_tokens:
            violations.append(f"budget: messages 0 to {len(view) - 1} count {total} tokens of {budget_tokens}")
    return violations


def _is_sent(message: dict[str, Any]) -> bool:
    """Tell most messages that requests can carry as they are."""
    written = marshal.dumps(message, PLAIN)
    return b"cache_control" not in written and b"\xed" not in written  # which half a surrogate pair begins with


def _as_sent(value: Any) -> Any:
    """Return a value without what requests cannot carry: cache marks beyond some, half surrogate pairs."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_as_sent(item) for item in value]
    if isinstance(value, dict):
        return {_as_sent(key): _as_sent(item) for key, item in value.items() if key != "cache_control"}
    return value


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


def is_human(message: dict[str, Any]) -> bool:
    """Tell a message that a person wrote from what hooks, orchestrators and compaction put in the user's mouth."""
    metadata = metadata_of(message)
    if message.get("role") != "user" or metadata.get("source"):
        return False
    if metadata.get("ephemeral") and not metadata.get("persisted"):
        return False
    texts = [str(b.get("text")) for b in blocks_of(message) if b.get("type") == "text"]
    content = message.get("content")
    text = content if isinstance(content, str) else next(iter(texts), "")
    return not text.startswith("<system-reminder")


# --- bodies of requests -----------------------------------------------------------------------------------------------

_SERVER_RESULT = re.compile(r"(?:\w+_)?tool_result")
_ANSWER_KINDS = {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use"}
_ASKED_KINDS = {"text", "image", "document", "search_result", "tool_result"}


def anthropic_violations(body: dict[str, Any]) -> list[str]:
    """Return what the Messages API answers a body with a 400 for, one sentence a violation.

    Source: platform.claude.com/docs/en/api/messages and the pages on tools, thinking, PDFs (read 2026-11).
    """
    messages = body["messages"]
    found = _form_violations(body)
    if not messages or messages[0]["role"] != "user" or messages[-1]["role"] != "user":
        found.append("first-user: the first message is no user's, or the last one")
    seen: list[str] = []
    waiting: list[str] = []
    marks = 0
    for i, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        marks += sum("cache_control" in block for block in blocks)
        answers = message["role"] == "assistant"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if not blocks or message["role"] not in ("user", "assistant"):
            found.append(f"form: message {i} has no content, or is of role {message['role']}")
        if results != waiting or [block["type"] for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            found.append(f"results: message {i} answers {results}, not {waiting}, or not first")
        for block in blocks:
            found += [f"{why} in message {i}" for why in _block_violations(block, answers=answers)]
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        on_server = [block["id"] for block in blocks if block["type"] in ("server_tool_use", "mcp_tool_use")]
        given = [b["tool_use_id"] for b in blocks if b["type"] != "tool_result" and _SERVER_RESULT.fullmatch(b["type"])]
        if on_server != given:
            found.append(f"results: message {i} has calls of a server {on_server} and results {given}")
        if answers and blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            found.append(f"thinking: message {i} ends with it")
        seen += waiting
    if waiting or len(set(seen)) < len(seen) or marks > 4:
        found.append(f"ids: {waiting} have no result, or ids repeat in {seen}, or {marks} cache marks")
    return found


def _block_violations(block: dict[str, Any], *, answers: bool) -> Iterator[str]:
    kind = block["type"]
    if kind not in (_ANSWER_KINDS if answers else _ASKED_KINDS) and not (answers and _SERVER_RESULT.fullmatch(kind)):
        yield f"kind: a {kind} block"
    if kind == "text" and is_blank(block["text"]):
        yield "text: a blank text"
    if kind == "thinking" and not block.get("signature"):
        yield "thinking: no signature"
    if kind == "tool_use" and not (
        re.fullmatch("[a-zA-Z0-9_-]{1,64}", block["id"])
        and re.fullmatch("[a-zA-Z0-9_-]{1,128}", block["name"])
        and isinstance(block["input"], dict)
    ):
        yield f"call: {block!r:.200}"
    if kind == "server_tool_use" and not re.fullmatch("srvtoolu_[a-zA-Z0-9_]+", block["id"]):
        yield f"call: {block!r:.200}"
    if kind in ("image", "document") and block["source"].get("type") == "base64":
        types = {"image/jpeg", "image/png", "image/gif", "image/webp"} if kind == "image" else {"application/pdf"}
        if block["source"]["media_type"] not in types or block["source"]["data"].startswith("data:"):
            yield f"medium: {block!r:.200}"


def openai_violations(body: dict[str, Any]) -> list[str]:
    """Return what Chat Completions answers a body with a 400 for, one sentence a violation.

    Source: platform.openai.com/docs/api-reference/chat/create (read 2026-11).
    """
    found = _form_violations(body)
    seen: list[str] = []
    waiting: list[str] = []
    for i, message in enumerate(body["messages"]):
        role, content = message["role"], message.get("content")
        if role == "tool":
            if message["tool_call_id"] not in waiting or not isinstance(content, str):
                found.append(f"results: message {i} answers no call, or is no text")
            waiting = [one for one in waiting if one != message["tool_call_id"]]
            continue
        if waiting:
            found.append(f"results: message {i} comes before the results of {waiting}")
        calls = message.get("tool_calls")
        if role not in ("system", "developer", "user", "assistant") or (calls is not None and role != "assistant"):
            found.append(f"form: message {i} of role {role}")
        if not (content or calls) or calls == []:
            found.append(f"form: message {i} has neither content nor calls")
        for call in calls or ():
            form = re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"])
            if (
                not form
                or not 1 <= len(call["id"]) <= 40
                or not isinstance(json.loads(call["function"]["arguments"]), dict)
            ):
                found.append(f"call: message {i} has {call!r:.200}")
        for part in content if isinstance(content, list) else ():
            if part["type"] not in ("text", "image_url", "file") or (part["type"] != "text" and role != "user"):
                found.append(f"kind: message {i} has a {part['type']} part")
            if part["type"] == "file" and not part["file"]["file_data"].startswith("data:application/pdf;base64,"):
                found.append(f"medium: message {i} has a file that is no PDF")
        waiting = [call["id"] for call in calls or ()]
        seen += waiting
    if waiting or len(set(seen)) < len(seen):
        found.append(f"ids: {waiting} have no result, or ids repeat in {seen}")
    return found


def _form_violations(body: dict[str, Any]) -> list[str]:
    """What of a body is no JSON of the sort that both take."""
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        return [f"form: {error}"]
    return [] if body["messages"] else ["form: it has no messages"]


# --- what the view owes to its history --------------------------------------------------------------------------------


def _against_history(view: Messages, history: Messages, *, reminds: bool) -> Iterator[str]:
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
    late = _late_system(history) if reminds else {}
    nameless += [shown for message in late.values() if message_id(message) is None for shown in _as_reminder(message)]
    yield from _reminders(view, known, late)
    yield from _unchanged(view, history, known, late)
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
                yield f"order: message {i} was not a result of the call it stands after"


def _late_system(history: Messages) -> dict[int, dict[str, Any]]:
    """Return the system messages after the first stored message of another role, by their places."""
    stored = (k for k, message in enumerate(history) if message.get("role") not in head_roles and message_id(message))
    first = next(stored, len(history))
    return {k: message for k, message in enumerate(history) if k > first and message.get("role") in head_roles}


def _as_reminder(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the forms in which late system text may be shown; what is empty in it is left out."""
    content, opens, closes = _shown(message), "<system-reminder>", "</system-reminder>"
    if isinstance(content, list):
        tags = [{"type": "text", "text": tag} for tag in (opens, closes)]
        wrapped: Any = [tags[0], *content, tags[1]]
    else:
        wrapped = f"{opens}\n{content}\n{closes}"
    return [{**message, "role": "user", "content": shown} for shown in (content, wrapped)]


def _reminders(view: Messages, known: Places, late: dict[int, dict[str, Any]]) -> Iterator[str]:
    for i, (message, place) in enumerate(zip(view, known, strict=True)):
        if place is None or place not in late:
            continue
        original, shown = late[place], _plain_text(message)
        if message.get("role") != "user" or not shown.lstrip().startswith("<system-reminder"):
            yield f"reminder: message {i} is late system text and no reminder of the user's role"
        elif shown not in (_plain_text(original), f"<system-reminder>\n{_plain_text(original)}\n</system-reminder>"):
            yield f"reminder: message {i} says something else than the system message that it shows"
        others = [b for b in blocks_of(message) if b.get("type") != "text"]
        if not same(others, [b for b in blocks_of(original) if b.get("type") != "text"]):
            yield f"reminder: message {i} lost or changed a block that is no text"
        rest = {**message, "role": original.get("role"), "content": original.get("content")}
        if not same(rest, original):
            yield f"reminder: message {i} was altered beside its role and content"


def _plain_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(b["text"] for b in blocks_of(message) if b.get("type") == "text" and not is_blank(b.get("text")))


def _unchanged(view: Messages, history: Messages, known: Places, late: dict[int, dict[str, Any]]) -> Iterator[str]:
    for i, (message, place) in enumerate(zip(view, known, strict=True)):
        if place is None or place in late:
            continue
        original = history[place]
        if message.get("role") != original.get("role"):
            yield f"unchanged: message {i} changed its role from {original.get('role')}"
        elif message.get("role") not in {"assistant", "tool", "user"} and not same(message, original):
            yield f"unchanged: message {i} of role {message.get('role')} was altered"
        own = original.get("thinking_block")
        if own and thought(own) in thinking_copies(original):
            kept = bool(message.get("thinking_block"))
            if kept != bool(thinking_copies(message)):
                yield f"thinking: message {i} lost one of thinking_block and its copy in content, not both"
        if top_level_calls(original) and block_calls(original):
            kept = bool(top_level_calls(message))
            if kept != bool(block_calls(message)) and not list(twins([original])):
                yield f"twins: message {i} lost one of tool_calls and their copies in content, not both"


def _arguments(view: Messages, history: Messages, known: Places) -> Iterator[str]:
    """By id where history has it once; by position too, since an id used twice must be renamed."""
    forms: dict[str, list[tuple[Call, ...]]] = {}
    for message in history:
        top_level, blocks = top_level_calls(message), block_calls(message)
        for call_id in {c.id for c in (*top_level, *blocks)}:
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
    unanswered: dict[str, bool] = {}  # looked at only where a view stands in for a result
    for i, (message, place) in enumerate(zip(view, known, strict=True)):
        role = message.get("role")
        head = head and role in head_roles
        if place is not None or any(same(message, other) for other in nameless):
            continue
        if role == "tool":
            unanswered = unanswered or _unanswered(history)
            if unanswered.get(str(message.get("tool_call_id"))) is False:
                yield f"inserted: message {i} stands in for a result that history holds"
        elif role == "user":
            if metadata_of(message).get("source") not in ("context-compaction", "late-result"):
                yield f"inserted: message {i} is no message of history and does not say where it is from"
        elif not (role == "system" and head):
            yield f"inserted: message {i} of role {role} is no message of history"


def _unanswered(history: Messages) -> dict[str, bool]:
    """Tell of every call id that one message of history has: does its result miss?

    Nothing is said of a result that came after the model had answered without it: its stand-in stays until a plan.
    """
    calls = [_call_ids(message) for message in history]
    callers = Counter(call_id for called in calls for call_id in called)
    caller: dict[str, int] = {}
    missing: dict[str, bool] = {}
    for at, (message, called) in enumerate(zip(history, calls, strict=True)):
        for call_id in called:
            if callers[call_id] == 1:
                missing[call_id], caller[call_id] = True, at
        if message.get("role") == "tool" and (call_id := message.get("tool_call_id")) in missing:
            missing[call_id] = False
            roles = [one.get("role") for one in history[caller[call_id] : at]]
            if ("assistant", True) in zip(roles[1:], [role != "assistant" for role in roles], strict=False):
                del missing[call_id]
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
    elif not any(same({**_unstamped(view[i], wanted), "content": _shown(view[i])}, wanted) for i in candidates):
        yield f"last-human: message {candidates[-1]}, the last human one, was altered"


def _unstamped(message: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """Return a message without the time that the log gave it, where the original has none."""
    if "timestamp" in metadata_of(original) or "timestamp" not in metadata_of(message):
        return message
    return {**message, "metadata": {key: value for key, value in message["metadata"].items() if key != "timestamp"}}


# --- reading messages ------------------------------------------------------------------------------------------------


def _shown(message: dict[str, Any]) -> str | list[Any]:
    """Return what of the content a provider accepts: empty when nothing is left."""
    content = message.get("content")
    if isinstance(content, str):
        return content if content.strip() else ""
    if not isinstance(content, list):
        return ""
    return [b for b in content if not (isinstance(b, dict) and b.get("type") == "text" and is_blank(b.get("text")))]


def _call_ids(message: dict[str, Any]) -> set[str]:
    """Return the ids of both forms, which a damaged message may not have in common."""
    return {c.id for c in (*top_level_calls(message), *block_calls(message))}


def _same_call(a: Call, b: Call) -> bool:
    return a.name == b.name and same(a.arguments, b.arguments)
