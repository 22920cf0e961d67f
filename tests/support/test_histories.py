"""The strategies make what they promise: every known disorder, and plain sessions without any."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tests.support.checker import calls_of, check_view
from tests.support.histories import (
    Message,
    json_values,
    messages,
    numbered,
    plain_histories,
    text_block,
)
from tests.support.sweeps import proof

BATCHES, BATCH = 20, 50


def assert_occurs(made: SearchStrategy[Any], features: Mapping[str, Callable[[Any], bool]]) -> None:
    """Every feature is in some example of a strategy; no more are made when all have been found."""
    missing = set(features)

    def look(value: Any) -> None:
        missing.difference_update([name for name in missing if features[name](value)])

    batch = settings(max_examples=BATCH, database=None, suppress_health_check=list(HealthCheck))
    for number in range(700, 700 + BATCHES):  # few of these are needed
        batch(seed(number)(given(made)(look)))()
        if not missing:
            return
    assert not missing


def is_broken(call: dict[str, Any]) -> bool:
    """Whether the arguments of a call are text that is not JSON."""
    given = call.get("function", {}).get("arguments")
    try:
        json.loads(given or "{}")
    except ValueError:
        return True
    return False


def block_types(history: list[Message]) -> Iterator[tuple[str, str]]:
    for message in history:
        if isinstance(message["content"], list):
            yield from ((message["role"], b["type"]) for b in message["content"] if isinstance(b, dict) and "type" in b)


def metadata(message: Message) -> Message:
    return message.get("metadata") or {}


def results_and_calls(history: list[Message]) -> Iterator[tuple[int, list[int]]]:
    """Yield the place of every call message and the places of the results of its ids."""
    for i, message in enumerate(history):
        ids = {c.id for c in calls_of(message)}
        if ids:
            yield i, [k for k, m in enumerate(history) if m["role"] == "tool" and m["tool_call_id"] in ids]


def parts(value: Any) -> Iterator[Any]:
    """Yield a JSON value and all the values in it."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(inner)


def text_of(message: Message) -> str:
    return message["content"] if isinstance(message["content"], str) else ""


FEATURES: dict[str, Callable[[list[Message]], bool]] = {
    "no message": lambda h: not h,
    "only system messages": lambda h: bool(h) and all(m["role"] == "system" for m in h),
    "assistant first": lambda h: bool(h) and h[0]["role"] == "assistant",
    "tool first": lambda h: bool(h) and h[0]["role"] == "tool",
    "more than 30 messages": lambda h: len(h) > 30,
    "developer": lambda h: any(m["role"] == "developer" for m in h),
    "function": lambda h: any(m["role"] == "function" for m in h),
    "human blocks": lambda h: ("user", "text") in block_types(h),
    "image": lambda h: ("user", "image") in block_types(h),
    "image in a result": lambda h: ("tool", "image") in block_types(h),
    "thinking": lambda h: ("assistant", "thinking") in block_types(h),
    "redacted thinking": lambda h: ("assistant", "redacted_thinking") in block_types(h),
    "reasoning": lambda h: ("assistant", "reasoning") in block_types(h),
    "call blocks": lambda h: ("assistant", "tool_call") in block_types(h),
    "tool_use blocks": lambda h: ("assistant", "tool_use") in block_types(h),
    "thinking_block": lambda h: any("thinking_block" in m for m in h),
    "thinking_block without a copy": lambda h: any("thinking_block" in m and text_of(m) for m in h),
    "hook": lambda h: any(metadata(m).get("source") == "hook" and metadata(m).get("persisted") for m in h),
    "ephemeral": lambda h: any(metadata(m).get("ephemeral") and not metadata(m).get("persisted") for m in h),
    "ephemeral persisted": lambda h: any(metadata(m).get("ephemeral") and metadata(m).get("persisted") for m in h),
    "reminder by text": lambda h: any(text_of(m).startswith("<system-reminder") and "metadata" not in m for m in h),
    "pinned": lambda h: any(metadata(m).get("pinned") for m in h),
    "critical": lambda h: any(metadata(m).get("critical") for m in h),
    "top-level timestamp": lambda h: any("timestamp" in m for m in h),
    "parallel calls": lambda h: any(len(calls_of(m)) > 2 for m in h),
    "calls of Amplifier": lambda h: any("tool" in c for m in h for c in m.get("tool_calls") or []),
    "calls of the contract": lambda h: any("function" in c for m in h for c in m.get("tool_calls") or []),
    "broken argument text": lambda h: any(is_broken(c) for m in h for c in m.get("tool_calls") or []),
    "big integer argument": lambda h: any("123456789012345678901234567890" in str(calls_of(m)) for m in h),
    "call ids used again": lambda h: sum("call_0" in [c.id for c in calls_of(m)] for m in h) > 1,
    "call ids double in a message": lambda h: any([c.id for c in calls_of(m)][:2] == ["call_0"] * 2 for m in h),
    "copies torn": lambda h: any(v.startswith("twins") for v in check_view(h)),
    "results in order": lambda h: any(rs[:2] == [i + 1, i + 2] for i, rs in results_and_calls(h)),
    "results missing": lambda h: any(not rs for _, rs in results_and_calls(h)),
    "results late": lambda h: any(rs and rs[0] > i + 3 for i, rs in results_and_calls(h)),
    "results early": lambda h: any(rs and rs[0] < i for i, rs in results_and_calls(h)),
    "results out of order": lambda h: any(v.endswith("order than its calls") for v in check_view(h)),
    "results double": lambda h: any("a second result" in v for v in check_view(h)),
    "results interleaved": lambda h: any(h[i + 1 : i + 2] and rs[:1] == [i + 2] for i, rs in results_and_calls(h)),
    "orphan": lambda h: any(m.get("tool_call_id") == "toolu_gone" for m in h),
    "result without a name": lambda h: any(m["role"] == "tool" and "name" not in m for m in h),
    "result with a dictionary": lambda h: any(isinstance(m["content"], dict) for m in h),
    "result with a mixed list": lambda h: any(m["role"] == "tool" and "plain" in (m["content"] or []) for m in h),
    "None content": lambda h: any(m["role"] == "user" and m["content"] is None for m in h),
    "None beside calls": lambda h: any(bool(calls_of(m)) and m["content"] is None for m in h),
    "empty content": lambda h: any(m["role"] == "assistant" and m["content"] == "" and not calls_of(m) for m in h),
    "empty list": lambda h: any(m["content"] == [] for m in h),
    "blank block": lambda h: any(text_block(" ") in (m["content"] or []) for m in h if isinstance(m["content"], list)),
    "thinking alone": lambda h: any("thinking alone" in v for v in check_view(h)),
    "huge text": lambda h: any(len(text_of(m)) >= 20_000 for m in h),
    "not ASCII": lambda h: any(not text_of(m).isascii() for m in h),
    "lone surrogate": lambda h: any("\udce9" in text_of(m) for m in h),
    "a message twice": lambda h: any(h[i] in h[:i] for i in range(len(h)) if len(text_of(h[i])) > 100),
}


