"""What a person removes goes in every spelling of it."""

import json
import re
from urllib.parse import quote

import pytest

from amplifier_module_context_persistent.search.pattern import compile_regex, exact_literals
from amplifier_module_context_persistent.search.replace_matches import replace_matches

WORD = "p\u00e4ssw\u00f6rd-QX9"


def replaced(query: str, text: str) -> tuple[str, set[str]]:
    expression = compile_regex(query)
    taken = set[str]()
    return replace_matches(expression, "#", text, taken=taken, literals=exact_literals(query, expression)), taken


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"echo": WORD}),
        json.dumps({"inner": json.dumps({"echo": WORD})}),
        f"https://x.test/?q={quote(WORD)}&a=1",
        f"<b>{WORD.replace(chr(0xE4), '&auml;')}</b>",
        f"{WORD[:4]}\x1b[31m{WORD[4:]}",
        f"plain {WORD}, and {json.dumps(WORD)}",
    ],
)
def test_a_text_goes_in_every_encoding(text: str) -> None:
    """JSON, JSON in JSON, an address, HTML, a colour within the word; the rest of the text stays."""
    after, taken = replaced(WORD, text)
    assert "QX9" not in after
    assert "#" in after
    assert WORD in taken
    assert replaced(WORD, after) == (after, set())


RARE = "\U00020bb7\u91ce & Co"
"""A surname with a character above U+FFFF, which JSON writes as two."""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"name": RARE}),
        json.dumps({"inner": json.dumps({"name": RARE})}),
        f"?q={quote(RARE)}",
        f"<b>{RARE.encode('ascii', 'xmlcharrefreplace').decode().replace('&', '&amp;')}</b>",
        f"{RARE.encode('unicode_escape').decode()} in Python",
        "\\u{20bb7}\\u{91CE} & Co in JavaScript",
        "=F0=A0=AE=B7=E9=87=8E & Co in a mail",
    ],
)
def test_a_character_beyond_the_first_plane_goes_in_every_encoding(text: str) -> None:
    after, taken = replaced(RARE, text)
    assert "Co" not in after
    assert "#" in after
    assert RARE in taken


PLAIN = "hunter2-QX9"


@pytest.mark.parametrize(
    "written",
    [
        "".join(f"\\u{ord(each):04x}" for each in PLAIN),
        "".join(f"\\x{ord(each):02x}" for each in PLAIN),
        "".join(f"%{ord(each):02X}" for each in PLAIN),
        "".join(f"&#{ord(each)};" for each in PLAIN),
        "".join(f"&#x{ord(each):x};" for each in PLAIN),
        PLAIN.replace("t", "%74"),
        PLAIN.replace("t", "%2574"),
        PLAIN.replace("t", "%E2%80%8Bt"),
        PLAIN.replace("t", "&shy;t"),
        PLAIN.replace("t", "&zwnj;t"),
        PLAIN.replace("t", "&ZeroWidthSpace;t"),
        PLAIN.replace("t", "&amp;#116;"),
        PLAIN.replace("t", "\\u0026#116;"),
        PLAIN.replace("t", "%26%23116%3B"),
        PLAIN.replace("t", "%5Cu0074"),
        PLAIN.replace("t", "\\u005cu0074"),
        PLAIN.replace("t", "\\u{74}"),
        PLAIN.replace("t", "\\U00000074"),
        PLAIN.replace("t", "\\164"),
        *(json.dumps(PLAIN.replace("t", f"{hidden}t"))[1:-1] for hidden in "\x7f\x85\xad\u200b\u2060\ufeff"),
        PLAIN.replace("-", "&#45;"),
        PLAIN.replace("r", "\\u0072"),
        json.dumps("".join(f"\\u{ord(each):04x}" for each in PLAIN))[1:-1],
    ],
)
def test_a_plain_word_goes_although_nobody_had_to_encode_it(written: str) -> None:
    after, taken = replaced(PLAIN, f"it is {written} there, and a=40 is not")
    assert after == "it is # there, and a=40 is not"
    assert taken == {PLAIN, written}


PATHS = ["C:\\new\\ada", "CORP\\ada", "p\\u00e4ss\\\\w", "a\\x41\\b", 'say "p\\q"', "\\\\server\\share"]
"""Texts with backslashes, some of which read like escapes."""


