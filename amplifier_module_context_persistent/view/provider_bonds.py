"""What is bound to the provider that made it, and what of it a view leaves out.

Two kinds of things in an answer are for its maker alone:

- *Bonds*: thinking with its signature, redacted thinking, encrypted reasoning, compaction items. Another provider, and
  often another model, refuses them: a request with one of them fails, and so does each one after it.
- *Chains*: the id of a response that a server keeps. A request that names it gets back all that the server knows of
  the conversation before it, so an id from before a plan brings back what the plan left out.

Who takes what is in `readers`, with sources; `reasoning` says what of it stands as it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages.message import THINKING_BLOCKS, Message
from ..messages.metadata import bound_to, metadata_of
from .readers import ANTHROPIC, FAMILIES, GEMINI, OPENAI, Bond, family_of

CHAIN_NAMES = frozenset({"response_id", "previous_response_id", "interaction_id", "previous_interaction_id"})
"""Metadata that names what a server keeps of the conversation so far.

A key is one of them with or without what stands before a colon (`openai:response_id`), or below the name of a family.
"""

_REPEATS = frozenset({"wire_content"})
"""Metadata that repeats an answer as its server gave it: a provider's module sends that in place of the content."""

_REASONING_NAMES = _REPEATS | frozenset(
    {
        *("reasoning_items", "reasoning_details", "encrypted_content", "reasoning", "compaction", "thinking_binding"),
        *("thought_signature", "thought_signatures", "signature"),
    }
)
"""Metadata that holds what is bound, likewise: providers' modules send it with the message."""

BOND_NAMES = CHAIN_NAMES | _REASONING_NAMES
"""Metadata that only its maker understands."""

_SIGNATURES = ("signature", "thought_signature", "thoughtSignature", "encrypted_content")


def bond_of(message: Message, asked: tuple[str, str]) -> Bond | None:
    """Who made what is bound in a message; None where nothing is.

    Args:
        message: the message.
        asked: the provider and the model that were asked for it, by its request's receipt; empty where nobody knows.
    """
    metadata = metadata_of(message)
    may_be, is_bound = _makers(message)
    is_reasoning = is_bound or _has_names(metadata, _REASONING_NAMES)
    if not is_reasoning and not _has_names(metadata, CHAIN_NAMES):
        return None
    named = {family for key in metadata if (family := _namespace(key)) in FAMILIES}
    provider, model = _text(metadata, message, "provider"), _text(metadata, message, "model")
    said = family_of(provider, model) if provider or model else ""
    shown = next(iter(may_be)) if len(may_be) == 1 else next(iter(named)) if len(named) == 1 else ""
    family = said or shown
    if not provider and asked[0] and (not family or family_of(*asked) == family):
        provider, model, family = asked[0], model or asked[1], family_of(*asked)
    return Bond(family, provider, model or _compacting_model(metadata), may_be, _has_unsigned(message), is_reasoning)


def _makers(message: Message) -> tuple[frozenset[str], bool]:
    """The families that can have made a message's blocks, by their form; and whether anything in them is bound."""
    may_be, is_bound = FAMILIES, False
    for block in [message.get("thinking_block"), *_blocks(message, "content"), *_blocks(message, "tool_calls")]:
        if not isinstance(block, dict):
            continue
        kind, signed = str(block.get("type")), any(block.get(key) for key in _SIGNATURES)
        is_bound = is_bound or signed or kind in THINKING_BLOCKS
        if kind == "redacted_thinking":
            may_be &= {ANTHROPIC}
        elif kind == "reasoning" or (kind == "thinking" and block.get("content")):
            may_be &= {OPENAI}
        elif signed:
            may_be &= {ANTHROPIC, GEMINI} if kind == "thinking" else {GEMINI}
    return may_be, is_bound


def _has_unsigned(message: Message) -> bool:
    """Whether visible thinking has no signature: in the content, or where that has none, beside it."""
    blocks = [block for block in _blocks(message, "content") if _is_thinking(block)]
    own = message.get("thinking_block")
    thinking = blocks or ([own] if _is_thinking(own) else [])
    return any(not block.get("signature") and not block.get("content") for block in thinking)


def _is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "thinking"


def _compacting_model(metadata: Mapping[str, Any]) -> str:
    """The model that made a compaction item: it says so itself."""
    for key, value in metadata.items():
        if key.rpartition(":")[2] == "compaction" and isinstance(value, dict) and isinstance(value.get("model"), str):
            return str(value["model"])
    return ""


