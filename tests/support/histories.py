"""Hypothesis strategies for histories as orchestrators, hooks, crashes and older modules leave them.

- `messages()`: anything that may be stored, from ordinary turns to results that are late, missing, double or orphaned.
- `plain_histories()`: well-formed sessions only; each is a valid view of itself.
- `json_values()`: any value that JSON text can carry as Python's `json` writes it.

Hypothesis draws small numbers; plain functions turn them into messages. So a history takes few draws whatever its size,
long texts are repetitions, and the smaller numbers, to which Hypothesis shrinks, stand for the simpler shapes. Every
history is built afresh: no two messages share a mutable part. No message has a `message_id`; `numbered` gives them.
"""

import copy
import json
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.support.messages import Message

TEXTS: tuple[tuple[str, int], ...] = (
    ("ok", 1),
    ("Fix the failing test in src/cart/totals.py.", 1),
    ("The build is green again; two warnings are left.\n", 3),
    ("def total(items):\n    return sum(i.price for i in items)\n", 12),
    ('{"level": "error", "code": 500, "path": "/v1/orders"}\n', 20),
    ("请修复购物车的合计。", 4),
    ("Größe geändert, naïve façade 🛒👩\u200d👩\u200d👧 ", 5),
    ("مرحبا بالعالم ", 3),
    ("e\u0301\u200b\ufeff\u2028 line", 2),
    ("\x1b[31mE   AssertionError\x1b[0m\r\n\x00", 8),
    ("latin-1 name: caf\udce9 ", 1),
    ("<summary>not ours</summary>", 1),
    (" leading and trailing \n", 1),
    ("2026-01-05T09:12:44Z INFO worker started pid=4121\n", 60),
    ("+    return total\n-    return 0\n", 40),
    ("x", 20_000),
    ('Traceback (most recent call last):\n  File "src/app.py", line 7\n', 700),
    ("日志里说订单已经处理。", 3_000),
)
BLANKS: tuple[str | None, ...] = ("", " ", "\n\n", None, "\u3000\t")
ARGUMENTS: tuple[str, ...] = (
    '{"command": "pytest -q"}',
    '{"path": "src/cart/totals.py"}',
    "{}",
    '{"path": "README.md", "offset": 0, "limit": 200}',
    '{"edits": [{"old": "a", "new": "é 漢 🛒"}], "dry_run": false, "note": null}',
    '{"number": 123456789012345678901234567890, "ratio": 0.1, "deep": {"a": {"b": [[], {}]}}}',
)
NAMES = ("bash", "read_file", "grep")
IMAGE_DATA = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"


class History:
    """A history under construction."""

    def __init__(self, free: str) -> None:
        self.messages: list[Message] = []
        self.late: list[Message] = []
        self.free = free
        self.serial = 0

    def text(self, k: int) -> str:
        """Return a text that is not blank."""
        if k == len(TEXTS):
            return self.free if self.free.strip() else "free"
        unit, times = TEXTS[k % len(TEXTS)]
        return unit * times

    def add(self, role: str, content: Any, **more: Any) -> Message:
        message = {"role": role, "content": content, **more}
        self.messages.append(message)
        return message

    def ids(self, n: int, style: int) -> list[str]:
        """Return ids for `n` parallel calls: unique ones, ones that every turn uses again, or one for all calls."""
        first = self.serial
        self.serial += n
        if style < 4:
            return [f"toolu_{i:04}" for i in range(first, first + n)]
        return ["call_0"] * n if style == 7 else [f"call_{i}" for i in range(n)]


def text_block(text: str, k: int = 0) -> Message:
    """Return a text block, also with the keys that models and providers leave on it."""
    extras: tuple[Message, ...] = ({}, {"visibility": None}, {"cache_control": {"type": "ephemeral"}})
    return {"type": "text", "text": text, **extras[k % len(extras)]}


def image_block(size: int = 1) -> Message:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE_DATA * size}}


def thinking_block(text: str, k: int = 0) -> Message:
    if k % 4 == 3:
        return {"type": "thinking", "thinking": text, "signature": None, "content": ["gAAAA", "rs_1"]}
    return {"type": "thinking", "thinking": text, "signature": "RXJzdA==" * (1 + k), "visibility": None}


# --- segments: each adds one message or one tool group; a, b and c are the numbers drawn for it -----------------------


