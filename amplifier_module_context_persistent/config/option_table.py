"""The keys of the configuration in six groups, each with its type, default, allowed values and meaning.

A value that has no effect by itself has no key. `docs/configuration.md` has one table for each group.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from ..log.database_location import PREFIXES
from ..log.filesystem import is_name
from ..log.record_limits import MAX_RECORD_BYTES
from ..tokens.counter import ENCODINGS
from .checks import (
    Check,
    at_least,
    flag,
    is_int,
    is_number,
    kinds_of_tools,
    one_of,
    path,
    share,
    share_or_zero,
)

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
"""The value of `storage` for sessions that are only in memory."""


def _option(default: Any, allowed: str, check: Check, meaning: str, *, shown: bool = True) -> Any:
    """Return the field of one key.

    With `shown=False`, errors and `repr` leave out the value, which may be a password.
    """
    metadata = {"allowed": allowed, "check": check, "meaning": meaning}
    if isinstance(default, list):
        return field(default_factory=tuple, metadata=metadata, repr=shown)
    return field(default=default, metadata=metadata, repr=shown)


@dataclass(frozen=True, kw_only=True)
class StorageKeys:
    """The place of a session's log."""

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
    archive_after_days: int | None = _option(
        None,
        "none, int ≥ 1",
        lambda v: v is None or (is_int(v) and v >= 1),
        "When a session ends, compress the logs beside its own that were not written to for so many days, at most "
        "64 MB at a time ([archives](archives.md#archive-old-sessions)). None: never. "
        "With a database as `storage` it is refused.",
    )


@dataclass(frozen=True, kw_only=True)
class DurabilityKeys:
    """The failures that a stored message survives, and which messages are stored."""

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
        True, "bool", flag, "Accepted for compatibility: every message is saved when it is added, whatever this says."
    )


@dataclass(frozen=True, kw_only=True)
class BudgetKeys:
    """Keys for the largest size of a request, and for counting its tokens."""

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


@dataclass(frozen=True, kw_only=True)
class CompactionKeys:
    """Keys that decide when and how a view is made smaller, and what stays in it."""

    compaction_strategy: Strategy = _option(
        "truncate", ", ".join(f"`{name}`" for name in STRATEGIES), one_of(*STRATEGIES), "How views are made smaller."
    )
    compact_threshold: float = _option(
        0.92, "0 < share ≤ 1", share, "A view at this share of the budget is compacted (also `compaction_threshold`)."
    )
    target_usage: float = _option(
        0.5, "0 < share < `compact_threshold`", share, "The share of the budget that compaction goes down to."
    )
    compact_min_gain: float = _option(
        0.05, "0 ≤ share ≤ 1", share_or_zero, "A plan that frees less than this share of the budget is not made."
    )
    cache_ttl_s: float | None = _option(
        None,
        "seconds ≥ 0",
        lambda v: v is None or (is_number(v) and 0 <= v < math.inf),
        "How long the provider keeps what it cached; none: as its family does. The first request after that pays for "
        "every token, so it plans early and further down. `0`: pauses change nothing.",
    )
    keep_recent: int = _option(
        50,
        "int ≥ 0",
        at_least(0),
        "`sliding_window`: how many of the newest messages stay, widened to whole tool groups.",
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
    truncate_chars: int = _option(
        1200, "int ≥ 0", at_least(0), "Characters that stay of an elided tool result, half of them its end."
    )
    truncate_boundary: Boundary = _option(
        "line", "`line`, `char`", one_of("line", "char"), "Whether an elided text is cut at the ends of lines."
    )
    tool_kinds: Mapping[str, str] | None = _option(
        None,
        "names of tools, each with `read`, `change`, `todo`, `run`, `ask` or `other`; for the first two also "
        "`KIND:ARGUMENT`",
        kinds_of_tools,
        "What tools of your own do, where their names do not say it: which ones read and change files (and which "
        "argument names the file), keep the list of what to do, run commands, or ask a person.",
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


@dataclass(frozen=True, kw_only=True)
class ReadingBackKeys:
    """Keys for reading back what views leave out, and for the form of views."""

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
    offload_threshold: int | None = _option(
        None,
        "int > 0",
        lambda v: v is None or (is_int(v) and v > 0),
        "A tool result of more tokens is shown as head and tail from its first view on; decided when it is added.",
    )
    preview_tokens: int = _option(
        500, "int ≥ 0", at_least(0), "How many tokens are shown of a result over `offload_threshold`."
    )
    receipts: bool = _option(
        True,
        "bool",
        flag,
        "Whether the log keeps a small receipt of every view, from which the view can be rebuilt and proved.",
    )


@dataclass(frozen=True, kw_only=True)
class HostKeys:
    """Keys for the reader of views, and for the messages that a host and its hooks add."""

    recipient: str | None = _option(
        None,
        "`PROVIDER` or `PROVIDER/MODEL`",
        lambda v: v is None or (isinstance(v, str) and v.strip() != ""),
        "For whom views are made if a request names no provider, such as `anthropic/claude-opus-5-5`. Without it, a "
        "view within its budget is the history; no provider's rules for the order of messages and for reasoning apply.",
    )
    memory_files: Sequence[FilePath] = _option(
        [],
        "list of paths",
        lambda v: isinstance(v, list | tuple) and all(item is not None and path(item) for item in v),
        "Files that a new session begins with, each as a system message `[Context from NAME]`.",
    )
    restore_system_prompt: bool = _option(
        True,
        "bool",
        flag,
        "Whether a resumed child session without a system prompt gets the text that headed its last view.",
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


GROUPS: dict[str, type] = {
    "Storage": StorageKeys,
    "Durability": DurabilityKeys,
    "Budget": BudgetKeys,
    "Compaction": CompactionKeys,
    "Reading back": ReadingBackKeys,
    "Host": HostKeys,
}
"""The groups by their titles in the documentation."""
