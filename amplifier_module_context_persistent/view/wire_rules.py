"""Parts of a message that providers refuse, and their replacement in a view (I5).

The rules are pure: the same message and reader give the same result in any process. The history keeps the original.

- *Numbers* are finite: JSON has no NaN and no Infinity; null stands for them.
- *Text* is UTF-8. Half a surrogate pair alone cannot be encoded: Anthropic answers 400 "no low surrogate in string",
  clients in Python fail before they send (github.com/anthropics/claude-code/issues/60394, 2026-05).
- *Ids of calls.* Anthropic: `^[a-zA-Z0-9_-]+$`, 64 characters ("tool_use.id: String should match pattern",
  github.com/HKUDS/nanobot/pull/4356, 2026-06). OpenAI: 40 characters in Chat Completions ("string too long. Expected a
  string with maximum length 40", github.com/anomalyco/opencode/issues/12653, 2026-02), 64 in Responses
  (github.com/AnswerDotAI/fastllm/issues/45, 2026-06).
- *Names of tools.* Anthropic: `^[a-zA-Z0-9_-]{1,128}$` (github.com/nicobailon/pi-mcp-adapter/pull/190, 2026-07).
  OpenAI: the same characters, 64 of them (github.com/mcp-use/mcp-use/issues/90, 2025). Google: dots and colons too, 128
  of them (ai.google.dev/api/caching#FunctionDeclaration, read 2026-11). No provider accepts an empty name, so
  `unknown` is sent.
- *Cache marks.* Anthropic: "A maximum of 4 blocks with cache_control may be provided" (docs "Prompt caching", read
  2026-11). The first four stay, so that the beginning of a view stays the same.
- *Types of images.* Anthropic: the type in a block must match the bytes, and `image/jpg` is not a type ("the image
  was specified using the image/png media type, but the image appears to be a image/jpeg image",
  github.com/anthropics/claude-code/issues/12009, 2025-11).
- *The last message.* Claude models from 4.6 on accept no prefill: "The conversation must end with a user message"
  (github.com/vybestack/llxprt-code/pull/3695, 2026-09). A view for a reader that refuses such a request
  (`recipients.PREFILL`, or one that did so in this session) ends with the line `[continued]`. If an answer follows, the
  provider saw the line: the answer keeps it (`metadata.line_before`), and later views for such a reader show it there.
  A view without a reader shows no line.

A rule is *sure* if the provider is known to refuse. The *strict* rules are narrower: they cover unknown providers and
OpenAI's shorter ids. They apply from the beginning of a log, or from its next plan on, because messages that were
already sent must not change (I6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
from typing import Any

import orjson

from ..messages.media_blocks import with_true_types
from ..messages.message import CALL_BLOCKS, UNNAMED, Message, given_calls, given_name_of, is_block
from ..messages.text import well_formed
from .recipients import ANTHROPIC, GEMINI, OPENAI

_ANY = 1 << 40  # no limit
_PLAIN = re.compile(r"[^a-zA-Z0-9_-]")
_GOOGLE = re.compile(r"[^a-zA-Z0-9_.:-]")
_SUFFIX_CHARS = 9
_FORMS = ("tool", "name")


@dataclass(frozen=True, slots=True)
class WireRules:
    """The rules of one reader for the messages that it accepts. The defaults accept every text."""

    id_chars: int = _ANY
    name_chars: int = _ANY
    other_in_id: re.Pattern[str] | None = None
    """Characters that an id may not have."""
    other_in_name: re.Pattern[str] | None = None
    """Characters that a tool's name may not have."""
    cache_marks: int = _ANY
    answer_last: bool = True
    """Whether a request may end with an answer."""
    stored_lines: bool = True
    """Whether `[continued]` lines of earlier requests are shown in their places."""
    user_first: bool = True
    """Whether a user message must precede a first answer, and separate an answer from a message with calls."""
    true_types: bool = False
    """Whether the bytes of an image must have the type that its block names."""
    strict: bool = False
    """Whether these are the strict rules."""
    line_between: bool = False
    """Whether a `[continued]` line is shown between two answers even if none is stored."""
    unnamed: str = UNNAMED
    """The name to send for a tool without a name; the first version of the rules sent an empty name."""

    def call_id(self, call_id: str) -> str:
        """Return a call id that the reader accepts, unchanged if possible.

        Two different ids may give the same result.
        """
        return _fitted(call_id, self.other_in_id, self.id_chars)

    def numbered(self, call_id: str, number: int) -> str:
        """Return the id with a number at its end, within the length limit.

        The number tells a second or later call with the same id from the first.
        """
        suffix = f"_{number}"
        return call_id[: self.id_chars - len(suffix)] + suffix

    def name(self, name: str) -> str:
        """Return a tool name that the reader accepts, unchanged if possible."""
        return _fitted(name, self.other_in_name, self.name_chars) or self.unnamed


def _fitted(text: str, other: re.Pattern[str] | None, most_chars: int) -> str:
    """Replace forbidden characters and shorten a text. A shortened text ends with a digest, to stay unique."""
    plain = well_formed(text) if other is None else other.sub("_", text)
    if len(plain) <= most_chars:
        return plain
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain[: most_chars - _SUFFIX_CHARS]}_{digest}"


TAKES_ALL = WireRules()
"""The rules of a reader that accepts every text."""

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
"""The rules for unknown readers. A line at the end is safe: no earlier message changes."""
_NARROWEST = WireRules(64, 64, _PLAIN, _PLAIN, 4, answer_last=False, true_types=True)