def human(h: History, a: int, b: int, c: int) -> None:
    more: Message = (
        {},
        {},
        {},
        {"metadata": {}},
        {"metadata": {"pinned": True}},
        {"timestamp": "2025-11-02T10:00:00Z"},
    )[b % 6]
    h.add("user", h.text(a), **more)


def human_blocks(h: History, a: int, b: int, c: int) -> None:
    blocks = [text_block(h.text(a), b)]
    if c % 4 == 1:
        blocks.append(image_block(1 + 40 * b))
    if c % 4 == 2:
        blocks.insert(0, text_block(""))
    if c % 4 == 3:
        blocks = [image_block()]
    h.add("user", blocks)


def human_blank(h: History, a: int, b: int, c: int) -> None:
    content: Any = BLANKS[b % 5]
    h.add("user", ([text_block(content or "")] if c % 3 == 1 else [] if c % 3 == 2 else content))


def system(h: History, a: int, b: int, c: int) -> None:
    roles = ("system", "system", "developer")
    content: Any = BLANKS[c % 5] if b == 7 else [text_block(h.text(a))] if b == 6 else h.text(a)
    h.add(roles[c % 3], content, **({"metadata": {"source": "hook"}} if b == 5 else {}))


def hook(h: History, a: int, b: int, c: int) -> None:
    more = {"hook_name": "hooks-status", "event": "prompt:submit", "ephemeral": False, "persisted": True}
    h.add(("user", "system", "developer")[c % 3], h.text(a), metadata={"source": "hook", **more})


def ephemeral(h: History, a: int, b: int, c: int) -> None:
    text = f"<system-reminder>\n{h.text(a)}\n</system-reminder>"
    if b % 2:
        h.add("user", text, metadata={"source": "hook", "ephemeral": True, "persisted": True})
    else:
        h.add(("user", "system")[c % 2], text if c % 4 < 2 else h.text(a), metadata={"ephemeral": True})


def reminder(h: History, a: int, b: int, c: int) -> None:
    """A reminder known by its text alone."""
    text = f"<system-reminder>{h.text(a)}"
    h.add("user", [text_block(text)] if b % 2 else text)


def says(h: History, a: int, b: int, c: int) -> None:
    h.add("assistant", h.text(a), **({"metadata": {"critical": True}} if b == 7 else {}))


def says_blocks(h: History, a: int, b: int, c: int) -> None:
    reasoning = {"type": "reasoning", "content": ["gAAAA", "rs_1"], "summary": [{"type": "summary_text", "text": "S."}]}
    leading: list[list[Message]] = [
        [],
        [thinking_block(h.text(b), c)],
        [{"type": "redacted_thinking", "data": "EmwKAhgB" * 20}],
        [reasoning],
        [text_block("\n\n"), thinking_block(h.text(b), c)],
    ]
    more: Message = {"metadata": {"anthropic:response_id": "msg_1"}} if c % 2 else {}
    message = h.add("assistant", [*leading[b % 5], text_block(h.text(a), c)], **more)
    if b % 5 == 1 and c % 4 == 2:
        message["thinking_block"] = copy.deepcopy(leading[1][0])


def says_blank(h: History, a: int, b: int, c: int) -> None:
    blocks: tuple[list[Message], ...] = (
        [],
        [text_block(" ")],
        [thinking_block(h.text(a))],
        [{"type": "redacted_thinking", "data": "Em"}],
    )
    h.add("assistant", BLANKS[b % 5] if c % 2 else blocks[b % 4], **({"tool_calls": []} if b == 7 else {}))


def function_role(h: History, a: int, b: int, c: int) -> None:
    h.add("function", h.text(a), name="get_weather")


def orphan(h: History, a: int, b: int, c: int) -> None:
    ids = ("toolu_gone", "call_0", "toolu_0000", "toolu_0001")
    h.add("tool", h.text(a), tool_call_id=ids[b % 4], **({"name": "bash"} if c % 2 else {}))


def group(h: History, a: int, b: int, c: int) -> None:
    """Calls and their results, in order."""
    h.messages += _group(h, a, b, c)


def results_missing(h: History, a: int, b: int, c: int) -> None:
    call, *results = _group(h, a, b, c)
    h.messages += [call, *results[: c % len(results)]]


def results_reversed(h: History, a: int, b: int, c: int) -> None:
    call, *results = _group(h, a, b, c)
    h.messages += [call, *reversed(results)]


