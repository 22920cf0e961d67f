"""Counting: how many tokens a provider counts for a text or a message.

Rules of this module:

- It is pure. The same message and the same counter give the same number in every process; nothing is mutated, and no
  message, however malformed, makes it raise.
- Everything that is sent to the provider is counted: role, name, ids, content, tool calls once, thinking once.
  Metadata, `visibility` and the copies that orchestrators keep (`thinking_block`, `content_blocks`) are not counted.
- `open_counter` never touches the network unless an encoding is asked for by name, is not on this machine, and the
  caller allows it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from . import media
from .estimate import estimate_tokens
from .vocabularies import VOCABULARIES, download_encoding, load_encoding

if TYPE_CHECKING:
    import tiktoken

logger = logging.getLogger(__name__)

MESSAGE_TOKENS: Final = 3
"""Tokens of the frame around a message. Source: OpenAI's cookbook, "How to count tokens with tiktoken": 3 tokens and
the role's.
"""

CALL_TOKENS: Final = 8
"""Tokens of the frame around a tool call or a tool result: an estimate for tags and keys; no provider publishes the
number.
"""

_PIECE_CHARS: Final = 50_000
_MAX_DEPTH: Final = 32
_LABEL_CHARS: Final = 200
_TEXT_KINDS: Final = frozenset(("text", "input_text", "output_text", "summary_text", "reasoning_text"))
_CALL_KINDS: Final = frozenset(("tool_call", "tool_use", "function_call", "server_tool_use"))
_RESULT_KINDS: Final = frozenset(("tool_result", "function_call_output"))

_SEALED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "thinking": ("thinking", ("signature", "content")),
    "redacted_thinking": ("", ("data",)),
    "reasoning": ("summary", ("content", "encrypted_content")),
}
"""The keys of a thinking block's text and of its encrypted form, by the block's kind. If a provider shows only a
summary, the encrypted form contains the whole thinking. So the larger of the two counts is used.
"""

ENCODINGS: Final = tuple(VOCABULARIES)
"""The encodings that `open_counter` knows by name."""


class TokenCounter(Protocol):
    """Counts the tokens of texts; hashable. Its `name` is in the log's header: `estimate`, or an encoding's name."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """The counter's name."""

    def count_text(self, text: str) -> int:
        """Return the number of tokens of a text; 0 for the empty text."""


@dataclass(frozen=True, slots=True)
class EstimateCounter:
    """A token counter that estimates the tokens of a text (`estimate_tokens`). It needs no vocabulary."""

    name: str = "estimate"

    def count_text(self, text: str) -> int:
        """Return the estimated number of `o200k_base` tokens of a text."""
        return estimate_tokens(text)


