"""Ways in which secrets appear in sessions: lists that were written apart; values are made up at run time.

`build.txt` is the list that the tables were extended by. `check.txt` was written before from the services' pages, by
somebody who had not read the tables, and nothing is tuned to it. `kinds.txt` has the kinds that other lists showed:
commands, files, rows below a head, shells, sentences. `pasted.txt` has what people paste and say: files of settings,
calls of clients, sentences of several languages, with passwords as people choose them. `sources.txt` goes by where a
secret is: files of settings, languages, SQL, commands, logs, tests, tables. `spread.txt` has names that say little,
values with signs, pieces that a program joins, and keys of services without a name. `given.txt`
has what tools get without a name, prompts that are typed twice, and files of registries. `stays.txt` has ordinary
lines beside those.
"""

import base64
import random
import re
import string
import uuid
from pathlib import Path

from amplifier_module_context_persistent.messages.secrets.seed_words import ENGLISH

_B32 = string.ascii_uppercase + "234567"
_B62 = string.ascii_letters + string.digits
_ALPHABETS = {
    "b62": _B62,
    "b52": string.ascii_letters,
    "b64": _B62 + "+/",
    "b64url": _B62 + "-_",
    "b32": _B32,
    "B32": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "digit": string.digits,
    "codes": "abcdef0123456789",
    "low32": string.ascii_lowercase + "234567",
    "HEX": "0123456789ABCDEF",
    "b58": "".join(sorted(set(_B62) - set("0OIl"))),
}
_WORDS = ("amber", "bridge", "canyon", "dolphin", "engine", "falcon", "garden", "harbour", "island", "jacket", "velvet")
_SEED_WORDS = ENGLISH[3::7]
_FIELD = re.compile(r"<(\w+)\*(\d+)>")
_SECRET = re.compile("«([^»]*)»")
_BASE64 = re.compile(r"base64\{(.*)\}", re.DOTALL)


def ways(name: str) -> list[tuple[str, str]]:
    """Read a list: names and templates."""
    lines = (Path(__file__).parent / f"{name}.txt").read_text("utf-8").splitlines()
    return [(line.partition("\t")[0], line.partition("\t")[2]) for line in lines if not line.startswith("#")]


def filled(template: str, seed: int) -> tuple[str, list[str]]:
    """Fill in a template: the text, and the secrets in it."""
    chosen = random.Random(seed)

    def field(match: re.Match[str]) -> str:
        if match[1] == "uuid":
            return str(uuid.UUID(int=chosen.getrandbits(128), version=4))
        if match[1] == "pw":
            return _chosen_password(chosen)
        if match[1] in ("odd", "varied"):
            return _careful_password(chosen, "!#_-*" if match[1] == "odd" else "")
        if match[1] == "bytes":
            return ",".join([str(chosen.randint(0, 255)) for _ in range(int(match[2]))])
        if match[1] == "pin":
            return str(chosen.randint(3_000, 9_000) * 10 + 7)[-int(match[2]) :]
        if match[1] in ("word", "words"):
            return " ".join(chosen.sample(_SEED_WORDS, int(match[2])))
        letters = _ALPHABETS[match[1]]
        return "".join(
            [
                chosen.choice(string.digits if place % 9 == 4 and "0" in letters else letters)
                for place in range(int(match[2]))
            ]
        )

    text = _FIELD.sub(field, template).replace("⏎", "\n").replace("␛", "\x1b").replace("⇥", "\t")
    text = _SECRET.sub(lambda match: f"«{_BASE64.sub(_encoded, match[1])}»", text)
    secrets = _SECRET.findall(text)
    return text.replace("«", "").replace("»", "").replace("⟪", "«").replace("⟫", "»"), secrets


def _chosen_password(chosen: random.Random) -> str:
    """Make up a password as people choose them, of words and digits, or as they have them made."""
    one, two = chosen.sample(_WORDS, 2)
    number, letters = chosen.randint(12, 98), "".join(chosen.choices(_B62, k=8))
    return chosen.choice(
        [
            f"{one}{number}",
            f"{one.title()}{chosen.randint(1950, 2026)}",
            f"{one}_{letters[:2]}{number}_{two}",
            f"{one}-{two.title()}-{number}",
            f"{one}{two.title()}{number}",
            f"{one.title()}!{number}{number}",
            f"{one}{number % 10}{two.title()}{number // 10}",
            f"{letters[:3]}{number}{letters[3:]}",
            f"{letters[:2]}{number % 10}${letters[2:4]}!{number}",
        ]
    )


def _careful_password(chosen: random.Random, signs: str) -> str:
    """Make up a password of small and capital letters and digits, with a sign if one is given: `Hq7!tarnFjord2`."""
    one, two = chosen.sample(_WORDS, 2)
    sign = chosen.choice(signs) if signs else ""
    start = f"{chosen.choice('BCDFGHKMNPQ')}{chosen.choice('bcdfghkmnpq')}{chosen.randint(2, 9)}"
    return f"{start}{sign}{one}{two.title()}{chosen.randint(2, 9)}"


def _encoded(match: re.Match[str]) -> str:
    return base64.b64encode(match[1].encode()).decode()