@proof
def test_messages_has_every_disorder() -> None:
    """Every feature that the module's documentation promises occurs."""
    assert_occurs(messages(), FEATURES)


@given(messages())
def test_messages_share_nothing(history: list[Message]) -> None:
    """No two messages of a history share a mutable part, and it goes through JSON unchanged."""
    assert len(history) <= 40
    assert json.loads(json.dumps(history)) == history
    seen: set[int] = set()
    for value in parts(history):
        if isinstance(value, dict | list):
            assert id(value) not in seen
            seen.add(id(value))


@given(plain_histories())
def test_plain_histories_are_valid_views(history: list[Message]) -> None:
    """A well-formed session is a valid view of itself."""
    assert check_view(history) == []
    assert check_view(numbered(history), history=numbered(history)) == []


@proof
def test_plain_histories_are_varied() -> None:
    """Plain sessions have both shapes of calls, parallel ones, thinking with its copy, and head texts."""
    wanted = {
        "no message",
        "more than 30 messages",
        "parallel calls",
        "calls of Amplifier",
        "calls of the contract",
        "call blocks",
        "thinking",
        "thinking_block",
        "pinned",
        "huge text",
        "not ASCII",
        "results in order",
    }

    assert_occurs(plain_histories(), {name: FEATURES[name] for name in wanted})


@proof
def test_json_values_has_every_kind() -> None:
    """Big integers, NaN, infinities, lone surrogates and nested values occur."""
    kinds: dict[str, Callable[[Any], bool]] = {
        "big integer": lambda v: isinstance(v, int) and abs(v) >= 2**63,
        "NaN": lambda v: isinstance(v, float) and math.isnan(v),
        "infinity": lambda v: isinstance(v, float) and math.isinf(v),
        "lone surrogate": lambda v: isinstance(v, str) and any("\ud800" <= c <= "\udfff" for c in v),
        "nested": lambda v: isinstance(v, dict) and any(isinstance(inner, list) for inner in v.values()),
        "None": lambda v: v is None,
    }

    any_part = {name: lambda value, is_it=is_it: any(map(is_it, parts(value))) for name, is_it in kinds.items()}
    assert_occurs(json_values(), any_part)


@given(json_values())
def test_json_values_are_json(value: Any) -> None:
    """Every value goes through JSON text unchanged."""
    written = json.dumps(value)
    assert json.dumps(json.loads(written)) == written
    assert repr(json.loads(written)) == repr(value)
