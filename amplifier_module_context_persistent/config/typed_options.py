"""The keys of the configuration as arguments of the managers, typed, so that an editor completes them.

`tests/config/test_option_table.py` holds this to the table: the same keys, the same types.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

FilePath: TypeAlias = str | os.PathLike[str]
Durability: TypeAlias = Literal["fsync", "write"]
TokenMeter: TypeAlias = Literal["actual", "estimate"]
Strategy: TypeAlias = Literal["truncate", "summarize", "native", "sliding_window", "importance"]
LateSystem: TypeAlias = Literal["auto", "system", "reminder"]
Boundary: TypeAlias = Literal["line", "char"]
Verbosity: TypeAlias = Literal["minimal", "normal", "verbose"]


class Options(TypedDict, total=False):
    """What can be configured besides `transcript_path`; `docs/configuration.md` says what each key means."""

    storage_path: FilePath | None
    storage: str | None
    project: str | None
    memory_files: Sequence[FilePath]
    durability: Durability
    lock_timeout_s: float
    max_record_bytes: int
    require_persistence: bool
    auto_save: bool
    receipts: bool
    restore_system_prompt: bool
    tokenizer: str
    token_meter: TokenMeter
    max_tokens: int
    max_request_bytes: int
    max_images: int
    max_messages: int | None
    output_reserve_fraction: float
    compact_threshold: float
    target_usage: float
    cache_ttl_s: float | None
    compact_min_gain: float
    compaction_strategy: Strategy
    keep_recent: int
    summary_prompt: str | None
    summary_max_tokens: int
    summary_timeout_s: float
    native_start: float
    native_max_tokens: int
    native_timeout_s: float
    protected_recent: float
    protected_tool_results: int
    protect_first: int
    protect_last: int
    preserve_system: bool
    late_system: LateSystem
    keep_ephemerals: bool
    truncate_chars: int
    truncate_boundary: Boundary
    offload_threshold: int | None
    preview_tokens: int
    tool_kinds: Mapping[str, str] | None
    compaction_notice_enabled: bool
    compaction_notice_verbosity: Verbosity
    compaction_notice_min_level: int
    compaction_notice_token_reserve: int
    recall: bool
    pin: bool
