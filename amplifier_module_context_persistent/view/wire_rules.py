"""What a provider refuses in a message however well it stands in order, and what a view shows instead of it (I5).

Pure: a message and the rules of who reads it give the same message in any process. History keeps what it was given.

- *Numbers* are finite: JSON has no NaN and no Infinity; null stands for them.
- *Text* is UTF-8. Half a surrogate pair alone cannot be encoded: Anthropic answers 400 "no low surrogate in string",
  clients in Python fail before they send (github.com/anthropics/claude-code/issues/60394, 2026-05).
- *Ids of calls.* Anthropic: `^[a-zA-Z0-9_-]+$`, 64 characters ("tool_use.id: String should match pattern",
  github.com/HKUDS/nanobot/pull/4356, 2026-06). OpenAI: 40 characters in Chat Completions ("string too long. Expected a
  string with maximum length 40", github.com/anomalyco/opencode/issues/12653, 2026-02), 64 in Responses
  (github.com/AnswerDotAI/fastllm/issues/45, 2026-06).
- *Names of tools.* Anthropic: `^[a-zA-Z0-9_-]{1,128}$` (github.com/nicobailon/pi-mcp-adapter/pull/190, 2026-07).
  OpenAI: the same characters, 64 of them (github.com/mcp-use/mcp-use/issues/90, 2025). Google: dots and colons too, 128
  of them (ai.google.dev/api/caching#FunctionDeclaration, read 2026-11). None takes an empty one: `unknown` is sent.
- *Cache marks.* Anthropic: "A maximum of 4 blocks with cache_control may be provided" (docs "Prompt caching", read
  2026-11). The first four stay, so that a view goes on as it began.
- *Types of images.* Anthropic: what a block says has to be what its bytes are, and `image/jpg` is no type ("the image
  was specified using the image/png media type, but the image appears to be a image/jpeg image",
  github.com/anthropics/claude-code/issues/12009, 2025-11).
- *The last message.* Claude models from 4.6 on take no prefill: "The conversation must end with a user message"
  (github.com/vybestack/llxprt-code/pull/3695, 2026-09). A view for a reader that refuses such a request
  (`recipients.PREFILL`, or one that did so in this session) ends with the line `[continued]`. If an answer follows, the
  provider saw the line: the answer keeps it (`metadata.line_before`), and later views for such a reader show it there.
  A view without a reader shows no line.

A rule is *sure* where its provider is known to refuse. What is beyond that is narrower (`strict`: for a provider that
nobody names or knows, and OpenAI's shorter ids), and holds from a log's beginning or its next plan on: what was sent
before and may have been accepted stays as it is (I6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
from typing import Any, Literal

import orjson

from ..config.option_table import LateSystem
from ..messages.media_blocks import with_true_types
from ..messages.message import CALL_BLOCKS, UNNAMED, Message, given_calls, given_name_of, is_block
from ..messages.text import well_formed
from .recipients import ANTHROPIC, GEMINI, OPENAI

WIRE = "wire"
"""The name under which plans, headers and receipts say that views follow these rules."""
LINES = "lines"
"""Headers say by this name that lines are kept by answers alone, and shown to those who refuse prefill; receipts, that
their reader does."""
LATE_SYSTEM = "late_system"
"""Likewise headers, how late system messages are shown."""

_ANY = 1 << 40
_PLAIN = re.compile(r"[^a-zA-Z0-9_-]")
_GOOGLE = re.compile(r"[^a-zA-Z0-9_.:-]")
_SUFFIX_CHARS = 9
_FORMS = ("tool", "name")


@dataclass(frozen=True, slots=True)
class WireRules:
    """What one reader takes; the default ones take everything that is text."""

    id_chars: int = _ANY
    name_chars: int = _ANY
    other_in_id: re.Pattern[str] | None = None
    """What an id may not have."""
    other_in_name: re.Pattern[str] | None = None
    cache_marks: int = _ANY
    answer_last: bool = True
    """Whether an answer may come last in a request."""
    stored_lines: bool = True
    """Whether the lines that earlier requests ended with are shown in their places."""
    user_first: bool = True
    """Whether a user's word comes before an answer at the beginning, and between an answer and calls."""
    true_types: bool = False
    """Whether an image has to be of the type that its block says."""
    strict: bool = False
    """Whether they are the strict ones."""
    line_between: bool = False
    """Whether a line is shown between two answers, though none is stored."""
    unnamed: str = UNNAMED
    """The name of a tool that has none; the first version of the rules sent an empty one."""

    def call_id(self, call_id: str) -> str:
        """The id of a call as the reader takes it; the same one where it does. Two ids may become one."""
        return _fitted(call_id, self.other_in_id, self.id_chars)

    def numbered(self, call_id: str, number: int) -> str:
        """An id that the reader takes with a number after it, for the second call that has it, and so on."""
        suffix = f"_{number}"
        return call_id[: self.id_chars - len(suffix)] + suffix

    def name(self, name: str) -> str:
        """The name of a tool as the reader takes it; the same one where it does."""
        return _fitted(name, self.other_in_name, self.name_chars) or self.unnamed


