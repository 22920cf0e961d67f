"""Private keys of Bitcoin and similar systems: base58 whose checksum tells it from ids, addresses and signatures.

Sources: Wallet Import Format and Base58Check (Bitcoin wiki), BIP 32 (extended keys), BIP 38 (encrypted keys), Tezos
(`edsk`), SEP 23 (Stellar's seeds, which are base32 with a checksum of 16 bits).
"""

from __future__ import annotations

import re
from base64 import b32decode
from binascii import crc_hqx
from collections.abc import Sequence
from hashlib import sha256

from .found import Secret
from .searched_text import SearchedText

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = {letter: number for number, letter in enumerate(_BASE58)}
_RUN = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?=[1-9A-Z]{{0,50}}[a-z])[{_BASE58}]{{51,58}}|[{_BASE58}]{{98}}|[{_BASE58}]{{107,112}}|S[A-D][A-Z2-7]{{54}})(?![A-Za-z0-9])"
)
_CHECKSUM_BYTES = 4
_KEY_BYTES = 32
_ENCRYPTED = (b"\x01\x42", b"\x01\x43")
_ENCRYPTED_BYTES = 39
_EXTENDED_BYTES = 78
_KEY_OF_EXTENDED = 45
"""The position in an extended key of a zero byte if it is private, or of a point's first byte if it is public."""
_TEZOS = {b"\x0d\x0f\x3a\x07": 36, b"\x2b\xf6\x4e\x07": 68}
"""The length of Tezos' seeds and secret keys in bytes, by their first bytes."""
_STELLAR_SEED = 18 << 3


def may_be_wallet_key(word: str) -> bool:
    """Return whether a word has a run of characters with the length of a private key."""
    return _RUN.search(word) is not None


def find_wallet_keys(searched: SearchedText, words: Sequence[tuple[int, int]]) -> list[Secret]:
    """Find private keys of wallets with a valid checksum.

    Args:
        searched: any text.
        words: the places of its long words.
    """
    secrets: list[Secret] = []
    for start, end in words:
        keys = [run for run in _RUN.finditer(searched.text, start, end) if is_wallet_key(run[0])]
        secrets += [Secret(key.start(), key.end(), "private key of a wallet") for key in keys]
    return secrets


def is_wallet_key(run: str) -> bool:
    """Return whether a run of base58 or base32 is a private key, judging by its checksum and its parts."""
    if _is_stellar_seed(run):
        return True
    payload = _checked(run)
    if len(payload) == 1 + _KEY_BYTES:
        return True
    if len(payload) == 2 + _KEY_BYTES:
        return payload[-1] == 1
    if len(payload) == _ENCRYPTED_BYTES:
        return payload.startswith(_ENCRYPTED)
    if len(payload) == _EXTENDED_BYTES:
        return payload[_KEY_OF_EXTENDED] == 0
    return _TEZOS.get(payload[:4]) == len(payload)


def _checked(run: str) -> bytes:
    """Return the bytes of a run of base58 without its checksum; empty if the checksum is not valid."""
    number = 0
    for letter in run:
        if letter not in _DIGITS:
            return b""
        number = number * len(_BASE58) + _DIGITS[letter]
    whole = number.to_bytes((number.bit_length() + 7) // 8, "big")
    zeros = len(run) - len(run.lstrip(_BASE58[0]))
    payload = bytes(zeros) + whole[:-_CHECKSUM_BYTES]
    checksum = whole[-_CHECKSUM_BYTES:]
    return payload if sha256(sha256(payload).digest()).digest()[:_CHECKSUM_BYTES] == checksum else b""


def _is_stellar_seed(run: str) -> bool:
    if len(run) != 56 or not run.isupper() or not set("0189").isdisjoint(run):
        return False
    decoded = b32decode(run)
    return decoded[0] == _STELLAR_SEED and crc_hqx(decoded[:-2], 0) == int.from_bytes(decoded[-2:], "little")
