"""Redacting secrets in text and in JSON values: what is recognised is replaced, everything else stays.

A secret is recognised in one of four ways:
- by its form: the table `TOKENS` in `formats`;
- by its place: passwords in URLs, cookies, `curl -u`, netrc, webhooks and other fixed forms (`PLACES`);
- by its name: what stands beside a name of the table in `names`, in an assignment, a flag, a header or a query.
  A value that is a call, a variable, a path or a placeholder is code and stays;
- by its owner: the expressions and values that a person gives (`OwnForms`).

In a JSON value all that stands under a key of amplifier-core is replaced, and every text under another sensitive key.
What was replaced is reported by kind and place, never by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

from ..message import parsed
from .formats import LEAST_CHARS, TOKENS
from .names import Likelihood, is_placeholder, likelihood_of, looks_random, redact_named
from .own_forms import REDACTED, OwnForms
from .places import PLACES

Found = Callable[[str, str], None]
"""Is told the kind and the field of each secret that is replaced."""


def _hints(*, apart: bool) -> tuple[tuple[str, int], ...]:
    """The texts of which one stands in every secret of some forms, with the form's number; one loop looks for all."""
    forms = [(known, number) for number, known in enumerate(TOKENS) if known.has_spaces is apart]
    return tuple((hint, number) for known, number in forms for hint in known.hints)


_HINTS_WITH_SPACES, _HINTS_IN_WORDS = _hints(apart=True), _hints(apart=False)
_HINTS_OF_PLACES = tuple((hint, number) for number, (_, hints, _) in enumerate(PLACES) for hint in hints)
_KEYS_KNOWN = 4_096
_MOST_KEY_CHARS = 80
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w-]{0,40}")
_COOKIES = re.compile(
    r"(?:(?P<set>set-)?cookie\\*[\"']?\s*[:=]\s*|\bcurl\b[^\n|;]{0,400}?\s(?:-b|--cookie)[ =]?)"
    r"\\*[\"']?(?P<pairs>[^\s=;:\"'\\]+=[^\n\"'\\]+)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?P<before>(?:^|;)\s*(?P<name>[^\s=;]+)=)(?P<secret>[^;\s]{4,})")
_NO_COOKIE = re.compile(
    r"expires|max-age|path|domain|samesite|priority|version|theme|lang|locale|language|tz|timezone|currency|country|consent"
    r"|.*consent|_ga\w*|_gid|_gat\w*|_fbp|_gcl_\w+|utm_\w+|ab_?test\w*|variant|color\w*|layout|sidebar\w*|build",
    re.IGNORECASE,
)
_KEEPS = re.compile(r"sess|sid|auth|token|jwt|csrf|xsrf|remember|login|user|key|secret|^d$", re.IGNORECASE)


def redact_text(text: str, found: Callable[[str], None] | None = None, own: OwnForms | None = None) -> str:
    """Replace what looks like a secret in a text.

    Args:
        text: any text.
        found: is told the kind of each secret.
        own: what a person has replaced besides.
    """
    told = found or _ignore
    if own is not None:
        text = own.redact(text, told)
    long_words = "\n".join([word for word in text.split() if len(word) >= LEAST_CHARS])
    hinted = {number for hint, number in _HINTS_WITH_SPACES if hint in text}
    if long_words:
        hinted.update([number for hint, number in _HINTS_IN_WORDS if hint in long_words])
    for number in sorted(hinted):
        known = TOKENS[number]
        if known.expression.search(text if known.has_spaces else long_words):
            text = known.expression.sub(partial(_replaced, known.kind, told), text)
    for number in sorted({number for hint, number in _HINTS_OF_PLACES if hint in text}):
        kind, _, expression = PLACES[number]
        text = expression.sub(partial(_in_place, kind, told), text)
    if "ookie" in text or "OOKIE" in text or "curl" in text:
        text = _COOKIES.sub(partial(_in_cookies, told), text)
    return redact_named(text, REDACTED, told)


def redact_value(value: Any, found: Found | None = None, field: str = "", own: OwnForms | None = None) -> Any:
    """Replace what looks like a secret in a JSON value: under a sensitive key as a whole, elsewhere in every string.

    Args:
        value: a JSON value.
        found: is told the kind and the field of each secret, as in `content[0].text`.
        field: the field that the value stands in.
        own: what a person has replaced besides.
    """
    told = found or _ignore
    if isinstance(value, str):
        return redact_text(value, partial(_tell, told, field), own)
    if isinstance(value, list):
        return [redact_value(item, told, f"{field}[{number}]", own) for number, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    redacted = {}
    for key, item in value.items():
        shown, is_clean = _seen_key(key) if len(key) <= _MOST_KEY_CHARS and own is None else ("*", False)
        inside = f"{field}.{shown}" if field else shown
        if key.lower() in _core_keys() or _is_named(key, item):
            if item != REDACTED:
                told("value of a sensitive key", inside)
            redacted[key] = REDACTED
        elif key == "arguments" and isinstance(item, str):
            redacted[key] = in_json(item, partial(redact_value, found=told, field=inside, own=own))
        else:
            name = key if is_clean else redact_text(key, partial(_tell, told, inside), own)
            redacted[name] = redact_value(item, told, inside, own)
    return redacted


def in_json(text: str, change: Callable[[Any], Any]) -> str:
    """Change the value that a text is the JSON of; a text that is no JSON is changed itself."""
    try:
        value = parsed(text)
    except ValueError:
        return str(change(text))
    changed = change(value)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)


@cache
def _core_keys() -> frozenset[str]:
    """The keys whose values amplifier-core redacts whatever they are; imported at first use, since that takes long."""
    from amplifier_core.utils import SENSITIVE_KEYS

    return frozenset(SENSITIVE_KEYS)


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


def _in_place(kind: str, told: Callable[[str], None], match: re.Match[str]) -> str:
    group = match.lastgroup or "secret"
    if is_placeholder(match[group]):
        return match[0]
    told(kind)
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + REDACTED + match[0][end:]


def _in_cookies(told: Callable[[str], None], match: re.Match[str]) -> str:
    def replaced(pair: re.Match[str]) -> str:
        name, value = pair["name"], pair["secret"]
        if _NO_COOKIE.fullmatch(name) or (match["set"] and pair.start()) or is_placeholder(value):
            return pair[0]
        if not (_KEEPS.search(name) or looks_random(value, least=6) or len(value) >= LEAST_CHARS):
            return pair[0]
        told("cookie")
        return str(pair["before"]) + REDACTED

    start = match.start("pairs") - match.start()
    return match[0][:start] + _PAIR.sub(replaced, match["pairs"])


def _replaced(kind: str, told: Callable[[str], None], _match: Any) -> str:
    told(kind)
    return REDACTED


def _tell(told: Found, field: str, kind: str) -> None:
    told(kind, field)


def _ignore(*_: str) -> None:
    pass