def _fitted(text: str, other: re.Pattern[str] | None, most_chars: int) -> str:
    """A text without other characters; where it is too long, its end is a digest, so that two stay two."""
    plain = well_formed(text) if other is None else other.sub("_", text)
    if len(plain) <= most_chars:
        return plain
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain[: most_chars - _SUFFIX_CHARS]}_{digest}"


TAKES_ALL = WireRules()
"""Takes everything that is text."""

_SURE: Mapping[str, WireRules] = {
    ANTHROPIC: WireRules(64, 128, _PLAIN, _PLAIN, 4, answer_last=False, true_types=True),
    OPENAI: WireRules(64, 64, None, _PLAIN),
    GEMINI: WireRules(_ANY, 128, None, _GOOGLE),
}
_STRICT: Mapping[str, WireRules] = {
    ANTHROPIC: _SURE[ANTHROPIC],
    OPENAI: WireRules(40, 64, _PLAIN, _PLAIN, 4),
    GEMINI: WireRules(_ANY, 128, None, _GOOGLE, 4),
}
_UNKNOWN = WireRules(answer_last=False)
"""Of a reader of whom nothing is known: a line that is added at the end changes nothing that was sent."""
_NARROWEST = WireRules(64, 64, _PLAIN, _PLAIN, 4, answer_last=False, true_types=True)


@lru_cache(maxsize=64)
def rules_of(family: str, *, strict: bool) -> WireRules:
    """What a family of providers takes.

    Args:
        family: as `family_of` names it; an empty text where nobody is named.
        strict: whether what is only likely to be refused counts too.
    """
    if not strict:
        return _SURE.get(family, _UNKNOWN)
    rules = _STRICT.get(family, _NARROWEST)
    return replace(rules, strict=True, line_between=not rules.answer_last)


@lru_cache(maxsize=64)
def request_rules(rules: WireRules, *, is_named: bool, line_last: bool, old_lines: bool) -> WireRules:
    """The rules of a family as the view of a request keeps them.

    Args:
        rules: those of its reader's family.
        is_named: whether the request says who reads it.
        line_last: whether a line follows an answer at the end.
        old_lines: whether the log is from before lines were kept by answers alone.
    """
    if not is_named:
        return replace(rules, answer_last=True, stored_lines=False, user_first=False, line_between=False)
    keeps, between = line_last or old_lines, rules.line_between and old_lines
    return replace(rules, answer_last=not line_last, stored_lines=keeps, line_between=between)


