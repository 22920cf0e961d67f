"""Keys that the host's bundles and other context modules set, and what they mean here.

A mount plan is often composed from several bundles, so this module gets keys that are meant for others. Keys with a
meaning here are mapped to our keys; keys without one are accepted in silence. Any other key is unknown
(`unknown_keys`). `docs/other_modules.md` lists all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError

ALIASES = {
    "compaction_threshold": "compact_threshold",
    "path": "storage_path",
    "summarization_timeout_s": "summary_timeout_s",
}
"""Other names of our keys; `path` is accepted only inside `persistence`."""

_ALIASES_OUTSIDE = {name: key for name, key in ALIASES.items() if name != "path"}

VALUE_ALIASES = {"compaction_strategy": {"progressive": "truncate", "summary": "summarize"}}
"""Other names of the values of our keys."""

FALLBACK_BUDGET = "max_tokens_fallback"
"""The key of the budget for a provider that gives no window. Unlike `max_tokens`, this budget is no upper limit."""

WITHOUT_MEANING = {
    "auto_compact": "views are always compacted when they have to be",
    "max_tool_result_bytes": "results are stored whole; `offload_threshold` shortens what views show of them",
    "summary_trigger": "a summary is made when a view has reached `compact_threshold`",
    "summarization_model": "the provider of the request makes the summary",
    "inject_git_context": "the text of the system prompt is the host's affair",
    "git_include_status": "the text of the system prompt is the host's affair",
    "git_include_commits": "the text of the system prompt is the host's affair",
    "git_include_branch": "the text of the system prompt is the host's affair",
    "git_include_main_branch": "the text of the system prompt is the host's affair",
}
"""Keys of other modules that are accepted without a warning, each with the reason why it has no effect here."""


ELSEWHERE = {
    "engine": "there is one engine; `compaction_strategy` says what it prefers",
    "verbatim_window_tokens": "`protected_recent`, a share",
    "max_summary_tiers": "a summary takes in the one before it",
    "summary_target_tokens": "`summary_max_tokens`",
    "summary_max_output_tokens": "`summary_max_tokens`",
    "summarization_prompt_path": "`summary_prompt`, a text",
    "summarization_retries_before_fallback": "if a summary fails, messages are left out without one",
    "emergency_target_usage": "`target_usage`",
    "emergency_fallback": "`compact_threshold`",
    "summarize_trigger": "`compact_threshold`",
    "pressure_warning": "the event `context:pre_compact`",
    "large_result_threshold": "`offload_threshold`, in tokens",
    "separate_summary_provider": "the provider of the request makes the summary",
    "compact_clear_at_least": "`compact_min_gain`, a share",
    "summary_call_mode": "a summary is asked for after the session's own view, which is cached",
    "summary_fork_min_span_ratio": "a summary is asked for after the session's own view, which is cached",
}
"""Keys of other context modules that have no effect, each with the key or rule that replaces it here.

One warning names all of them.
"""


def told_elsewhere(keys: Mapping[str, Any]) -> str:
    """Return the warning about keys of other modules that have no effect here; "" if there are none."""
    foreign = [f"{key} (here: {ELSEWHERE[key]})" for key in keys if key in ELSEWHERE]
    if not foreign:
        return ""
    return f"keys of another context module have no effect: {', '.join(foreign)}"


def in_our_keys(outer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given keys under our names, with the keys of the nested `persistence` table.

    If a key is given under both names, our own name wins. If a key is also in the nested table, the outer one wins.

    Raises:
        ConfigError: `persistence` is not a table.
    """
    outer = dict(outer)
    nested = outer.pop("persistence", None)
    if nested is not None and not isinstance(nested, Mapping):
        raise ConfigError(f"persistence: {nested!r} is not allowed; allowed: an object with the keys of this module")
    flat = _renamed(nested or {}, ALIASES) | _renamed(outer, _ALIASES_OUTSIDE)
    for key, names in VALUE_ALIASES.items():
        value = flat.get(key)
        if isinstance(value, str):
            flat[key] = names.get(value, value)
    return flat


def _renamed(source: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Return keys and values under our names, without the keys that have no meaning here.

    An alias is ignored if `source` also has the key under our name.
    """
    renamed: dict[str, Any] = {}
    for key, value in source.items():
        if key in aliases:
            our_name = aliases[key]
            if our_name not in source:
                renamed[our_name] = value
        elif key not in WITHOUT_MEANING and key not in ELSEWHERE:
            renamed[key] = value
    return renamed