def results_double(h: History, a: int, b: int, c: int) -> None:
    call, *results = _group(h, a, b, c)
    again = copy.deepcopy(results[-1])
    again["content"] = h.text(c)
    h.messages += [call, *results, again]


def results_late(h: History, a: int, b: int, c: int) -> None:
    """The last result comes after the next segments."""
    call, *results = _group(h, a, b, c)
    h.messages += [call, *results[:-1]]
    h.late.append(results[-1])


def results_early(h: History, a: int, b: int, c: int) -> None:
    call, *results = _group(h, a, b, c)
    h.messages += [results[0], call, *results[1:]]


def results_interleaved(h: History, a: int, b: int, c: int) -> None:
    between = (hook, system, human, says, ephemeral, reminder)
    call, *results = _group(h, a, b, c)
    h.messages.append(call)
    between[c % 6](h, a, b, c)
    h.messages += results


def copies_torn(h: History, a: int, b: int, c: int) -> None:
    """A call has lost its copy in `content`, or keeps only that."""
    call, *results = _group(h, a, b, c, form=3)
    if c % 2:
        call["content"].pop()
    else:
        call["tool_calls"].pop()
    h.messages += [call, *results]


SEGMENTS: dict[Callable[[History, int, int, int], None], int] = {
    human: 8,
    group: 14,
    says: 5,
    says_blocks: 4,
    human_blocks: 3,
    system: 2,
    hook: 2,
    ephemeral: 2,
    reminder: 1,
    says_blank: 1,
    human_blank: 1,
    function_role: 1,
    orphan: 1,
    results_missing: 2,
    results_reversed: 2,
    results_double: 1,
    results_late: 2,
    results_early: 1,
    results_interleaved: 2,
    copies_torn: 1,
}


def _group(h: History, a: int, b: int, c: int, form: int | None = None, *, plain: bool = False) -> list[Message]:
    """Return an assistant message with calls, and its results in order."""
    n = 1 + (0, 1, 0, 2, 0, 3, 1, 0)[b]
    ids = h.ids(n, 0 if plain else (a + c) % 8)
    names = [NAMES[(c + i) % 3] for i in range(n)]
    arguments = [ARGUMENTS[(a + i) % len(ARGUMENTS)] for i in range(n)]
    form = (0, 3, 1, 2, 3, 0, 4, 5)[(b + c) % 8] if form is None else form
    if plain and form == 5:
        form = 4
    message: Message = {"role": "assistant", "content": ""}
    if form in {0, 3}:
        message["tool_calls"] = [
            {"id": i, "tool": name, "arguments": json.loads(text)}
            for i, name, text in zip(ids, names, arguments, strict=True)
        ]
    elif form in {1, 4}:
        broken = not plain and form == 1 and a % 8 == 7
        message["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": text[:-1] if broken else text}}
            for i, name, text in zip(ids, names, arguments, strict=True)
        ]
    blocks: list[Message] = []
    thinks = c in {1, 4, 6, 9}
    if thinks:
        blocks.append(thinking_block(h.text((a + 1) % len(TEXTS)), c))
    if c in {2, 4, 7} or (c == 8 and not plain):
        blocks.append(text_block("\n" if c == 8 else h.text((a + 2) % len(TEXTS)), c))
    if form >= 2:
        kind = "tool_use" if form == 5 else "tool_call"
        blocks += [
            {"type": kind, "id": i, "name": name, "input": json.loads(text)}
            for i, name, text in zip(ids, names, arguments, strict=True)
        ]
    if blocks:
        message["content"] = blocks
    elif not plain:
        message["content"] = {3: None, 5: ("Let me look.", " ", [], "")[a % 4]}.get(c, "")
    if thinks and c in {4, 6}:
        message["thinking_block"] = copy.deepcopy(blocks[0])
        if c == 6 and form < 2:
            message["content"] = "Let me think."
    results = [
        _result(h, i, name, (a + k, c + k), plain=plain) for k, (i, name) in enumerate(zip(ids, names, strict=True))
    ]
    return [message, *results]


def _result(h: History, call_id: str, name: str, numbers: tuple[int, int], *, plain: bool) -> Message:
    a, c = numbers
    content: Any = h.text(a % len(TEXTS))
    if not plain:
        odd: dict[int, Any] = {
            3: [text_block(content)],
            5: {"stdout": content, "exit_code": 1, "files": ["a.py"]},
            7: BLANKS[a % 5],
            9: [{"path": "a.py", "line": 3}, "plain", 7],
            11: [image_block()],
            12: [],
        }
        content = odd.get(c, content)
    message = {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}
    if not plain and c % 4 == 2:
        del message["name"]
    if c % 4 == 1:
        message["metadata"] = {"timestamp": "2026-01-05T09:12:44.000Z", "duration_ms": 12}
    return message


