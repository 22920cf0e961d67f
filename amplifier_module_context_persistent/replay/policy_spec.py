"""A policy as a person names it: `NAME`, or `NAME:OPTION=VALUE,OPTION=VALUE`.

A name is one of `policies.POLICIES`, or `default`; an option is any of the configuration that says how views are made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..config import STRATEGIES, Config
from ..errors import ConfigError, ContextPersistentError
from .policies import POLICIES, Open


class PolicyError(ContextPersistentError, ValueError):
    """There is no such policy, or it has no such option; the message names what there is."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A policy as a person named it, with the options that it is opened with."""

    name: str
    open: Open
    options: Mapping[str, Any]


NAMES = ("none", "default", *STRATEGIES, "stateless", "sliding")
"""What `policy_of` knows."""

_NOT_PLAYED = {
    "auto_save",
    "compaction_strategy",
    "durability",
    "lock_timeout_s",
    "max_record_bytes",
    "max_tokens",
    "memory_files",
    "receipts",
    "require_persistence",
    "restore_system_prompt",
    "storage_path",
    "token_meter",
    "tokenizer",
    "transcript_path",
}
OPTIONS = tuple(sorted(Config.options().keys() - _NOT_PLAYED))
"""The options that a policy may be given: all that say how views are made."""


def policy_of(text: str) -> Chosen:
    """Read a policy: `NAME` or `NAME:OPTION=VALUE,OPTION=VALUE`, values as in JSON, or plain words.

    Raises:
        PolicyError: no policy has that name, no option that name, or a value is not allowed.
    """
    name, _, rest = text.strip().partition(":")
    if name not in NAMES:
        raise PolicyError(f"there is no policy {name!r:.80}; known: {', '.join(NAMES)}")
    options = dict(_option(one) for one in rest.split(",") if one.strip())
    if options and name == "none":
        raise PolicyError("the policy none compacts nothing and has no options")
    chosen = POLICIES["truncate" if name == "default" else name]
    try:
        Config.load(options)
    except ConfigError as error:
        raise PolicyError(f"{name}: {error}") from error
    return Chosen(text.strip(), chosen, options)


def _option(text: str) -> tuple[str, Any]:
    key, given, value = text.partition("=")
    key = key.strip()
    if key not in OPTIONS or not given:
        raise PolicyError(f"{text.strip()!r:.80} is no option; write NAME=VALUE with one of: {', '.join(OPTIONS)}")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value.strip()