def begins_strict(headers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a log's views keep the strict rules from its beginning, by its headers."""
    return not headers or headers[0].get(WIRE) == 1


def has_old_lines(headers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a log is from before lines were kept by answers alone, by its headers."""
    return bool(headers) and headers[0].get(LINES) != 1


def late_system_of(
    configured: LateSystem, headers: Sequence[Mapping[str, Any]], *, is_new: bool
) -> Literal["system", "reminder"]:
    """How a log's late system messages are shown, `system` or `reminder`: as configured, or with `auto` as it began."""
    if configured != "auto":
        return configured
    return "reminder" if is_new or (headers and headers[0].get(LATE_SYSTEM) == "reminder") else "system"


def header_marks(headers: Sequence[Mapping[str, Any]], *, late_system: str = "system") -> dict[str, Any]:
    """What a new header says of how the log's views began: what the first one said.

    Args:
        headers: those that the log has.
        late_system: how a log that begins now shows late system messages.
    """
    begun = headers[0].get(LATE_SYSTEM) if headers else late_system
    reminds = {LATE_SYSTEM: "reminder"} if begun == "reminder" else {}
    lines = {} if has_old_lines(headers) else {LINES: 1}
    return {**({WIRE: 1} if begins_strict(headers) else {}), **lines, **reminds}


@dataclass(frozen=True, slots=True)
class Oddities:
    """What of a message may have to be shown otherwise."""

    text: bool = False
    """Whether a text in it is no UTF-8, or a number not finite."""
    names: tuple[str, ...] = ()
    """The names of tools in it that not every provider takes."""
    marks: int = 0
    """How many cache marks it has."""
    types: bool = False
    """Whether an image in it is of another type than its block says."""


def oddities_of(message: Message) -> Oddities | None:
    """What of a message, in its accepted form, may have to be shown otherwise; None where nothing is."""
    try:
        encoded = orjson.dumps(message)  # which writes null for a number that is not finite
        text = b"null" in encoded and well_formed_value(message) != message
    except TypeError:  # half a surrogate pair, or a number that `orjson` does not write
        encoded, text = b'"cache_control"', well_formed_value(message) != message
    given = [given_name_of(call) for call in given_calls(message).values()]
    if message.get("role") in ("tool", "function") and isinstance(name := message.get("name"), str) and name:
        given.append(name)
    names = tuple(name for name in given if _NARROWEST.name(name) != name)
    marks = _marks_in(message.get("content")) if b'"cache_control"' in encoded else 0
    types = (text or b'"base64"' in encoded) and with_true_types(message) is not message
    return Oddities(text, names, marks, types) if text or names or marks or types else None


def sendable(message: Message, rules: WireRules, marks: int) -> Message:
    """A message as a reader takes it, but for the ids of calls; a new object.

    Args:
        message: in its accepted form.
        rules: what the reader takes.
        marks: how many cache marks it may keep, the first ones.
    """
    changed: Message = well_formed_value(with_true_types(message) if rules.true_types else message)
    if isinstance(listed := changed.get("tool_calls"), list):
        changed["tool_calls"] = [_renamed(call, rules) for call in listed]
    if isinstance(name := changed.get("name"), str) and name and changed.get("role") in ("tool", "function"):
        changed["name"] = rules.name(name)
    if isinstance(content := changed.get("content"), list):
        allowed = iter(range(marks))
        named = (_renamed(block, rules) if is_block(block, CALL_BLOCKS) else block for block in content)
        changed["content"] = [_with_marks(block, allowed) for block in named]
    return changed


def _renamed(call: Any, rules: WireRules) -> Any:
    """A call whose tool's name the reader takes."""
    name = rules.name(given_name_of(call))
    if name == given_name_of(call):
        return call
    function = call.get("function")
    if isinstance(function, dict):
        call = {**call, "function": {**function, "name": name}}
    own = "name" if is_block(call, CALL_BLOCKS) else "tool"
    forms = [form for form in _FORMS if isinstance(call.get(form), str) or (form == own and not function)]
    return {**call, **dict.fromkeys(forms, name)}


def _marks_in(content: Any) -> int:
    """How many blocks, and blocks in them, have a cache mark."""
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return sum(("cache_control" in block) + _marks_in(block.get(_inner_key(block))) for block in blocks)


def _with_marks(block: Any, allowed: Iterator[int]) -> Any:
    """A block with the cache marks that are still allowed; those of the blocks in it come before its own."""
    if not isinstance(block, dict):
        return block
    key = _inner_key(block)
    if isinstance(inner := block.get(key), list):
        block = {**block, key: [_with_marks(one, allowed) for one in inner]}
    if "cache_control" in block and next(allowed, None) is None:
        return {name: value for name, value in block.items() if name != "cache_control"}
    return block


def _inner_key(block: Message) -> str:
    """Under which key the blocks within a block are, as a result has them."""
    return "output" if block.get("type") == "tool_result" and "output" in block else "content"


def well_formed_value(value: Any) -> Any:
    """A JSON value whose texts, keys among them, and numbers can all be encoded; lists and objects are new ones.

    `metadata.message_id` stays: hosts name a message by it.
    """
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, list):
        return [well_formed_value(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(k): v if k == "message_id" else well_formed_value(v) for k, v in value.items()}
    return value
