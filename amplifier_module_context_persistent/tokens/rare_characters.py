"""Rare characters, for which `o200k_base` has no token of their own; each has a fixed cost, so they are counted apart.

The estimate's networks learned from ordinary text, which has few of these characters. They take rare Chinese characters
for common ones, and count a third of the tokens of such a page.

- A script that the vocabulary does not have costs one token for each byte in UTF-8.
- Ethiopic, ancient Greek with its accents, and Chinese characters without a token of their own cost two tokens.
- Control characters of Latin-1 do not occur in texts; they show that binary data was read as Latin-1. In such data one
  byte in eight is a control character, and all bytes cost more than text does.

`benchmarks/fit_rare.py` measures all of them and writes the table of common Chinese characters.
"""

from __future__ import annotations

import re
from base64 import b64decode
from functools import cache
from typing import Final
from zlib import decompress

FIRST_HAN, LAST_HAN = 0x4E00, 0x9FFF
UNKNOWN: Final = re.compile(
    "[\u0700-\u08ff\u13a0-\u177f\u1800-\u1cff\u2800-\u28ff\u2c00-\u2dff\u3400-\u4dbf\ua000-\uabff\ue000-\uf8ff"
    "\ufb50-\ufdff\U00010000-\U0001cfff\U00020000-\U0010ffff]+"
)
"""Characters that cost one token a UTF-8 byte: Syriac, Cherokee, Mongolian, braille, Yi, cuneiform, private ones."""
TWO_TOKENS: Final = "\u1200-\u137f\u1f00-\u1fff"
NEAR_TWO: Final = re.compile(f"[{TWO_TOKENS}{chr(FIRST_HAN)}-{chr(LAST_HAN)}]")
"""All characters of two tokens are among these. A text without them does not need `two_tokens`, which takes 12 ms."""
CONTROLS: Final = re.compile("[\x80-\x9f]")
_ASCII: Final = bytes(range(128))
CONTROL_HUNDREDTHS: Final = 240
"""Tokens that each control character of Latin-1 adds for the bytes around it; random bytes are then within 6 %."""
COMMON_HAN: Final = (
    "eNqFVU2Im0UYfmYyiZOYyiSbttlVcZLGNrZad9cqFS+TNNZUV01/xII9hFJhD8XWi5YiOknTNbWCsVRQ9JBuRasoKl70IKRLi0VQSosiePAP"
    "wYsHwZ4U8X3nS7ZrKTohH/PNN/PM8z7zvO8c3bfzzv03P7Kv/NjLJzfhWlf77q6ZCwdVZ9XeA7GNuTNl+Wb77a0+k3E/3DKRlNo7jfJRb/0N"
    "ylvppEI50c5q7PAeOYvz3gISmS7Qpx71DT8V/MF1K1X/nj/vbt6pJoR5X1eOwW7vi9tOq7nbp1Knl3VKEr25EjxwLnbNdW2P0nwOILyBJITr"
    "jp79K/68fl3sSdnDTqCbfu6COPDGlyL/9Mlzg9fMAyIOoUR5I/IOiNPGBWB3SdFSAYZwHaBJr0ZhCm4A0DTeDFVoGuWe4alLWn2ZvXGPS9Za"
    "WiRrhzuHbq3Seq2jj9qFNQneQWKantkKI2l0q4zTDghx9OabxzsPZRP+6AVYfLuqI+pV2jvl9PU5mudfAMYZgegoFwgxorYJE4Cjf2gfHdop"
    "Id593V+6qb7zp4ZJ913Sff/Nb9tKBvLSmhets17SdK9lUYdIJCpRnFdvzZ8qK/T6TMW6X7cULPi8dn26s/NJb1D2YV+Ngbqx028JzCeAW1GT"
    "sYk7xg87uflVO2v9WEtbG3N77LyiqToO1Xa8zm+JK1gljWhp1rgblN4CdJYIrIZxCX+fcOrrI2J2vehObFoQ6tTWDbo42Szues2O6fNzUmKt"
    "Z1GsV85Djyn9FuGjHdfSGkZuYBLqPB806aORcKZJ/RLrGZqFd1/Yl9tyxkwJDy9NX0wXux6/3OFUrZH3hRNoKJ1WOL1VdbAAVIJrJ4HlF5Pr"
    "/Cl8JtWDC7Fe8URskEVrAyMbP24sJrTvtiGVH5vJSJRJ7CLt50gxoZUK2ltlRiHD2km2YGSgIIYl6WQqHPnQjVc2+vYSVA2UZM/KNzTSEWjx"
    "hw2a/QZ/jAQ2Yk56PwaUUrFaO6H0C9mE1atF0lLK1q1S9d11bdzmHhDTKXeoFKSXuq2tEDp2jLk45jMQ7JnAR6qsMF55AxU8bzJoRpTkkPyV"
    "TZ8qOHCSOKxkbw9sNE6GNxS17A1rQYRgOd6hPX8u+AxSc3Loip6jaS0IgwxNyGNmJCFEjzKHz57tKixcPWDmF6Gi9AzsTD0aeiUtPlhGVpE2"
    "XaERysyuavRHU0cyR1s8c36I5OKfH8k7U5ET8IRm6K9To8lDOraofYLsF5UOIsTdJocgcnKRRmg7CLFpqSZJH8rObKycaDlPdp3l/VLeBa0a"
    "HWm9tVEgCwXvCCbL6tGUbcy3SrJSIBItuSheVCKiRRqyA+P4SzgsPWVN4nBXyBxFUMVmHuLkJBJKCTEMxUWsR7GdPf7eyW9PrP3YrzZ0ZHXK"
    "K8MJp7CZltaIjoSVhssX8utMK1I9Z+5FpwOddZhuk+EarkFVraAoO4ghTaXgkVwYqmdZGl3KK184PkBOyGAG/2KNEx29VAH9NkUgh4dE3pRx"
    "pOiSQVU76DlGMRQDjKGsytAa6cP5qCCHWlRkUZ9hLeXNXS5UJGuWGsCtIvKcvlHzUXZhMV8xNIa9ejEVpqvXiuhioEKA1d5Omyjopbnsq12n"
    "vNL20ZgCezd+L9eqVI7LRg0UwTQl4Ia493qxcJeHQQjHOUHJuOLn+Nnta+ZLe/rHHkwltVGiDceBk9jMNjbmx1tMVgXu/b/f+TCWfbUxs1z/"
    "Dpvm06KfkX20ytEdmLhMUY6SqBRit5oHOqG2wl005Vl5f70urnlqvjL2J9Kt4sNzy+eSSIx39n6CW3bbVoYm1muEwNYt2Mtqsec4ldgOfC38"
    "If8ljRk+r6wrYdyrEcgSwa/S0+HNl5xkLxiWdJUWsupCmHxZeJHSFFcign48p4v8ST3T3T8lkEv8WHJnMlxM3JMoVtPxgW7ZcDXTHrVqXGJJ"
    "1aAOFdcnhODUz2PSUOFsftXAwlRg5HAu8OalI4ZNQU4mYTJLIxkBMsNNdZi2MpyYoeRclqHkjcL/NzO0uLhCrf9qPkU3ZFSNBVcnTwHn8y5R"
    "iSwfar1mSCZAl96/Du4fIXs3Uw=="
)
"""One bit for each character from U+4E00 on, set if the character is one token; compressed, in base64."""


