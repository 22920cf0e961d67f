"""Passwords that a sentence gives after a user's name without naming them: `log in as root with x`, `u: robin p: x`.

The sentence has a verb for logging in. The password follows the user's name and a word such as `and` or `with`.
"""

from __future__ import annotations

import re

from .found import Secret
from .linked_passwords import may_be_password
from .searched_text import Beginnings, SearchedText

_USER = r"[^\s\"'`,;()<>=]{2,60}"
_LOGS_IN = re.compile(
    rf"""
    (?<!\w)(?: log(?:ged|ging)?[ -]?(?:in|on|into)? | sign(?:ed)?[ ](?:in|on|into) | login | logon | authenticat(?:e|es|ed|ing) | connect(?:ing|ed)? | ssh | get[ ]in
      | meld\w{{0,2}}(?:[ ](?:dich|euch|sie|mich))? | anmelden | einloggen | logge?[ ]dich | connecte\w{{0,2}}(?:-(?:toi|vous))? | connexion
      | inicia\w{{0,2}}[ ]sesión | entra\w{{0,2}} | accede\w{{0,2}} | ingresa\w{{0,2}} | conéctate | accedi\w{{0,2}} | collegati
      | entre | acess[ae]\w{{0,2}} | loga\w{{0,2}} | inloggen | zaloguj\w{{0,4}} | logga[ ]in | logg[ ]inn? | зай\w{{2,5}} | вой\w{{2,5}} | залогин\w{{2,6}} )
    (?!\w)[^\n.;:!?]{{0,80}}?
    [ ](?:with|using|via|as|mit|als|avec|con|com|como|met|als|jako|na|med|som|под|как|с)[ ](?:the[ ]|user[ ]|username[ ]|den[ ])?["'`]?{_USER}["'`]?[ ]?
    (?:[ ](?:and|with|using|und|mit|et|y|e|en|met|och|med|og|i|z|hasłem|avec|con|com|senha|и|с)[ ](?:паролем[ ]|(?:the[ ])?(?:password|pw|pass)[ ])?|[/|+&][ ]?|:|,[ ])
    ["'`“„«]?(?P<secret>[!-~]{{4,80}})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_VERBS = Beginnings(
    (
        *(
            "log ",
            "log-in",
            "log in",
            "login",
            "logon",
            "logged ",
            "logging ",
            "sign in",
            "sign on",
            "signed in",
            "signed into",
            "sign into",
        ),
        *(
            "authenticat",
            "connect ",
            "connecting ",
            "connected ",
            "ssh ",
            "get in",
            "meld ",
            "melde ",
            "melden ",
            "anmelden",
            "einloggen",
            "logge dich",
            "log dich",
        ),
        *(
            "connecte",
            "connexion",
            "inicia",
            "entra",
            "accede",
            "ingresa",
            "conéctate",
            "accedi",
            "collegati",
            "entre ",
            "acess",
            "loga",
        ),
        *("inloggen", "zaloguj", "logga in", "logg in", "зай", "вой", "залогин"),
    )
)
_GIVEN = re.compile(
    r"\bu(?:ser(?:name)?)?[ ]?[:=][ ]?\S{2,60}?[ ,;|]{1,3}p(?:w|wd|ass(?:word)?)?[ ]?[:=][ ]?[\"'`]?(?P<secret>[!-~]{4,80})",
    re.IGNORECASE,
)
_FIELDS = Beginnings(("u:", "u=", "u :", "user:", "user=", "user :", "username:", "username=", "username :"))
_USED = re.compile(
    rf"\b(?:use|try|with|take|nimm|mit|utilise[rz]?|usa|use[ -]?o|gebruik|använd)[ ][\"'`]?{_USER}[\"'`]?[ ]?[/|][ ]?[\"'`]?(?P<secret>[!-~]{{4,80}})"
    r"(?=[ ](?:to|for|um|pour|para|per|om|för|чтобы)[ ][^\n.]{0,30}?(?:log|sign|access|einlog|anmeld|connect|entr|acced|inlog))",
    re.IGNORECASE,
)
_USERLIST = re.compile(r"^\"[\w.@-]{1,60}\"[ ]\"(?P<secret>[^\s\"/:.,=]{8,80})\"[ \t]*$", re.MULTILINE)
"""A line of PgBouncer's file of users: `"robin" "x"`."""
_USES = Beginnings(("use ", "try ", "with ", "take ", "nimm ", "mit ", "utilise", "usa ", "gebruik ", "använd "))


def find_logins(searched: SearchedText) -> list[Secret]:
    """Find the passwords in sentences that say how to log in."""
    text = searched.text
    found = list[Secret]()
    if not searched.has_digit:
        return found
    if '" "' in text:
        lines = [line for line in _USERLIST.finditer(text) if may_be_password(line["secret"])]
        found += [Secret(*line.span("secret"), "password of a login") for line in lines]
    for beginnings, expression in ((_VERBS, _LOGS_IN), (_FIELDS, _GIVEN), (_USES, _USED)):
        for login in beginnings.matches(expression, searched, is_folded=True):
            start = login.start("secret")
            value = _whole(text, start, login.end("secret"))
            if may_be_password(value):
                found.append(Secret(start, start + len(value), "password of a login"))
    return found


def _whole(text: str, start: int, end: int) -> str:
    """Return the word of a sentence without closing punctuation."""
    return re.split(r"[\"'`”“»,;<>(){}\[\]]", text[start:end], maxsplit=1)[0].rstrip(".:!?")
