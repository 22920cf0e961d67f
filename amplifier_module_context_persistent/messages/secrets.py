"""Redacting secrets in text and in JSON values: what is recognised is replaced, everything else stays.

A secret is recognised in one of three ways:
- by its form: the table in `secret_formats`;
- by its name: what stands beside a name of the table in `secret_names`, in an assignment, a flag, a header or a query.
  A value that is a call, a variable, a path or a placeholder is code and stays;
- by its place: passwords in URLs, cookies, `curl -u`, netrc and other fixed forms of commands and files.

In a JSON value all that stands under a key of amplifier-core is replaced, and every text under another sensitive key.
What was replaced is reported by kind and place, never by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

from .secret_formats import FORMATS, LEAST_CHARS
from .secret_named import redact_named
from .secret_names import Likelihood, is_placeholder, likelihood_of
from .secret_places import redact_places

REDACTED = "[REDACTED]"

Found = Callable[[str, str], None]
"""Is told the kind and the field of each secret that is replaced."""


def _hints(*, has_spaces: bool) -> tuple[tuple[str, int], ...]:
    """The texts of which one stands in every secret of a form, with the form's number; one loop looks for all."""
    chosen = ((number, known) for number, known in enumerate(FORMATS) if known.has_spaces == has_spaces)
    return tuple((hint, number) for number, known in chosen for hint in known.hints)


_HINTS_WITH_SPACES = _hints(has_spaces=True)
_HINTS_IN_WORDS = _hints(has_spaces=False)
_KEYS_KNOWN = 4_096
_MOST_KEY_CHARS = 80
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w-]{0,40}")


@cache
def _core_keys() -> frozenset[str]:
    """The keys whose values amplifier-core redacts whatever they are; imported at first use, since that takes long."""
    from amplifier_core.utils import SENSITIVE_KEYS

    return frozenset(SENSITIVE_KEYS)


def redact_text(text: str, found: Callable[[str], None] | None = None) -> str:
    """Replace what looks like a secret in a text.

    Args:
        text: any text.
        found: is told the kind of each secret.
    """
    told = found or _nothing
    long_words = "\n".join([word for word in text.split() if len(word) >= LEAST_CHARS])
    hinted = {number for hint, number in _HINTS_WITH_SPACES if hint in text}
    if long_words:
        hinted.update([number for hint, number in _HINTS_IN_WORDS if hint in long_words])
    for number in sorted(hinted):
        known = FORMATS[number]
        if known.expression.search(text if known.has_spaces else long_words):
            text = known.expression.sub(partial(_by_form, known.kind, told), text)
    text = redact_places(text, REDACTED, told)
    return redact_named(text, REDACTED, told)


def redact_value(value: Any, found: Found | None = None, field: str = "") -> Any:
    """Replace what looks like a secret in a JSON value: under a sensitive key as a whole, elsewhere in every string.

    Args:
        value: a JSON value.
        found: is told the kind and the field of each secret, as in `content[0].text`.
        field: the field that the value stands in.
    """
    told = found or _nowhere
    if isinstance(value, str):
        return redact_text(value, partial(_tell, told, field))
    if isinstance(value, list):
        return [redact_value(item, told, f"{field}[{number}]") for number, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    redacted = {}
    for key, item in value.items():
        shown, is_clean = _seen_key(key) if len(key) <= _MOST_KEY_CHARS else ("*", False)
        inside = f"{field}.{shown}" if field else shown
        if key.lower() in _core_keys() or _is_named(key, item):
            if item != REDACTED:
                told("value of a sensitive key", inside)
            redacted[key] = REDACTED
        elif key == "arguments" and isinstance(item, str):
            redacted[key] = in_json(item, partial(redact_value, found=told, field=inside))
        else:
            name = key if is_clean else redact_text(key, partial(_tell, told, inside))
            redacted[name] = redact_value(item, told, inside)
    return redacted


def in_json(text: str, change: Callable[[Any], Any]) -> str:
    """Change the value that a text is the JSON of; a text that is no JSON is changed itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return str(change(text))
    changed = change(value)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)


def _is_named(key: str, item: Any) -> bool:
    """Whether a text under a key is a secret by the key alone; types and templates are none."""
    if not isinstance(item, str) or not item.strip() or is_placeholder(item):
        return False
    return likelihood_of(key) is Likelihood.STRONG and (" " not in item.strip() or len(item) < 16)


@lru_cache(_KEYS_KNOWN)
def _seen_key(key: str) -> tuple[str, bool]:
    """A key as a part of a field's name (only what is a plain name is shown), and whether nothing in it is a secret."""
    is_clean = redact_text(key) == key
    return (key if is_clean and _PLAIN_NAME.fullmatch(key) else "*"), is_clean


def _by_form(kind: str, told: Callable[[str], None], _match: re.Match[str]) -> str:
    told(kind)
    return REDACTED


def _tell(told: Found, field: str, kind: str) -> None:
    told(kind, field)


def _nothing(_kind: str) -> None:
    pass


def _nowhere(_kind: str, _field: str) -> None:
    pass
