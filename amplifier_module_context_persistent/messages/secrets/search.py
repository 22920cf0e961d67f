"""Search a text as it is for secrets: by form, by place, in cookies, by name. Each hides what it finds from the next.

Rules:
- A cheap look comes first: the beginnings of all forms are one expression that reads long words only, and the exact
  expression of a form is tried at its beginnings only. Other rows are looked for if one of their hints is in the text.
- Every search returns where its secrets are; the text keeps its length, so that positions stay true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial

from .announced import find_announced
from .base64_text import find_in_base64, is_in_encoded_data
from .calls import find_in_calls
from .commands import find_in_commands
from .cookies import find_cookies
from .formats import HINT_CHARS, LEAST_CHARS, TOKENS, Format
from .found import Secret, hidden, merged
from .kubernetes import find_in_kubernetes_secrets
from .logins_in_sentences import find_logins
from .named_values import find_named
from .names import is_example, is_placeholder
from .own_forms import OwnForms
from .passwords_in_sentences import find_pairs
from .places import places_possible_in
from .recovery_codes import find_recovery_codes
from .searched_text import SearchedText
from .seed_phrases import find_seed_phrases
from .services_in_sentences import find_by_service
from .short_codes import find_short_codes
from .shown_values import find_shown
from .tables import find_by_foreign_names

_PADDING = re.compile(r"(?<=[A-Za-z0-9+/_-])={1,2}(?![\w=])")
_LONG_WORD = re.compile(rf"(?<!\S)\S{{{LEAST_CHARS},}}")
_PLAIN = re.compile(
    rf"""
    (?: [\w.@-]{{0,{LEAST_CHARS - 1}}} / ){{0,30}} [\w.@-]{{0,{LEAST_CHARS - 1}}}
      | (?: toolu | call | msg | resp | req | chatcmpl | fc ) [_-] [A-Za-z0-9]{{1,64}}
      | [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9:.]{{5,20}}Z?
    """,
    re.ASCII | re.VERBOSE,
)
"""A text that has nothing beside it, with parts too short for a form: a role, a type, a path, a time; an id."""
_BY_LABEL = (
    find_cookies,
    find_announced,
    find_in_commands,
    find_in_calls,
    find_in_kubernetes_secrets,
    find_seed_phrases,
    find_recovery_codes,
    find_short_codes,
    find_named,
    find_by_foreign_names,
    find_pairs,
    find_logins,
    find_shown,
)
Look = Callable[[SearchedText], list[Secret]]
_WITH_SPACES = tuple(known for known in TOKENS if known.has_spaces)
_HINTS_IN_WORDS = tuple(
    (hint, known) for known in TOKENS if not (known.leads or known.has_spaces) for hint in known.hints
)


def search(text: str, own: OwnForms | None = None) -> list[Secret]:
    """Find what looks like a secret in a text, in order; nothing is decoded."""
    if own is None and _PLAIN.fullmatch(text):
        return []
    words = [word.span() for word in _LONG_WORD.finditer(text)]
    looks: tuple[Look, ...] = (
        partial(_by_form, words=words),
        partial(find_in_base64, words=words, search=search),
        _by_place,
        *_BY_LABEL,
        partial(find_by_service, words=words),
    )
    found = own.find(text) if own else []
    searched = SearchedText(hidden(text, found))
    for look in looks:
        if new := look(searched):
            found += new
            searched = searched.with_hidden(new)
    return [_with_padding(text, secret) for secret in merged(found)]


def _with_padding(text: str, secret: Secret) -> Secret:
    """Return a secret with the signs that fill up its base64; two at most, and only where they fill it up."""
    padding = _PADDING.match(text, secret.end)
    if padding is None or (padding.end() - secret.start) % 4:
        return secret
    return Secret(secret.start, padding.end(), secret.kind)


def search_forms(text: str) -> list[Secret]:
    """Find what is known by its form alone, in order; what is in base64 goes as a whole."""
    words = [word.span() for word in _LONG_WORD.finditer(text)]
    found = _by_form(SearchedText(text), words)
    rest = SearchedText(hidden(text, found))
    return merged([*found, *find_in_base64(rest, words=words, search=search_forms)])


def _by_form(searched: SearchedText, words: list[tuple[int, int]]) -> list[Secret]:
    text = searched.text
    found = _by_expression(text, [known for known in _WITH_SPACES if any(map(text.__contains__, known.hints))])
    text = hidden(text, found)
    if not words:
        return found
    begun = list(_begun(text, words))
    text = hidden(text, begun)
    long_words = "\n".join([text[start:end] for start, end in words])
    hinted = {known.kind: known for hint, known in _HINTS_IN_WORDS if hint in long_words}
    within = [known for known in hinted.values() if known.expression.search(long_words)]
    return found + [secret for secret in begun + _by_expression(text, within) if not is_in_encoded_data(text, secret)]


def _by_expression(text: str, rows: list[Format]) -> list[Secret]:
    found = []
    for known in rows:
        matches = known.expression.finditer(text)
        found += [Secret(*match.span(), known.kind) for match in matches if not is_example(match[0])]
    return found


def _begun(text: str, words: list[tuple[int, int]]) -> Iterator[Secret]:
    """Find the secrets that begin with fixed text, in words."""
    heads, rows = _heads()
    for start, end in words:
        done = start
        for at, head in _heads_in(heads, text, start, end):
            secret = _at(text, at, rows[head]) if at >= done else None
            if secret is not None and not is_example(text[secret.start : secret.end]):
                yield secret
                done = secret.end


def _heads_in(heads: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Give the first characters of forms in a word, with their places; a sign is before each, or the text's start."""
    if start == 0 and (first := heads.match(" " + text[:HINT_CHARS])):
        yield 0, first["head"]
    for head in heads.finditer(text, max(0, start - 1), end):
        yield head.start("head"), head["head"]


def _at(text: str, at: int, rows: list[Format]) -> Secret | None:
    """Find a secret that begins at a position."""
    for known in rows:
        if text.startswith(known.hints, at) and (match := known.expression.match(text, at)):
            return Secret(at, match.end(), known.kind)
    return None


@cache
def _heads() -> tuple[re.Pattern[str], dict[str, list[Format]]]:
    """An expression for the first characters of the forms that begin with fixed text, and the forms by these."""
    rows: dict[str, list[Format]] = {}
    for known in TOKENS:
        for head in sorted({hint[:HINT_CHARS] for hint in known.hints}) if known.leads else ():
            rows.setdefault(head, []).append(known)
    by_letter: dict[str, list[str]] = {}
    for head in sorted(rows):
        by_letter.setdefault(head[0], []).append(re.escape(head[1:]))
    several = "|".join(f"{re.escape(letter)}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    return re.compile(rf"[^A-Za-z0-9](?:(?<=\\)[nrt])??(?=(?P<head>{several}))"), rows


def _by_place(searched: SearchedText) -> list[Secret]:
    text, found = searched.text, list[Secret]()
    for place in places_possible_in(searched):
        new = []
        for match in place.expression.finditer(text):
            group = match.lastgroup or "secret"
            if not (is_placeholder(match[group]) or is_example(match[group])):
                new.append(Secret(*match.span(group), place.kind))
        if new:
            found += new
            text = hidden(text, new)
    return found
