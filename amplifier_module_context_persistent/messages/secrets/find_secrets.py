"""Search a text for secrets, without decoding it: by form, by place, in cookies, by name.

Rules:
- A cheap check comes first: forms are searched for only in odd words, and a row of places only if one of its hints is
  in the text.
- Every search returns the places of its secrets, which are hidden from the next search. The text keeps its length, so
  that places stay valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from .announced import find_announced
from .answers_to_questions import find_answers
from .base64_text import find_in_base64
from .bitlocker_keys import find_bitlocker_keys
from .by_form import find_by_form, odd_words
from .commands import find_in_commands
from .compared_values import find_compared
from .cookies import find_cookies
from .echoed_values import find_echoed
from .flags import find_behind_flags
from .formats import LEAST_CHARS
from .found import Secret, hidden, merged
from .hex_dumps import find_in_hex_dumps
from .kubernetes import find_in_kubernetes_secrets
from .logins_in_sentences import find_logins
from .named_values import find_named, find_near_names
from .names import is_example, is_placeholder
from .own_forms import OwnForms
from .passwords_in_sentences import find_pairs
from .payment_cards import find_card_numbers
from .places import places_possible_in
from .plain_words import find_plain_words
from .recovery_codes import find_recovery_codes
from .references import is_reference
from .searched_text import SearchedText
from .secrets_in_calls import find_in_calls
from .secrets_in_tables import find_by_foreign_names
from .sections import find_in_sections
from .seed_phrases import find_seed_phrases
from .services_in_sentences import find_by_service
from .short_codes import find_short_codes
from .shown_values import find_shown
from .split_tokens import find_split_tokens
from .user_and_password import find_users_with_passwords
from .wallet_keys import find_wallet_keys
from .wrapped_values import wrapped_rest

_PADDING = re.compile(r"(?<=[A-Za-z0-9+/_-])={1,2}(?![\w=])")
_PLAIN = re.compile(
    rf"""
    (?: [\w.@-]{{0,{LEAST_CHARS - 1}}} / ){{0,30}} [\w.@-]{{0,{LEAST_CHARS - 1}}}
      | (?: toolu | call | msg | resp | req | chatcmpl | fc ) [_-] [A-Za-z0-9]{{1,64}}
      | [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9:.]{{5,20}}Z?
    """,
    re.ASCII | re.VERBOSE,
)
"""A text that is too simple for a secret: a role, a type, a path, a time, an id. Its parts are too short for a form."""
_ENCODED = re.compile(r"[A-Za-z0-9+/]{100,}={0,2}", re.ASCII)
"""A picture or a signature, which has neither names nor signs between a name and a value."""
_BY_LABEL = (
    find_cookies,
    find_announced,
    find_users_with_passwords,
    find_in_commands,
    find_echoed,
    find_behind_flags,
    find_in_calls,
    find_in_kubernetes_secrets,
    find_seed_phrases,
    find_recovery_codes,
    find_short_codes,
    find_card_numbers,
    find_named,
    find_by_foreign_names,
    find_compared,
    find_in_sections,
    find_plain_words,
    find_pairs,
    find_logins,
    find_answers,
    find_shown,
    find_near_names,
)
Look = Callable[[SearchedText], list[Secret]]


def search(text: str, own: OwnForms | None = None) -> list[Secret]:
    """Return the secrets in a text, in order; nothing is decoded."""
    if own is None and _PLAIN.fullmatch(text):
        return []
    found = own.find(text) if own else []
    searched = SearchedText(hidden(text, found))
    words = odd_words(searched.text)
    for look in _certain(words, search):
        if new := look(searched):
            searched = _without(searched, new, found)
    if not _ENCODED.fullmatch(text):
        for look in (_by_place, *_BY_LABEL, partial(find_by_service, words=words)):
            new = [secret for secret in look(searched) if not is_reference(searched.text, secret)]
            if new:
                searched = _without(searched, new, found)
    return [_with_padding(text, secret) for secret in merged(found)]


def _without(searched: SearchedText, new: list[Secret], found: list[Secret]) -> SearchedText:
    """Return a text in which new secrets are hidden, and add these to `found`.

    If a secret's line is broken, the rest of it on the next lines is hidden and added too.
    """
    with_rests = list(new)
    for secret in new:
        with_rests += wrapped_rest(searched.text, secret)
    found += with_rests
    return searched.with_hidden(with_rests)


def _with_padding(text: str, secret: Secret) -> Secret:
    """Return a secret extended by the padding of base64: at most two signs, and only if these complete the base64."""
    padding = _PADDING.match(text, secret.end)
    if padding is None or (padding.end() - secret.start) % 4:
        return secret
    return Secret(secret.start, padding.end(), secret.kind)


def search_forms(text: str) -> list[Secret]:
    """Return the secrets that are recognised without a name, in order.

    These are secrets of a known form (also in pieces, in base64 and in hex dumps), and keys with a checksum.
    """
    searched = SearchedText(text)
    found = list[Secret]()
    for look in _certain(odd_words(text), search_forms):
        if new := look(searched):
            searched = _without(searched, new, found)
    return merged(found)


def _certain(words: list[tuple[int, int]], search: Callable[[str], list[Secret]]) -> tuple[Look, ...]:
    """Return the searches for secrets that are recognised without a name.

    Args:
        words: the places of the text's odd words.
        search: searches the decoded text of a part.
    """
    return (
        partial(find_in_hex_dumps, search=search),
        partial(find_by_form, words=words),
        partial(find_wallet_keys, words=words),
        partial(find_in_base64, words=words, search=search),
        find_split_tokens,
        find_bitlocker_keys,
    )


def _by_place(searched: SearchedText) -> list[Secret]:
    text = searched.text
    found = list[Secret]()
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