@pytest.mark.parametrize("text", PATHS)
@pytest.mark.parametrize("levels", range(5))
def test_a_backslash_goes_where_json_doubles_it(text: str, levels: int) -> None:
    written = text
    for _ in range(levels):
        written = json.dumps(written)[1:-1]
    after, _ = replaced(re.escape(text), f"it is {written} there")
    assert after == "it is # there"


def test_a_backslash_goes_in_a_long_text_without_spaces() -> None:
    text = "CORP\\ada"
    after, _ = replaced(re.escape(text), (json.dumps(text) + "," + "x" * 7_001 + ",") * 40)
    assert "ada" not in after


@pytest.mark.parametrize("size", [300, 3_000])
def test_a_paragraph_goes_where_json_writes_it(size: int) -> None:
    """Its quotation marks may be far from its ends."""
    paragraph = 'He said "no" to it. ' + "the long road with two old dogs " * (size // 32) + "end."
    after, _ = replaced(paragraph, json.dumps({"a": 1, "letter": paragraph, "b": 2}))
    assert json.loads(after) == {"a": 1, "letter": "#", "b": 2}


def test_json_stays_json() -> None:
    """A quotation mark and a line end within what goes are written as two characters each."""
    text = json.dumps({"a": 'say "tea for two"\nnow', "b": 1})
    after, _ = replaced('"tea for two"\nnow', text)
    assert json.loads(after) == {"a": "say #", "b": 1}


def test_a_word_of_plain_letters_is_found_under_a_colour() -> None:
    after, taken = replaced("ZQsecret77x", "key ZQsec\x1b[1mret77x\x1b[0m and C:\\new\\table")
    assert after == "key #\x1b[0m and C:\\new\\table"
    assert taken == {"ZQsecret77x", "ZQsec\x1b[1mret77x"}


def test_what_only_looks_encoded_stays() -> None:
    text = "100%25 of C:\\users\\u00e4, a &amp; b"
    assert replaced(WORD, text) == (text, set())


@pytest.mark.parametrize(
    "text",
    [
        "https://x.test/login?pw=correct+horse+battery",
        "pw=correct+horse%20battery",
        "correct\u00a0horse\nbattery",
        json.dumps("correct horse\nbattery"),
    ],
)
def test_words_go_whatever_stands_between_them(text: str) -> None:
    after, _ = replaced("correct horse battery", text)
    assert "horse" not in after


def test_signs_between_other_words_stay() -> None:
    text = "correct + horse, battery\n1+1"
    assert replaced("correct horse battery", text) == (text, set())


@pytest.mark.parametrize(
    ("query", "text", "after"),
    [
        ("secret project .*", "the secret\nproject X\nline 2\nkeep", "the #\nline 2\nkeep"),
        ("the pass .*", "the+pass is x\nkeep 1", "#\nkeep 1"),
        ("foo.* bar", "foo 1\n2\n3 bar", "foo 1\n2\n3 bar"),
        ("secret project", "the secret\r\nproject X", "the # X"),
        ("secret project .*", json.dumps({"a": "the secret\r\nproject X", "b": 1}), '{"a": "the #'),
        ("(?i)secret +project", "the Secret\n\u00a0Project X", "the # X"),
        ("a(?# b c)d e", "ad\ne ad e", "# #"),
        (r"a[ x]b\ c", "a+b c, a b+c, a b c", "a+b c, a b+c, #"),
        ("(?x) a b", "ab a+b", "# a+b"),
        ("(?x: a b)c d", "abc d, abc\nd", "#, abc\nd"),
        ("secret(?! project)", "secret\nproject", "#\nproject"),
    ],
)
def test_only_a_space_of_the_expression_is_widened(query: str, text: str, after: str) -> None:
    """A dot still ends at the end of a line; spaces of sets, escapes and comments, and with the flag `x`, stay."""
    assert replaced(query, text)[0] == after


@pytest.mark.parametrize("text", ["Robin\nHood", "Robin Hood", "Robin+Hood", "Robin"])
def test_an_optional_part_behind_another_space_goes_too(text: str) -> None:
    assert replaced("Robin( Hood)?", text)[0] == "#"
