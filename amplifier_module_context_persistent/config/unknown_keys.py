"""Tell about an unknown key of the configuration, and name the nearest known key.

In a mount plan an unknown key is a warning, because the plan may be composed from bundles of several modules. In Python
it is an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from .foreign_keys import ALIASES


def told_unknown(key: str, known: Iterable[str], *, is_ignored: bool) -> str:
    """Return the sentence about an unknown key. It names the most similar known key if there is one.

    Args:
        key: the unknown key.
        known: the keys of this module.
        is_ignored: whether the key is ignored, so that the sentence is a warning and not an error.
    """
    ending = " is ignored" if is_ignored else ""
    similar = difflib.get_close_matches(str(key), [*known, *ALIASES, "persistence"], n=1)
    question = f"; did you mean {similar[0]!r}?" if similar else ""
    return f"unknown configuration key {key!r}{ending}{question}"