@lru_cache(maxsize=64)
def rules_of(family: str, *, strict: bool) -> WireRules:
    """Return the rules of a family of providers.

    Args:
        family: a family from `family_of`, or "" if no provider is named.
        strict: whether to keep also the strict rules.
    """
    if not strict:
        return _SURE.get(family, _UNKNOWN)
    rules = _STRICT.get(family, _NARROWEST)
    return replace(rules, strict=True, line_between=not rules.answer_last)


@lru_cache(maxsize=64)
def request_rules(rules: WireRules, *, is_named: bool, line_last: bool, old_lines: bool) -> WireRules:
    """Return the rules for the view of one request.

    Args:
        rules: the rules of the reader's family.
        is_named: whether the request names its reader.
        line_last: whether a view that ends with an answer gets a line after it.
        old_lines: whether the log is of a version that showed lines between all answers.
    """
    if not is_named:
        return replace(rules, answer_last=True, stored_lines=False, user_first=False, line_between=False)
    return replace(
        rules,
        answer_last=not line_last,
        stored_lines=line_last or old_lines,
        line_between=rules.line_between and old_lines,
    )


@dataclass(frozen=True, slots=True)
class Oddities:
    """The parts of a message that some reader may refuse."""

    text: bool = False
    """Whether a text cannot be encoded as UTF-8, or a number is not finite."""
    names: tuple[str, ...] = ()
    """Names of tools that not every provider accepts."""
    marks: int = 0
    """The number of cache marks."""
    types: bool = False
    """Whether an image has another type than its block names."""


def oddities_of(message: Message) -> Oddities | None:
    """Return the parts of a message, in its accepted form, that some reader may refuse, or None if there are none."""
    # Most messages have nothing odd: a look at their JSON is faster than a walk through their parts.
    try:
        encoded = orjson.dumps(message)
        may_have_text = b"null" in encoded  # `orjson` writes null for a number that is not finite
        may_have_marks = b'"cache_control"' in encoded
        may_have_media = b'"base64"' in encoded
    except TypeError:  # half a surrogate pair, or a number that `orjson` does not write
        may_have_text = True
        may_have_marks = True
        may_have_media = False
    text = may_have_text and well_formed_value(message) != message
    tool_names = [given_name_of(call) for call in given_calls(message).values()]
    result_name = _result_name(message)
    if result_name:
        tool_names.append(result_name)
    names = tuple(name for name in tool_names if _NARROWEST.name(name) != name)
    marks = _marks_in(message.get("content")) if may_have_marks else 0
    types = (text or may_have_media) and with_true_types(message) is not message
    if not (text or names or marks or types):
        return None
    return Oddities(text, names, marks, types)


def _result_name(message: Message) -> str:
    """Return the tool's name in a result, or "" if the message is not a result or has no name."""
    name = message.get("name")
    if message.get("role") not in ("tool", "function") or not isinstance(name, str):
        return ""
    return name


def sendable(message: Message, rules: WireRules, marks: int) -> Message:
    """Return a copy of a message that the reader accepts. The ids of calls stay unchanged.

    Args:
        message: the message in its accepted form.
        rules: the reader's rules.
        marks: the number of cache marks that stay, counted from the first.
    """
    if rules.true_types:
        message = with_true_types(message)
    changed: Message = well_formed_value(message)
    calls = changed.get("tool_calls")
    if isinstance(calls, list):
        changed["tool_calls"] = [_renamed(call, rules) for call in calls]
    result_name = _result_name(changed)
    if result_name:
        changed["name"] = rules.name(result_name)
    content = changed.get("content")
    if isinstance(content, list):
        marks_left = iter(range(marks))
        renamed = [_renamed(block, rules) if is_block(block, CALL_BLOCKS) else block for block in content]
        changed["content"] = [_with_marks(block, marks_left) for block in renamed]
    return changed


def _renamed(call: Any, rules: WireRules) -> Any:
    """Return a call with a tool name that the reader accepts."""
    given_name = given_name_of(call)
    name = rules.name(given_name)
    if name == given_name:
        return call
    function = call.get("function")
    if isinstance(function, dict):
        call = {**call, "function": {**function, "name": name}}
    own = "name" if is_block(call, CALL_BLOCKS) else "tool"
    forms = [form for form in _FORMS if isinstance(call.get(form), str) or (form == own and not function)]
    return {**call, **dict.fromkeys(forms, name)}


def _marks_in(content: Any) -> int:
    """Count the cache marks of blocks and of the blocks within them."""
    if not isinstance(content, list):
        return 0
    marks = 0
    for block in content:
        if isinstance(block, dict):
            marks += "cache_control" in block
            marks += _marks_in(block.get(_inner_key(block)))
    return marks


def _with_marks(block: Any, marks_left: Iterator[int]) -> Any:
    """Return a block without the cache marks beyond `marks_left`. Marks of inner blocks are counted first."""
    if not isinstance(block, dict):
        return block
    key = _inner_key(block)
    inner = block.get(key)
    if isinstance(inner, list):
        block = {**block, key: [_with_marks(block_within, marks_left) for block_within in inner]}
    if "cache_control" in block and next(marks_left, None) is None:
        return {name: value for name, value in block.items() if name != "cache_control"}
    return block


def _inner_key(block: Message) -> str:
    """Return the key under which a block has inner blocks: `content`, or `output` in some results."""
    has_output = block.get("type") == "tool_result" and "output" in block
    return "output" if has_output else "content"


def well_formed_value(value: Any) -> Any:
    """Return a copy of a JSON value in which all texts (also keys) and numbers can be encoded.

    The value of a key `message_id` is not changed, because hosts name a message by it.
    """
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, list):
        return [well_formed_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    copy = {}
    for key, inner in value.items():
        copy[well_formed(key)] = inner if key == "message_id" else well_formed_value(inner)
    return copy
