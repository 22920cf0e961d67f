"""Changing the value of a JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..message import parsed


def in_json(text: str, change: Callable[[Any], Any]) -> str:
    """Change the value of a JSON text, and return the JSON of the result. Any other text is changed itself."""
    try:
        value = parsed(text)
    except ValueError:
        return str(change(text))
    changed = change(value)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)
