"""What is bound to the provider that made it, and what of it a view leaves out.

Two kinds of things in an answer are for its maker alone:

- *Bonds*: thinking with its signature, redacted thinking, encrypted reasoning, compaction items. Another provider, and
  often another model, refuses them: a request with one of them fails, and so does each one after it.
- *Chains*: the id of a response that a server keeps. A request that names it gets back all that the server knows of
  the conversation before it, so an id from before a plan brings back what the plan left out.

Sources: Anthropic, "Extended thinking" and "Preserved thinking" (a signature is valid for all Claude models on all
platforms; what a model cannot read is dropped by the API); OpenAI, "Reasoning models" and the errors
`invalid_encrypted_content` that its users report (encrypted content is bound to an organization); Google, "Thought
signatures" (a signature of another model is refused).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..messages.message import THINKING_BLOCKS, Message
from ..messages.metadata import metadata_of

ANTHROPIC, OPENAI, GEMINI = "anthropic", "openai", "gemini"
_FAMILIES = (
    (ANTHROPIC, ("anthropic", "claude")),
    (OPENAI, ("openai", "codex", "chatgpt", "gpt-", "o1-", "o3-", "o4-")),
    (GEMINI, ("gemini", "google")),
)
_KNOWN = frozenset({ANTHROPIC, OPENAI, GEMINI})

CHAIN_NAMES = frozenset(
    {"response_id", "previous_response_id", "interaction_id", "previous_interaction_id", "wire_content"}
)
"""Metadata that names what a server keeps of the conversation so far, or repeats an answer as it stood in it.

A key is one of them with or without what stands before a colon (`openai:response_id`), or below the name of a family.
"""

BOND_NAMES = CHAIN_NAMES | {
    *("reasoning_items", "reasoning_details", "encrypted_content", "reasoning", "compaction", "thinking_binding"),
    *("thought_signature", "thought_signatures", "signature"),
}
"""Metadata that only its maker understands, likewise."""

_SIGNATURES = ("signature", "thought_signature", "thoughtSignature", "encrypted_content")
_NAME_CHARS = 64  # as receipts keep them
_SNAPSHOT = re.compile(r"(?:[-@](?:latest|\d{4}-?\d{2}-?\d{2}|\d{3}))?(?:-v\d+)?(?::\w+)?$")


@lru_cache(maxsize=256)
def family_of(provider: str, model: str = "") -> str:
    """The family of a provider: that of its model, else of its name; its own name where neither is known."""
    for name in (model.lower(), provider.lower()):
        for family, parts in _FAMILIES:
            if any(part in name for part in parts):
                return family
    return provider.lower()


@dataclass(frozen=True, slots=True)
class Bond:
    """Who made what is bound in a message, as far as it is known."""

    family: str = ""
    provider: str = ""
    model: str = ""
    may_be: frozenset[str] = _KNOWN
    """Of the families in the table, those that can have made it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who gets a view."""

    provider: str
    model: str = ""

    @classmethod
    def of(cls, provider: str, model: str) -> Reader | None:
        """The reader that a request names; None where it names none."""
        return cls(provider[:_NAME_CHARS], model[:_NAME_CHARS]) if provider else None

    @property
    def family(self) -> str:
        """Its family."""
        return family_of(self.provider, self.model)

    @property
    def takes_plain_thinking(self) -> bool:
        """Whether it may get the text of another one's thinking: those that sign their own refuse what is unsigned."""
        return self.family not in _KNOWN

    def refuses(self, bond: Bond) -> bool:
        """Whether it would refuse what somebody made; what nobody is known to have made is given."""
        family = self.family
        if not bond.family:
            return family in _KNOWN and family not in bond.may_be
        if bond.family != family:
            return True
        if family == ANTHROPIC:
            return False
        other = bond.provider != "" and bond.provider.lower() != self.provider.lower()
        return other or (bond.model != "" and self.model != "" and _plain(bond.model) != _plain(self.model))


@lru_cache(maxsize=256)
def _plain(model: str) -> str:
    """A model's name without what routers put before it and the date after it."""
    return _SNAPSHOT.sub("", model.lower().rpartition("/")[2])


def bond_of(message: Message, asked: tuple[str, str]) -> Bond | None:
    """Who made what is bound in a message; None where nothing is.

    Args:
        message: the message.
        asked: the provider and the model that were asked for it, by its request's receipt; empty where nobody knows.
    """
    metadata = metadata_of(message)
    may_be, is_bound = _makers(message)
    if not is_bound and not _has_names(metadata, BOND_NAMES):
        return None
    named = {family for key in metadata if (family := _namespace(key)) in _KNOWN}
    provider, model = _text(metadata, message, "provider"), _text(metadata, message, "model")
    said = family_of(provider, model) if provider or model else ""
    shown = next(iter(may_be)) if len(may_be) == 1 else next(iter(named)) if len(named) == 1 else ""
    family = said or shown
    if not provider and asked[0] and (not family or family_of(*asked) == family):
        provider, model, family = asked[0], model or asked[1], family_of(*asked)
    return Bond(family, provider, model or _compacting_model(metadata), may_be)


def _makers(message: Message) -> tuple[frozenset[str], bool]:
    """The families that can have made a message's blocks, by their form; and whether anything in them is bound."""
    may_be, is_bound = _KNOWN, False
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


def _compacting_model(metadata: Mapping[str, Any]) -> str:
    """The model that made a compaction item: it says so itself."""
    for key, value in metadata.items():
        if key.rpartition(":")[2] == "compaction" and isinstance(value, dict) and isinstance(value.get("model"), str):
            return str(value["model"])
    return ""


def names_chain(message: Message) -> bool:
    """Whether a message's metadata names what a server keeps."""
    return _has_names(metadata_of(message), CHAIN_NAMES)


def without_chain(message: Message) -> Message:
    """The message without what names a server's copy of the conversation; a new object."""
    return {**message, "metadata": _without_names(metadata_of(message), CHAIN_NAMES)}


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
    return family if family in _KNOWN and (colon or first == family) else ""


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


def _is_named(key: Any, names: frozenset[str]) -> bool:
    return str(key).rpartition(":")[2] in names


def _inner(key: Any, value: Any) -> bool:
    """Whether it is what a family keeps below its own name."""
    return isinstance(value, dict) and str(key) in _KNOWN


def _text(first: Mapping[str, Any], second: Mapping[str, Any], key: str) -> str:
    value = first.get(key) or second.get(key)
    return value if isinstance(value, str) else ""