# --- strategies -------------------------------------------------------------------------------------------------------

_numbers = (st.integers(0, len(TEXTS)), st.integers(0, 7), st.integers(0, 9))
_kinds = st.sampled_from([kind for kind, weight in SEGMENTS.items() for _ in range(weight)])
_free = st.text(max_size=12)


def messages(*, max_messages: int = 40) -> st.SearchStrategy[list[Message]]:
    """Return a strategy for any history that may be stored, of at most `max_messages` messages."""
    part = st.lists(st.tuples(_kinds, *_numbers), max_size=1 + max_messages // 4)
    segments = st.builds(operator.add, part, part)  # one list alone is short on average
    mishaps = st.lists(
        st.tuples(st.sampled_from(("drop", "repeat", "move")), st.integers(0, 40), st.integers(0, 40)), max_size=3
    )
    return st.builds(_mixed, segments, mishaps, _free, st.just(max_messages))


def plain_histories(*, max_turns: int = 8) -> st.SearchStrategy[list[Message]]:
    """Return a strategy for well-formed sessions: unique ids, every call answered, nothing blank."""
    step = st.tuples(*_numbers)
    turns = st.lists(st.tuples(step, st.lists(step, max_size=4)), max_size=max_turns)
    return st.builds(_plain, st.booleans(), turns, _free)


def json_values(*, max_leaves: int = 12) -> st.SearchStrategy[Any]:
    """Return a strategy for any JSON value, with big integers, NaN, infinities and lone surrogates.

    Two surrogates that make a pair are joined to their character: JSON text cannot tell the one from the other.
    """
    odd = st.text('\ud800\ud83d\udcff\ude00\x00\u2028🛒漢é"\\a', max_size=8)
    text = (st.text(max_size=12) | odd).map(_without_pairs)
    far = st.sampled_from((2**63, 2**64, -(2**63) - 1, 10**40, math.inf, -math.inf, math.nan))
    leaves = st.one_of(st.none(), st.booleans(), st.integers(), far, st.floats(), text)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
        max_leaves=max_leaves,
    )


def numbered(history: Sequence[Message]) -> list[Message]:
    """Return copies that carry the `metadata` the log gives a message: an id (`m0`, `m1`, …) and a timestamp."""
    stamped = []
    for i, message in enumerate(history):
        own = message.get("metadata") or {}
        stamp = {"timestamp": f"2026-01-01T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}.000Z", "message_id": f"m{i}"}
        stamped.append({**copy.deepcopy(message), "metadata": {**stamp, **copy.deepcopy(own)}})
    return stamped


def _mixed(
    segments: list[tuple[Callable[[History, int, int, int], None], int, int, int]],
    mishaps: list[tuple[str, int, int]],
    free: str,
    max_messages: int,
) -> list[Message]:
    h = History(free)
    for kind, a, b, c in segments:
        waiting, h.late = h.late, []
        kind(h, a, b, c)
        if c % 3:
            h.messages += waiting
        else:
            h.late = waiting + h.late
    found = h.messages + h.late
    for mishap, i, k in mishaps:
        if not found:
            break
        at = i % len(found)
        if mishap == "drop":
            del found[at]
        elif mishap == "repeat":
            found.insert(k % (len(found) + 1), copy.deepcopy(found[at]))
        else:
            found.insert(k % len(found), found.pop(at))
    return found[:max_messages]


def _plain(
    headed: bool,
    turns: list[tuple[tuple[int, int, int], list[tuple[int, int, int]]]],
    free: str,
) -> list[Message]:
    h = History(free)
    if headed:
        h.add("system", "You are a careful programmer.")
    for (a, b, c), steps in turns:
        human(h, a, b, c)
        for step in steps:
            h.messages += _group(h, *step, plain=True)
        if b % 2:
            h.add("assistant", h.text((a + 1) % len(TEXTS)))
        else:
            h.add("assistant", [thinking_block(h.text(b), c), text_block(h.text((a + 1) % len(TEXTS)), c)])
    return h.messages


def _without_pairs(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
