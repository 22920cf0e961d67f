"""Values that a sentence gives before their names: `Use … as the password`, `… is your API key`, `… (the password)`."""

from __future__ import annotations

import re

from .found import Secret
from .names import is_code_or_path, is_example, is_placeholder, looks_random
from .passwords_in_sentences import is_chosen, is_varied
from .secret_values import is_chosen_word

_BEFORE_CHARS = 140
_LEAST_VARIED = 20
"""The length of the shortest key with small and capital letters and digits."""
_BETWEEN = re.compile(
    r"""
    (?P<closing>["'`*_)»」“”\u2019]{0,4})
    (?: [ ] (?: as | is | was | are | for | = | will[ ]be | als | come | comme | como | jako | som | olarak | como[ ]la
            | как | в[ ]качестве | 作为 | 是 | est | es | ist | è | é | är | er | to | jest | este )
        [ ] (?: [A-Za-zÀ-ÿ'\u2019-]{1,15} [ ] ){0,3}
      | ,[ ](?:that['\u2019]?s|it['\u2019]?s|which[ ]is|das[ ]ist|c['\u2019]est|es)[ ]
        (?: [A-Za-zÀ-ÿ'\u2019-]{1,15} [ ] ){0,3}
      | [ ] [(\[] (?: [A-Za-zÀ-ÿ'\u2019-]{1,15} [ ] ){0,4}
      | [ ]? (?: が | は | を | 作为 | 作為 | 当作 | 是 | 이 | 가 | 은 | 는 ) [ ]?
      | [ ] [\u2013\u2014-]{1,2} [ ] (?: (?:the|your|my|our|new|this|is|that|was|das|le|la|el|il|o|a) [ ] ){0,4} )
    (?: (?:[\w.-]{1,20}[ ]){0,2} )? \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_USES = re.compile(
    r"(?<!\w)(?:use|used|using|try|type|enter|nimm|nehmt|verwende|benutze|utilise[rz]?|mets|usa|use[ -]?o|pon|metti"
    r"|gebruik|użyj|använd)"
    r"[ ][\"'`*]{0,2}\Z",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s\"'`()<>,;{}\[\]|\\«»“”„「」*]{6,400}\Z")


def said_before(text: str, first: int, *, is_password: bool, least_random: int = 20) -> Secret | None:
    """Find the value that a sentence gives before a name; None if there is none.

    Args:
        text: any text.
        first: the start of the name.
        is_password: whether the name is a password's; if not, it is a key's, which is always random.
        least_random: the least length of a key.
    """
    least = max(0, first - _BEFORE_CHARS)
    start = max(least, text.rfind("\n", least, first) + 1)
    near = text[start:first]
    if not any(map(str.isdigit, near)):
        return None
    between = _BETWEEN.search(near)
    if between is None:
        return None
    word = _WORD.search(near, 0, between.start())
    if word is None:
        return None
    if word.start() == 0 and start > 0 and not text[start - 1].isspace():
        return None  # only the end of a longer word
    value = word[0]
    is_used = is_password and _USES.search(near, 0, word.start()) is not None and is_chosen_word(value)
    if is_example(value) or is_placeholder(value) or (is_code_or_path(value) and not is_used):
        return None
    if is_password:
        sign_before = near[word.start() - 1 : word.start()]
        is_quoted = sign_before in ("`", '"', "'", "*") and between["closing"] != ""
        is_secret = is_chosen(value) or is_used or (is_quoted and is_varied(value))
    else:
        is_secret = _is_key(value, least_random)
    if not is_secret:
        return None
    value_start = start + word.start()
    return Secret(value_start, value_start + len(value), "password by its name")


def _is_key(value: str, least_random: int) -> bool:
    """Return whether a word looks like a random key."""
    if any(sign in value for sign in "/:=@%"):
        return False
    if looks_random(value, least=least_random):
        return True
    return len(value) >= _LEAST_VARIED and is_varied(value)
