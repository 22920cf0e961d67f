"""The frozen configuration: the keys of all groups, checked together.

A wrong value is an error. `foreign_keys` says which keys of other modules are accepted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

from ..errors import ConfigError
from ..log.database_location import why_no_path
from .checks import path
from .foreign_keys import FALLBACK_BUDGET, in_our_keys, told_elsewhere
from .option_table import BudgetKeys, CompactionKeys, DurabilityKeys, HostKeys, ReadingBackKeys, StorageKeys
from .unknown_keys import told_unknown

logger = logging.getLogger(__name__)

RECALL_LEAST_TOKENS = 10_000


@dataclass(frozen=True, kw_only=True)
class Options(HostKeys, ReadingBackKeys, CompactionKeys, BudgetKeys, DurabilityKeys, StorageKeys):
    """All keys of the configuration, which managers take as arguments; `docs/configuration.md` has their tables."""


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    """A checked configuration, which managers can share; `load` makes it.

    Example:
        >>> config = Config.load({"max_tokens": 100_000, "durability": "write"})
        >>> config.max_tokens, config.compact_threshold
        (100000, 0.92)
        >>> sorted(config.given())
        ['durability', 'max_tokens']
    """

    configured: frozenset[str] = frozenset()
    """The keys that were given. `max_tokens` is an upper limit of the budget only if it is among these keys."""

    @property
    def offers_recall(self) -> bool:
        """Whether the model gets the tool `recall`.

        It gets no `recall` if `max_tokens` is configured below `RECALL_LEAST_TOKENS`: each request contains the tool's
        definition, and in so small a budget it would cost more than it is worth (a twentieth of that number).
        """
        has_small_budget = "max_tokens" in self.configured and self.max_tokens < RECALL_LEAST_TOKENS
        return self.recall and not has_small_budget

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Return every key with its dataclass field (default, and `meaning` and `allowed` in its metadata)."""
        return {option.name: option for option in fields(Options)}

    def given(self) -> dict[str, Any]:
        """Return the keys that were given, with their values; all others have their defaults."""
        values = {name: getattr(self, name) for name in self.configured}
        if "max_tokens" not in values and self.max_tokens != self.options()["max_tokens"].default:
            values[FALLBACK_BUDGET] = self.max_tokens
        return values

    @classmethod
    def load(
        cls,
        keys: Mapping[str, Any] | None = None,
        *,
        warn: Callable[[str], object] = logger.warning,
        composed: bool = False,
    ) -> Config:
        """Return the configuration of the given keys, with defaults for all others.

        Args:
            keys: the keys with their values; keys of other modules are accepted (see `foreign_keys`).
            warn: called with a text for each key that has no effect.
            composed: whether the keys come from merged bundles. Then an unknown key may belong to another module, and
                is only a warning.

        Raises:
            ConfigError: a key is unknown, or a value is wrong. The message names the nearest known key, or the key, the
                value and the allowed values.
        """
        options = cls.options()
        flat = in_our_keys(keys or {})
        warning = told_elsewhere(keys or {})
        if warning:
            warn(warning)
        fallback = flat.pop(FALLBACK_BUDGET, None)
        values: dict[str, Any] = {}
        for key, value in flat.items():
            if key not in options:
                text = told_unknown(key, options, is_ignored=composed)
                if not composed:
                    raise ConfigError(text)
                warn(text)
                continue
            is_without_value = value is None and options[key].default is not None  # as `key:` in YAML
            if not is_without_value:
                _check_value(options[key], value)
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
            warn("auto_save: false has no effect: every message is saved when it is added")
        return cls(**values, configured=configured)


def _check_value(option: Field[Any], value: Any) -> None:
    """Check the value of an option.

    Raises:
        ConfigError: it is not allowed.
    """
    check = option.metadata["check"]
    why = why_no_path(value) if check is path else ""
    if why:
        raise ConfigError(f"{option.name}: {why}")
    if not check(value):
        quoted_value = repr(value) if option.repr else "this value"
        raise ConfigError(f"{option.name}: {quoted_value} is not allowed; allowed: {option.metadata['allowed']}")
