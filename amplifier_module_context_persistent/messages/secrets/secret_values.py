"""Judge values that are not right beside their names: made by a machine, or chosen by a person.

People choose words with a number in them, or several words in a row. But the names of techniques (`sha256`, `utf8mb4`,
`argon2id`), versions, numbers with a unit and names in program text have letters and digits too, and sentences are
words in a row. The functions here tell them apart. A value counts only beside the name of a password.
"""

from __future__ import annotations

import re

from .names import (
    UUID,
    Likelihood,
    has_salt,
    is_code_or_path,
    is_example,
    is_mixed,
    is_placeholder,
    is_scrambled,
    is_template,
    likelihood_of,
    looks_random,
    names_password,
    names_service,
)

_LEAST_CHARS = 6
_MOST_CHARS = 80
_SHOWN = re.compile(r"[A-Za-z0-9][\w.!#$%^&*?~+@-]*", re.ASCII)
_TECHNIQUE = re.compile(
    r"""
    (?<![A-Za-z0-9_])
    (?: sha|md|aes|des|rsa|utf|ucs|iso|base|http|oauth|auth|ip|ipv|ed|hs|rs|es|ps|pkcs|argon|bcrypt|scrypt|crypt|pbkdf|blake|ripemd|latin
      | cp|log|win|windows|py|python|php|node|java|jdk|go|gpt|ntlm|ntlmv|tls|tlsv|ssl|sslv|srp|smb|web|mp|ec|ver|level|line|row|col|column
      | step|phase|part|page|chapter|section|table|figure|version|release|build|test|case|item|index|field|arg|param|var|val|value|key|str
      | string|int|uint|float|text|data|byte|bytes|char|chars|word|words|bit|bits|day|days|hour|hours|min|rfc|cve|issue|pr|user|group|host|varchar|config|conf|node|module|task|worker|realm
      | schema|ident|manager|authentication|policy|scope|queue|topic|bucket|cluster|instance|region|zone|shard|replica|handler|read|write|view
      | server|client|db|sql|mysql|psql|pg|redis|nginx|postgres|port|eth|usb|file|foo|bar|option|type|form|input|state|request|response )
    [-_]? [0-9]{1,5} (?: [a-z]{1,3} | id | mb[34] )? (?![A-Za-z0-9]|[!\#$%^&*?~+@][A-Za-z0-9])
    | (?<!\S) (?: x86_64 | x509 | [a-z][0-9]{1,6} ) (?!\S)
    | (?:sha|hmac|pbkdf|utf|aes|md)[-_]?[0-9](?![0-9]*[!\#$%^&*?~+@][A-Za-z0-9]) | (?<![A-Za-z0-9]) 1Password | [0-9]+(?:st|nd|rd|th)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Names of techniques and of things that are counted."""
_MEASURED = re.compile(
    r"v?[0-9]+(?:[.:-][0-9]+)*(?:[a-z]{1,3}[0-9]{0,2})?|[0-9]+[.,x/-]?[0-9]*(?:-?[a-z]{1,12})?|[0-9a-f]{7,128}",
    re.IGNORECASE,
)
"""Versions, dates, numbers with a unit, hashes."""
_IN_PROGRAM = re.compile(
    r"(?!(?-i:[A-Z][a-z]{2,}(?:_[a-z]+)+[0-9]))[a-z]+(?:_[a-z]+)+[0-9]{0,2}|(?:self|this|cls|req|res|ctx|args|opts|config|os|sys|app)\.[\w.]+|[\w.-]+\.[a-z]{2,4}|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE,
)
"""Variables, attributes, files, hosts and addresses; not one capital letter and a digit, as in `Amber_bridge7`."""
_DOTTED_NAMES = re.compile(r"[a-z_]{2,40}(?:\.[a-z_]{2,40}){1,8}\.[A-Z][A-Za-z0-9]{2,80}")
"""A path of a class or a module: `app.security.hashers.Argon2Hasher`."""
_NAME_OF_ENTRY = re.compile(r"[a-z][a-z-]{1,30}(?:[.:/][a-z0-9_-]{1,30}){1,6}")
_COUNTED = re.compile(r"[0-9]+(?:[x/:.,-][0-9]+)*[a-z%]{0,3}")
_APP_PASSWORD = re.compile("[a-z]{4}(?:-[a-z]{4}){3}")
_PIECE = re.compile(r"[A-Za-z]+|[0-9]+")

_STATES = frozenset(
    "accepted cached changed checked cleared correct deleted denied different disabled empty encoded encrypted expected"
    " expired failed filtered generated granted hashed hidden ignored incorrect invalid locked masked matched matches"
    " mismatch missing modified omitted plaintext protected provided received redacted rejected removed required reset"
    " restricted revoked rotated salted secure secured sensitive shared skipped sniffed stored unchanged unknown unsafe"
    " unspecified updated useless verified visible writable wrong".split()
)
_PERMISSIONS = frozenset(
    "admin all full maintain none owner read read-all read-only read-write readonly readwrite triage write write-all".split()
)
_FEWEST_WORDS = 4
_FEWEST_ENDINGS = 2
"""The number of words ending like verbs or adverbs from which a text is a sentence and not a pass phrase."""
_OF_PASSWORDS = frozenset(
    "account admin after again alias app argon auth available bcrypt before bits both box browser change char chars character characters check"
    " client column combo config connection database date default digit digits each eight either email error every except field file first flag"
    " form four free from full given good handler hash hashes header helper here hidden hint history host how input inside instead invalid just"
    " label last least letter letters level like line link local login logic long low make manager mask max maximum member min minimum mixed mode"
    " module more most name nine none null number object once open option other page param plain policy prompt property provider public raw"
    " remote rest role root rotate rule rules salt same scrypt second security see server service session setting settings seven short show"
    " simple six size special state step stored string strong symbol system table ten text than then there these those three time tool true"
    " twice two type unit update upper lower value values variable vault view wait weak web what where whether while who wide within without"
    " word words work yet zero bad empty entry false field now later manually separately server side only stdin pipe env environment"
    " ask asks call comes contact copy found get gets give goes make need please press put send set sends sets take try type use your team support"
    " admins boss site foo bar baz lorem ipsum dolor cluster bootstrap postgres mysql mariadb redis mongo nginx docker compose kubernetes linux"
    " windows ldap saml oauth tls ssl http https json yaml api url".split()
)
"""Words that occur in texts about passwords; a pass phrase of three words has none of them."""
_PHRASE = re.compile(r"[A-Za-z0-9]{1,12}(?:[ _.-][A-Za-z0-9]{1,12}){2,11}")
_PROSE_ENDING = re.compile(r"(?:ed|ing|ly|tion|tions|able|ment|ated|ción|keit|ung|words?|phrases?)\Z", re.IGNORECASE)
_PROSE = frozenset(
    "a an and any are as at be been but by can do does enter existing fail for forgot from generate get"
    " has have hash if in incorrect invalid is it its key keys length login long match matches may missing must my need needs never new no"
    " not of on only optional or our password passwords passphrase please prompt read repeat required reset same see set should some strong"
    " that the their this to too try used user username using via was we when which will with wrong you your"
    " de la le les du des un une el los las del en y para por con que da do dos das o os e em um uma com di il lo gli per che non"
    " der die das und ist nicht ein eine mit von zu den dem het een van voor niet met och att som inte ett på na nie jest do się z w".split()
)


def is_secret_text(text: str, name: str, *, is_quoted: bool) -> bool:
    """Return whether a value that is apart from its name is a secret.

    Args:
        text: the value.
        name: the name of the value.
        is_quoted: whether it is certainly a value, like a quoted text in a program; if not, it has to look random.
    """
    if len(text) < _LEAST_CHARS or is_placeholder(text) or is_template(text) or is_example(text) or not is_mixed(text):
        return False
    if is_count(text) or is_name_of_entry(text, name) or _DOTTED_NAMES.fullmatch(text):
        return False
    if names_service(name) and (UUID.fullmatch(text) or looks_random(text)):
        return True
    if likelihood_of(name) is not Likelihood.STRONG:
        return looks_random(text)
    if is_quoted:
        return "/" not in text or not is_code_or_path(text)
    if looks_random(text, least=8) or is_scrambled(text):
        return True
    return names_password(name) and is_chosen_word(text)


def is_chosen_word(value: str) -> bool:
    """Return whether a value has letters and digits like a chosen password, and is not a technical term."""
    if not _LEAST_CHARS <= len(value) <= _MOST_CHARS or not _SHOWN.fullmatch(value):
        return False
    pieces = _PIECE.findall(value)
    letters = sum(len(piece) for piece in pieces if piece.isalpha())
    if letters < 2 or not any(piece.isdigit() for piece in pieces):
        return False
    if _MEASURED.fullmatch(value) or _IN_PROGRAM.fullmatch(value) or UUID.fullmatch(value) or names_technique(value):
        return False
    if is_placeholder(value) or is_template(value) or is_example(value):
        return False
    return likelihood_of(value.rstrip("0123456789")) is Likelihood.NONE


def is_app_password(value: str) -> bool:
    """Return whether a value has the form of an app password of Apple or Google: four groups of four small letters."""
    return _APP_PASSWORD.fullmatch(value) is not None


def is_state(value: str) -> bool:
    """Return whether a word describes the state of a password: `hashed`, `incorrect`."""
    return value.lower() in _STATES


def is_permission(name: str, value: str) -> bool:
    """Return whether a value is a permission of a token, as in `id-token: write` of a workflow."""
    return value.lower() in _PERMISSIONS and name.lower().rstrip("s").endswith("token")


def is_name_of_entry(value: str, name: str) -> bool:
    """Return whether the value of a key is the name of an entry in a store: `STORAGE_KEY = "ledger.auth.v2"`."""
    return name.lower().endswith("key") and _NAME_OF_ENTRY.fullmatch(value) is not None


def is_count(value: str) -> bool:
    """Return whether a value is a size, a count or a date: `512x512`, `12/14`, `2026-03-02`."""
    return _COUNTED.fullmatch(value) is not None


def names_technique(value: str) -> bool:
    """Return whether a value contains a technique or a numbered thing: `PBKDF2WithHmacSHA256`, `item12`."""
    return _TECHNIQUE.search(value) is not None and not has_salt(value)


def is_phrase(text: str) -> bool:
    """Return whether a text is a pass phrase: four or more words that are no sentence, or three unrelated words."""
    if not _PHRASE.fullmatch(text):
        return False
    words = re.split("[ _.-]", text)
    if not all(word.islower() or word.isdigit() for word in words):
        return False
    if len(words) < _FEWEST_WORDS:
        return " " in text and _are_unrelated(words)
    with_endings = [word for word in words if len(word) > 6 and _PROSE_ENDING.search(word)]
    return _PROSE.isdisjoint(words) and len(with_endings) < _FEWEST_ENDINGS


def _are_unrelated(words: list[str]) -> bool:
    """Return whether three words are nouns that have nothing to do with passwords, as in a chosen pass phrase."""
    if not all(word.isalpha() and len(word) >= 3 for word in words):
        return False
    if not _PROSE.isdisjoint(words) or not _OF_PASSWORDS.isdisjoint(words) or any(map(is_state, words)):
        return False
    return not any(_PROSE_ENDING.search(word) or likelihood_of(word) is not Likelihood.NONE for word in words)
