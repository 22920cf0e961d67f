"""Secrets beside names in other languages than English: `mot de passe : …`, `пароль: …`, `密码是…`.

Rules:
- A name counts if a colon, an equals sign or a verb is between it and its value, on one line. Other words may follow
  the name before a colon, and before a verb if the value is quoted: `Passwort für die Datenbank: …`.
- A value has at least six ASCII characters, among them a letter and a digit. So prose about passwords stays.
- Words with other meanings, such as keys, need a value that looks random.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from .found import Secret
from .linked_passwords import linked_key, linked_password
from .names import UUID, is_example, is_placeholder, is_scrambled, is_template, looks_random, names_password
from .passwords_in_sentences import said_value
from .searched_text import Beginnings, SearchedText
from .secret_values import names_technique
from .values_before_names import said_before

_PASSWORDS = {
    "Bulgarian, Croatian, Serbian, Slovenian": ("парола", "lozinka", "лозинка", "geslo"),
    "Catalan, Estonian, Icelandic, Lithuanian": ("contrasenya", "parool", "lykilorð", "slaptažodis"),
    "Arabic": ("كلمة المرور", "كلمة السر"),
    "Chinese": ("密码", "密碼", "口令"),
    "Czech, Slovak": ("heslo",),
    "Danish, Norwegian, Swedish": (
        *("adgangskode", "adgangskoden", "kodeord", "kodeordet", "passord", "passordet", "lösenord"),
    ),
    "Dutch": ("wachtwoord",),
    "Finnish": ("salasana",),
    "French": ("mot de passe", "mdp"),
    "German": ("passwort", "kennwort"),
    "Greek": ("κωδικός πρόσβασης", "συνθηματικό"),
    "Hebrew": ("סיסמה", "סיסמא"),
    "Hindi": ("पासवर्ड",),
    "Hungarian": ("jelszó", "jelszava", "jelszavam"),
    "Indonesian": ("kata sandi", "kata sandinya", "kata laluan"),
    "Japanese": ("パスワード", "パスフレーズ"),
    "Korean": ("비밀번호", "패스워드", "비번"),
    "Persian": ("رمز عبور", "گذرواژه", "کلمه عبور"),
    "Polish": ("hasło", "haslo"),
    "Portuguese": ("senha", "palavra-passe"),
    "Romanian, Turkish": ("parola", "parolă", "parolas\u0131", "şifre", "sifre", "sifresi"),
    "Russian, Ukrainian": ("пароль", "пароля", "пароли"),
    "Spanish": ("contraseña", "contrasen\u0303a", "contrasena"),
    "Thai": ("รหัสผ่าน",),
    "Vietnamese": ("mật khẩu",),
}
_KEYS = {
    "Chinese": ("密钥", "密鑰", "令牌"),
    "Dutch": ("sleutel",),
    "French": ("clé", "jeton"),
    "German": ("schlüssel", "geheimnis", "zugangstoken"),
    "Italian": ("chiave", "segreto"),
    "Japanese": ("キー", "シークレット", "トークン"),
    "Korean": ("키", "토큰", "암호"),
    "Polish": ("klucz",),
    "Portuguese": ("chave", "segredo"),
    "Russian": ("ключ", "токен"),
    "Spanish": ("clave", "secreto"),
}
"""Words for a key, a token or a secret that also have other meanings."""
_ALSO_PASSWORDS = frozenset({"clave", "암호", "κωδικός", "código de acceso", "code d'accès", "zugangscode"})
"""Words for keys and codes after which a sentence may also give a password."""
_WORDS = {word for names in (*_PASSWORDS.values(), *_KEYS.values(), _ALSO_PASSWORDS) for word in names}
_ASCII_WORDS = sorted(filter(str.isascii, _WORDS))
_OTHER_WORDS = sorted(_WORDS.difference(_ASCII_WORDS))
_ALL_PASSWORDS = frozenset(word for names in _PASSWORDS.values() for word in names)


def _any_of(words: Iterable[str]) -> str:
    """Return an expression for any of several names; a sign may join their words, as in `mot_de_passe`."""
    return "|".join([re.escape(word).replace(r"\ ", "[ _-]") for word in words])


def _spelled(name: str) -> str:
    """Return a found name in the spelling of `_PASSWORDS` and `_KEYS`: in lower case, words separated by spaces."""
    in_lower_case = name.lower()
    if in_lower_case in _ALL_PASSWORDS:  # also a name with a hyphen, such as `palavra-passe`
        return in_lower_case
    return in_lower_case.replace("_", " ").replace("-", " ")


_VERBS = r"lautet|ist|war|est|es|é|è|e|är|er|on|jest|to|je|adalah|là|это|هي|is"
_NAME = rf"""
    (?<![A-Za-z]) (?: {_any_of(_ASCII_WORDS)} ) (?![A-Za-z])
    | (?: {_any_of(_OTHER_WORDS)} )
