"""Secrets beside their names: in code, settings, commands and headers. `labels` has the other places of a name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .evident_values import is_evident, near_value
from .found import Secret
from .judge_named_value import STARTS_LINE, NamedValue, is_secret_value
from .labels import labelled_values
from .names import (
    Likelihood,
    is_faint,
    is_mixed,
    is_placeholder,
    kind_of_name,
    likelihood_of,
    looks_random,
    names_password,
    names_service,
)
from .searched_text import SearchedText
from .secrets_in_rows import find_in_rows
from .secrets_in_tables import find_in_table

_NAMED = re.compile(
    r"""
    (?: pass(?:w(?:or)?d|wort|phrase|code)? | pwd | psk | secret | token | cred(?=s?(?![a-z])) | credential
      | auth | cookie | jwt | key
      | (?:(?<![a-z0-9])|db|root|user|admin|bind)pw(?![a-z0-9-]) | (?<=[_-])pat | (?<=sonar[._-])login )
    [a-z0-9_-]{0,40} (?:\.value(?=[ ]?=))?
    (?P<separator>
        \\*["'`]? \]? [ \t]* (?: => | [:?]?= (?!=) | <-(?=[ ]?["']) | : (?![:=]) ) [ \t]*
        (?: \\?[>|]-? [ \t]* | (?:&[\w-]{1,40}|!!str|!unsafe)[ ]{1,4} )?
      | [ \t]+ (?: is:? [ \t]+ )? (?=[^\s=:])
      | \\*["'] [ \t]* (?: , | [ ]value= ) [ \t]* (?=\\*["'])    # define('DB_PASSWORD', 'x'), key="password" value="x"
      | \)[ ]=[ ](?=["'])                                          # DATA(lv_password) = 'x'
      | > | \( (?=\\*["'])                                        # <password>x</password>, set_password("x")
    )?
    """,
    re.VERBOSE,
)
"""The end of a name and the beginning of its value; matched in lower case, which is many times faster."""
_FIRST = (
    *((word, (0,)) for word in ("pass", "psk", "secret", "token", "cred", "auth", "cookie", "jwt", "key")),
    ("pw", (0, -2, -4, -5)),
    *(("_pat", (1,)), ("-pat", (1,)), ("sonar", (6,))),
)
"""The texts at or near which `_NAMED` begins, with their distances from its beginning: `dbpw`, `rootpw`, `adminpw`."""
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_MOST_NAME_CHARS = 60
_MOST_VALUE_CHARS = 8_192
_MOST_BACKSLASHES = 64
"""The largest number of backslashes before a quote; a quote in JSON that is nested in four JSON strings has 31."""
_TAG = re.compile(r"[&!][\w!-]{1,40}[ ]{1,4}\Z")
"""A YAML anchor or type between a name and its value."""
_QUOTE = re.compile(r"[fFrRbBuUnNeEL@]{0,2}(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))")
_BARE = re.compile(r"[^\s\"'`<>,;(){}\[\]&|\\=]{1,2000}={0,2}")
_CUT = re.compile(r",?[ ]?(?:\.{3}|\u2026|\Z|\r?\n|[\[(<]?(?:truncated|\w{1,10}[ ]more))|(?<=\.{3})|(?<=\u2026)")
"""The text after a value whose end was cut off."""
_LEAST_CUT = 10
_LITERAL = re.compile(r"[^\s\"'`\\;,&|<>]+|(?<=[A-Za-z0-9])[,&](?![\w.%\[\]-]{1,60}=)")
_AND = re.compile(r"&(?![\w.%-]{1,60}=)[^\s\"'`<>,;(){}\[\]&|\\=]{2,100}")
"""The rest of a bare password behind the sign that is between two parameters elsewhere: `pass=a&B8 port=22`."""
_WHOLE_LINE = re.compile(r"[^\s\"'`]{6,200}(?=[ \t]*(?:\r?\n|\Z))")
_WHOLE_WORD = re.compile(r"[^\s\"'`;|&<>()\\\[\]{}$]{6,200}(?<![,.=:])(?=\s|\Z)")
_IS_EXPRESSION = re.compile(
    r"^[A-Za-z_][\w.>:-]*[(\[].*[)\]][;,]?$|^[\w.-]+[,;]$|[({\[]$|\$[({A-Z]|\$$|\{\{|[,;&?]\w[\w.-]*="
    r"|=>|\|\||&&|[\])}][;,)]?$|\\[nrt]"
)
"""A call, an index, an end of a statement, a variable, another setting."""
_JOINED = re.compile(
    r"\\*(?P<quote>[\"'`])\s{0,20}(?:[+.&]|\|\||\\|->)\s{0,40}\\*(?P=quote)(?P<secret>[^\s\"'`\\]{4,400})(?=\\*(?P=quote))"
)
_FLAG = re.compile(r"--\Z|(?<![^\s\"'])-\Z")
_IN_ARN = re.compile(r":[0-9]{12}:\Z|\bdid:\Z")
_IN_TYPE = re.compile(r"[\"']\w{1,40}::(?:\w{1,40}::)?\Z")
"""The beginning of a type of a cloud's resources, which is the key of an object: `"AWS::SecretsManager::Secret"`."""
_NUMBER = re.compile(r"(?=[0-9]*[a-f])[0-9a-f]{32,64}")
"""A number that a flag gets as a key: `--key 0f…`."""


def find_named(searched: SearchedText) -> list[Secret]:
    """Find secrets that are beside their names."""
    text = searched.text
    folded = searched.folded
    found = list[Secret]()
    searched.names = []
    at = 0  # the end of the last name or secret
    done = 0  # the end of the last secret
    table_end = 0
    for begin in _begin(folded):
        match = _NAMED.match(folded, begin) if begin >= at else None
        if match is None:
            continue
        at = match.end()
        has_value = match["separator"] is not None
        end = match.start("separator") if has_value else at
        first = _first_of_name(text, match.start(), done)
        if _IN_ARN.search(text, max(0, first - 14), first):
            continue  # arn:aws:secretsmanager:…:123456789012:secret:NAME, did:key:…
        if match["separator"] and match["separator"][0] in "\"'" and _IN_TYPE.search(text, max(0, first - 82), first):
            continue
        value = _assigned(text, folded, match, first) if has_value else None
        if value is not None:
            new = [value, *_continued(text, value)]
        else:
            new = labelled_values(text, first, end)
        searched.names.append((first, end))
        if new:
            found += new
            at = max(at, new[-1].end)
            done = at
        elif at > table_end:
            below, table_end = find_in_table(text, first, end)
            if not table_end:
                below, table_end = find_in_rows(text, first, end)
            found += below
    return found


def find_near_names(searched: SearchedText) -> list[Secret]:
    """Find evident secrets on the line of a name, which no other search found; `find_named` comes first."""
    text = searched.text
    found = list[Secret]()
    if not searched.has_digit:
        return found
    for first, end in searched.names:
        name = text[first:end] if text.isascii() else searched.folded[first:end]
        if likelihood_of(name) is not Likelihood.NONE or names_service(name) or _is_key_in_sentence(text, first, end):
            found += near_value(text, first, end, name)
    return found


def _is_key_in_sentence(text: str, first: int, end: int) -> bool:
    """Return whether a plain `key` is a word of a sentence, not the key of a cache or a table."""
    if end - first != len("key") or text[end : end + 1] != " ":
        return False
    before = text[max(0, first - 20) : first].split()
    return text[first - 1 : first] == " " and bool(before) and is_faint(f"{before[-1]} key")


def _begin(folded: str) -> list[int]:
    """Return the positions at which `_NAMED` may match in a text in lower case.

    A search for the first letters is ten times as fast as a search with the expression.
    """
    found: list[int] = []
    for word, offsets in _FIRST:
        at = folded.find(word)
        while at >= 0:
            found += [at + offset for offset in offsets if at + offset >= 0]
            at = folded.find(word, at + 1)
    return sorted(found)


def _first_of_name(text: str, start: int, least: int) -> int:
    """Return the start of the name that ends with a sensitive word."""
    first = start
    while first > max(least, start - _MOST_NAME_CHARS) and text[first - 1] in _NAME_CHARS:
        first -= 1
    first += len(text[first:start]) - len(text[first:start].lstrip("-."))
    is_property = text.startswith("-D", first - 1) and text[first + 1 : first + 2].islower()
    if is_property and first >= 1:
        return first + 1
    return first


def _assigned(text: str, folded: str, match: re.Match[str], first: int) -> Secret | None:
    """Return the secret that is assigned to a name; None if the value is not a secret."""
    end = match.start("separator")
    name = text[first:end]
    likelihood = likelihood_of(name if name.isascii() else folded[first:end])
    is_any = likelihood is Likelihood.NONE and not names_service(name)
    if is_any and not is_faint(name):
        return None
    if likelihood is Likelihood.NONE:
        likelihood = Likelihood.WEAK
    before = text[max(0, first - 40) : first]
    separator = _TAG.sub("", match["separator"])
    value = _value_at(text, match.end(), name, before, separator)
    if value is None:
        return None
    if is_any:
        is_number = value.before.endswith("--") and _NUMBER.fullmatch(value.text) is not None
        is_secret = is_number or is_evident(value.text, name)
    else:
        is_secret = is_secret_value(value, likelihood)
    if not is_secret:
        return None
    return Secret(value.start, value.end, kind_of_name(name))


def _continued(text: str, secret: Secret) -> Iterator[Secret]:
    """Yield the further texts of a value that program text joins: `"first" + "second"`."""
    while (joined := _JOINED.match(text, secret.end)) is not None:
        secret = Secret(*joined.span("secret"), secret.kind)
        yield secret


def _value_at(text: str, at: int, name: str, before: str, separator: str) -> NamedValue | None:
    if separator.isspace() and not _FLAG.search(before):
        return None
    if separator == ">" and not before.endswith("<"):
        return None
    opening = _QUOTE.match(text, at)
    if opening is not None:
        start = opening.end()
        end = _closing_quote(text, start, opening["quote"])
        if end < 0:
            return _cut_value(text, start, name, before, separator)
        prefix = opening[0][: opening.start("quote") - opening.start()]
        is_template = "f" in prefix.lower()
        if is_template and "{" in text[start:end]:
            return None
    else:
        bare = _bare_span(text, at, name, before, separator)
        if bare is None:
            return None
        start, end = bare
    following = text[end : end + 1]
    is_flag = separator.isspace() or before.endswith("--")
    if is_flag and text[end - 1 : end] == "=" and following.isalnum():
        return None  # --secret id=x: a setting of the flag
    rest = text[end : end + 3]
    ends_line = not rest or rest[0] in "\r\n" or rest.startswith(("\\n", " #"))
    return NamedValue(
        text[start:end],
        name,
        start=start,
        end=end,
        is_quoted=opening is not None,
        before=before,
        separator=separator,
        after=following,
        ends_line=ends_line,
    )


def _bare_span(text: str, at: int, name: str, before: str, separator: str) -> tuple[int, int] | None:
    """Return the span of a value without quotes; None if there is no such value, or only its beginning is shown."""
    bare = _BARE.match(text, at)
    if bare is None:
        return None
    start, end = bare.span()
    if separator.isspace() and text[start] == "-":
        return None  # --password --verbose: the command asks for the password
    is_literal = separator == "=" and (name.isupper() or before[-1:] in ("?", "&"))
    if is_literal:
        end = _end_of_literal(text, start, end)
    while end > start and text[end - 1] in ".:,)":
        end -= 1
    follows_blank = not before[-1:].strip()
    if separator == "=" and follows_blank and names_password(name):
        more = _AND.match(text, end)
        if more is not None:
            end = more.end()
    end = max(end, _end_of_whole(text, start, name, before, separator))
    if text.startswith("..", end) or text.startswith("\u2026", end):
        return None
    return start, end


def _end_of_literal(text: str, start: int, end: int) -> int:
    """Return the end of a value in a shell or a query, which also contains signs that end a value in a program."""
    more = _LITERAL.match(text, end)
    while more is not None and text[end] not in "([{" and end - start < _MOST_VALUE_CHARS:
        end = more.end()
        more = _LITERAL.match(text, end)
    return end


def _end_of_whole(text: str, start: int, name: str, before: str, separator: str) -> int:
    """Return the end of an unquoted password with characters that end other values (`;`, `,`); 0 if it is none.

    Such a password is the whole value on a setting's line (`password = a;B8`), or the word after a flag (`--password
    a,B8`).
    """
    if not names_password(name):
        return 0
    is_flag = before.endswith("--")
    if is_flag and (separator.isspace() or separator == "="):
        whole = _WHOLE_WORD.match(text, start)
    elif STARTS_LINE.search(before) and separator.strip(" ") in (":", "="):
        whole = _WHOLE_LINE.match(text, start)
    else:
        return 0
    if whole is None:
        return 0
    value = whole[0]
    looks_like_password = is_mixed(value) and not _IS_EXPRESSION.search(value) and not is_placeholder(value)
    return whole.end() if looks_like_password else 0


def _closing_quote(text: str, start: int, quote: str) -> int:
    r"""Return the position of the quote that closes a quoted value on its line, or -1.

    A quote within the value has more backslashes than the one that opens it: in a JSON that is the string of another
    JSON, `\"` closes a value, and each quote within the value is `\\\"`.
    """
    sign = quote.lstrip("\\")
    own = len(quote) - len(sign)
    stop = text.find("\n", start, start + _MOST_VALUE_CHARS)
    if stop < 0:
        stop = start + _MOST_VALUE_CHARS
    first = text.find(quote, start, stop)
    sign_at = text.find(sign, start, stop)
    while sign_at >= 0:
        before = text[max(start, sign_at - _MOST_BACKSLASHES) : sign_at]
        backslashes = len(before) - len(before.rstrip("\\"))
        if backslashes % (2 * (own + 1)) == own:
            return sign_at - own
        sign_at = text.find(sign, sign_at + 1, stop)
    return first


def _cut_value(text: str, start: int, name: str, before: str, separator: str) -> NamedValue | None:
    """Return a quoted value whose end, with its quote, was cut off in a shortened output; None if there is none."""
    value = _BARE.match(text, start)
    if value is None or not _CUT.match(text, value.end()):
        return None
    cut = value[0].rstrip(".\u2026")
    if likelihood_of(name) is not Likelihood.STRONG or not looks_random(cut, least=_LEAST_CUT):
        return None
    end = start + len(cut)
    return NamedValue(
        cut, name, start, end, is_quoted=True, before=before, separator=separator, after="", ends_line=True
    )
