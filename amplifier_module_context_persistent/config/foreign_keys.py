"""Keys of the modules that people come from: what they mean here.

`ALIASES` are other names of our keys, and `persistence: {…}` may hold keys of ours. An unknown key is a warning that
names the nearest known one.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError

logger = logging.getLogger(__name__)

ALIASES = {"compaction_threshold": "compact_threshold", "path": "storage_path"}


def in_our_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve aliases and the nested `persistence` table; the plain key wins over its alias."""
    flat: dict[str, Any] = {}
    given = dict(given)
    nested = given.pop("persistence", None)
    if nested is not None and not isinstance(nested, Mapping):
        raise ConfigError(f"persistence: {nested!r} is not allowed; allowed: an object with the keys of this module")
    for source in (nested or {}, given):
        for key, value in source.items():
            if key in ALIASES and (source is not given or key != "path"):
                if ALIASES[key] not in source:
                    flat[ALIASES[key]] = value
            else:
                flat[key] = value
    return flat


def warn_unknown(key: str, options: Mapping[str, Any]) -> None:
    """Warn of an unknown key, with the nearest known one."""
    near = difflib.get_close_matches(str(key), [*options, *ALIASES, "persistence"], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    logger.warning("unknown configuration key %r is ignored%s", key, hint)
