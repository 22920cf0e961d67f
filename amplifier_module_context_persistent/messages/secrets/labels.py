"""Values that are not right after their names: typed declarations, pairs of a name and a value, labels in prose.

`named_values` finds the names, and calls this module for a name that no plain assignment follows. The place decides how
strict the check is: in program text any quoted value counts, in prose and tables the value has to look random.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .found import Secret
from .linked_passwords import linked_password
from .names import Likelihood, kind_of_name, likelihood_of, names_password, names_service
from .passwords_in_sentences import said_value
from .secret_values import is_chosen_word, is_secret_text
from .values_before_names import said_before

_VALUE = r"(?P<quote>\\*[\"'`]?)(?P<secret>[^\s\"'`\\,;<>{}()|]{4,8192})"
_IN_QUOTES = r"(?:[^\s\"'`\\]|(?<![\\])\\[\"'](?=[^\s\"'`\\]{2})){4,8192}"
"""A text in quotes without spaces; quotes in it have a backslash."""
_QUOTED = rf"(?:[bBfFrRuUL@$]{{0,3}}|u8|raw)(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))(?P<secret>{_IN_QUOTES})(?P=quote)"
_TYPE = r"[A-Za-z_&'*(\[][\w\[\]<>&'.*?!()|,: \t]{0,60}?"
_CALL = (
    r"(?:(?:Just|Some)[ ]|(?:new[ ])?(?:\[(?:\.\.\.)?\])?[A-Za-z][\w:.]{0,40}(?:<[^<>\n]{0,30}>)?\([ \t]*"
    r"(?:[a-z_]{1,20}[ ]?=[ ]?)?)"
)
_TYPED = rf"""
    (?:\[[0-9A-Z_]*\])? [?!]?
    (?: [ \t]* : [ \t]* {_TYPE} | [ \t]+ (?:[Aa]s[ ])? [*\[\]]{{0,3}} [A-Za-z][\w.]{{1,30}}
      | [ \t]* \{{ [a-z;\s]{{3,40}} \}} )?
    """
_DECLARED = re.compile(
    rf"{_TYPED} [ \t]* (?: [:?]?= | :: | \bby[ ]lazy[ ]\{{ ) [ \t]* (?:{_CALL}){{0,2}} {_QUOTED}",
    re.VERBOSE,
)
"""Typed declarations: `token: string = "x"`, `token[] = "x"`, `Token { get; set; } = "x"`, `= String::from("x")`."""
_CALLED = re.compile(
    rf"\\*[\"']? [ \t]* : [ \t]* (?: (?:{_CALL}){{1,2}} | !\w{{1,20}}[ ] | string[ ][|&][ ]\*? ) {_QUOTED}",
    re.VERBOSE,
)
"""Values within a call or after a marker: `token: Some("x")`, `password: !unsafe "x"`, `password: string | *"x"`."""
_AS_IT_IS = r"(?P<secret>[^\s\"'`\\<>(){}|\[\]]{4,8192})"
_BRACKETED = re.compile(
    rf"""
    {_TYPED} [ \t]* (?: (?: [:?]?=[>]? | : | \bby[ ]lazy ) [ \t]* | (?=\{{) )
    (?: r?\#{{1,3}}"
      | \[(?:\.\.\.)?\]byte\{{" | [uUL]?R"\w{{0,16}}\( | \[=*\[ | \{{\w*\| | \{{[ ]?" | <<" | %?[qQ][qQwW]?[\[({{<|!] )
    {_AS_IT_IS} [)\]}}>|!"]
    """,
    re.VERBOSE,
)
"""Literal texts: `r#"x"#`, `R"(x)"`, `[[x]]`, `{|x|}`, `%q(x)`, `{"x"}`."""
_HEREDOC = re.compile(rf"[ \t]*(?:=[ \t]*)?<<[~-]?[\"']?\w{{1,20}}[\"']?[ \t]*\r?\n[ \t]*{_AS_IT_IS}[ \t]*\r?\n")
_SET = re.compile(rf"\.(?:set|value|of|setValue|convention)\([ ]?{_QUOTED}[ ]?\)")
"""A setter: `password.set("x")`."""
_VALUED = re.compile(rf"[ \t][^\n\"'=:;]{{0,40}}?\b(?:VALUE|value)[ ]{{1,10}}{_QUOTED}")
"""A declaration in COBOL: `01 WS-PASSWORD PIC X(10) VALUE "x"`."""
_ARROW = re.compile(rf"[ ]?=[ ]?(?:async[ ])?\([^()\n]{{0,40}}\)(?:[ ]?:[ ]?\w{{1,20}})?[ ]?=>[ ]{_QUOTED}")
"""A function that returns the value: `getToken = () => "x"`."""
_RETURNED = re.compile(rf"\([^()\n]{{0,40}}\)[^\n{{:]{{0,20}}[:{{]\s{{1,40}}return[ ]{_QUOTED}")
"""A function that returns the value: `def password(): return "x"`."""
_DEFAULT = re.compile(rf"\\*[\"'][^()\n]{{0,120}}?\b(?:default|fallback)[ ]?[=:][ ]?{_QUOTED}")
"""A default of an argument: `add_argument("--api-key", default="x")`."""
_READS = re.compile(
    r"[:=]\s*(?:[\w.:]*(?:get|env|load|read|input|prompt|find|fetch|config|require|param|lookup)\w*\()",
    re.IGNORECASE,
)
"""A call whose argument is a name, not a value."""
_DEFINES = re.compile(
    r"(?:\#[ \t]*define|\bset(?:x|env|q)?(?:[ \t]+-[a-zA-Z]+)*|\bENV|\bSetEnv|\bfastcgi_param|\bexport|\(def)[ \t]+\Z"
)
_DEFINED = re.compile(rf"[ \t]+{_VALUE}")
_KEYWORD = re.compile(rf"[ ][ \t]*{_QUOTED}")
_COLON_BEFORE = re.compile(r":\Z")
_LISTED = re.compile(rf"(?P<end>\\*[\"']?)[ \t]*,\s{{0,20}}(?:<<)?{_QUOTED}")
_TAG = "(?:key|name|dt|t[dh]|b|strong|label|code)"
_IS_NAMED = re.compile(
    r"(?:\b(?:name|key|variable|parameter_?key|parameter|field|header|k|id|env)\\*[\"']?\s{0,5}[:=]?\s{0,5}\\*[\"']?"
    rf"|<{_TAG}(?:\s[^<>\n]{{0,60}})?>)(?:[\w.-]{{0,40}}/){{0,6}}\Z",
    re.IGNORECASE,
)
_VALUE_FOLLOWS = re.compile(
    rf"""
    \\*["']?
    (?: [^{{}}\n]{{0,200}}? | [^{{}}\n"']{{0,20}} \{{? [ \t]{{0,20}} \n (?:[^{{}}\n]{{0,200}}\n){{0,8}}? [ \t]{{0,40}} )
    \b(?:value|default|parameter_?value|val|v|content|secret) \\*["']? \s{{0,10}} [:=] \s{{0,10}}
    \\*["']? (?:(?:bearer|basic|token)[ ])? {_VALUE}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_VALUE_PRECEDES = re.compile(
    rf"\bvalue\\*[\"']?\s{{0,10}}[:=]\s{{0,10}}{_VALUE}\\*[\"']?[^{{}}]{{0,120}}\Z", re.IGNORECASE
)
_ELEMENT = re.compile(
    rf"(?:</{_TAG}>\s{{0,40}}<\w{{1,20}}[^<>\n]{{0,80}}>|[\"'][^<>\n]{{0,80}}>)(?P<secret>[^\s<>]{{4,8192}})</",
    re.IGNORECASE,
)
_VALUE_KEY = (
    r"(?:value|string_?value|raw|plain|plain_?text|computed|data|default|secret_?value|current|content"
    r"|literal|text|s|_value|v|val)"
)
VALUE_KEY = re.compile(_VALUE_KEY, re.IGNORECASE)
"""A key under which a JSON object has the value that the object's own name describes."""
_OBJECT = re.compile(r"\\*[\"']\s{0,4}:\s{0,10}\{(?P<fields>[^{}]{4,4000})")
_FIELD = re.compile(
    rf"""
    (?<![^\s,{{\\]) (?P<quote>\\*["']) {_VALUE_KEY} (?P=quote) \s{{0,4}} : \s{{0,4}}
    (?P=quote) (?P<secret>[^\s"'`\\]{{4,8192}}) (?P=quote)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A field of a JSON object with the value: `"db_password": {"type": "string", "value": "x"}`."""
_MARK = r"[*_`]"
_LABEL = re.compile(
    rf"""
    (?: {_MARK}{{1,3}} [ \t]* [:=] {_MARK}{{0,3}} | [:=] {_MARK}{{1,3}} | [ ](?:is|was|are):?
      | {_MARK}{{0,3}} [ \t]* \| | ::[ ] | [ ][\u2013\u2014-][ ](?=`) | [ ][\u203a\u00bb\u2026\u00b7\u2192>][ ]
      | [ ]\[[^\[\]\n]{{0,40}}\]: | :?[ ]*</(?:b|strong|th|td|dt|label|i|em)>[ ]*(?:<\w{{1,10}}>){{0,2}}
      | [ ](?:has|have)[ ]been[ ](?:re)?set[ ]to:? )
    [ \t]* {_VALUE} (?! [(.\[][A-Za-z] )
    """,
    re.VERBOSE,
)
_PLAIN_LABEL = re.compile(rf"[ \t]*[:=][ \t]*{_VALUE}(?![(.\[][A-Za-z])")
_BLOCK = re.compile(
    r"[\"']?[ \t]*:[ \t]*[|>][+-]?[0-9]?[ \t]*(?:\#[^\n]*)?\r?\n[ \t]+(?P<secret>[^\s]{4,8192})(?=\s|\Z)"
)
_LINE_BELOW = r"""
    \r?\n (?:[ \t]{0,20}(?:```\w{0,10})?[ \t]*\r?\n){0,2}
    [ \t]{0,20} `? (?P<secret>[^\s"'`\\,;<>{}()|]{6,200}) `? [ \t]{0,20} (?=[\r\n]|\Z)
    """
_NEXT_LINE = re.compile(
    rf"{_MARK}{{0,3}} (?:[ \t][^\n:=.]{{0,60}}?)? [ \t]{{0,3}} : {_MARK}{{0,3}} [ \t]{{0,3}} {_LINE_BELOW}", re.VERBOSE
)
"""A label at the end of a line, with a value alone on the next line that is not empty."""
_SETTING_BELOW = re.compile(
    r"""["']?:[ \t]*\r?\n(?:[ \t]+[\w-]{1,40}:[^\n]{0,200}\r?\n){0,6}?[ \t]+(?:default|value):[ \t]*"""
    rf"{_VALUE}",
    re.IGNORECASE,
)
"""A parameter of a template with its default on the next line: `DbPassword:`, then `Default: x`."""
_FORM_DATA = re.compile(r"\\*\"[^\n]{0,80}\r?\n(?:[\w-]{1,40}:[^\n]{0,80}\r?\n)?\r?\n(?P<secret>[^\s]{6,4000})\r?\n")
"""A field of a form, with its value after an empty line."""
_IN_TAG = re.compile(r"<(?:[\w.-]{1,30}:)?\Z")
_XML = re.compile(r"(?:\s[^<>\n]{0,200})?>\s{0,40}(?:<[Vv]alue>\s{0,10})?(?P<secret>[^\s<>]{4,8192})\s{0,40}</")
_FALLBACK = re.compile(
    rf"[\"'\])]{{0,3}}(?:\s?[:=]\s?[\w.\[\]\"']{{1,80}})?\s{{0,4}}(?:\|\||\?\?|\?:|\bor\b)\s{{0,4}}{_QUOTED}",
)
"""A value that is used if another one is missing: `process.env.API_KEY || "x"`."""
_DUMPED = re.compile(rf"\\*[\"']?\]?\s{{0,4}}=>\s{{0,20}}string\([0-9]{{1,6}}\)\s{{1,4}}{_QUOTED}")
"""A dump by PHP: `["password"]=> string(8) "x"`."""
_SPACED = re.compile(rf"[ \t]+{_QUOTED}(?=[;,]?[ \t]*(?:[\r\n]|\Z))")
"""A configuration directive: `proxy_set_header X-Api-Key "x";`."""
_TYPED_IN = re.compile(
    r"(?:/i?)?[\"'\])]{1,4}(?:[^;\n]{0,20}?\."
    r"(?:type|fill|send_?[kK]eys|set_?[vV]alue|typeText|enterText|pressSequentially|addValue)\([ ]?|,[ ]?)" + _QUOTED
)
"""Text that a test types into a field: `get("#password").type("x")`, `fill("[name=password]", "x")`."""
_FILLS = re.compile(
    r"(?:type|fill\w{0,6}|send_?keys|set_?value|enter\w{0,6}|locator|find_?element|get\w{0,16}|input|\$)"
    r"\([^()\n]{0,80}\Z",
    re.IGNORECASE,
)
_COLUMN = re.compile(rf"(?:[ ]{{2,}}|\t+)(?:REG_\w{{2,12}}[ \t]+)?{_VALUE}[ \t]*(?=[\r\n]|\Z)")
_FIRST_OF_LINE = re.compile(r"(?:^|\n)[ \t]*\Z")
"""The beginning of a line with two columns: `password            x`."""
_BOXED = re.compile(r"\b(?:Some|Just|Ok|Right|Optional\.of(?:Nullable)?|Option)[ ]?\(?[ ]?[\"']")
"""A value in an option type: it is certainly a value, so a short one counts too."""
_GO_HEADER = re.compile(r":\[(?P<secret>[^\s\[\]]{8,8192})\]")
_NEXT_ITEM = re.compile(r"[\"']?[ \t]*\r?\n[ \t]*-[ \t]+" + _VALUE)
_DASHES_BEFORE = re.compile(r"--\Z")
_BELOW_HEAD = re.compile(rf"[ \t]{{0,3}} \#{{0,6}} [ \t]{{0,3}} {_LINE_BELOW}", re.VERBOSE)
_HEAD = re.compile(r"(?:^|\n)\#{1,6}[ ](?:\w{1,20}[ ]){0,4}\Z")
_WORDS_BEFORE = re.compile(r"(?:(?P<first>[A-Za-z]{2,15})[ ])?(?P<second>[A-Za-z]{2,15})[ ]\Z")
_OWN = ("my", "your", "our", "My", "Your", "Our")
"""Words that make any key an access key."""
_OPENS_LIST = re.compile(r"[\[({][ \t]*\\*[\"']?\Z")
_LEAST_KEY = 20
_LEAST_TOKEN = 28
"""The least length of a key in a sentence: after a name of secrets only, and after any other name."""
_NEAR_CHARS = 40
_BEFORE_CHARS = 300


def labelled_values(text: str, first: int, end: int) -> list[Secret]:
    """Find the value of a name that no value follows directly: in a table, an object or a sentence."""
    name, is_prose = _whole_name(text, first, end)
    if not name:
        return []
    if is_prose:
        first = end - len(name)
    of_object = list(_values_of_object(text, end, name))
    if of_object:
        return of_object
    strength = likelihood_of(name)
    for match, is_program in _possible_values(text, first, end, is_prose=is_prose):
        value = match["secret"].rstrip(".,:;*_`")
        is_quoted = is_program and strength is Likelihood.STRONG and not is_prose
        is_boxed = strength is Likelihood.WEAK and _BOXED.search(match[0]) is not None
        is_boxed_word = is_boxed and is_chosen_word(value)
        if is_boxed_word or is_secret_text(value, name, is_quoted=is_quoted):
            start = match.start("secret")
            return [Secret(start, start + len(value), kind_of_name(name))]
    return _in_sentence(text, first, end, name)


def _values_of_object(text: str, end: int, name: str) -> Iterator[Secret]:
    """Yield the values of a JSON object whose key is the name."""
    opened = _OBJECT.match(text, end)
    if opened is None:
        return
    is_strong = likelihood_of(name) is Likelihood.STRONG
    for field in _FIELD.finditer(text, opened.start("fields"), opened.end("fields")):
        if is_secret_text(field["secret"], name, is_quoted=is_strong):
            yield Secret.of(field, kind_of_name(name))


def _in_sentence(text: str, first: int, end: int, name: str) -> list[Secret]:
    """Find the values that a sentence gives after a name, or before the name."""
    is_strong = likelihood_of(name) is Likelihood.STRONG
    is_password = is_strong and names_password(name)
    least_random = _LEAST_TOKEN
    if is_strong or names_service(name):
        least_random = _LEAST_KEY
    found = None
    if is_password:
        found = linked_password(text, first, end)
    if found is None:
        found = said_value(text, end, is_password=is_password, least_random=least_random)
    if found is None:
        found = said_before(text, first, is_password=is_password, least_random=least_random)
    if found is None:
        return []
    return [Secret(found.start, found.end, kind_of_name(name))]


def _whole_name(text: str, first: int, end: int) -> tuple[str, bool]:
    """Return the sensitive name that ends at `end`, and whether words before `first` belong to it, as in `API key`.

    "" stands for a name that is not sensitive.
    """
    name = text[first:end]
    if likelihood_of(name) is not Likelihood.NONE or names_service(name):
        return name, False
    before = _WORDS_BEFORE.search(text[max(0, first - 32) : first])
    if before is None:
        return "", False
    words = " ".join([word for word in (before["first"], before["second"], name) if word])
    for several in (f"{before['second']} {name}", words):
        if likelihood_of(several) is not Likelihood.NONE or names_service(several):
            return several, True
    if before["second"] in _OWN and name.lower() == "key":
        return "own access key", True
    return "", False


class _Place(NamedTuple):
    """A place of a value: right after its name, and perhaps only if another text is before the name."""

    value: re.Pattern[str]
    is_program: bool
    """Whether the place is in program text, where any quoted value counts."""
    before: re.Pattern[str] | None = None
    """The text that must be before the name; None if any may be."""
    before_chars: int = _NEAR_CHARS


def _in_program(value: re.Pattern[str], before: re.Pattern[str] | None = None, chars: int = _NEAR_CHARS) -> _Place:
    return _Place(value, is_program=True, before=before, before_chars=chars)


def _in_words(value: re.Pattern[str], before: re.Pattern[str] | None = None) -> _Place:
    return _Place(value, is_program=False, before=before)


_FIRST_PLACES = (
    *map(_in_program, (_BRACKETED, _HEREDOC, _DEFAULT, _SET, _VALUED, _ARROW, _RETURNED)),
    _in_words(_BELOW_HEAD, before=_HEAD),
    _in_program(_BLOCK),
    _in_program(_DEFINED, before=_DEFINES),
    _in_program(_KEYWORD, before=_COLON_BEFORE),
    _in_program(_LISTED, before=_OPENS_LIST),
)
"""Places that are looked at before pairs of a name and a value."""
_LATER_PLACES = (
    _in_program(_XML, before=_IN_TAG),
    *map(_in_program, (_FALLBACK, _DUMPED, _GO_HEADER)),
    _in_program(_TYPED_IN, before=_FILLS, chars=_BEFORE_CHARS),
    _in_words(_COLUMN, before=_FIRST_OF_LINE),
    _in_words(_SPACED),
    _in_program(_NEXT_ITEM, before=_DASHES_BEFORE),
    *map(_in_words, (_NEXT_LINE, _SETTING_BELOW, _FORM_DATA, _LABEL)),
)
"""Places that are looked at after pairs of a name and a value."""


def _possible_values(text: str, first: int, end: int, *, is_prose: bool) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield matches that may be the value of a name, each with whether its place is program text."""
    for expression in (_DECLARED, _CALLED):
        declared = expression.match(text, end)
        if declared is not None and not _READS.search(declared[0]):
            yield declared, True
    yield from _at_places(_FIRST_PLACES, text, first, end)
    if _IS_NAMED.search(text, max(0, first - _NEAR_CHARS), first):
        yield from _pairs(text, first, end)
    yield from _at_places(_LATER_PLACES, text, first, end)
    if is_prose:
        label = _PLAIN_LABEL.match(text, end)
        if label is not None:
            yield label, False


def _at_places(places: tuple[_Place, ...], text: str, first: int, end: int) -> Iterator[tuple[re.Match[str], bool]]:
    for value, is_program, before, before_chars in places:
        match = value.match(text, end)
        if match is None:
            continue
        if before is None or before.search(text, max(0, first - before_chars), first):
            yield match, is_program


def _pairs(text: str, first: int, end: int) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield the values that may belong to a name which is itself a value, as in `name: API_KEY, value: x`."""
    for expression in (_ELEMENT, _VALUE_FOLLOWS):
        following = expression.match(text, end)
        if following is not None:
            yield following, True
    preceding = _VALUE_PRECEDES.search(text, max(0, first - _BEFORE_CHARS), first)
    if preceding is not None:
        yield preceding, True
