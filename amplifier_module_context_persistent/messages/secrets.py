"""Redacting secrets: the keys that amplifier-core redacts, and the common formats of tokens, in text and JSON values.

What is recognised is replaced, everything else stays. A format is recognised by its fixed beginning, so that hashes,
ids and base64 are left alone; a secret without one can only be found beside its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

REDACTED = "[REDACTED]"

SENSITIVE_KEYS = frozenset(
    {
        "api_key",
        "apikey",
        "api-key",
        "secret",
        "password",
        "token",
        "credential",
        "credentials",
        "private_key",
        "privatekey",
        "auth",
        "authorization",
    }
)
"""Of `amplifier_core.utils.SENSITIVE_KEYS`, which a test holds against it."""

_TOKENS = re.compile(
    r"""
      -----BEGIN\ (?:[A-Z0-9]+\ )*PRIVATE\ KEY(?:\ BLOCK)?----- [\s\S]*?
        (?: -----END\ (?:[A-Z0-9]+\ )*PRIVATE\ KEY(?:\ BLOCK)?----- | \Z )
    | (?<=hooks\.slack\.com/services/)T[A-Za-z0-9]+/B[A-Za-z0-9]+/[A-Za-z0-9]+
    | (?: \b | (?<=\\[nrt]) )  # behind an escape, as in JSON text, too
      (?: (?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b                                     # AWS access key ids
        | gh[oprsu]_[A-Za-z0-9]{36,255} | github_pat_[A-Za-z0-9_]{22,255}           # GitHub
        | sk-[A-Za-z0-9_-]{20,}                                                     # OpenAI, Anthropic (sk-ant-)
        | xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,} | xapp-[0-9]-[A-Za-z0-9-]{10,}    # Slack
        | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}             # JWT
      )
    """,
    re.VERBOSE | re.ASCII,
)
_NAMED = re.compile(
    r"""
      ( \b(?:[A-Za-z0-9]+[_-])*
        (?:api[_-]?key|access[_-]?key|private[_-]?key|secret|password|passwd|token|credentials?|auth)
        \\?["']? \s*[:=]\s* \\?["']? )
      ( (?=[A-Za-z/+_.-]*[0-9]) [A-Za-z0-9/+_.=-]{16,} )
    | ( \bauthorization \\?["']? \s*[:=]\s* \\?["']? (?:bearer|basic|token)\s+ ) ( [^\s"'\\]{8,} )
    """,
    re.VERBOSE | re.IGNORECASE,
)


_TOKEN_HINTS = (
    *("PRIVATE KEY", "hooks.slack.com", "AKIA", "ASIA", "ABIA", "ACCA", "sk-", "xox", "xapp-", "eyJ"),
    *("gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_"),
)
_NAME_HINTS = ("key", "secret", "passw", "token", "creden", "auth")
# Nothing matches without one of these, and to look for them takes a small part of the time.


def redact_text(text: str) -> str:
    """Replace what looks like a secret in a text."""
    if any(hint in text for hint in _TOKEN_HINTS):
        text = _TOKENS.sub(REDACTED, text)
    folded = text.casefold()
    if not any(hint in folded for hint in _NAME_HINTS):
        return text
    return _NAMED.sub(lambda found: f"{found[1] or found[3]}{REDACTED}", text)


def redact_value(value: Any) -> Any:
    """Replace what looks like a secret in a JSON value: under a sensitive key as a whole, elsewhere in every string."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [redact_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    redacted = {}
    for key, item in value.items():
        if key.lower() in SENSITIVE_KEYS:
            redacted[key] = REDACTED
        elif key == "arguments" and isinstance(item, str):
            redacted[key] = in_json(item, redact_value)
        else:
            redacted[redact_text(key)] = redact_value(item)
    return redacted


def in_json(text: str, change: Callable[[Any], Any]) -> str:
    """Change the value that a text is the JSON of; a text that is no JSON is changed itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return str(change(text))
    changed = change(value)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)
