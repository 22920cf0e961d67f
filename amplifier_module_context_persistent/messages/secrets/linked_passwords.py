"""Passwords that a sentence links with their name by a verb or a sign: `the password of the server is now x`.

Any words may be between the name and the verb, as in `Le mot de passe du serveur est x`, `I reset her password to x`.
The word right after the verb has to look like a chosen password (`is_chosen_word`), or several words have to follow up
to the end of the line.
"""

from __future__ import annotations

import re

from .found import Secret
from .names import looks_random
from .passwords_in_sentences import is_chosen, is_varied
from .secret_values import is_chosen_word, is_count, is_phrase, names_technique

_MOST_CHARS = 200
_LEAST_KEY = 20
_BEFORE_CHARS = 60
_DIGIT = re.compile("[0-9]")
_VERBS = r"will[ ]be|has[ ]been[ ](?:re)?set[ ]to|should[ ]be|" + (
    "is was are were lautet ist war heißt est était es era será è e['’] é fue foi är var er jest sera serait será sarà wird wäre zal будет bude będzie"
    " to je adalah là это este είναι olarak seria"
    " هي هو أصبحت صارت היא הוא הינה זה є ialah yaitu"
).replace(" ", "|")
_NOW = "now|still|currently|again|just|jetzt|nun|aktuell|maintenant|ahora|ora|adesso|agora|nu|teraz|nyt|теперь|сейчас|şimdi"
_NOW_ALSO = "nyní|teď|most|mostantól|acum|τώρα|πλέον|тепер|зараз|الآن|حاليا|עכשיו|כעת|اکنون|الان|अब|sekarang|kini|bây giờ|hiện tại|nå"
_LINKED = re.compile(
    rf"""
    (?: ['’]s (?=[ ][^\n]{{0,60}}[ ](?:is|was)[ ]) )?
    (?P<between> (?:,?[ ][^\s.:;=!?"'`()<>→—–-](?:[^\s:;=!?"`()<>→,]{{0,30}}[^\s.:;=!?"`()<>→,])?){{0,8}}? )
    (?:
        [ ](?P<moved>(?:set[ ]|back[ ])?to|into|en|pour|por|para|a|auf|in|na|till|til|naar|на|zu)(?=[ ])
      | ,?[ ](?:c['’]est[ ])?(?:{_VERBS})(?=[ :])(?:[ ](?:{_NOW}|{_NOW_ALSO})(?=[ :]))?[ ]?:?
      | [ ](?P<on>on)(?=[ ])(?:[ ](?:{_NOW})(?=[ :]))? | [ ](?:{_NOW_ALSO}|now|currently)(?=[ :]):?
      | ,?[ ]c['’]est | ['’]s | (?:[ ]?[?,;]|[ ][\u2013\u2014-])[ ](?:it['’]s|it[ ]is|that['’]s|that[ ]is|here[ ]it[ ]is:?|still)(?=[ ])
      | (?P<sign>[ ]?[:=\uff1a\uff1d\u2192] | [ ](?:->|=>|[\u2013\u2014-]) )
      | [ ]?(?P<wide>[\u3040-\u30ff\u4e00-\u9fff]{{0,8}}?(?:は|を|が|是|为|為|成了?|给|設為|为了)|[\u0e00-\u0e7f ]{{0,60}}?(?:คือ|เป็น))
      | [\uac00-\ud7af]{{0,2}}(?:는|은|를|을|가|이)
    )
    [ \u00a0]{{0,3}} [*_]{{0,2}} (?P<quote>["'`«‹“„”‘「『]?)[ \u00a0\u202f]?
    (?P<rest>[!-~]{{1,80}}(?:[ ][A-Za-z0-9]{{1,12}}){{0,12}})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_VERB_LAST = re.compile(
    r"""(?:[ ][^\s:;=!?"'`()<>→।]{1,30}){0,8}?[ ]["'`]?(?P<secret>[!-&*-~]{6,80}?)["'`]?[ ](?:है|हैं|था|होगा|कर[ ]द|است|می[\u200c ]?باشد|شد)"""
)
_ADJACENT = re.compile(
    r"""
    ["'`]?,? [ \t]{1,8} (?: with:[ ] | (?P<of>(?:от|для|к|до|for|of|de|du|del|della|do|da|van|für|do|till?)[ ] (?:[^\W\d]{1,20}[ ]){1,3}) )?
    (?P<quote>["'`]?) (?P<secret>[!-&*-~][!-&*-+\--~]{4,80}(?<!["'`,;]))
    """,
    re.VERBOSE,
)
_BRACKETED = re.compile(r"[ ]\([\"'`]?(?P<secret>[!-&*-~]{6,80}?)[\"'`]?\)")
"""A password in brackets: `the admin password (x) still works`."""
_REPLACED = re.compile(
    r"(?:[ ][\w.-]{1,20}){0,4}?[ ](?:from|von|de|da|van)[ ][\"'`]?(?P<old>[!-&*-~]{4,80}?)[\"'`]?[ ](?:to|auf|in|à|a|para|naar)[ ][\"'`]?(?P<new>[!-&*-_a-~]{4,80})"
)
"""A password that replaced another password: `the password from x to y`."""
_ENDS_LINE = re.compile(r"[\"'`]?[.,;!]?[ \t]*(?:[\r\n]|\Z)|[\"'`]?[,;.](?=[ ])")
_USER_BEFORE = re.compile(
    r"(?:\b(?:user(?:name)?|login|account|acct|usr|usuario|utilisateur|identifiant|benutzer(?:name)?|utente|usuário|gebruiker|użytkownik|användare)"
    r"|пользователь|логин|ユーザー名?|用户名?)[ :=]{1,3}[^\s,;]{1,60}[,;]?[ ](?:and[ ]|with[ ]|und[ ]|mit[ ]|et[ ]|y[ ]|e[ ]|con[ ])?\Z"
    r"|(?:\A|[\]>|-][ ]?)[A-Z][\w.+-]{1,30}(?:[ ][\w.+-]{1,30})?:[ ]\Z"
    r"|[ ]is[ ][^\s,;]{1,60}[ ](?:and|with)[ ](?:the[ ])?\Z"
    r"|\bssh[ ]\S{3,80}[ ,;]{1,2}(?:with[ ]|and[ ])?\Z",
    re.IGNORECASE,
)
_LOGS_IN = re.compile(
    r"\b(?:log-?[io]n|logged|sign(?:ed)?[ -]?in|auth\w{0,14}|connect\w{0,6}|creat\w{0,4}|user|account)\b[^\n]{0,40}[ ](?:with|using)[ ](?:the[ ])?\Z",
    re.IGNORECASE,
)
"""The text before `password x` if the sentence says how somebody logs in."""
_SLAVIC = re.compile("has[lł]|hesl", re.IGNORECASE)
"""Names in languages in which `to` means `is`: `hasło to x`."""
_WHICH = re.compile(
    r"\b(?:temp|temporary|initial|new|old|previous|current|default|root|admin|wi-?fi|guest|db|database|server|router|enable|neighbor[ ]\S+|bind|sudo|my|ftp)[ ]\Z",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s\"`<>,;(){}\[\]|\\]{4,80}")
_CHANGE = re.compile(
    r"\b(?:re)?(?:set|chang|updat|rotat|switch|mov|mod[ií]f|camb|mud[ea]|actuali|atualiz|chang|ändr|änder|geänder|gesetz|setz|zmieni|wijzig|verander"
    r"|chiama|imposta|pus[oe]|puse|mis|поменя|смени|измени|обнови|установ|değiştir)",
    re.IGNORECASE,
)
_ITALIAN = re.compile("cambiat|modificat|mutat", re.IGNORECASE)
_AFTER_CHANGE = re.compile(r"[ ](?:geändert|gesetzt|gewechselt|umgestellt|veranderd|gewijzigd|değiştirdim)\b")
_CLOSING = "\"'`\n\r.”»“"
_CONTINUES = re.compile(r"[(\[{=]|://|\.\w|::|/\w")


def may_be_password(value: str) -> bool:
    """Return whether a word of a sentence looks like a password, chosen by a person or made by a machine."""
    if is_count(value):
        return False
    if is_chosen_word(value):
        return True
    return (is_chosen(value) or is_varied(value)) and not names_technique(value)


def linked_key(text: str, first: int, end: int) -> Secret | None:
    """Find the random key that a verb or a sign links with a name; None if there is none."""
    linked = _LINKED.match(text, end, end + _MOST_CHARS)
    if linked is None or linked["moved"]:
        return None
    word = _WORD.match(text, linked.start("rest"), linked.end("rest"))
    if word is None:
        return None
    value = word[0].rstrip(".:!?'’*_")
    if not looks_random(value, least=_LEAST_KEY) or "/" in value or "=" in value or value.islower():
        return None
    return Secret(word.start(), word.start() + len(value), "key by its name")


def linked_password(text: str, first: int, end: int) -> Secret | None:
    """Find the password that a verb or a sign links with a name; None if there is none.

    Args:
        text: any text.
        first: the start of the name.
        end: the end of the name, including its ending.
    """
    adjacent = _adjacent(text, first, end)
    if adjacent is not None:
        return adjacent
    bracketed = _BRACKETED.match(text, end)
    if bracketed and may_be_password(bracketed["secret"]) and sum(map(str.isdigit, bracketed["secret"])) > 1:
        return Secret.of(bracketed, "password by its name")
    replaced = _REPLACED.match(text, end)
    if replaced:
        new = replaced["new"].rstrip(".:!?")
        if may_be_password(replaced["old"]) and may_be_password(new):
            return Secret(replaced.start("old"), replaced.start("new") + len(new), "password by its name")
    linked = _LINKED.match(text, end, end + _MOST_CHARS)
    while linked is not None:
        found = _value_of(text, first, linked)
        if found is not None:
            return found
        link = "moved" if linked["moved"] else "on"
        if not linked[link]:
            break
        linked = _LINKED.match(text, linked.end(link), end + _MOST_CHARS)
    return _before_verb(text, end)


def _before_verb(text: str, end: int) -> Secret | None:
    """Find a password that is before its verb, as in Hindi and Persian; None if there is none."""
    sentence = _VERB_LAST.match(text, end, end + _MOST_CHARS)
    if sentence is None or not may_be_password(sentence["secret"]):
        return None
    return Secret(*sentence.span("secret"), "password by its name")


def _adjacent(text: str, first: int, end: int) -> Secret | None:
    """Find a password that follows its name after at most a few words: `user robin, password x`.

    The result is None if there is none.
    """
    adjacent = _ADJACENT.match(text, end, end + _MOST_CHARS)
    if adjacent is None:
        return None
    value = adjacent["secret"].rstrip(".:!?")
    start = adjacent.start("secret")
    stop = start + len(value)
    if not may_be_password(value) or ("=" in value and text[first:end].lower() == "pass"):
        return None
    if _CONTINUES.match(text, stop):
        return None
    before = text[max(0, first - _BEFORE_CHARS) : first].rpartition("\n")[2]
    ends_line = _ENDS_LINE.match(text, adjacent.end()) is not None
    is_foreign = not text[first:end].isascii() or adjacent["of"] is not None
    is_said = ends_line and (not before.strip(" \t#>-*") or is_foreign or _WHICH.search(before) is not None)
    is_quoted = adjacent["quote"] != "" and text.startswith(adjacent["quote"], adjacent.end())
    if is_said or is_quoted or _LOGS_IN.search(before) or _USER_BEFORE.search(before):
        return Secret(start, stop, "password by its name")
    return None


def _value_of(text: str, first: int, linked: re.Match[str]) -> Secret | None:
    if linked["sign"] and not linked["between"]:
        return _assigned_phrase(text, linked)
    is_verb = linked["moved"] == "to" and _SLAVIC.match(text, first) is not None
    if linked["moved"] and not is_verb and not _is_changed(text, first, linked):
        return None
    start, rest_end = linked.span("rest")
    word = _WORD.match(text, start, rest_end)
    if word is None:
        return None
    value = word[0].partition(linked["quote"] or "\n")[0].rstrip(".:!?'’*_")
    end = start + len(value)
    if may_be_password(value) and not _CONTINUES.match(text, end):
        return Secret(start, end, "password by its name")
    is_last = rest_end == len(text) or text[rest_end] in _CLOSING
    if is_last and not (linked["moved"] or linked["wide"]) and is_phrase(linked["rest"]):
        return Secret(start, rest_end, "password by its name")
    return None


def _assigned_phrase(text: str, linked: re.Match[str]) -> Secret | None:
    """Find a pass phrase without quotes, up to the end of its line; None for a single word, which other rules judge."""
    start, end = linked.span("rest")
    is_last = end == len(text) or text[end] in "\r\n"
    if not is_last or linked["quote"] or " " not in linked["rest"] or not is_phrase(linked["rest"]):
        return None
    return Secret(start, end, "password by its name")


def _is_changed(text: str, first: int, linked: re.Match[str]) -> bool:
    """Return whether the sentence says that something is set or changed."""
    before = text[max(0, first - _BEFORE_CHARS) : first].rpartition("\n")[2]
    if linked["moved"] == "in" and not _ITALIAN.search(before):
        return False
    if _CHANGE.search(before) or _CHANGE.search(linked["between"]) or linked["moved"].lower().startswith("set"):
        return True
    word = _WORD.match(text, linked.start("rest"))
    return word is not None and _AFTER_CHANGE.match(text, word.end()) is not None
