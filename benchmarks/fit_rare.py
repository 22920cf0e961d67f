"""Measure the rare characters of the token estimate, and print the table of common Chinese ones.

    python -m benchmarks.fit_rare

Of each kind of `SAMPLES` it prints the estimate, the count by `o200k_base` and their ratio; after them the table
`COMMON_HAN` of `tokens/rare_characters.py`. It needs the vocabulary (the extra `exact`) and runs offline.
"""

from __future__ import annotations

import random
import zlib
from base64 import b64encode

from amplifier_module_context_persistent.tokens.counter import TokenCounter, open_counter
from amplifier_module_context_persistent.tokens.estimate import estimate_tokens
from amplifier_module_context_persistent.tokens.rare_characters import FIRST_HAN, LAST_HAN

SAMPLES = {
    "Chinese, all characters": (FIRST_HAN, LAST_HAN),
    "Chinese, extension A": (0x3400, 0x4DBF),
    "Chinese, extension B": (0x20000, 0x2A6DF),
    "bytes as Latin-1": (0x00, 0xFF),
    "Ethiopic": (0x1200, 0x137F),
    "Cherokee": (0x13A0, 0x13F4),
    "Mongolian": (0x1820, 0x1878),
    "Yi": (0xA000, 0xA48C),
    "cuneiform": (0x12000, 0x12399),
    "private use": (0xE000, 0xF8FF),
}
CHARS = 6_000


def common_han(counter: TokenCounter) -> str:
    """The table of Chinese characters that are one token."""
    bits = bytearray((LAST_HAN - FIRST_HAN + 1) // 8)
    for code in range(FIRST_HAN, LAST_HAN + 1):
        if counter.count_text(chr(code)) == 1:
            bits[(code - FIRST_HAN) // 8] |= 1 << code % 8
    return b64encode(zlib.compress(bytes(bits), 9)).decode()


def main() -> None:
    """Print what was measured, and the table."""
    counter, rng = open_counter("o200k_base"), random.Random(3)
    for kind, (first, last) in SAMPLES.items():
        text = "".join([chr(rng.randint(first, last)) for _ in range(CHARS)])
        estimated, counted = estimate_tokens(text), counter.count_text(text)
        print(f"{kind:26} {estimated:6} {counted:6} {estimated / counted:5.2f}")
    print(common_han(counter))


if __name__ == "__main__":
    main()
