"""Secrets in hex dumps: the digits and the printed column go, also of what goes on in the next line."""

import pytest

from amplifier_module_context_persistent.messages.secrets.redact import redact_text
from tests.support.growth import assert_grows_with_the_text
from tests.support.secret_forms import sample
from tests.support.sweeps import proof, whole

SECRET = sample("{a6}7K{a18}", 4)
SETTINGS = f"host=db1\nDB_PASSWORD={SECRET}\nname=shop\n"


def dump(text: str, layout: str) -> str:
    """Write a text as a program for dumps does."""
    lines = []
    content = text.encode()
    for at in range(0, len(content), 16):
        row = content[at : at + 16]
        shown = "".join([chr(code) if 32 <= code < 127 else "." for code in row])
        pairs = [f"{code:02x}" for code in row]
        words = ["".join(pairs[number : number + 2]) for number in range(0, len(pairs), 2)]
        gap = f"{' '.join(pairs[:8])}  {' '.join(pairs[8:])}"
        lines.append(
            {
                "xxd": f"{at:08x}: {' '.join(words):<39}  {shown}",
                "xxd -g1": f"{at:08x}: {' '.join(pairs):<47}  {shown}",
                "xxd -u": f"{at:08x}: {' '.join(words).upper():<39}  {shown}",
                "hexdump -C": f"{at:08x}  {gap:<48}  |{shown}|",
                "gap": f"{at:04x}   {gap:<48}   {shown}",
                "od": f"{at:07o} {' '.join(pairs)}",
                "tcpdump": f"\t0x{at:04x}:  {' '.join(words):<39}  {shown}",
            }[layout]
        )
    return "\n".join(lines)


@pytest.mark.parametrize("layout", ["xxd", "xxd -g1", "xxd -u", "hexdump -C", "gap", "od", "tcpdump"])
def test_a_secret_goes_from_the_digits_and_the_letters(layout: str) -> None:
    """No three letters of it are left, nor the digits of three; what is around it stays."""
    clean = redact_text(f"$ dump\n{dump(SETTINGS, layout)}\n$ ls")
    for at in range(len(SECRET) - 2):
        piece = SECRET[at : at + 3]
        assert piece not in clean
        assert piece.encode().hex() not in clean.replace(" ", "").lower()
    assert clean.startswith("$ dump\n")
    assert clean.endswith("\n$ ls")
    assert layout == "od" or "host=db1" in clean


@pytest.mark.parametrize("layout", ["xxd", "hexdump -C", "od"])
def test_other_dumps_stay(layout: str) -> None:
    """Of settings without a secret, of program text, of bytes."""
    for text in ("host=db1\nname=shop\n" * 4, "def token(text):\n    return text.split()\n", "\1\2\3key\0pass\0" * 9):
        assert redact_text(dump(text, layout)) == dump(text, layout)


@proof(quick=1)
@pytest.mark.parametrize("layout", ["xxd", "hexdump -C", "od"])
def test_a_dump_takes_time_as_it_is_long(layout: str) -> None:
    """Many secrets in a dump do not cost the square of its lines."""
    assert_grows_with_the_text(redact_text, dump(f"password={SECRET}\n" * (600 if whole() else 300), layout))
