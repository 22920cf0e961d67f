"""Secrets behind colours and in encodings: a text is searched as a person reads it, and its own bytes replaced."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.messages.secrets.readable import read, readings
from amplifier_module_context_persistent.messages.secrets.redact import redact_text
from tests.support.growth import assert_grows_with_the_text
from tests.support.secret_forms import sample
from tests.support.sweeps import proof

TOKEN = sample("ghp_{a36}", 7)
OTHERS = [sample(form, 3) for form in ("glpat-{b20}", "sk-proj-{b40}", "AKIA{u16}", "hf_{a34}", "npm_{a36}")]
AROUND = {
    "colour": ("\x1b[32m", "\x1b[0m"),
    "bold colour after a word": ("token\x1b[1;32m", "\x1b[0m"),
    "256 colours": ("\x1b[38;5;208m", "\x1b[m"),
    "true colour with colons": ("x\x1b[38:2::1:2:3m", "\x1b[39;49m"),
    "erased line, as grep marks": ("key\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"),
    "moved cursor": ("token\x1b[20G", "\x1b[1A"),
    "8-bit control": ("token\x9b32m", "\x9b0m"),
    "link": ("\x1b]8;;https://example.com\x1b\\", "\x1b]8;;\x1b\\"),
    "link that ends with a bell": ("see\x1b]8;;https://example.com/a\x07", "\x1b]8;;\x07"),
    "window title": ("\x1b]0;title\x07", "\x1b]0;\x07"),
    "device control string": ("a\x1bPq#0\x1b\\", "\x1bP\x1b\\"),
    "character set": ("a\x1b(B", "\x1b(B"),
    "as cat shows it": ("a^[[32m", "^[[0m"),
    "as Python writes it": ("a\\x1b[32m", "\\x1b[0m"),
    "as a shell writes it": ("a\\033[32m", "\\033[0m"),
    "as bash writes it": ("a\\e[32m", "\\e[0m"),
    "as JSON writes it": ("a\\u001b[32m", "\\u001b[0m"),
    "as JSON in JSON writes it": ("a\\\\u001b[32m", "\\\\u001b[0m"),
    "percent": ("token%3D", "%26"),
    "percent of a colon": ("https%3A%2F%2Fx%3A", "%40github.com"),
    "percent of a quote": ("%7B%22token%22%3A%22", "%22%7D"),
    "percent of percent": ("a%253D", "%2526"),
    "small percent": ("a%3d", "%26"),
    "JSON code": ("a\\u003d", "\\u0026"),
    "JSON quote": ("a\\u0022", "\\u0022"),
    "escaped quote": ('a\\"', '\\"'),
    "quote of JSON in JSON in JSON": ('a\\\\\\"', '\\\\\\"'),
    "escaped end of line": ("a\\n", "\\n"),
    "escaped tab": ("a\\\\t", "\\\\t"),
    "entity": ("a&quot;", "&quot;"),
    "decimal entity": ("a&#61;", "&#38;"),
    "hexadecimal entity": ("a&#x3D;", "&#x26;"),
    "entity of an entity": ("a&amp;quot;", "&amp;quot;"),
    "percent in JSON": ("a\\u00253D", "\\u002526"),
    "JSON in percent": ("a%5Cu0022", "%5Cu0022"),
    "entity in percent": ("a%26quot%3B", "%26quot%3B"),
    "quoted-printable": ("a=3D", " "),
    "no width": ("a\u200b ", "\u200b"),
}


@proof(quick=25)
@pytest.mark.parametrize(("before", "after"), AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("token", [TOKEN, *OTHERS], ids=lambda token: str(token)[:5])
def test_a_token_behind_an_escape_goes_and_nothing_else(before: str, after: str, token: str) -> None:
    """Right behind it and right before it, alone or among other words."""
    for text in ("{}", "it says {} now", "first\n{}\nlast"):
        around = text.format(f"{before}{{}}{after}")
        assert redact_text(around.replace("{}", token)) == around.replace("{}", REDACTED)


@pytest.mark.parametrize(
    "cut",
    ["\x1b[1m", "\x1b[m\x1b[7m", "\x9b31m", "\\u001b[31m", "\u200b", "\xad", "\x00", "\x1b]0;t\x07"],
    ids=repr,
)
def test_a_token_that_is_cut_goes_whole(cut: str) -> None:
    """By a colour or by what has no width; the colours stay set."""
    text = redact_text(f"a {TOKEN[:9]}{cut}{TOKEN[9:]} z")
    assert text == f"a {REDACTED}{cut if cut.startswith(chr(27) + '[') else ''} z"


@pytest.mark.parametrize("end", ["=\n", "=\r\n"], ids=repr)
def test_a_token_that_a_mail_breaks_goes_whole(end: str) -> None:
    """Quoted-printable breaks long lines; without an encoded `=` the same ends a setting."""
    assert redact_text(f"a=3D{TOKEN[:9]}{end}{TOKEN[9:]} z") == f"a=3D{REDACTED} z"
    assert redact_text(f"A={OTHERS[-1]}{end}B=1") == f"A={REDACTED}{end}B=1"


def test_struck_characters_are_read_once() -> None:
    """Manual pages write a bold letter as the letter, a backspace and the letter."""
    assert redact_text("a " + "".join(f"{char}\x08{char}" for char in TOKEN) + " z") == f"a {REDACTED} z"


@pytest.mark.parametrize("encode", [quote, lambda text: "".join(f"%{ord(char):02x}" for char in text), json.dumps])
def test_a_name_and_its_value_are_read_through_encodings(encode: object) -> None:
    """A whole assignment, encoded: its value goes."""
    assert callable(encode)
    text = encode('{"db_password": "hT7kQ2mZ9xLw4rVb8nYc"}')
    assert "hT7kQ2mZ9xLw4rVb8nYc" not in read(redact_text(text), joined=True).text


def test_a_secret_in_the_target_of_a_link_goes() -> None:
    """A link of a terminal shows another text than its target."""
    text = f"\x1b]8;;https://x:{TOKEN}@github.com/a\x1b\\here\x1b]8;;\x1b\\"
    assert redact_text(text) == text.replace(TOKEN, REDACTED)


@given(
    st.lists(
        st.sampled_from([*'ab %\\"&;=[]m^n25u\n\x1b\x9b\x08\x07', "%25", "&amp;", "\\u0022", "\x1b[1m"]), max_size=30
    )
)
def test_each_character_of_a_reading_is_from_a_piece_of_the_text(parts: list[str]) -> None:
    """The pieces are in order, within the text, and a character that nothing encodes is from itself."""
    text = "".join(parts)
    for reading in readings(text):
        pieces = [reading.original(at, at + 1) for at in range(len(reading.text))]
        assert pieces == sorted(pieces)
        assert all(0 <= start < end <= len(text) for start, end in pieces)
        assert [text[start:end] for start, end in pieces if end == start + 1 and text[start].isalpha()] == [
            char
            for char, (start, end) in zip(reading.text, pieces, strict=True)
            if end == start + 1 and text[start].isalpha()
        ]


@proof(quick=4)
@pytest.mark.parametrize(
    "piece",
    [
        "QUJD",
        "%25",
        "\x1b[32m",
        "\x1b",
        "\0",
        "\\",
        "&amp;",
        "&",
        "%",
        "=3D",
        "\x1b]",
        "^[]",
        "\x08",
        "a\x08",
        "\\u0022",
        "25",
        "\x9b",
        "amp;",
    ],
    ids=repr,
)
def test_a_long_line_of_one_kind_takes_time_as_it_is_long(piece: str) -> None:
    """No encoding costs the square of a line's length."""
    assert_grows_with_the_text(redact_text, f"% &{piece * (60_000 // len(piece))}")


@proof
def test_a_token_behind_a_long_line_of_escapes_goes() -> None:
    """Long texts are decoded in pieces; a token in any of them is found."""
    text = f"{'%25' * 80_000}%20{TOKEN}%20{'&amp;' * 70_000} {TOKEN}%0A"
    assert redact_text(text) == text.replace(TOKEN, REDACTED)
