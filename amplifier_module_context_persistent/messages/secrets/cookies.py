"""Cookies: in headers, behind `curl -b`, and in the JSON of browsers, browser tools and HTTP clients.

A cookie counts if its name is that of a session cookie or its value looks random. Preferences and counters stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .found import Secret
from .names import is_placeholder, looks_random
from .searched_text import SearchedText

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
_LEAST_CHARS = 20
_FIELDS_OF_OBJECTS = frozenset({"name", "value"})
"""The fields that every cookie in JSON has."""
_OBJECT = re.compile(r"\{[^{}]{20,6000}\}")
_FIELD = r"\\*[\"']{name}\\*[\"']\s{{0,4}}:\s{{0,4}}\\*[\"'](?P<{name}>[^\"'\\\n]{{1,4000}})"
_NAME = re.compile(_FIELD.format(name="name"))
_VALUE = re.compile(_FIELD.format(name="value"))
_OF_BROWSER = re.compile(r"[\"'](?:httpOnly|sameSite|hostOnly|expirationDate)\\*[\"']")
_OF_SITE = re.compile(r"[\"'](?:domain|url|path)\\*[\"']")
_OF_SESSION = re.compile(r"sess|\bsid\b|auth|token|jwt", re.IGNORECASE)
_JAR = re.compile(r"\bcookies?\\*[\"']?\s{0,4}[:=]\s{0,4}(?:dict\()?\{(?P<pairs>[^{}]{8,4000})\}", re.IGNORECASE)
_ITEM = re.compile(
    r"[\"'](?P<name>[\w.-]{1,100})\\*[\"']\s{0,4}:\s{0,4}\\*[\"'](?P<secret>[^\s\"'\\;]{4,4000})(?=\\*[\"'])"
)


def find_cookies(searched: SearchedText) -> list[Secret]:
    """Find cookies that give access to a session."""
    text = searched.text
    found: list[Secret] = []
    if "ookie" in text or "OOKIE" in text or "curl" in searched.folded:
        found += _in_headers(text)
    if "{" in text and searched.words >= _FIELDS_OF_OBJECTS:
        found += _in_objects(text)
    if "{" in text and "cook" in searched.folded:
        found += _in_jars(text)
    return found


def _in_objects(text: str) -> Iterator[Secret]:
    """Yield cookies that are JSON objects with a name and a value."""
    for found in _OBJECT.finditer(text):
        start, end = found.span()
        name = _NAME.search(text, start, end)
        value = _VALUE.search(text, start, end)
        if name is None or value is None:
            continue
        if _OF_BROWSER.search(text, start, end):
            is_secret = _is_secret_cookie(name["name"], value["value"])
        else:
            names_session = _OF_SESSION.search(name["name"]) is not None
            is_of_site = _OF_SITE.search(text, start, end) is not None
            is_secret = names_session and is_of_site and looks_random(value["value"])
        if is_secret:
            yield Secret.of(value, "cookie", "value")


def _in_jars(text: str) -> Iterator[Secret]:
    """Yield cookies that a client gets by name: `cookies={"sessionid": "x"}`."""
    for jar in _JAR.finditer(text):
        start, end = jar.span("pairs")
        for item in _ITEM.finditer(text, start, end):
            if _is_secret_cookie(item["name"], item["secret"]):
                yield Secret(item.start("secret"), item.end("secret"), "cookie")


def _in_headers(text: str) -> Iterator[Secret]:
    for header in _COOKIES.finditer(text):
        start = header.start("pairs")
        for pair in _PAIR.finditer(header["pairs"]):
            is_attribute = header["set"] is not None and pair.start() > 0
            if not is_attribute and _is_secret_cookie(pair["name"], pair["secret"]):
                yield Secret(start + pair.start("secret"), start + pair.end("secret"), "cookie")


def _is_secret_cookie(name: str, value: str) -> bool:
    if _NO_COOKIE.fullmatch(name) or is_placeholder(value):
        return False
    return bool(_KEEPS.search(name)) or looks_random(value, least=6) or len(value) >= _LEAST_CHARS