"""
_SPELLINGS = sorted({spelt for word in _WORDS for spelt in (word, word.replace(" ", "_"), word.replace(" ", "-"))})
_BEGINNINGS = Beginnings(_SPELLINGS)
_LETTER = re.compile("[a-z]")
_NAME_ALONE = re.compile(_NAME, re.VERBOSE | re.IGNORECASE)
_NAMED = re.compile(
    rf"""
    (?P<name> {_NAME} )
    (?: [^\n:=\uff1a\uff1d]{{0,40}}? [:=\uff1a\uff1d] | \s{{0,3}}(?:は|是|为|為|은|는) | [ ](?:{_VERBS})[ ]:?
        | [^\n:=\uff1a\uff1d]{{0,40}}? [ ](?:{_VERBS})[ ](?=\\?["'`]) )
    [*_ \t]{{0,8}}
    (?: (?P<quote>\\?["'`]) (?P<quoted>[!-~]{{6,200}}?) (?P=quote)
      | [「“«]? (?P<bare>[^\s"'`<>,;(){{}}\[\]|\\]{{6,200}}) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OF_WIFI = re.compile(
    r"(?:wlan|wi-?fi|wpa2?|netzwerk)[ -]?\w{0,12}|\w[ ](?:du|del|do|de la|van de)[ ](?:wi-?fi|red|rede|réseau)\b",
    re.IGNORECASE,
)
"""Words beside which a key is a password that a person chose."""
_STANDARD = re.compile(r"(?:wpa|wep)[0-9]?(?:[-/ ]\w{2,12}){0,3}", re.IGNORECASE)
"""A security standard of wireless networks, such as `WPA2-PSK`."""
_ENDING = re.compile(r"[^\W\d\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{0,6}")
_LEAST_CHARS = 6
_MOST_KEY_CHARS = 100
_KEYS_KNOWN = 4_096
_SHOWN = re.compile(r"[!-~]+")
_PATH_OR_ADDRESS = re.compile(r"[a-z]+://.*|(?:~|\.{1,2})?/.*|[\w.-]+(?:/[\w.-]+)+", re.IGNORECASE)


def is_named_in_another_language(key: str, item: str) -> bool:
    """Return whether `key` names a secret in another language than English, and the text `item` under it is one."""
    name = name_in_another_language(key)
    return name != "" and _SHOWN.fullmatch(item) is not None and _is_secret(item, is_password=name in _ALL_PASSWORDS)


@lru_cache(_KEYS_KNOWN)
def name_in_another_language(key: str) -> str:
    """Return the name of a secret, in another language than English, in a key of a JSON object; "" if there is none."""
    if len(key) > _MOST_KEY_CHARS:
        return ""
    match = _NAME_ALONE.search(key.replace("_", " ").replace("-", " "))
    return "" if match is None else _spelled(match[0])


def names_foreign_password(name: str) -> bool:
    """Return whether a name is exactly the word for a password in another language, as in the head of a table."""
    return _spelled(name.strip()) in _ALL_PASSWORDS


def names_password_in(text: str) -> bool:
    """Return whether a text has a word for passwords in another language, or for the key of a wireless network."""
    named = _NAME_ALONE.search(text)
    if named is None:
        return False
    return _spelled(named[0]) in _ALL_PASSWORDS or _OF_WIFI.search(text) is not None


def is_label(value: str, name: str) -> bool:
    """Return whether a value is the label of a field in a form, and no secret: `"password": "Contraseña"`.

    A key or a token is never a word; a word for a password in another language is not the password.
    """
    letters = value.replace("-", "").replace(" ", "")
    if not letters.isalpha() or is_scrambled(value):
        return False
    if names_foreign_password(value):
        return True
    is_capitalised = value[:1].isupper() and value[1:].islower()
    is_word = is_capitalised or not value.isascii() or " " in value
    return is_word and not names_password(name)


def foreign_names_in(searched: SearchedText) -> list[tuple[int, int]]:
    """Return the start and end of each name in another language in a text, in order."""
    folded = searched.folded
    found = list[tuple[int, int]]()
    for word in _BEGINNINGS.possible_in(searched):
        at = folded.find(word)
        while at >= 0:
            end = at + len(word)
            if not word.isascii() or not _goes_on(folded, at, end):
                found.append((at, end))
            at = folded.find(word, end)
    return sorted(found)


def _goes_on(folded: str, start: int, end: int) -> bool:
    """Return whether a name of ASCII letters is only a part of a longer word."""
    if _LETTER.match(folded, end):
        return True
    return start > 0 and _LETTER.match(folded, start - 1) is not None


def find_foreign(text: str, names: Iterable[tuple[int, int]]) -> list[Secret]:
    """Find secrets beside names in other languages than English.

    Args:
        text: any text.
        names: the places of the names (`foreign_names_in`).
    """
    found: list[Secret] = []
    done = 0
    for start, end in names:
        if start < done:
            continue
        secret = _beside(text, start) or _in_sentence(text, start, end)
        if secret is not None:
            found.append(secret)
            done = secret.end
    return found


def _beside(text: str, start: int) -> Secret | None:
    """Return the value that follows the name at `start` after `=`, `:` or a verb; None if it is no secret."""
    match = _NAMED.match(text, start)
    if match is None:
        return None
    group = "quoted" if match["quoted"] else "bare"
    cell = _SHOWN.match(match[group])
    if cell is None:
        return None
    value = cell[0].rstrip(".:*_")
    name = _spelled(match["name"])
    is_of_wifi = _OF_WIFI.search(text, max(0, start - 12), match.end("name") + 16) is not None
    is_password = name in _ALL_PASSWORDS or (is_of_wifi and not _STANDARD.fullmatch(value))
    if not _is_secret(value, is_password=is_password):
        return None
    kind = "password" if is_password else "key"
    return Secret(match.start(group), match.start(group) + len(value), f"{kind} by its name")


def _in_sentence(text: str, start: int, end: int) -> Secret | None:
    """Return the password in a sentence, before or after a word for passwords; or the key after a word for keys.

    The result is None if there is neither. The word, at `start` to `end`, may have an ending of its language, as in
    `Lösenordet`.
    """
    name = _spelled(text[start:end])
    is_password = name in _ALL_PASSWORDS or name in _ALSO_PASSWORDS
    if not is_password and not _OF_WIFI.search(text, max(0, start - 12), end + 16):
        return linked_key(text, start, end)
    ending = _ENDING.match(text, end)
    name_end = ending.end() if ending else end
    linked = linked_password(text, start, name_end)
    return linked or said_value(text, name_end, is_password=True) or said_before(text, start, is_password=True)


def _is_secret(value: str, *, is_password: bool) -> bool:
    if is_placeholder(value) or is_template(value) or is_example(value) or _PATH_OR_ADDRESS.fullmatch(value):
        return False
    if names_technique(value):
        return False
    if not is_password:
        return looks_random(value) and not UUID.fullmatch(value)
    return len(value) >= _LEAST_CHARS and any(map(str.isdigit, value)) and any(map(str.isalpha, value))
