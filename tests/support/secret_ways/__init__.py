"""Ways in which secrets appear in sessions: three lists, written apart; values are made up at run time.

`build.txt` is the list that the tables were extended by. `check.txt` was written before from the services' pages, by
somebody who had not read the tables, and nothing is tuned to it. `kinds.txt` has the kinds that other lists showed:
commands, files, rows below a head, shells, sentences.
"""

import base64
import random
import re
import string
import uuid
from pathlib import Path

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
}
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
        letters = _ALPHABETS[match[1]]
        return "".join(
            [
                chosen.choice(string.digits if place % 9 == 4 and "0" in letters else letters)
                for place in range(int(match[2]))
            ]
        )

    text = _FIELD.sub(field, template).replace("⏎", "\n").replace("␛", "\x1b").replace("⇥", "\t")
    text = _SECRET.sub(lambda match: f"«{_BASE64.sub(_encoded, match[1])}»", text)
    return text.replace("«", "").replace("»", ""), _SECRET.findall(text)


def _encoded(match: re.Match[str]) -> str:
    return base64.b64encode(match[1].encode()).decode()
