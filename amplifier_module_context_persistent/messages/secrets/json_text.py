"""Changing the value that a text is the JSON of."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..message import parsed


def in_json(text: str, change: Callable[[Any], Any]) -> str:
    """Change the value that a text is the JSON of; a text that is no JSON is changed itself."""
    try:
        value = parsed(text)
    except ValueError:
        return str(change(text))
    changed = change(value)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)
