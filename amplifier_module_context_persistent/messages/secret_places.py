"""The table of places where a secret stands whatever its form: URLs, headers, cookies, commands, files.

A row is a kind, the texts of which one stands in each such place, and a regular expression in which a named group is the
secret. Every part of it that may be long is bounded, so that no text takes time with the square of its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from .secret_names import is_placeholder

Told = Callable[[str], None]

_PLACES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    ("password in a URL", ("://",), re.compile(r"://[^\s:/@\"'`<>\\]*:(?P<secret>[^\s/@\"'`<>\\]+)(?=@[\w\[$%{-])")),
    (
        "credentials in a header",
        ("uthorization", "UTHORIZATION", "earer", "EARER"),
        re.compile(
            r"(?:authorization\\*[\"']?\s*[:=,]\s*\\*[\"']?[fb]?[\"']?(?:bearer|basic|token|apikey|negotiate|key|bot|ssws|[a-z][a-z-]{1,20}(?=[ ][^ ]*[0-9][^ ]{12}))\s+|\bbearer[ ]+(?=[\w.~+/-]*[0-9]))"
            r"(?P<secret>[^\s\"'\\,;<>(){}$`]{8,})",
            re.IGNORECASE,
        ),
    ),
    (
        "signature of a request",
        ("ignature=", "sig="),
        re.compile(r"(?:Signature=|[?&;](?:sig|signature|X-Amz-Signature)=)(?P<secret>[A-Za-z0-9%/+_-]{24,}=*)"),
    ),
    (
        "password of a command",
        ("curl", "wget", " set ", "sudo -S", "PASSWORD", "IDENTIFIED", "http ", "https ", "sshpass", "mysql", "redis-cli", "docker login", "pass:", "ldap", "smbclient"),
        re.compile(
            r"""
              \b(?:curl|wget|https?|xh)\b[^\n|;]{0,400}?\s(?:-u|-U|-a|--user|--proxy-user|--auth)[ =]?\\?["']?[^\s:"'\\$]+:
                (?P<secret>[^\s"'\\$<{][^\s"'\\]*)
            | \b(?: sshpass[ ]+-p[ ]* | mysql(?:dump|admin)?\b[^\n|;]{0,400}?[ ]-p | redis-cli\b[^\n|;]{0,400}?[ ]-a[ ]+
                | docker[ ]login\b[^\n|;]{0,400}?[ ]-p[ ]+ | ldap\w+\b[^\n|;]{0,400}?[ ]-w[ ]+ | -pass(?:in|out)?[ ]pass: )
                \\?["']?(?P<other>[^\s"'\\$<{-][^\s"'\\]{2,})
            | \bconfig(?:ure)?[ ]set[ ]\S*(?:token|secret|password|key)\S*[ ]\\?["']?(?P<set>[^\s"'\\$<{-][^\s"'\\]{5,})
            | \becho[ ]\\?["']?(?P<echoed>[^\s"'|$]+)\\?["']?[ ]*\|[ ]*sudo[ ]-S
            | \b(?:PASSWORD|IDENTIFIED[ ]BY)[ ]+\\?'(?P<sql>[^'\\\n%$:]+)(?=\\?')
            | \bsmbclient\b[^\n|;]{0,400}?[ ]-U[ ]*\\?["']?[^\s%"'\\]+%(?P<third>[^\s"'\\]+)
            """,
            re.VERBOSE,
        ),
    ),
    (
        "password of a file",
        ("password",),
        re.compile(r"\b(?:login|machine|account)(?:\s+|\\n)+\S+(?:\s+|\\n)+password(?:\s+)(?P<secret>[^\s\"'\\<$]+)"),
    ),
    (
        "password of a file",
        ("requirepass ", "masterauth ", "ENV "),
        re.compile(
            r"(?:^|[\n;]|\\n)[ \t]*(?:(?:requirepass|masterauth)|ENV[ ]+[A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|_KEY))[ ]+"
            r"\\?[\"']?(?P<secret>[^\s\"'\\<$={][^\s\"'\\]{3,})"
        ),
    ),
    (
        "password of a file",
        (":*:", ":5432:", ":5433:", ":6432:"),
        re.compile(r"^[^\s:/]+:(?:\*|5432|5433|6432):[^\s:]+:[^\s:]+:(?P<secret>[^\s:]+)$", re.MULTILINE),
    ),
    (
        "password of a call",
        ("auth", "Auth", "login("),
        re.compile(
            r"\b(?:auth\s*=\s*\(|\w*BasicAuth\(|\blogin\()\s*\\?[\"'][^\"'\\\n]+\\?[\"']\s*,\s*\\?[\"'](?P<secret>[^\"'\\\n]+)(?=\\?[\"'])"
        ),
    ),
    (
        "password of a connection string",
        ("assword=", "wd=", "ccountKey=", "ccessKey="),
        re.compile(
            r"(?:(?<=;)\s*|\b(?=[\w ]+=[^;\"'\n]+;))(?:password|pwd|accountkey|sharedaccesskey)\s*=\s*(?P<secret>[^;\"'\\\s<>${}]+)"
            r"|\b(?:host|hostaddr|user|dbname|port)=[^\s\"',()]+\s[^\n\"']{0,400}?\bpassword=(?P<other>[^\s\"'\\,;<>${}()]+)"
            r"|\bpassword=(?P<third>[^\s\"'\\,;<>${}()]+)(?=\s+(?:host|hostaddr|user|dbname|port|sslmode)=)",
            re.IGNORECASE,
        ),
    ),
)  # fmt: skip
"""Kind, the texts of which one stands in each, and where the secret is: the group that matched."""

_HINTS = tuple((hint, number) for number, (_, hints, _) in enumerate(_PLACES) for hint in hints)
_COOKIES = re.compile(
    r"(?:(?P<set>set-)?cookie\\*[\"']?\s*[:=]\s*|\bcurl\b[^\n|;]{0,400}?\s(?:-b|--cookie)[ =]?)\\*[\"']?(?P<pairs>[^\s=;:\"'\\]+=[^\n\"'\\]+)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?P<before>(?:^|;)\s*(?P<name>[^\s=;]+)=)(?P<secret>[^;\s]{4,})")
_ATTRIBUTES = frozenset({"expires", "max-age", "path", "domain", "samesite", "priority", "version"})


def redact_places(text: str, replacement: str, found: Told) -> str:
    """Replace secrets that are known by where they stand.

    Args:
        text: any text.
        replacement: what is put in their place.
        found: is told the kind of each secret.
    """
    for number in sorted({number for hint, number in _HINTS if hint in text}):
        kind, _, expression = _PLACES[number]
        text = expression.sub(partial(_in_place, kind, replacement, found), text)
    if "ookie" in text or "OOKIE" in text or "curl" in text:
        text = _COOKIES.sub(partial(_in_cookies, replacement, found), text)
    return text


def _in_place(kind: str, replacement: str, found: Told, match: re.Match[str]) -> str:
    group = match.lastgroup or "secret"
    secret = match[group]
    if is_placeholder(secret):
        return match[0]
    found(kind)
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + replacement + match[0][end:]


def _in_cookies(replacement: str, found: Told, match: re.Match[str]) -> str:
    def replaced(pair: re.Match[str]) -> str:
        if pair["name"].lower() in _ATTRIBUTES or (match["set"] and pair.start()) or is_placeholder(pair["secret"]):
            return pair[0]
        found("cookie")
        return pair["before"] + replacement

    start = match.start("pairs") - match.start()
    return match[0][:start] + _PAIR.sub(replaced, match["pairs"])
