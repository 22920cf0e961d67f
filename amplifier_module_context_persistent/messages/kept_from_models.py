"""Messages and keys that are for people and other modules, and that no model gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .message import Message, metadata_of

UNSEEN_KEY = "unseen"
"""The key that is true on a message of a host's repair that no view shows, because a model has answered without it."""
_INSTRUCTION_KEY = "amplifier:instruction"
_PUBLIC_PREFIX = "amplifier_public_"
_REFERENCE_ONLY = "amplifier_public_reference_only"
KEEPING_KEYS = frozenset({_REFERENCE_ONLY, UNSEEN_KEY, _INSTRUCTION_KEY})


def is_kept_from_models(message: Mapping[str, Any]) -> bool:
    """Return whether a message is kept for people and programs that read the history, and never sent to a model.

    There are three kinds: rows that a host keeps for reference; messages of a repair, if a model has answered without
    them; and instructions of another module that are not in force.
    """
    return keeps_from_models(metadata_of(message))


def keeps_from_models(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata keep their message from models, as `is_kept_from_models` does for a message."""
    if KEEPING_KEYS.isdisjoint(metadata):
        return False
    if metadata.get(_REFERENCE_ONLY) is True or metadata.get(UNSEEN_KEY) is True:
        return True
    return _INSTRUCTION_KEY in metadata and not _is_in_force(metadata[_INSTRUCTION_KEY])


def _is_in_force(instruction: Any) -> bool:
    """Return whether an instruction that another module registered is in force; True if the instruction has no state.

    amplifier-module-context-simple stores such instructions as system messages, with a `disposition` (its
    `instructions.py`, 2026-10). Here that module is not mounted, so modules that use it inject active instructions
    themselves. An instruction that is pending, delivered or retired is therefore not shown.
    """
    if not isinstance(instruction, Mapping) or "disposition" not in instruction:
        return True
    return bool(instruction["disposition"] == "active")


def for_model(message: Message) -> Message | None:
    """Return a message as models may see it: None if they may not see it, the same object if nothing is hidden."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict):
        return message
    if is_kept_from_models(message):
        return None
    if not any(key.startswith(_PUBLIC_PREFIX) for key in metadata):
        return message
    return {**message, "metadata": {k: value for k, value in metadata.items() if not k.startswith(_PUBLIC_PREFIX)}}