def sent_metadata(message: Message) -> Message:
    """What of a message's metadata is sent with it: what is bound to its maker. Ids of responses are no content."""
    return _only_names(metadata_of(message), _REASONING_NAMES)


def lacks_reasoning(message: Message) -> bool:
    """Whether an answer of a view lacks the reasoning that it was stored with; its request is named all the same."""
    if not bound_to(message):
        return False
    bond = bond_of(message, ("", ""))
    return bond is None or not bond.reasoning


def names_chain(message: Message) -> bool:
    """Whether a message's metadata names what a server keeps, or repeats its answer."""
    return _has_names(metadata_of(message), CHAIN_NAMES | _REPEATS)


def without_chain(message: Message) -> Message:
    """The message without what names a server's copy of the conversation; a new object."""
    return {**message, "metadata": _without_names(metadata_of(message), CHAIN_NAMES)}


def without_repeats(message: Message) -> Message:
    """The message without what repeats it as it was before it was shortened; a new object."""
    return {**message, "metadata": _without_names(metadata_of(message), _REPEATS)}


def reasons_first(message: Message, *, once: bool) -> bool:
    """Whether nothing stands before an answer's reasoning, nor between its pieces; `once`: whether it is one piece."""
    places = [at for at, block in enumerate(_blocks(message, "content")) if str(_kind(block)) in THINKING_BLOCKS]
    return places == list(range(len(places))) and (len(places) < 2 or not once)


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def without_bonds(message: Message, *, keep_text: bool) -> Message:
    """The message without what is bound to its maker, in all copies; a new object.

    Args:
        message: the message, in its accepted form.
        keep_text: whether the text of visible thinking stays, unsigned.
    """
    changed = {key: value for key, value in message.items() if key != "thinking_block"}
    if isinstance(own := message.get("thinking_block"), dict) and keep_text and (text := _plain_thinking(own)):
        changed["thinking_block"] = text
    for key in ("content", "content_blocks"):
        if isinstance(message.get(key), list):
            kept = [block for one in message[key] if (block := _unbound(one, keep_text=keep_text)) is not None]
            changed[key] = kept or ("" if key == "content" else [])
    if isinstance(calls := message.get("tool_calls"), list):
        changed["tool_calls"] = [_unsigned(call) for call in calls]
    if metadata := metadata_of(message):
        changed["metadata"] = _without_names(metadata, BOND_NAMES)
    return changed


def _unbound(block: Any, *, keep_text: bool) -> Any:
    if not isinstance(block, dict) or str(block.get("type")) not in THINKING_BLOCKS:
        return _unsigned(block)
    return _plain_thinking(block) if keep_text else None


def _plain_thinking(block: Message) -> Message | None:
    """Visible thinking without what is bound; None where there is none."""
    text = block.get("thinking")
    return {"type": "thinking", "thinking": text} if isinstance(text, str) and text.strip() else None


def _unsigned(block: Any) -> Any:
    if not isinstance(block, dict) or not any(key in block for key in _SIGNATURES):
        return block
    return {key: value for key, value in block.items() if key not in _SIGNATURES}


def _blocks(message: Message, key: str) -> list[Any]:
    value = message.get(key)
    return value if isinstance(value, list) else []


def _namespace(key: Any) -> str:
    """The family that a key of metadata is named after; empty where it is none."""
    first, colon, _ = str(key).partition(":")
    family = family_of(first)
    return family if family in FAMILIES and (colon or first == family) else ""


def _has_names(metadata: Mapping[str, Any], names: frozenset[str]) -> bool:
    return any(
        _is_named(key, names) or (_inner(key, value) and _has_names(value, names)) for key, value in metadata.items()
    )


def _without_names(metadata: Mapping[str, Any], names: frozenset[str]) -> Message:
    return {
        key: _without_names(value, names) if _inner(key, value) else value
        for key, value in metadata.items()
        if not _is_named(key, names)
    }


def _only_names(metadata: Mapping[str, Any], names: frozenset[str]) -> Message:
    picked = {key: value for key, value in metadata.items() if _is_named(key, names)}
    inner = {key: _only_names(value, names) for key, value in metadata.items() if _inner(key, value)}
    return picked | {key: value for key, value in inner.items() if value}


def _is_named(key: Any, names: frozenset[str]) -> bool:
    return str(key).rpartition(":")[2] in names


def _inner(key: Any, value: Any) -> bool:
    """Whether it is what a family keeps below its own name."""
    return isinstance(value, dict) and str(key) in FAMILIES


def _text(first: Mapping[str, Any], second: Mapping[str, Any], key: str) -> str:
    value = first.get(key) or second.get(key)
    return value if isinstance(value, str) else ""
