"""Private keys of wallets: a valid checksum decides; addresses, public keys and ids stay."""

import hashlib
from base64 import b32encode
from binascii import crc_hqx

import pytest

from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.messages.secrets.known_keys import redact_known_keys
from amplifier_module_context_persistent.messages.secrets.redact import redact_text

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
KEY = hashlib.sha256(b"key").digest()
CHAIN = bytes(9) + hashlib.sha256(b"chain").digest()


def base58(payload: bytes) -> str:
    """Write bytes with their checksum, as Base58Check says."""
    whole = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, text = int.from_bytes(whole, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = BASE58[rest] + text
    return "1" * (len(whole) - len(whole.lstrip(b"\0"))) + text


def stellar(version: int) -> str:
    """Write a key of Stellar, as SEP 23 says."""
    payload = bytes([version]) + KEY
    return b32encode(payload + crc_hqx(payload, 0).to_bytes(2, "little")).decode()


PRIVATE = {
    "bitcoin": base58(b"\x80" + KEY),
    "bitcoin compressed": base58(b"\x80" + KEY + b"\1"),
    "test network": base58(b"\xef" + KEY + b"\1"),
    "litecoin": base58(b"\xb0" + KEY),
    "dogecoin": base58(b"\x9e" + KEY + b"\1"),
    "encrypted": base58(b"\x01\x42" + KEY + bytes(5)),
    "extended": base58(b"\x04\xb2\x43\x0c" + CHAIN + b"\0" + KEY),
    "tezos": base58(b"\x0d\x0f\x3a\x07" + KEY),
    "stellar": stellar(18 << 3),
}
PUBLIC = {
    "address": base58(b"\0" + KEY[:20]),
    "extended": base58(b"\x04\x88\xb2\x1e" + CHAIN + b"\2" + KEY),
    "tezos": base58(b"\x0d\x0f\x25\xd9" + KEY),
    "stellar": stellar(6 << 3),
}


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_key_goes_wherever_it_is(name: str) -> None:
    """In the output of a command, in quotes, in a message that is stored."""
    key = PRIVATE[name]
    for text in (f"$ dumpprivkey bc1q\n{key}\n", f"import '{key}' now", key):
        assert redact_text(text) == text.replace(key, REDACTED)
    message, found = redact_known_keys({"role": "user", "content": f"it is {key}"})
    assert message["content"] == f"it is {REDACTED}"
    assert len(found) == 1


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_stays(name: str) -> None:
    """Addresses and public keys have a checksum too."""
    text = f"send it to {PUBLIC[name]} today"
    assert redact_text(text) == text


def test_a_run_without_a_valid_checksum_stays() -> None:
    """One letter changed makes an id of a key."""
    key = PRIVATE["bitcoin compressed"]
    text = f"id {key[:20]}{'a' if key[20] != 'a' else 'b'}{key[21:]}"
    assert redact_text(text) == text