@dataclass(frozen=True, slots=True)
class TiktokenCounter:
    """A token counter that uses a vocabulary of tiktoken.

    Texts over 50,000 characters are counted in pieces, because for a run without spaces, tiktoken's time grows faster
    than the length of the run. A piece ends at a line break or a space if there is one, so the sum differs from the
    exact count by at most two tokens a piece.
    """

    encoding: tiktoken.Encoding
    name: str

    def count_text(self, text: str) -> int:
        """Return the number of tokens of a text; special tokens in the text are counted as ordinary text."""
        if len(text) <= _PIECE_CHARS:
            return len(self.encoding.encode_ordinary(text))
        return sum(len(self.encoding.encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE_CHARS:
        limit = start + _PIECE_CHARS
        # Cut before the white space, which belongs to the next word.
        cut = max(text.rfind("\n", start + _PIECE_CHARS // 2, limit), text.rfind(" ", limit - 1000, limit))
        cut = cut if cut > start else limit
        yield text[start:cut]
        start = cut
    yield text[start:]


def open_counter(tokenizer: str = "auto", *, allow_network: bool = False, timeout_s: float = 10.0) -> TokenCounter:
    """Return the counter that a configuration names.

    Loading a vocabulary takes about a quarter of a second and reads a file: do not call this function on the event
    loop.

    Args:
        tokenizer: `auto`, which is `o200k_base` if its vocabulary is on this machine and else the estimate; `estimate`;
            or one of `ENCODINGS`.
        allow_network: let tiktoken download a named vocabulary that is not on this machine. Ignored for `auto` and
            `estimate`.
        timeout_s: how long a download may take, in seconds.

    Returns:
        The counter; its `name` says which one it is. If the vocabulary of a named encoding is not available, this is
        the estimate, and a warning is logged once.

    Raises:
        ValueError: the name is not known; the message lists the known ones.
    """
    if tokenizer == "estimate":
        return EstimateCounter()
    name = "o200k_base" if tokenizer == "auto" else tokenizer
    if name not in ENCODINGS:
        allowed = ", ".join(("auto", "estimate", *ENCODINGS))
        raise ValueError(f"tokenizer: {tokenizer!r} is not known; allowed are: {allowed}")
    encoding = load_encoding(name)
    if encoding is None and allow_network and tokenizer != "auto":
        encoding = download_encoding(name, timeout_s)
    if encoding is not None:
        return TiktokenCounter(encoding, name)
    if tokenizer != "auto":
        logger.warning(
            "tokenizer %s: its vocabulary is not on this machine%s; counting by the estimate. "
            "The extra `exact` installs it, or put it into tiktoken's cache directory.",
            name,
            " and could not be downloaded" if allow_network else "",
        )
    return EstimateCounter()


def count_message(message: Mapping[str, object], counter: TokenCounter) -> int:
    """Return the number of tokens that a message adds to a request: its parts and the frame around them.

    Counted: role, `name` and `tool_call_id`; the content, a text or blocks; each tool call once, from `tool_calls` (in
    Amplifier's or the function shape) or else from its block in the content; thinking once; images, documents and
    audio by the rules of `media`; blocks of unknown kinds by their compact JSON. Not counted: `metadata`,
    `visibility`, and keys that no provider module sends.

    Args:
        message: a stored message; any JSON value is accepted in any place.
        counter: counts the texts.

    Returns:
        Tokens, at least `MESSAGE_TOKENS`.
    """
    tokens = MESSAGE_TOKENS
    for key in ("role", "name"):
        value = message.get(key)
        if isinstance(value, str):
            tokens += _label_tokens(value, counter)
    call_id = message.get("tool_call_id")
    if call_id is not None:
        tokens += CALL_TOKENS + (_label_tokens(call_id, counter) if isinstance(call_id, str) else 0)
    calls = message.get("tool_calls")
    called: set[str] = set()
    if isinstance(calls, list | tuple):
        tokens += sum(_count_call(call, counter) for call in calls)
        called.update(call_id for call_id in map(_call_id, calls) if call_id)
    content = message.get("content")
    blocks = _Blocks(counter, called)
    tokens += blocks.count(content)
    copy = message.get("thinking_block")
    if isinstance(copy, Mapping) and not _holds_thinking(content):
        tokens += blocks.count([copy])
    return tokens


def _label_tokens(label: str, counter: TokenCounter) -> int:
    """Return the number of tokens of a role, a tool's name or a call's id.

    The numbers of short labels are cached: the same few names occur in many messages, and the id of a call is counted
    in the call, in its result, and each time that a plan shortens the result.
    """
    return _short_label_tokens(label, counter) if len(label) <= _LABEL_CHARS else counter.count_text(label)


@lru_cache(maxsize=2048)
def _short_label_tokens(label: str, counter: TokenCounter) -> int:
    return counter.count_text(label)


def _call_id(call: object) -> str:
    """Return the id of a call in any form; "" for a call without an id."""
    if not isinstance(call, Mapping):
        return ""
    call_id = call.get("id") or call.get("call_id")
    return call_id if isinstance(call_id, str) else ""


def _count_call(call: object, counter: TokenCounter) -> int:
    """Return the number of tokens of a tool call in any shape: its id, its name, and its arguments as JSON."""
    if not isinstance(call, Mapping):
        return counter.count_text(_json_text(call))
    function = call.get("function")
    body = function if isinstance(function, Mapping) else call
    name = body.get("name")
    if not isinstance(name, str):
        name = body.get("tool")
    if not isinstance(name, str):
        name = ""
    arguments = body["arguments"] if "arguments" in body else body.get("input")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = _json_text(arguments)
    label_tokens = _label_tokens(_call_id(call), counter) + _label_tokens(name, counter)
    return CALL_TOKENS + label_tokens + counter.count_text(arguments)


def _holds_thinking(content: object) -> bool:
    if not isinstance(content, list | tuple):
        return False
    kinds = [block.get("type") for block in content if isinstance(block, Mapping)]
    return "thinking" in kinds or "redacted_thinking" in kinds


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Counts the tokens of one message's content. Calls whose ids are in `called` are not counted again."""

    counter: TokenCounter
    called: Set[str]

    def count(self, content: object, depth: int = 0) -> int:
        """Return the number of tokens of a content: a text, a block, a list of both, or any other JSON value."""
        if content is None:
            return 0
        if isinstance(content, str):
            return self.counter.count_text(content)
        if depth > _MAX_DEPTH:
            return self.counter.count_text(_json_text(content))
        if isinstance(content, list | tuple):
            return sum(self.count(block, depth + 1) for block in content)
        if isinstance(content, Mapping) and isinstance(content.get("type"), str):
            return self._count_block(content, str(content["type"]), depth + 1)
        return self.counter.count_text(_json_text(content))

    def _count_block(self, block: Mapping[str, object], kind: str, depth: int) -> int:
        if kind in _TEXT_KINDS:
            tokens = self.count(block.get("text"), depth)
            original = block.get("original")  # the block that the text describes (`messages/uncarried_blocks.py`)
            if isinstance(original, Mapping):
                tokens = max(tokens, self.count(original, depth))
            return tokens
        if kind in _SEALED:
            readable_key, sealed_keys = _SEALED[kind]
            sealed_tokens = sum(_sealed_tokens(block.get(key)) for key in sealed_keys)
            return max(self.count(block.get(readable_key), depth), sealed_tokens)
        if kind in _CALL_KINDS:
            is_counted = _call_id(block) in self.called
            return 0 if is_counted else _count_call(block, self.counter)
        if kind in _RESULT_KINDS:
            return self._count_result(block, depth)
        if kind in media.MEDIUM_KINDS:
            return self._count_medium(block, media.MEDIUM_KINDS[kind], depth)
        counted_fields = {key: value for key, value in block.items() if key != "visibility"}
        return self.counter.count_text(_json_text(counted_fields))

    def _count_result(self, block: Mapping[str, object], depth: int) -> int:
        tokens = CALL_TOKENS
        for key in ("tool_call_id", "tool_use_id", "call_id"):
            call_id = block.get(key)
            if isinstance(call_id, str):
                tokens += self.counter.count_text(call_id)
                break
        output = block["output"] if "output" in block else block.get("content")
        return tokens + self.count(output, depth)

    def _count_medium(self, block: Mapping[str, object], family: str, depth: int) -> int:
        source = media.source_of_medium(block)
        if source.get("type") in ("text", "content"):  # a document whose body is a text or blocks
            return self.count(source.get("data", source.get("content")), depth)
        data = media.body_in(source)
        if data is not None and data.startswith("data:"):
            media_type = media.type_in_address(data)
        else:
            media_type = media.first_text(source, media.TYPE_KEYS) or ""
        return media.medium_tokens(family, media_type, data)


def _sealed_tokens(value: object) -> int:
    """Return the number of tokens of encrypted reasoning, from its length.

    Encrypted reasoning is base64 (4 characters for 3 bytes) of text with about 4 bytes a token.
    """
    items = value if isinstance(value, list | tuple) else (value,)
    return sum(len(item) * 3 // 16 for item in items if isinstance(item, str))


def _json_text(value: object) -> str:
    """Return a value as compact JSON."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # integers of more than 64 bits, half a surrogate pair
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
