"""The one frozen configuration, with what each key means and allows; `docs/configuration.md` is checked against it.

A wrong value is an error. `foreign_keys` says which keys of other modules are accepted.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

from ..errors import ConfigError
from ..log.database_location import PREFIXES, why_no_place
from ..log.record_line import MAX_RECORD_BYTES
from ..tokens.counter import ENCODINGS
from .checks import (
    Check,
    at_least,
    flag,
    is_int,
    is_name,
    is_number,
    kinds_of_tools,
    one_of,
    path,
    share,
    share_or_zero,
)
from .foreign_keys import FALLBACK_BUDGET, in_our_keys, nearest_key, told_elsewhere

logger = logging.getLogger(__name__)

FilePath: TypeAlias = str | os.PathLike[str]
Durability: TypeAlias = Literal["fsync", "write"]
TokenMeter: TypeAlias = Literal["actual", "estimate"]
Strategy: TypeAlias = Literal["truncate", "summarize", "native", "sliding_window", "importance"]
LateSystem: TypeAlias = Literal["auto", "system", "reminder"]
Boundary: TypeAlias = Literal["line", "char"]
Verbosity: TypeAlias = Literal["minimal", "normal", "verbose"]

SUMMARIZE = "summarize"
NATIVE = "native"
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
MEMORY = "memory"
"""The `storage` of sessions that are not kept."""
RECALL_LEAST_TOKENS = 10_000

GROUPS = {
    "The log": "transcript_path",
    "Tokens and budgets": "tokenizer",
    "When and how views are compacted": "compact_threshold",
    "Summaries (`compaction_strategy: summarize`)": "summary_prompt",
    "Compaction by the provider (`compaction_strategy: native`)": "native_start",
    "What is compacted last, or never": "protected_recent",
    "How long tool results are shown": "truncate_chars",
    "The compaction notice": "compaction_notice_enabled",
    "Tools for the model": "recall",
}
"""The title of each group of keys in the documentation, and the key with which the group begins."""


def _option(default: Any, allowed: str, check: Check, meaning: str, *, shown: bool = True) -> Any:
    """Make one key; with `shown=False` its value, which may hold a password, is in no error and no representation."""
    metadata = {"allowed": allowed, "check": check, "meaning": meaning}
    if isinstance(default, list):
        return field(default_factory=tuple, metadata=metadata, repr=shown)
    return field(default=default, metadata=metadata, repr=shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys; `docs/configuration.md` has the table, and the managers take them as arguments."""

    transcript_path: FilePath | None = _option(
        None,
        "path of a file",
        path,
        "The log's file; `~` and `{session_id}` expand. A child session gets its own beside it.",
    )
    storage_path: FilePath | None = _option(
        None, "path of a directory", path, "A directory for logs, one a session (also `persistence: {path: …}`)."
    )
    storage: str | None = _option(
        None,
        "`postgresql://…`, `service=…` or `memory`",
        lambda v: v is None or (isinstance(v, str) and (v == MEMORY or v.startswith(PREFIXES))),
        "A PostgreSQL database that keeps the logs, instead of files ([postgres.md](postgres.md)); or nothing does.",
        shown=False,
    )
    project: str | None = _option(
        None,
        "a name without `/`, `\\`, `..` and NUL",
        lambda v: v is None or (isinstance(v, str) and is_name(v)),
        "With a database as `storage`, the project of the session; else its working directory names it.",
    )
    memory_files: Sequence[FilePath] = _option(
        [],
        "list of paths",
        lambda v: isinstance(v, list | tuple) and all(item is not None and path(item) for item in v),
        "Files that a new session begins with, each as a system message `[Context from NAME]`.",
    )
    durability: Durability = _option(
        "fsync",
        "`fsync`, `write`",
        one_of("fsync", "write"),
        "Whether a message survives a power cut, or only a killed process.",
    )
    lock_timeout_s: float = _option(
        10.0,
        "seconds > 0",
        lambda v: is_number(v) and 0 < v < math.inf,
        "How long an append waits for another process.",
    )
    max_record_bytes: int = _option(MAX_RECORD_BYTES, "int ≥ 1024", at_least(1024), "Longer messages are refused.")
    redact_on_write: bool = _option(
        False,
        "bool",
        flag,
        "Whether keys of known services are replaced by `[REDACTED]` before a message is stored. The model does not "
        "see them either. The event `context:redacted_on_write` says what and where, `show` marks the message.",
    )
    require_persistence: bool = _option(
        False, "bool", flag, "Raise an error if no log can be created, instead of continuing in memory."
    )
    auto_save: bool = _option(
        True, "bool", flag, "Accepted for compatibility: every message is saved as it is added, whatever this says."
    )
    receipts: bool = _option(
        True,
        "bool",
        flag,
        "Whether the log keeps a small receipt of every view, from which the view can be rebuilt and proved.",
    )
    recipient: str | None = _option(
        None,
        "`PROVIDER` or `PROVIDER/MODEL`",
        lambda v: v is None or (isinstance(v, str) and v.strip() != ""),
        "For whom views are made if a request names no provider, such as `anthropic/claude-opus-5-5`. Without it, a "
        "view within its budget is the history; no provider's rules for the order of messages and for reasoning apply.",
    )
    restore_system_prompt: bool = _option(
        True,
        "bool",
        flag,
        "Whether a resumed child session without a system prompt gets the text that headed its last view.",
    )
    tokenizer: str = _option(
        "auto",
        "`auto`, `estimate`, an encoding's name",
        one_of("auto", "estimate", *ENCODINGS),
        "How tokens are counted: `auto` takes an exact vocabulary that is on this machine, else the estimate.",
    )
    token_meter: TokenMeter = _option(
        "actual",
        "`actual`, `estimate`",
        one_of("actual", "estimate"),
        "Whether budgets are corrected by what the provider reports (`llm:response`).",
    )
    max_tokens: int = _option(
        200_000,
        "int > 0",
        at_least(1),
        "The budget if the provider gives no window; if configured, a cap on every budget. If not, no budget but an "
        "explicit one reaches a step in the tariff of the model, above which whole requests cost more.",
    )
    max_request_bytes: int = _option(
        20_000_000,
        "int ≥ 100,000",
        at_least(100_000),
        "The most bytes of a request; where the provider takes fewer, that many. Images are left out first.",
    )
    max_images: int = _option(
        90, "int ≥ 0", at_least(0), "The most images of a request; where the provider takes fewer, that many."
    )
    max_messages: int | None = _option(
        None,
        "int > 1",
        lambda v: v is None or (is_int(v) and v > 1),
        "The most messages that a view may have, but for what always stays and for markers of what is left out.",
    )
    output_reserve_fraction: float = _option(
        1.0, "0 ≤ share ≤ 1", share_or_zero, "The share of the provider's `max_output_tokens` that is kept free."
    )
    compact_threshold: float = _option(
        0.92, "0 < share ≤ 1", share, "A view at this share of the budget is compacted (also `compaction_threshold`)."
    )
    target_usage: float = _option(
        0.5, "0 < share < `compact_threshold`", share, "The share of the budget that compaction goes down to."
    )
    cache_ttl_s: float | None = _option(
        None,
        "seconds ≥ 0",
        lambda v: v is None or (is_number(v) and 0 <= v < math.inf),
        "How long the provider keeps what it cached; none: as its family does. The first request after that pays for "
        "every token, so it plans early and further down. `0`: pauses change nothing.",
    )
    compact_min_gain: float = _option(
        0.05, "0 ≤ share ≤ 1", share_or_zero, "A plan that frees less than this share of the budget is not made."
    )
    compaction_strategy: Strategy = _option(
        "truncate", ", ".join(f"`{name}`" for name in STRATEGIES), one_of(*STRATEGIES), "How views are made smaller."
    )
    keep_recent: int = _option(
        50,
        "int ≥ 0",
        at_least(0),
        "`sliding_window`: how many of the newest messages stay, widened to whole tool groups.",
    )
    summary_prompt: str | None = _option(
        None,
        "text",
        lambda v: v is None or (isinstance(v, str) and v.strip() != ""),
        "The prompt that the provider gets, instead of the one in `docs/summaries.md`.",
    )
    summary_max_tokens: int = _option(2_000, "int ≥ 100", at_least(100), "The most tokens that a summary may have.")
    summary_timeout_s: float = _option(
        120.0,
        "seconds > 0",
        lambda v: is_number(v) and 0 < v < math.inf,
        "How long a summary may take; then the plan is made without one.",
    )
    native_start: float = _option(
        0.7,
        "0 < share ≤ 1",
        share,
        "The share of the budget from which the provider is asked to compact, in the background.",
    )
    native_max_tokens: int = _option(
        4_096, "int ≥ 100", at_least(100), "The most tokens that the provider may write for an item."
    )
    native_timeout_s: float = _option(
        300.0,
        "seconds > 0",
        lambda v: is_number(v) and 0 < v < math.inf,
        "How long the provider may take for an item; the conversation does not wait for it.",
    )
    protected_recent: float = _option(
        0.3, "0 ≤ share ≤ 1", share_or_zero, "The newest share of the target's tokens that is compacted last."
    )
    protected_tool_results: int = _option(
        5, "int ≥ 0", at_least(0), "How many of the newest tool results are elided last."
    )
    protect_first: int = _option(
        0, "int ≥ 0", at_least(0), "How many of the first messages are never compacted, up to half the target."
    )
    protect_last: int = _option(
        0, "int ≥ 0", at_least(0), "How many of the last messages are never compacted, up to half the target."
    )
    preserve_system: bool = _option(
        True, "bool", flag, "Whether stored system messages are never compacted, but for hooks' in the conversation."
    )
    late_system: LateSystem = _option(
        "auto",
        "`auto`, `system`, `reminder`",
        one_of("auto", "system", "reminder"),
        "How system messages after the first message of the conversation are shown: as system messages, or in the same "
        "places as a user's `<system-reminder>`. `auto`: as reminders in logs that begin so, as system messages in "
        "older ones.",
    )
    keep_ephemerals: bool = _option(
        False,
        "bool",
        flag,
        "Whether ephemeral messages are stored, hidden from history and search, so that after a restart views go on as "
        "they began and keep the reasoning after them.",
    )
    truncate_chars: int = _option(
        1200, "int ≥ 0", at_least(0), "Characters that stay of an elided tool result, half of them its end."
    )
    truncate_boundary: Boundary = _option(
        "line", "`line`, `char`", one_of("line", "char"), "Whether an elided text is cut at the ends of lines."
    )
    offload_threshold: int | None = _option(
        None,
        "int > 0",
        lambda v: v is None or (is_int(v) and v > 0),
        "A tool result of more tokens is shown as head and tail from its first view on; decided when it is added.",
    )
    preview_tokens: int = _option(
        500, "int ≥ 0", at_least(0), "How many tokens are shown of a result over `offload_threshold`."
    )
    tool_kinds: Mapping[str, str] | None = _option(
        None,
        "names of tools, each with `read`, `change`, `todo`, `run` or `other`; for the first two also `KIND:ARGUMENT`",
        kinds_of_tools,
        "What tools of your own do, where their names do not say it: which ones read and change files (and which "
        "argument names the file), keep the list of what to do, or run commands.",
    )
    compaction_notice_enabled: bool = _option(
        True, "bool", flag, "Whether a view says that messages were left out, in each place and in all."
    )
    compaction_notice_verbosity: Verbosity = _option(
        "normal", "`minimal`, `normal`, `verbose`", one_of("minimal", "normal", "verbose"), "How much the notice says."
    )
    compaction_notice_min_level: int = _option(
        1, "int ≥ 0", at_least(0), "The compaction step from which on there is a notice."
    )
    compaction_notice_token_reserve: int = _option(
        800, "int ≥ 0", at_least(0), "The most tokens that the notice may take."
    )
    recall: bool = _option(
        True,
        "bool",
        flag,
        "Whether the tool `recall` is mounted, which reads back what views leave out (`max_tokens` ≥ 10,000).",
    )
    pin: bool = _option(
        False,
        "bool",
        flag,
        "Whether the tool `pin` is mounted, with which the model protects a message from compaction.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Options):
    """A configuration that was checked; managers can share it. `load` makes one.

    Example:
        >>> config = Config.load({"max_tokens": 100_000, "durability": "write"})
        >>> config.max_tokens, config.compact_threshold
        (100000, 0.92)
        >>> sorted(config.given())
        ['durability', 'max_tokens']
    """

    configured: frozenset[str] = frozenset()
    """The keys that were given; `max_tokens` caps the budget only then."""

    @property
    def offers_recall(self) -> bool:
        """Whether the model gets the tool `recall`: its definition is a twentieth of `RECALL_LEAST_TOKENS`."""
        return self.recall and not ("max_tokens" in self.configured and self.max_tokens < RECALL_LEAST_TOKENS)

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Every key with its dataclass field (default, and `meaning` and `allowed` in its metadata)."""
        return {option.name: option for option in fields(Options)}

    def given(self) -> dict[str, Any]:
        """The keys that were given, with their values; all others have their defaults."""
        given = {name: getattr(self, name) for name in self.configured}
        if "max_tokens" not in given and self.max_tokens != self.options()["max_tokens"].default:
            given[FALLBACK_BUDGET] = self.max_tokens
        return given

    @classmethod
    def load(
        cls,
        given: Mapping[str, Any] | None = None,
        *,
        warn: Callable[[str], object] = logger.warning,
        composed: bool = False,
    ) -> Config:
        """Check a configuration and fill in the defaults.

        Args:
            given: the keys; names of other modules are accepted (`foreign_keys`).
            warn: gets a text for each key that has no effect.
            composed: whether bundles were merged into it, so that a key may be another module's: an unknown one is a
                warning then.

        Raises:
            ConfigError: an unknown key, with the nearest known one; or a wrong value: names key, value and what is
                allowed.
        """
        options = cls.options()
        flat = in_our_keys(given or {})
        if told := told_elsewhere(given or {}):
            warn(told)
        fallback = flat.pop(FALLBACK_BUDGET, None)
        values: dict[str, Any] = {}
        for key, value in flat.items():
            if key not in options:
                if not composed:
                    raise ConfigError(f"unknown configuration key {key!r}{nearest_key(key, options)}")
                warn(f"unknown configuration key {key!r} is ignored{nearest_key(key, options)}")
            elif value is None and options[key].default is not None:
                continue  # `key:` without a value in YAML
            elif options[key].metadata["check"] is path and (why := why_no_place(value)):
                raise ConfigError(f"{key}: {why}")
            elif not options[key].metadata["check"](value):
                found = repr(value) if options[key].repr else "this value"
                raise ConfigError(f"{key}: {found} is not allowed; allowed: {options[key].metadata['allowed']}")
            else:
                values[key] = tuple(value) if isinstance(value, list) else value
        configured = frozenset(values)
        if "max_tokens" not in values and fallback is not None:
            if not options["max_tokens"].metadata["check"](fallback):
                raise ConfigError(f"{FALLBACK_BUDGET}: {fallback!r} is not allowed; allowed: int > 0")
            values["max_tokens"] = fallback
        threshold = values.get("compact_threshold", options["compact_threshold"].default)
        if "target_usage" not in values:
            values["target_usage"] = min(0.5, 0.55 * threshold)
        elif values["target_usage"] >= threshold:
            raise ConfigError(
                f"target_usage: {values['target_usage']!r} is not allowed; allowed: a share below compact_threshold "
                f"({threshold})"
            )
        if values.get("auto_save") is False:
            warn("auto_save: false has no effect: every message is saved as it is added")
        return cls(**values, configured=configured)