@cache
def two_tokens() -> re.Pattern[str]:
    """Return the expression for characters of two tokens; built when the first text that may have one is counted."""
    common = decompress(b64decode(COMMON_HAN))
    ranges = list[list[int]]()  # first and last character of each
    for code in range(FIRST_HAN, LAST_HAN + 1):
        byte, bit = divmod(code - FIRST_HAN, 8)
        is_common = common[byte] >> bit & 1
        if is_common:
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    rare_han = "".join([f"{chr(first)}-{chr(last)}" for first, last in ranges])
    return re.compile(f"[{TWO_TOKENS}{rare_han}]+")


def without_rare(block: str) -> tuple[str, int]:
    """Return a text without its rare characters, and the cost of these characters in hundredths of a token.

    Returns:
        (text without rare characters, cost in hundredths)
    """
    # A single ellipsis in a page of code does not need a search of the whole page.
    others = block.encode().translate(None, _ASCII).decode()
    has_two = NEAR_TWO.search(others) is not None and two_tokens().search(others) is not None
    has_unknown = UNKNOWN.search(others) is not None
    if not has_unknown and not has_two:
        return block, CONTROL_HUNDREDTHS * len(CONTROLS.findall(others))
    tokens = 0
    rest = block
    if has_unknown:
        rest = UNKNOWN.sub("", block)
        tokens += len(block.encode()) - len(rest.encode())
    if has_two:
        chars_before = len(rest)
        rest = two_tokens().sub("", rest)
        tokens += 2 * (chars_before - len(rest))
    return rest, 100 * tokens + CONTROL_HUNDREDTHS * len(CONTROLS.findall(rest))
